"""Every row of docs/faults.md that no other test has: what the user reads, what the other hosts do, the exit status,
and that nothing is left (ClusterTest looks after each test)."""
import os
import re
import signal
import sys

import case
from case import DEADLINE_S
from jobs import JobTest, LAUNCH, NO_CACHE, STORE, UNREACHABLE

ALL = ("-w", "node[001-008]", "--degree", "2")
BAD = "node005"  # not a leaf: node006 to node008 are below it
QUICK = ("--connect-timeout", "2")
BEATS = ("--heartbeat", "1")
GO = "/srv/go"  # all hosts see it
MB = 1 << 20
LONG = ("--grace", str(2 * DEADLINE_S))  # a job that waits for it ends too late for the test


class FaultsTest(JobTest):
    def setUp(self):
        super().setUp()
        self.good = [host for host in self.cluster.hosts if host != BAD]

    def age(self, host):
        """What lies about on the host looks older than an agent takes for abandoned."""
        found = self.cluster.files(host)
        for each in found:
            os.utime(self.cluster.path(host, each.split(":", 1)[1]), (0, 0))
        return found


class StartTest(FaultsTest):
    """A host that cannot take part, and what each kind of job makes of that."""

    def check(self, phase, why, *words, hosts=ALL, bad=BAD, status=UNREACHABLE, first=None):
        words = (*hosts, *words)
        for more in ((), ("--on-failure", "wait")):  # a job of ranks starts whole or not at all
            done = self.run_job(*words, *more, "--ppn", "1", "hostname", status=status)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr.splitlines()[-1], first or rf"^scela-run: {bad}: start its agent \({phase}\): {why}")
        told = rf"(?m)^scela-run:   {bad} unreachable \({phase}\): {why}"
        done = self.run_job(*words, "hostname", status=UNREACHABLE)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"{host}: {host}" for host in self.good])
        self.assertRegex(done.stderr, told)
        self.assertIn(f"scela-run: ok 7 (node[001-004,006-008]) · unreachable 1 ({bad})\n", done.stderr)
        for more in (("--min-nodes", "7"), ("--spares", "1")):
            done = self.run_job(*words, *more, "--ppn", "1", "hostname")
            self.assertEqual(sorted(done.stdout.split()), self.good)
            self.assertRegex(done.stderr, told)

    def test_a_name_that_does_not_resolve(self):
        self.check("resolve", r"Name or service not known \(check the spelling; 'getent hosts ghost' shows", bad="ghost",
                   hosts=("-w", "node[001-004],ghost,node[006-008]"), first="^scela-run: ghost: resolve the name 'ghost': ")

    def test_a_host_that_is_cut_off(self):
        self.cluster.cut(BAD)
        self.check("connect", r"(10\.99\.1\.5 port 22 does not answer within 2000 ms \(--connect-timeout; the host is down,|"
                   r"connect to 10\.99\.1\.5 port 22: No route to host \(EHOSTUNREACH\) \(the host is down,)", *QUICK)

    def test_a_host_with_a_closed_port(self):
        self.cluster.refuse(BAD)
        self.check("connect", r"connect to 10\.99\.1\.5 port 22: Connection refused \(ECONNREFUSED\) \(no sshd listens there")

    def test_a_host_that_hangs_after_accept(self):
        self.cluster.hang(BAD)
        self.check("connect", r"10\.99\.1\.5 port 22 accepts connections, but no key is exchanged within 2000 ms "
                   r"\(--connect-timeout; its sshd hangs", *QUICK)

    def test_a_banner_that_has_no_end(self):
        self.cluster.slow_loris(BAD)
        self.check("connect", r"10\.99\.1\.5 port 22 accepts connections, but no key is exchanged within 2000 ms", *QUICK)

    def test_a_host_that_is_frozen(self):
        self.cluster.freeze(BAD)
        self.check("connect", r"10\.99\.1\.5 port 22 accepts connections, but no key is exchanged within 2000 ms", *QUICK)

    def test_a_host_key_that_has_changed(self):
        self.cluster.change_host_key(BAD)
        self.check("check the host key", r"the key that 10\.99\.1\.5 port 22 shows, SHA256:\S+, is not the known one \(if it "
                   rf"was installed anew, run 'ssh-keygen -R {BAD}'")

    def test_a_host_that_refuses_the_user(self):
        self.cluster.lock_out(BAD)
        self.check("authenticate", r"10\.99\.1\.5 port 22 refuses user root with /root/\.ssh/id_ed25519 \(is it in "
                   r"authorized_keys there, and may this user log in\?")

    def test_an_authentication_that_hangs(self):
        self.put(BAD, "slow", "#!/bin/sh\nexec sleep 1000000\n", 0o755)
        for folder in (STORE, "/etc/ssh"):
            os.chmod(self.cluster.path(BAD, folder), 0o755)
        self.cluster.restart_sshd(BAD, [f"AuthorizedKeysCommand {STORE}/slow", "AuthorizedKeysCommandUser root",
                                        "AuthorizedKeysFile none"])
        self.check("authenticate", r"10\.99\.1\.5 port 22 does not answer to an authentication within 2000 ms "
                   r"\(--connect-timeout; its sshd hangs, perhaps on a home", *QUICK)
        self.cluster.kill_processes(BAD)  # sshd's own, which still wait for that command

    def test_a_login_shell_that_is_missing(self):
        # sshd does not tell: it takes no key of such a user. Its log, which the message names, does.
        self.cluster.set_shell(BAD, "missing")
        self.check("authenticate", r".* refuses user root .*may this user log in\? its sshd's log says\)")
        self.assertIn("shell /bin/no-such-shell does not exist", self.log(BAD))

    def test_a_login_shell_that_hangs(self):
        self.cluster.set_shell(BAD, "silent")
        self.check("start agent", r"its login shell has the command, but no agent answers within 2000 ms", *QUICK, status=LAUNCH)
        # No client of sshd can end the shell of root itself; nothing but that stays.
        self.cluster.assert_left(BAD, {"sleep 1000000"})
        self.cluster.kill_processes(BAD)

    def test_a_users_login_shell_that_hangs_is_ended(self):
        shell = self.put(BAD, "silent", "#!/bin/sh\nexec sleep 1000000\n", 0o755)
        self.add_worker(BAD, shell=shell)
        self.configure(f"Host {BAD}\n User worker\n")
        done = self.run_job(*ALL, *QUICK, "--ppn", "1", "hostname", status=LAUNCH)
        self.assertIn("its login shell has the command, but no agent answers within 2000 ms", done.stderr)

    def test_disks_that_are_full(self):
        self.cluster.disk_full(BAD)
        self.check("start agent", r"no directory takes an executable file of \d+ bytes: /tmp \(full\), .* - make room, or "
                   r"install scela-nla and name it with --agent", *NO_CACHE, status=LAUNCH)

    def test_an_agent_that_crashes_at_its_start(self):
        # The right head on a body of zeros.
        self.fake(BAD, head='[ $# = 2 ] || exec /usr/bin/head "$@"; /usr/bin/head -c 1024; '
                  'x=$(/usr/bin/head -c $(($2 - 1024)) | wc -c); exec /usr/bin/head -c $x /dev/zero\n')
        self.check("start agent", r"its login shell ended before an agent answered: killed by SIG(SEGV|BUS)", *NO_CACHE,
                   status=LAUNCH)
        # It could not remove its file; the next agent does.
        self.assertRegex("".join(self.age(BAD)), r"^(node005:/tmp/\.scela-nla-[0-9a-f]+)+$")
        self.run_job("-w", BAD, "-n", "1", "true")
        self.assertEqual(self.cluster.files(BAD), [])

    def test_a_host_behind_one_that_does_not_answer(self):
        self.configure(f"Host {BAD}\n ProxyJump node009\nHost node009\n HostName 10.99.1.3\n Port 23\n")
        self.check("connect", r"its proxy says: ssh: connect to host 10\.99\.1\.3 port 23: Connection refused")

    def test_a_host_that_is_cut_off_before_its_agent_says_hello(self):
        """The launch is ended then, and no sign of life is expected of the host any more."""
        agent = self.put(BAD, "agent", f"#!/bin/sh\n{{ head -c 1 > {STORE}/heard; exec sleep 1000000; }} | "
                         f"{self.scela_agent()} \"$@\"\n", 0o755)
        heard = self.cluster.path(BAD, f"{STORE}/heard")
        job = self.start("-w", BAD, *LONG, "--agent", agent, "--ppn", "1", "hostname")
        while not os.path.exists(heard) or os.path.getsize(heard) == 0:
            self.assertIsNone(job.poll())
        self.cluster.cut(BAD)
        job.terminate()
        _, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, 143, err)
        self.cluster.kill_processes(BAD)


