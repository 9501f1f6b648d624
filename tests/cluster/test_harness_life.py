"""Nothing is left of simulated hosts, however they end; and people and benchmarks can use them."""
import contextlib
import glob
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import case
import cluster
import layout
from case import DEADLINE_S


def of_the_machine():
    """What a cluster could leave on the machine, as far as no other test changes it."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        mounts = f.read()
    home = os.path.expanduser("~/.ssh")
    settings = []
    for name in ("ipv4/ip_forward", "ipv4/neigh/default/gc_thresh3", "ipv4/icmp_ratelimit"):
        with open(f"/proc/sys/net/{name}", encoding="ascii") as f:
            settings.append(f.read())
    with open("/etc/hosts", encoding="utf-8") as f:
        hosts = f.read()
    return (mounts, os.listdir("/sys/class/net"), settings, hosts, os.uname().nodename,
            {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(home)} if os.path.isdir(home) else None,
            os.listdir(layout.SHARED))


def networks(hosts):
    """The network namespaces of a cluster's hosts."""
    return {os.stat(f"/proc/{hosts.first_process(host)}/ns/net").st_ino for host in hosts.everyone}


def in_networks(inodes):
    """Processes of the machine in one of the network namespaces."""
    found = []
    for word in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{word}/ns/net").st_ino in inodes:
                found.append(word)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


