"""Processes of a rank that do not keep to PMI: the job ends, and an agent's memory stays small."""
import os
import re
import resource
import signal

import job
from job import JobTest

INIT = b"cmd=init pmi_version=1 pmi_subversion=1\n"
AGENT_KIB = 16 * 1024  # many times what an agent needs
# Of the largest process of a job, which are these Python programs.
LARGEST_KIB = 40 * 1024

# Rank 1 leaves a child that asks and asks, from before the rank's end or from its end on. The child is no part of
# the rank's session, and signals do not end it.
LEAVE_A_FLOOD = [job.PYTHON, "-c", f"""
import os, select, signal, sys
if os.environ["SCELA_RANK"] != "1":
    sys.exit()
rank = os.pidfd_open(os.getpid())
os.write(3, {INIT})
os.read(3, 1000)
ready, go = os.pipe()
if os.fork() > 0:
    os.read(ready, 1)
    os._exit(int(sys.argv[2]))
os.setsid()
for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(signo, signal.SIG_IGN)
flood = b"cmd=get_maxes\\n" * 100000
for descriptor in (1, 2):
    os.close(descriptor)
os.write(go, b"x")
if sys.argv[1] == "after":
    select.select([rank], [], [])
try:
    while True:
        os.write(3, flood)
except OSError:
    signal.pause()
"""]

# Rank 1 asks and asks, and never reads an answer.
DO_NOT_READ = [job.PYTHON, "-c", f"""
import os, signal, sys
rank = os.environ["SCELA_RANK"]
signal.signal(signal.SIGINT, signal.SIG_DFL)
with open(os.environ["E2E_READY"], "w") as ready:
    print(rank, os.getpid(), file=ready)
while rank != "1":
    signal.pause()
os.write(3, {INIT})
flood = sys.argv[1].encode() + b"\\n"
while True:
    os.write(3, flood * 100)
"""]


class PmiTest(JobTest):
    def leave_a_flood(self, when, code):
        ended = self.run_job("--sim-nodes", 2, "--degree", 1, "--ppn", 2, "--grace", "0.2", *LEAVE_A_FLOOD, when, code)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, LARGEST_KIB)
        return ended

    def test_processes_that_a_rank_leaves_may_ask_on(self):
        for when in ("before", "after"):
            ended = self.leave_a_flood(when, 0)
            self.assert_ended(ended, 1, r"rank 1 on sim0 \(\S+\) ended without finalizing.*")

    def test_processes_that_a_failing_rank_leaves_may_ask_on(self):
        for when in ("before", "after"):
            ended = self.leave_a_flood(when, 7)
            self.assert_ended(ended, 7, r"rank 1 on sim0 \(\S+\) exited with code 7")

    def peak_kib(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return int(re.search(r"(?m)^VmHWM:\s*(\d+) kB$", f.read())[1])

    def test_a_rank_that_does_not_read_its_answers_is_made_to_wait(self):
        for signo in (signal.SIGINT, signal.SIGTERM):
            running = self.start("--sim-nodes", 2, "--degree", 1, "--ppn", 2, *DO_NOT_READ, "cmd=get_maxes")
            ranks = running.ranks(4)
            self.wait_standstill()
            self.assertGreater(job.moved(ranks[1])[1], 64 * 1024, "bytes asked")
            self.assertLess(self.peak_kib(running.nodes()["sim0"].agent), AGENT_KIB)
            running.signal(signo)
            self.assert_ended(running.wait(), 128 + signo, rf"interrupted by signal {signo:d} .*; the job was ended")

    def test_a_rank_that_does_not_read_its_answers_is_held_to_the_time_limit(self):
        ended = self.run_job("--timeout", 1, "-n", 2, *DO_NOT_READ, "cmd=get_maxes")
        self.assert_ended(ended, 124, r"the job reached its time limit of 1 s \(--timeout\) and was ended")

    def test_a_rank_that_does_not_wait_for_a_barrier_ends_the_job_with_that_rank_named(self):
        ended = self.run_job("--sim-nodes", 2, "--degree", 1, "--ppn", 2, *DO_NOT_READ, "cmd=barrier_in")
        self.assert_ended(ended, 1, r"rank 1 on sim0 \(\S+\) broke the PMI protocol: .*without waiting.*")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, LARGEST_KIB)


class UseTest(JobTest):
    def test_gets_from_shared_memory_count_as_use(self):
        """What a rank reads in its node's memory stays in its cache, and what it does not read is evicted and asked for again."""
        program = os.path.join(os.environ["SCELA_PROGRAMS"], "pmi_shared")
        messages = {}
        for policy in ("hcmab-lru", "hcma"):
            for how in ("used", "unused"):
                ended = self.run_job("--stats", "--cache", policy, "--cache-limit", 12_000, "--sim-nodes", 2, "--degree", 2, "--ppn", 1,
                                     program, how)
                self.assertEqual(ended.status, 0, ended.err)
                messages[how] = int(re.search(r"messages (\d+)", ended.err).group(1))
            # A question and an answer for each of 20 keys, on one node at least.
            self.assertLess(messages["used"] + 30, messages["unused"], policy)


if __name__ == "__main__":
    job.main()