class ShippingTest(FaultsTest):
    def test_a_launch_that_is_ended_while_agents_are_on_their_way(self):
        for host in self.cluster.hosts:
            self.cluster.rate(host, 10)
        for number, status in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            job = self.start(*ALL, *NO_CACHE, "--flat", "--ppn", "1", "true")
            while not any(f"{host}:/tmp/.scela-nla-" in each for host in self.cluster.hosts
                          for each in self.cluster.files(host)):
                self.assertIsNone(job.poll())
            job.send_signal(number)
            job.communicate(timeout=DEADLINE_S)
            self.assertEqual(job.returncode, status)
            self.cluster.assert_empty(*self.cluster.everyone)

    def test_connections_that_take_little_at_a_time(self):
        """An agent is on its way in a great many steps, and none of them waits for nothing."""
        sizes = "/proc/sys/net/ipv4/tcp_wmem"
        self.cluster.run("head", ["sh", "-c", f"cat {sizes} > /tmp/sizes; echo 4096 16384 16384 > {sizes}"], check=True)
        try:
            for _ in range(3):
                self.assert_hosts(self.cluster.hosts, *ALL, *NO_CACHE, "--flat")
        finally:
            self.cluster.run("head", ["sh", "-c", f"cat /tmp/sizes > {sizes}; rm /tmp/sizes"], check=True)


