"""What agents' links run over, that they notice who is gone, and that they notice nobody else."""
import hashlib
import os
import re
import signal
import subprocess
import time

import case
import layout
from case import ClusterTest, DEADLINE_S

MB = 1 << 20
UNREACHABLE = 68  # exit status: a node was lost, see scela-run(1)
ALL = "node[001-004]"


class LinksTest(ClusterTest):
    SIZE = 4

    def start(self, *words, **streams):
        """scela-run on the head, with standard output and error captured."""
        job = self.cluster.popen("head", [self.scela_run(), "--agent", self.scela_agent(), *words],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, **streams)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        return job

    def finish(self, job, status=0, data=None):
        out, err = job.communicate(data, timeout=DEADLINE_S)
        self.assertEqual(job.returncode, status, err.decode())
        return out, err.decode()

    def run_job(self, *words, status=0, data=None):
        pipe = subprocess.PIPE if data is not None else subprocess.DEVNULL
        return self.finish(self.start(*words, stdin=pipe), status, data)

    def await_ranks(self, job, count):
        """Until so many ranks have written their first line."""
        for _ in range(count):
            self.assertEqual(job.stdout.readline(), b"here\n")


class ChangeTest(LinksTest):
    def changes(self, hosts, *words):
        """A job that runs until its log has told of so many links that changed; the hosts at their ends."""
        job = self.start("-v", "--stdin", "all", *words, "cat", stdin=subprocess.PIPE)
        found = []
        while len(found) < hosts:
            line = job.stderr.readline().decode()
            self.assertNotEqual(line, "", "the log ended")
            found += re.findall(r"link to (node\d+) upgraded to TCP", line)
        self.finish(job, data=b"")
        return sorted(found)

    def test_links_change_to_tcp(self):
        self.assertEqual(self.changes(4, "-w", ALL, "-n", "4", "--degree", "2"), self.cluster.hosts)

    def test_links_of_an_ssh_client_stay_as_they_are(self):
        """Only the client knows the address that its configuration leads to."""
        _, err = self.run_job("-v", "--launch", "ssh-exec", "-w", "node[001-002]", "-n", "2", "sleep", "3")
        self.assertNotIn("upgraded", err)

    def test_a_short_command_stays_on_ssh(self):
        _, err = self.run_job("-v", "-w", ALL, "-n", "4", "--degree", "2", "true")
        self.assertNotIn("upgraded", err)

    def test_a_firewall_keeps_a_link_on_ssh(self):
        self.cluster.firewall("node002")
        out, err = self.run_job("-v", "--connect-timeout", "2", "-w", ALL, "-n", "4", "--degree", "2", "sh", "-c", "sleep 4; echo here")
        self.assertEqual(out, b"here\n" * 4)
        self.assertRegex(err, r"link to node002 stays as it is: connect to \S+ port \d+: no answer within 2000 ms")
        self.assertEqual(len(re.findall(r"upgraded to TCP", err)), 3, err)

    def test_tcp_is_an_error_where_it_cannot_be(self):
        self.cluster.firewall("node002")
        _, err = self.run_job("--link", "tcp", "--connect-timeout", "2", "-w", ALL, "-n", "4", "--degree", "2", "true", status=71)
        self.assertRegex(err, r"node002.*no direct connection, as --link tcp wants it: connect to \S+ port \d+: no ans")


