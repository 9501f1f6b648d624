"""Hosts in the middle of the tree are lost while the ranks below them write and read: those go on below another."""
import contextlib
import os
import shutil
import signal
import subprocess
import time

import case
from case import DEADLINE_S
from jobs import JobTest, UNREACHABLE

# Of degree 2, so three levels: node001 (node002 (node003 node004), node005 (..)), node008 (..).
ALL = ("-w", "node[001-014]", "--degree", "2", "--ppn", "1", "--on-failure", "wait", "--stdin", "all")
LINES = 3000
WRITE = 'while [ $i -lt $n ]; do i=$((i + 1)); echo "$SCELA_RANK $i ......................................"; done; '
PROGRAM = f'i=0; n={LINES // 2}; {WRITE}echo "$SCELA_RANK up"; read -r word; n={LINES}; {WRITE}echo "$SCELA_RANK $word"'


class AdoptionTest(JobTest):
    SIZE = 14

    def begin(self, *words):
        job = self.start(*ALL, *words, "sh", "-c", PROGRAM, stdin=subprocess.PIPE)
        self.lines = {rank: [] for rank in range(self.SIZE)}
        up = 0
        while up < self.SIZE:
            up += self.take(job.stdout.readline()) == "up"
        return job

    def take(self, line):
        rank, word = line.split()[:2]
        self.lines[int(rank)].append(word)
        return word

    def finish(self, job, lost, status=UNREACHABLE):
        """Every rank but the lost nodes' reads what it is sent, and all its lines arrive, once and in order."""
        out, err = job.communicate("over\n", timeout=DEADLINE_S)
        for line in out.splitlines():
            self.take(line)
        half = LINES // 2
        whole = [*map(str, range(1, half + 1)), "up", *map(str, range(half + 1, LINES + 1)), "over"]
        for rank, words in self.lines.items():
            host = f"node{rank + 1:03}"
            self.assertEqual(words, whole[:half + 1] if host in lost else whole, f"{host}\n{err}")
        self.assertEqual(job.returncode, status, err)
        return err

    def forget_directories(self, *hosts):
        """Nobody lives there to remove it."""
        for host in hosts:
            folder = self.cluster.path(host, "/tmp")
            for name in os.listdir(folder):
                if name.startswith("scela-"):
                    self.addCleanup(shutil.rmtree, f"{folder}/{name}")

    def crash(self, *hosts):
        self.forget_directories(*hosts)
        for host in hosts:
            self.cluster.crash(host)

    def kill(self, *hosts):
        """The agent and its guardian: nobody is left to tell anybody."""
        self.forget_directories(*hosts)
        for host in hosts:
            pids = self.agents(host)
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):  # an agent ends with its guardian
                        os.kill(pid, number)

    def test_children_of_a_lost_agent_go_on_below_scela_run(self):
        job = self.begin()
        self.forget_logins()
        self.kill("node001")
        err = self.finish(job, {"node001"})
        self.assertEqual(self.logins("node002", "node005"), {"node002": ["head"], "node005": ["head"]})
        self.assertRegex(err, "rank 0 on node001 .*lost with its node")

    def test_children_of_a_lost_agent_go_on_below_its_parent(self):
        job = self.begin()
        self.forget_logins()
        self.kill("node002")
        self.finish(job, {"node002"})
        self.assertEqual(self.logins("node003", "node004"), {"node003": ["node001"], "node004": ["node001"]})

    def test_two_levels_are_lost_at_once(self):
        job = self.begin()
        self.kill("node001", "node002")
        self.finish(job, {"node001", "node002"})

    def test_an_inner_host_loses_power(self):
        job = self.begin("--heartbeat", "1")
        self.crash("node001")
        self.finish(job, {"node001"})

    def test_two_levels_lose_power_at_once(self):
        job = self.begin("--heartbeat", "1")
        self.crash("node001", "node002")
        self.finish(job, {"node001", "node002"})

    def test_the_cable_of_an_inner_host_is_cut(self):
        """It ends its own node, which nobody reaches."""
        job = self.begin("--heartbeat", "1", "--adopt-timeout", "4")
        self.cluster.cut("node008")
        self.finish(job, {"node008"})

    def test_agents_over_an_ssh_client_are_adopted_too(self):
        job = self.begin("--launch", "ssh-exec")
        self.kill("node002")
        self.finish(job, {"node002"})

    def test_scela_run_is_killed_after_an_adoption(self):
        job = self.begin()
        self.kill("node001")
        for host in ("node002", "node005"):
            self.await_attached(host)
        job.kill()
        job.communicate(timeout=DEADLINE_S)  # what is left is looked for after the test

    def await_attached(self, host):
        deadline = time.monotonic() + DEADLINE_S
        while not any("--attach" in process.words for process in self.cluster.processes(host)):
            self.assertLess(time.monotonic(), deadline, "nobody came to adopt")
            time.sleep(0.01)


if __name__ == "__main__":
    case.main()