class NothingLeftTest(unittest.TestCase):
    # Makes a cluster in the mood to leave things, tells its processes, and waits to be killed.
    HELD = ("import cluster, os, signal, test_harness_life\n"
            "c = cluster.Cluster(8, own_processes={})\n"
            "c.up()\n"
            "c.delay(5, 'node001')\n"
            "c.popen('node002', ['sh', '-c', 'setsid sleep 1000 & sleep 1000'])\n"
            "c.ssh('node003', 'nohup sleep 1000 > /dev/null 2>&1 &')\n"
            "c.freeze('node003')\n"
            "c.cut('node004')\n"
            "print(*test_harness_life.in_networks(test_harness_life.networks(c)), flush=True)\n"
            "signal.pause()\n")

    def test_two_clusters_do_not_meet_and_leave_nothing(self):
        before = of_the_machine()
        with cluster.Cluster(2) as one, cluster.Cluster(2) as two:
            inodes = networks(one) | networks(two)
            self.assertEqual(len(inodes), 6)
            self.assertTrue(in_networks(inodes))
            one.crash("node001")
            self.assertEqual(two.ssh("node001", "hostname").stdout, "node001\n")
            one.run("node002", ["touch", "/tmp/left", f"{layout.HOME}/left", f"{layout.SHARED}/left"])
            one.popen("node002", ["sleep", "1000"])
            self.assertEqual(of_the_machine(), before)
        self.assertEqual(in_networks(inodes), [])
        self.assertEqual(of_the_machine(), before)

    def held(self, own_processes):
        """A process that holds a cluster, and descriptors of the cluster's processes."""
        holder = subprocess.Popen([sys.executable, "-B", "-c", self.HELD.format(own_processes)], cwd=cluster.HERE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        pids = holder.stdout.readline().split()
        self.assertGreater(len(pids), 8 * 2 + 4)
        return holder, [os.pidfd_open(int(pid)) for pid in pids]

    def check_killed(self, own_processes):
        before = of_the_machine()
        holder, pidfds = self.held(own_processes)
        holder.kill()
        for pidfd in pidfds:
            self.assertTrue(select.select([pidfd], [], [], DEADLINE_S)[0], "a process outlives its cluster")
            os.close(pidfd)
        self.assertEqual(of_the_machine(), before)

    def test_nothing_outlives_a_killed_test(self):
        self.check_killed(True)

    def test_nothing_outlives_a_killed_test_without_process_namespaces(self):
        self.check_killed(False)

    def test_nothing_outlives_a_test_that_is_killed_while_hosts_start(self):
        for _ in range(4):
            holder = subprocess.Popen([sys.executable, "-B", "-c", "import cluster; cluster.Cluster(8).up()"],
                                      cwd=cluster.HERE)
            self.addCleanup(holder.kill)
            own, inside = os.stat("/proc/self/ns/net").st_ino, set()
            children = f"/proc/{holder.pid}/task/{holder.pid}/children"
            while not inside:
                with open(children, encoding="ascii") as f:
                    for pid in f.read().split():
                        try:
                            inside.add(os.stat(f"/proc/{pid}/ns/net").st_ino)
                        except (FileNotFoundError, ProcessLookupError, PermissionError):
                            pass  # it is ending, or becomes another program
                inside.discard(own)
            pidfds = []
            for pid in in_networks(inside):
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    pidfds.append(os.pidfd_open(int(pid)))
            holder.kill()
            holder.wait()
            for pidfd in pidfds:
                self.assertTrue(select.select([pidfd], [], [], DEADLINE_S)[0], "a process outlives its cluster")
                os.close(pidfd)
            self.assertEqual(in_networks(inside), [])

    def test_a_failed_start_says_why_and_leaves_nothing(self):
        before = of_the_machine()
        with self.assertRaisesRegex(cluster.ClusterError, "(?s)node002: .*sshd does not start: .*Nonsense"):
            cluster.Cluster(3, sshd={"node002": ["Nonsense yes"]}).up()
        self.assertEqual(of_the_machine(), before)


class PeopleTest(unittest.TestCase):
    COMMAND = [sys.executable, "-B", os.path.join(cluster.HERE, "people.py")]

    def test_a_cluster_is_held_and_entered(self):
        holder = subprocess.Popen([*self.COMMAND, "up", "2", "--kex", "curve25519-sha256"], stdout=subprocess.PIPE,
                                  text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.kill)
        number = holder.stdout.readline().split()[-1]
        done = subprocess.run([*self.COMMAND, "exec", number, "node002", "ssh", "node001", "hostname; exit 3"],
                              stdout=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.stdout, done.returncode), ("node001\n", 3))
        done = subprocess.run([*self.COMMAND, "exec", number, "node009", "true"], stderr=subprocess.PIPE, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual((done.stderr, done.returncode),
                         (f"people.py: there is no host node009 in a cluster with the number {number}\n", 1))
        holder.send_signal(signal.SIGINT)
        self.assertEqual(holder.wait(DEADLINE_S), 0)

    def test_a_shell_on_the_head_has_a_terminal(self):
        pid, terminal = os.forkpty()
        if pid == 0:
            os.execv(sys.executable, [*self.COMMAND, "shell", "2"])
        text, asked = b"", False
        while True:
            try:
                text += os.read(terminal, 4096)
            except OSError:
                break  # the shell has ended
            if b"# " in text and not asked:
                os.write(terminal, b"ssh node002 'echo on $(hostname)'; exit 5\n")
                asked = True
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5, text)
        self.assertIn(b"\ron node002\r", text)
        self.assertNotIn(b"no job control", text)


