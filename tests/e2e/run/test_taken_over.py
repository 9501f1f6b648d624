"""A node that was taken over: it can ruin its own ranks, and costs every other process a bounded amount.

Host "evil" runs taken_over_node instead of an agent (see there for its modes), as the second of two hosts: its
parent is the agent of host "good". What the modes send is several times what any process may take of it.
"""
import os
import re
import signal
import time

import job
from job import JobTest

MAX_GROWTH_KIB = 64 * 1024
MAX_STDERR = 1024 * 1024


def resident_kib(pid, field="VmHWM:"):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next((int(line.split()[1]) for line in f if line.startswith(field)), 0)


class TakenOverTest(JobTest):
    def attack(self, mode, *options, stay=True, end="", env=None, flat=False):
        """Runs the mode to its end; how scela-run ended when told to, once the attack was over, or by itself if `end` says that
        the attack costs the node its link. The node is below an honest one, or, if `flat`, beside it."""
        shell = self.script("starter", f"""
            host=$1; shift
            [ "$host" = good ] && exec sh -c "$*"
            exec {os.environ["TAKEN_OVER_NODE"]} {mode} "$(echo "$*" | sed 's/.*--id \\([0-9a-f]*\\).*/\\1/')" """)
        self.running = self.start("--launch", f"rsh:{shell}", "--hosts", "good,evil", "--ppn", 1,
                                  *(() if flat else ("--degree", 1)), *options,
                                  "sh", "-c", job.TELL + ("exec sleep 1000" if stay else "exit 0"), env=env or {})
        before = {}
        peaks = {}
        # The honest rank's words come first, or the hostile node's: its attack may end the job.
        deadline = time.monotonic() + job.DEADLINE_S
        over = False
        while not over and time.monotonic() < deadline:
            for one in self.processes():
                if one.name in ("scela-run", "scela-nla", "scela-guardian", "scela-pmix"):
                    try:
                        peaks[one.pid] = one.name, resident_kib(one.pid)
                    except (OSError, StopIteration):
                        continue
                    before.setdefault(one.pid, peaks[one.pid][1])
            self.read_fifo_if_any()
            over = mode in self.news or self.running.process.poll() is not None
        self.assertTrue(over, f"the attack has not ended: {self.news}\n{self.running.err()}")
        if stay and not end and self.running.process.poll() is None:
            self.running.signal(signal.SIGTERM)
        ended = self.running.wait()
        for pid, (name, peak) in peaks.items():
            self.assertLess(peak - before[pid], MAX_GROWTH_KIB, f"{name} has grown; scela-run said:\n{ended.err[:2000]}")
        self.assertLess(len(ended.err), MAX_STDERR)
        self.assertNotRegex(ended.err, "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")
        self.assertNotEqual(ended.status, -signal.SIGSEGV)
        return ended

    def read_fifo_if_any(self):
        with job.contextlib.suppress(BlockingIOError):
            self.read_fifo()

    def test_messages_that_no_rank_receives(self):
        self.attack("routed_messages")

    def test_messages_that_never_end(self):
        self.attack("pieces")

    def test_questions_to_the_server_of_pmix(self):
        self.attack("questions", "--pmi", "pmix")

    def test_operations_of_ranks_that_do_not_exist(self):
        ended = self.attack("sets")
        self.assertRegex(ended.err, "evil")

    def test_operations_with_long_complaints(self):
        ended = self.attack("mismatches")
        self.assertRegex(ended.err, "evil")

    def test_records_of_the_log_are_cleaned_and_bear_the_name_of_their_node(self):
        ended = self.attack("log")
        line = next(line for line in ended.err.splitlines() if "all ranks failed" in line)
        self.assertRegex(line, r"^scela-run: [0-9:.]+ error tree evil: all ranks failed\?\]0;TITLE\?\?\[31m\?31mRED +scela-run: please")

    def test_records_of_the_log_without_end(self):
        ended = self.attack("log-flood")
        self.assertRegex(ended.err, "evil: it has said too much")
        self.assertLess(len(ended.err), 128 * 1024)

    def test_counters_of_a_million_levels(self):
        ended = self.attack("nested-counters", "--stats", stay=False)
        self.assertRegex(ended.err, "messages")

    def test_counters_of_one_long_line(self):
        self.attack("long-line", "--stats", stay=False)

    def test_counters_without_end(self):
        self.attack("many-counters", "--stats", stay=False)

    def test_failures_without_end(self):
        self.attack("failures", "--on-failure", "wait")

    def test_a_line_with_the_label_of_another_node_s_rank_has_its_own(self):
        ended = self.attack("labels", "-l")
        self.assertIn(b"1: 0: forged\n", ended.out)
        self.assertNotRegex(ended.out, b"(?m)^0: forged")

    def test_names_without_end(self):
        self.attack("names")

    def test_questions_for_keys_without_end(self):
        self.attack("puts")

    def test_a_frame_that_only_a_parent_sends(self):
        ended = self.attack("introduce", end="link")
        self.assertRegex(ended.err, "evil.*protocol error: a frame that only a parent sends")

    def test_spawns_without_end_that_are_refused(self):
        ended = self.attack("spawn", "--no-spawn")
        self.assertRegex(ended.err, r"rank 1 \(sh\) could not spawn: spawning is switched off \(--no-spawn\)")
        self.assertRegex(ended.err, "further failures to spawn are not told")
        self.assertNotIn(b"spawned", ended.out)

    def test_a_node_that_reads_nothing_is_given_up_and_delays_others_only_briefly(self):
        # Host "good" must beat while it ends a thousand spawned ranks on a busy machine, so the period is not shorter.
        ended = self.attack("deaf", "--heartbeat", "1", "--grace", "0.1", end="link")
        self.assertRegex(ended.err, "evil.*it takes nothing of what is sent to it")
        self.assertRegex(ended.err, "failed nodes: evil\n")

    def test_a_node_that_does_not_end_is_the_one_to_blame(self):
        ended = self.attack("stay", "--grace", "0.1")
        self.assertRegex(ended.err, "failed nodes: evil\n")

    def test_a_node_beside_an_honest_one_that_does_not_end_is_the_one_to_blame(self):
        ended = self.attack("stay", "--grace", "0.1", flat=True)
        self.assertRegex(ended.err, "failed nodes: evil\n")


if __name__ == "__main__":
    job.main()