class RunningTest(FaultsTest):
    """What happens while the ranks run: each says "up", waits for the file GO, says "down"."""
    PROGRAM = f"echo up; while ! test -e {GO}; do sleep 0.1; done; echo down"

    def tearDown(self):
        self.cluster.run("head", ["rm", "-f", GO], check=True)
        super().tearDown()

    def begin(self, *words, program=PROGRAM, lines=8):
        job = self.start(*ALL, *BEATS, "-v", *words, "sh", "-c", program)
        for _ in range(lines):
            self.assertIn("up\n", job.stdout.readline())
        return job

    def finish(self, job, status):
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, status, err)
        return out, err

    def lose(self, fault, why, undo=None, age=False):
        """The host's loss in a job that is ended by it, in one that is not, and in a command for all hosts."""
        last = rf"^scela-run: rank 4 on {BAD} \(sh\) lost with its node: the agent on {BAD} was lost: {why}"
        job = self.begin("--ppn", "1")
        fault(BAD)
        out, err = self.finish(job, UNREACHABLE)
        self.assertEqual(out, "")
        self.assertRegex(err.splitlines()[-1], last)
        self.put_right(undo, age)

        for words in (("--ppn", "1", "--on-failure", "wait", "--min-nodes", "1"), ()):
            job = self.begin(*words)
            fault(BAD)
            while f"{BAD}: running: " not in (line := job.stderr.readline()):
                self.assertNotEqual(line, "")
            self.cluster.run("head", ["touch", GO], check=True)
            out, err = self.finish(job, UNREACHABLE)
            self.tearDown()
            self.assertEqual(len(out.splitlines()), 7, out + err)
            if words:
                self.assertIn("scela-run:   1 rank lost with its node: 4\n", err)
                self.assertIn("scela-run:   7 ranks exited with code 0: 0-3,5-7\n", err)
                self.assertRegex(err.splitlines()[-1], last)
            else:
                self.assertEqual(sorted(out.splitlines()), [f"{host}: down" for host in self.good])
                self.assertIn("scela-run: ok 7 (node[001-004,006-008]) · lost 1 (node005)\n", err)
            self.put_right(undo, age)

    def put_right(self, undo, age):
        if undo:
            undo(BAD)
        if age:  # nobody was left to remove the job's directory; the next agent does
            left = self.age(BAD)
            self.assertRegex(left[0], rf"^{BAD}:/tmp/scela-0-[0-9a-f]+-{BAD}$")
            self.assertEqual(left[1:], [f"{left[0]}/scela-hca.agent"])
            self.run_job("-w", BAD, "-n", "1", "true")
        self.cluster.assert_empty(*self.cluster.everyone)

    def signal_agent(self, number, both=False):
        """A fault: the agent gets the signal, and its guardian if told."""
        def fault(host):
            guardian, agent = self.agents(host)
            if both:  # one after the other, but the guardian sees nothing of it
                os.kill(guardian, signal.SIGSTOP)
            os.kill(agent, number)
            if both:
                os.kill(guardian, number)
        return fault

    def test_an_agent_that_is_killed(self):
        self.lose(self.signal_agent(signal.SIGKILL), "its connection ended")

    def test_a_guardian_that_is_killed(self):
        """sshd ends the session with the process that it started: the agent's subtree is lost with it."""
        for words in (("--ppn", "1", "--on-failure", "wait", "--min-nodes", "1"), ()):
            job = self.begin(*words)
            os.kill(self.agents(BAD)[0], signal.SIGKILL)
            while "node007: running: " not in (line := job.stderr.readline()):
                self.assertNotEqual(line, "")
            self.cluster.run("head", ["touch", GO], check=True)
            out, err = self.finish(job, UNREACHABLE)
            self.tearDown()
            self.assertEqual(len(out.splitlines()), 4, out + err)
            self.assertIn("lost with its node: the guardian of its agent was killed\n", err)
            self.assertIn("4 ranks lost with their nodes: 4-7\n" if words else "lost 4 (node[005-008])\n", err)
            self.put_right(None, False)

    def test_an_agent_that_freezes(self):
        self.lose(self.signal_agent(signal.SIGSTOP), "(its connection ended|no sign of life)")

    def test_an_agent_that_is_killed_with_its_guardian(self):
        self.lose(self.signal_agent(signal.SIGKILL, both=True), "its connection ended", age=True)

    def test_a_running_host_that_loses_its_power(self):
        self.lose(self.cluster.crash, "no sign of life for 3 s", self.cluster.boot, age=True)

    def test_a_running_host_that_loses_all_its_processes(self):
        self.lose(self.cluster.kill_processes, "(its connection ended|the ssh connection broke)", age=True)

    def test_a_running_host_that_is_cut_off(self):
        self.lose(self.cluster.cut, "no sign of life for 3 s", self.cluster.heal)

    def test_a_host_that_is_cut_off_while_its_guardian_cleans_up(self):
        """All of its ranks have ended well, and so does the job."""
        job = self.begin("--ppn", "1", "--link", "tcp", *LONG)
        guardian, agent = self.agents(BAD)
        os.kill(guardian, signal.SIGSTOP)
        self.cluster.run("head", ["touch", GO], check=True)
        while agent in self.agents(BAD):
            self.assertIsNone(job.poll())
        self.cluster.cut(BAD)
        out, _ = self.finish(job, 0)
        self.assertEqual(out, "down\n" * 8)
        self.cluster.heal(BAD)
        os.kill(guardian, signal.SIGCONT)

    def test_a_running_host_that_freezes(self):
        self.lose(self.cluster.freeze, "no sign of life for 3 s", self.cluster.thaw)

    def test_a_rank_that_dies(self):
        for ending, status, why, short in (
                ("exit 3", 3, "exited with code 3", "exit 3: 1"),
                ("kill -SEGV $$", 139, r"killed by signal 11 \(SIGSEGV, Segmentation fault\), no core dumped",
                 "killed by SIGSEGV: 1")):
            program = f"echo up; while ! test -e {GO}; do sleep 0.1; done; test $SCELA_NODE != {BAD} || {ending}; "
            for words, rest in ((("--ppn", "1"), "exec sleep 1000"),
                                (("--ppn", "1", "--on-failure", "wait"), "echo down"), ((), "echo down")):
                with self.subTest(ending=ending, words=words):
                    job = self.begin(*words, program=program + rest)
                    self.cluster.run("head", ["touch", GO], check=True)
                    out, err = self.finish(job, status)
                    self.tearDown()
                    self.assertEqual(len(out.splitlines()), 7 if rest == "echo down" else 0)
                    last = rf"^scela-run: rank 4 on {BAD} \(sh\) {why}$" if words else \
                        f"^scela-run: ok 7 .node.001-004,006-008.. · {short} .node005.$"
                    self.assertRegex(err.splitlines()[-1], last)

    def test_a_launcher_that_is_ended(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with self.subTest(number.name):
                words = () if number == signal.SIGINT else ("--on-failure", "wait")
                job = self.begin("--ppn", "1", *words)
                job.send_signal(number)
                _, err = self.finish(job, status)
                if status > 0:
                    self.assertRegex(err.splitlines()[-1], rf"^scela-run: interrupted by signal {number:d} \({number.name}, "
                                     r".*\); the job was ended$")
                self.cluster.assert_empty(*self.cluster.everyone)

    def test_a_launcher_that_is_cut_off(self):
        for words in ((), ("--on-failure", "wait", "--adopt-timeout", "1")):
            job = self.begin("--ppn", "1", *words)
            self.cluster.cut("head")
            _, err = self.finish(job, UNREACHABLE)
            # Both of its links are silent from the same moment; the one that was heard first before that is missed first.
            self.assertRegex(err.splitlines()[-1],
                             r"^scela-run: rank (0 on node001|4 on node005) \(sh\) lost with its node: .* no sign of life")
            self.cluster.heal("head")
            self.cluster.assert_empty(*self.cluster.everyone)


class StreamsTest(FaultsTest):
    """No fault, but rows of the peers' table that not all of them pass."""

    def test_a_megabyte_of_input_for_every_rank(self):
        for words in (("--stdin", "all", "--ppn", "1", "-l"), ()):
            done = self.run_job(*ALL, *words, "wc", "-c", input="x" * (MB - 1) + "\n")
            self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], [str(MB)] * 8)
            self.assertEqual(done.stderr, "")

    def test_ten_megabytes_of_output_from_every_rank(self):
        lines = 10 * MB // 100
        script = f'seq -f "$SCELA_RANK %09.0f {"." * 87}" 1 {lines}'
        for words, label in (((), ""), (("-l",), r"(\d): ")):
            done = self.run_job(*ALL, "--ppn", "1", *words, "sh", "-c", script, text=False, errors=None)
            following = [0] * 8
            pattern = re.compile(rf"{label}(\d) (\d{{9}}) \.{{87}}")
            for line in done.stdout.decode().splitlines():
                *labels, rank, number = pattern.fullmatch(line).groups()
                self.assertEqual(set(labels) - {rank}, set())
                following[int(rank)] += 1
                self.assertEqual(int(number), following[int(rank)])
            self.assertEqual((following, done.stderr), ([lines] * 8, b""))