class BenchmarkTest(unittest.TestCase):
    """Benchmarks of launches, which make hosts and control groups."""
    BENCH = os.path.join(cluster.HERE, "..", "..", "bench")
    OPERATOR = ("operator", "--suites", "equal", "--contestants", "first,later,installed,ssh")  # not all peers are on a test machine

    def setUp(self):
        with open("/proc/self/mounts", encoding="utf-8") as f:
            mounts = [line.split() for line in f]
        self.accounts = next((words[1] for words in mounts if words[2] == "cgroup2"), "")
        if not self.accounts or not os.access(f"{self.accounts}/cgroup.procs", os.W_OK):
            self.skipTest("CPU time of hosts needs control groups of version 2")

    def start(self, script, *words):
        running = subprocess.Popen(
            [sys.executable, "-B", os.path.join(self.BENCH, script), "--run", os.environ["SCELA_RUN"], *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        return running

    def groups(self, running, below=""):
        return glob.glob(f"{self.accounts}/scela-bench-{running.pid}-*{below}")

    def interrupted(self, signo):
        """The exit status of a benchmark that gets the signal while its hosts are up."""
        running = self.start(*self.OPERATOR, "--hosts", "2", "--runs", "1000")
        deadline = time.monotonic() + DEADLINE_S
        while not self.groups(running, "/hosts/node002"):
            self.assertIsNone(running.poll(), running)
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.005)
        inside = [int(pid) for path in self.groups(running, "/hosts/node*/cgroup.procs") for pid in self.pids(path)]
        pidfds = [os.pidfd_open(pid) for pid in inside]
        running.send_signal(signo)
        running.communicate(timeout=DEADLINE_S)
        for pidfd in pidfds:
            self.assertTrue(select.select([pidfd], [], [], DEADLINE_S)[0], "a process of a host outlives the benchmark")
            os.close(pidfd)
        return running

    @staticmethod
    def pids(path):
        with open(path, encoding="ascii") as f:
            return f.read().split()

    def figures(self, script, *words):
        """What the benchmark records and prints. It leaves nothing."""
        before = of_the_machine()
        with tempfile.TemporaryDirectory() as folder:
            running = self.start(script, *words, "--results", f"{folder}/figures.json")
            out, err = running.communicate(timeout=DEADLINE_S)
            self.assertEqual(running.returncode, 0, err)
            with open(f"{folder}/figures.json", encoding="utf-8") as f:
                figures = json.load(f)
        self.assertEqual(self.groups(running), [])
        self.assertEqual(of_the_machine(), before)
        return figures, out

    def test_a_benchmark_has_a_row_for_each_state_of_the_agent_and_leaves_nothing(self):
        figures, out = self.figures(*self.OPERATOR, "--hosts", "1,2", "--runs", "1")
        self.assertEqual([row["hosts"] for row in figures["equal"]], [1, 2])
        for row in figures["equal"]:
            self.assertEqual(set(row["times"]), {"first", "later", "installed", "ssh"})
            self.assertEqual(row["held"], {"first": True, "later": True, "installed": True})
            for name, times in row["times"].items():
                for field in ("wall", "launcher", "host", "host_max"):
                    self.assertGreater(times[field]["median"], 0, (name, field))
                self.assertLessEqual(times["host"]["median"], times["host_max"]["median"], name)
        for line in ("| scela-run -b, first run |", "| scela-run -b, later run |", "| scela-run -b, agent installed |"):
            self.assertEqual(out.count(line), 3, out)

    def test_launches_over_ssh_have_a_row_for_each_state_of_the_agent_and_leave_nothing(self):
        suites = ("equal", "defaults", "mpi", "delay")
        figures, out = self.figures("launch_ssh.py", "--quick", "--suites", ",".join(suites), "--hosts", "1,2", "--repeat", "1")
        for suite in suites:
            rows = figures[suite] if isinstance(figures[suite], list) else [figures[suite]]
            self.assertEqual(rows[-1]["hosts"], {"defaults": 1, "mpi": 4}.get(suite, 2))
            for row in rows:
                self.assertLessEqual({"first", "later", "tree" if suite == "delay" else "scela"}, set(row["times"]))
                self.assertEqual(row["held"], {"first": True, "later": True}, suite)
        self.assertEqual(out.count("a later run, which finds it in the cache of each host."), len(suites), out)

    def test_launches_of_open_mpi_have_a_row_for_each_state_of_the_agent_and_leave_nothing(self):
        figures, out = self.figures("openmpi.py", "--quick", "--suites", "ssh", "--repeat", "1")
        row, = figures["ssh"]
        self.assertEqual(set(row["times"]), {"scela", "first", "later", "open_mpi"})
        self.assertEqual(row["held"], {"first": True, "later": True})
        for name in ("scela-run --pmi pmix", "scela-run --pmi pmix, first run", "scela-run --pmi pmix, later run", "mpirun"):
            self.assertEqual(out.count(f"\n| {name} |"), 1, out)

    def test_headlines_of_launches_are_made_of_their_records(self):
        sys.path.append(self.BENCH)
        import launches  # pylint: disable=import-outside-toplevel
        wall = {"ssh": 2, "pdsh": 3, "clush": 4, "hydra": 2.5, "open_mpi": 5, "scela": 1, "flat": 2, "first": 3.3, "later": 2}
        times = {name: {"wall": {"median": seconds}, "launcher": {"median": 0.01}} for name, seconds in wall.items()}
        run = {"date": "2026-01-02", "commit": "abc", "command": "bench/launch_ssh.py"}
        made = list(launches.of_hosts({"equal": [{"hosts": hosts, "times": times} for hosts in (16, 64, 128)],
                                               "runs": {"equal": run}}))
        section = "ssh.md#launch-over-ssh-with-one-key-exchange-for-all"
        kept = [{"what": name, "section": where} for name, where in (("one", "a"), ("old", section), ("two", "b"), ("older", section))]

        def verdict(row):
            met = "ratio" in row and float(row["ratio"]) <= float(row["target"].split()[-1])
            return "met" if met else "missed"

        rows = launches.updated(kept, [row for row in made if "Growth" not in row["what"]], verdict)
        self.assertEqual([rows[0], rows[-1]], [kept[0], kept[2]])
        found = {row["what"].replace("`hostname` on ", "").replace(" over ssh", "").replace(", one key exchange for all programs", ""):
                 (row["result"], row["peer_result"], row["ratio"], row.get("headline", False)) for row in rows[1:-1]}
        self.assertEqual(found, {
            "128 hosts, agent installed": ("1.00 s", "2.50 s", "0.40", True),
            "128 hosts, later run": ("2.00 s", "2.50 s", "0.80", True),
            "128 hosts, agent installed, `--flat`": ("2.00 s", "2.50 s", "0.80", False),
            "64 hosts, agent installed, `--flat`": ("2.00 s", "2.50 s", "0.80", False),
            "64 hosts, later run": ("2.00 s", "2.50 s", "0.80", False),
            "16 hosts, later run": ("2.00 s", "2.50 s", "0.80", False),
            "128 hosts, first run": ("3.30 s", "3.00 s", "1.10", True),
            "64 hosts, first run": ("3.30 s", "3.00 s", "1.10", False),
            "16 hosts, first run": ("3.30 s", "3.00 s", "1.10", False)})

    def test_hosts_are_in_the_state_of_the_agent_before_each_run(self):
        """With folders in the place of hosts, and runs that do to their caches what scela-run does."""
        sys.path.append(self.BENCH)
        import ssh_contest  # pylint: disable=import-outside-toplevel
        import measure  # pylint: disable=import-outside-toplevel
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = lambda name, path: f"{folder}/{name}{path}"
        names = ["node001", "node002"]
        caches = ssh_contest.Caches(self, names)

        def run(caching=True):
            found = caches.filled()
            for name in names if caching else ():
                os.makedirs(self.path(name, ssh_contest.CACHE), exist_ok=True)
                with open(self.path(name, ssh_contest.CACHE) + "/agent", "w", encoding="ascii"):
                    pass
            return found

        def state(name, caching=True):
            return ssh_contest.Prepared(name, caches, lambda: run(caching))

        first, later, installed = state("first"), state("later"), state("installed", caching=False)
        for before in (0, 2):
            self.assertEqual((first(), first.held), (0, True))
            self.assertEqual((later(), later.held), (2, True))
            self.assertEqual((installed(), installed.held), (before, True))
            caches.empty()
            self.assertEqual((later(), later.held), (2, True))
        caches.empty()
        without = state("later", caching=False)
        self.assertEqual((without(), without.held), (0, False))
        with self.assertRaisesRegex(measure.Failed, "2 hosts with an installed agent were sent another"):
            state("installed", caching=True)()

    def test_a_benchmark_that_is_interrupted_leaves_nothing(self):
        for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signo):
                running = self.interrupted(signo)
                self.assertEqual((running.returncode, self.groups(running)), (128 + signo, []))

    def test_the_groups_of_a_benchmark_that_was_killed_are_removed_by_the_next(self):
        killed = self.interrupted(signal.SIGKILL)
        self.assertTrue(self.groups(killed))
        following = self.start(*self.OPERATOR, "--hosts", "1", "--runs", "1")
        _, err = following.communicate(timeout=DEADLINE_S)
        self.assertEqual((following.returncode, self.groups(killed)), (0, []), err)


if __name__ == "__main__":
    case.main()