class NetworkTest(LinksTest):
    """Every host has a second interface, fast0, with an address of a second network."""
    FAST = "10.200.0.0/24"

    def setUp(self):
        super().setUp()
        for number, host in enumerate(self.cluster.everyone):
            self.addCleanup(self.cluster.run, host, ["ip", "link", "del", "fast0"], check=True)
            self.cluster.run(host, ["ip", "link", "add", "link", "eth0", "name", "fast0", "type", "macvlan", "mode", "bridge"],
                             check=True)
            self.cluster.run(host, ["ip", "addr", "add", f"10.200.0.{number + 1}/24", "dev", "fast0"], check=True)
            self.cluster.run(host, ["ip", "link", "set", "fast0", "up"], check=True)

    def fast(self, host):
        return f"10.200.0.{self.cluster.everyone.index(host) + 1}"

    def test_links_and_meeting_points_are_in_the_chosen_network(self):
        for network in (self.FAST, "fast0"):
            out, err = self.run_job("-v", "--link", "tcp", "--network", network, "--env-style", "torch", "-w", ALL, "-n", "4",
                                    "--degree", "2", "sh", "-c", "echo $MASTER_ADDR")
            self.assertEqual(out.decode().splitlines(), [self.fast("node001")] * 4)
            self.assertEqual(sorted(re.findall(r"link to (node\d+) upgraded to TCP at (\S+)", err)),
                             [(host, self.fast(host)) for host in self.cluster.hosts])

    def test_a_launcher_without_the_named_interface_links_by_the_hosts_names(self):
        """It could not judge the addresses that its children would offer."""
        self.cluster.run("head", ["ip", "addr", "flush", "dev", "fast0"], check=True)
        for network in ("fast0", "fast0,198.51.100.0/24"):
            _, err = self.run_job("-v", "--link", "tcp", "--network", network, "-w", ALL, "-n", "4", "true")
            self.assertEqual(sorted(re.findall(r"link to (node\d+) upgraded to TCP at (\S+)", err)),
                             [(host, layout.address(number)) for number, host in enumerate(self.cluster.hosts, 1)])

    def test_a_host_outside_of_the_network_is_named_with_its_addresses(self):
        self.cluster.run("node003", ["ip", "addr", "flush", "dev", "fast0"], check=True)
        _, err = self.run_job("--network", self.FAST, "-w", ALL, "-n", "4", "true", status=71)
        why = (r"use the network 10\.200\.0\.0/24 \(--network\): the machine has no address there, but "
               rf".*{re.escape(layout.address(3))} \(eth0\)")
        self.assertRegex(err, rf"rank 2 on node003 \(true\) not started: {why}")
        _, err = self.run_job("--network", self.FAST, "--env-style", "torch", "-w", "node003", "-n", "1", "true", status=71)
        self.assertRegex(err, rf"node003: find a port where ranks can meet \(--env-style\): its agent has reported '{why}")
        _, err = self.run_job("--link", "tcp", "--network", self.FAST, "-w", ALL, "-n", "4", "true", status=71)
        self.assertRegex(err, r"node003.*it has no address in the network 10\.200\.0\.0/24")

    def test_a_host_outside_of_the_network_fails_alone_if_the_command_runs_once_on_each_host(self):
        self.cluster.run("node003", ["ip", "addr", "flush", "dev", "fast0"], check=True)
        for words in ([], ["--env-style", "torch"]):
            out, err = self.run_job("--network", self.FAST, *words, "-w", ALL, "hostname", status=71)
            self.assertEqual(sorted(out.decode().split()[1::2]), ["node001", "node002", "node004"])
            self.assertRegex(err, r"\n?scela-run:   node003 not started: use the network 10\.200\.0\.0/24 \(--network\): the machine has "
                                  rf"no address there, but .*{re.escape(layout.address(3))} \(eth0\)")
            self.assertRegex(err, r"ok 3 \(node\[001-002,004\]\) · not started 1 \(node003\)")


class IntactTest(LinksTest):
    """Every byte arrives once and in order."""
    SIZE = 8
    LINES = 60_000

    def check(self, link, pause):
        script = f'seq -f "$PMI_RANK %.0f" 1 1000; sleep {pause}; seq -f "$PMI_RANK %.0f" 1001 {self.LINES}'
        folder = f"/tmp/{link}"
        self.run_job("--link", link, "-w", "node[001-008]", "--degree", "2", "--ppn", "8", "-n", "64", "--oversubscribe",
                     "--output-dir", folder, "sh", "-c", script)
        for rank in range(64):
            expected = "".join(f"{rank} {i}\n" for i in range(1, self.LINES + 1)).encode()
            with open(self.cluster.path("head", f"{folder}/rank.{rank:02d}.out"), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).digest(), hashlib.sha256(expected).digest(), rank)
        self.cluster.run("head", ["rm", "-r", folder], check=True)

    def test_output_of_64_ranks_over_ssh(self):
        self.check("ssh", 0)

    def test_output_of_64_ranks_over_tcp(self):
        self.check("tcp", 0)

    def test_output_of_64_ranks_while_links_change(self):
        self.check("auto", 0)
        self.check("auto", 0.95)  # in the middle of the rest


class RekeyTest(LinksTest):
    SIZE = 1
    OPTIONS = {"kex": "curve25519-sha256", "sshd": ["RekeyLimit 1M", "LogLevel DEBUG1"]}

    def test_new_keys_every_megabyte_lose_nothing(self):
        data = os.urandom(MB) * 100
        out, _ = self.run_job("--link", "ssh", "-w", "node001", "-n", "1", "cat", data=data)
        self.assertTrue(out == data)
        self.assertGreater(self.cluster.log("node001").count("rekeying in"), 100)