class TrainingTest(JobTest):
    """Ranks that meet by plain sockets at the place that the variables of torch say."""
    SIZE = 4
    RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "rendezvous_rank.py")
    JOB = ("-w", "node[001-003]", "-n", "8", "--ppn", "4", "--env-style", "torch")

    def assert_met(self, lines, start, nodes, address):
        """All ranks of a start met on these nodes, and rank 0 was on the first of them."""
        met = sorted(line for line in lines if f" start {start} " in line)
        self.assertEqual(len(met), 8, lines)
        for rank, line in enumerate(met):
            place = rank // 4
            self.assertRegex(line, rf"^rank {rank} of 8 local {rank % 4} of 4 node {place} {nodes[place]} at {re.escape(address)}:\d+ "
                                   rf"start {start} sum 36$")

    def hold(self, job):
        """Waits until the ranks of the first start hold; what they printed, and their processes by rank."""
        lines = [job.stdout.readline().strip() for _ in range(16)]
        held = {int(rank): process for word, rank, process in (line.split()[:3] for line in lines) if word == "held"}
        self.assertEqual(len(held), 8, lines)
        return [line for line in lines if line.startswith("rank")], held

    def test_ranks_meet_at_the_address_of_the_first_host(self):
        done = self.run_job(*self.JOB, sys.executable, self.RANK)
        self.assertEqual(done.stderr, "")
        self.assert_met(done.stdout.splitlines(), 0, ["node001", "node002"], "10.99.1.1")

    def test_a_job_starts_again_without_the_host_of_rank_0_that_is_cut_off(self):
        job = self.start(*self.JOB, "--restart", "1", "--heartbeat", "0.5", sys.executable, self.RANK, "--hold-until", "1")
        first, _ = self.hold(job)
        self.cluster.cut("node001")
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, 0, err)
        self.assertRegex(err, r"(?m)^scela-run: restart 1 of 1 without node001: ")
        self.assert_met(first, 0, ["node001", "node002"], "10.99.1.1")
        self.assert_met(out.splitlines(), 1, ["node002", "node003"], "10.99.1.2")

    def test_a_job_with_a_killed_rank_starts_again_on_the_same_hosts(self):
        job = self.start(*self.JOB, "--restart", "3", sys.executable, self.RANK, "--hold-until", "1")
        _, held = self.hold(job)
        self.cluster.run("node002", ["kill", "-KILL", held[6]], timeout=DEADLINE_S)
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, 0, err)
        self.assertRegex(err, r"^scela-run: restart 1 of 3: rank 6 on node002 \(.*\) killed by signal 9 .*\n$")
        self.assert_met(out.splitlines(), 1, ["node001", "node002"], "10.99.1.1")


if __name__ == "__main__":
    case.main()