class HealthTest(LinksTest):
    HEARTBEAT = 1

    def lose(self, fault, undo, link):
        job = self.start("--heartbeat", str(self.HEARTBEAT), "--link", link, "-w", ALL, "-n", "4", "--degree", "4",
                         "sh", "-c", "echo here; exec sleep 1000")
        self.await_ranks(job, 4)
        time.sleep(2.5 * self.HEARTBEAT)
        fault("node003")
        _, err = self.finish(job, UNREACHABLE)
        self.assertRegex(err, r"rank 2 on node003 .*no sign of life for 3 s")
        # The node's own agent has noticed that its parent is gone, if it could.
        if fault == self.cluster.cut:
            time.sleep(3 * self.HEARTBEAT)
        undo("node003")
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_a_cut_link_is_noticed_over_ssh(self):
        self.lose(self.cluster.cut, self.cluster.heal, "ssh")

    def test_a_cut_link_is_noticed_over_tcp(self):
        self.lose(self.cluster.cut, self.cluster.heal, "tcp")

    def test_a_frozen_host_is_noticed_over_ssh(self):
        self.lose(self.cluster.freeze, self.cluster.thaw, "ssh")

    def test_a_frozen_host_is_noticed_over_tcp(self):
        self.lose(self.cluster.freeze, self.cluster.thaw, "tcp")

    def test_an_agent_that_is_cut_off_from_its_launcher_ends(self):
        job = self.start("--heartbeat", str(self.HEARTBEAT), "-w", "node001", "-n", "1", "sh", "-c",
                         "echo here; exec sleep 1000")
        self.await_ranks(job, 1)
        self.cluster.cut("head")
        # All that is ours; the session's sshd learns of the cut only when it has something to say.
        deadline = time.monotonic() + DEADLINE_S
        while any("scela" in str(one) or "sleep" in str(one) for one in self.cluster.processes("node001")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.finish(job, UNREACHABLE)

    def test_a_launcher_that_is_stopped_for_long_loses_no_host(self):  # alone
        for link in ("ssh", "tcp"):
            job = self.start("--heartbeat", str(self.HEARTBEAT), "--link", link, "-w", ALL, "-n", "4", "--degree", "2",
                             "sh", "-c", "echo here; sleep 9; echo there")
            self.await_ranks(job, 4)
            job.send_signal(signal.SIGSTOP)
            time.sleep(6 * self.HEARTBEAT)
            job.send_signal(signal.SIGCONT)
            self.assertEqual(self.finish(job)[0], b"there\n" * 4)

    def test_an_agent_below_a_stopped_sshd_ends_when_scela_run_has_gone(self):
        """The machine of scela-run answers, as that of one that is stopped does; but its connection is closed."""
        for launch in ("ssh", "ssh-exec"):
            job = self.start("--heartbeat", str(self.HEARTBEAT), "--link", "ssh", "--launch", launch, "-w", "node001", "-n", "1",
                             "sh", "-c", "echo here; exec sleep 1000")
            self.await_ranks(job, 1)
            session = next(each for each in self.cluster.processes("node001") if each.words.startswith("sshd: root@"))
            os.kill(session.pid, signal.SIGSTOP)
            job.kill()
            self.cluster.assert_left("node001", {session.words}, within=DEADLINE_S)
            os.kill(session.pid, signal.SIGCONT)
            self.cluster.assert_empty("node001", "head")

    def test_a_reader_that_stalls_loses_no_host(self):  # alone
        count = 40 * MB
        for link in ("ssh", "tcp"):
            job = self.start("--heartbeat", str(self.HEARTBEAT), "--link", link, "-w", ALL, "-n", "4", "--degree", "2",
                             "sh", "-c", f"head -c {count} /dev/zero")
            job.stdout.read(MB)
            time.sleep(6 * self.HEARTBEAT)
            self.assertEqual(len(self.finish(job)[0]), 4 * count - MB)

    def test_without_beats_a_cut_link_is_waited_for(self):
        job = self.start("--heartbeat", "0", "-w", ALL, "-n", "4", "--degree", "2", "sh", "-c", "echo here; sleep 8; echo there")
        self.await_ranks(job, 4)
        self.cluster.cut("node003")
        time.sleep(6 * self.HEARTBEAT)
        self.cluster.heal("node003")
        self.assertEqual(self.finish(job)[0], b"there\n" * 4)

    def test_a_slow_link_is_no_lost_one(self):  # alone
        self.cluster.rate("node003", 4)
        for link in ("ssh", "tcp"):
            job = self.start("--heartbeat", str(self.HEARTBEAT), "--link", link, "-w", ALL, "-n", "4", "--degree", "4",
                             "sh", "-c", f"head -c {MB} /dev/zero")
            self.assertEqual(len(self.finish(job)[0]), 4 * MB)


if __name__ == "__main__":
    case.main()
