"""Ctrl-Z and what comes after it: the ranks stop and go on, the agents never stop."""
import os
import pty
import select
import signal
import time

import job
from job import JobTest

# A rank that says who it is, waits for a letter, and says that it got it.
ASK = job.TELL + 'letter=$(head -c 1 "$0"); echo "$SCELA_RANK got $letter"'


class StopTest(JobTest):
    def wait_state(self, pids, states):
        """Waits until each process is in one of the states; there is no event for that of a stranger's child."""
        deadline = time.monotonic() + job.DEADLINE_S
        while time.monotonic() < deadline:
            found = [job.process(pid) for pid in pids]
            if all(one and one.state in states for one in found):
                return
            select.select([], [], [], 0.001)
        self.fail(f"{pids} are not in {states}\n{self.state_text()}")

    def channel(self):
        path = os.path.join(self.folder, "channel")
        os.mkfifo(path)
        handle = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, handle)
        return path, handle

    def agents(self):
        return [one.pid for one in self.processes() if one.name in ("scela-nla", "scela-guardian")]

    def test_sigtstp_stops_the_ranks_and_scela_run_and_sigcont_continues_them(self):
        path, handle = self.channel()
        running = self.start("--sim-nodes", 3, "--degree", 1, "--ppn", 2, "sh", "-c", ASK, path)
        ranks = running.ranks(6)
        for _ in range(2):  # stopped and continued twice
            running.signal(signal.SIGTSTP)
            os.waitid(os.P_PID, running.pid, os.WSTOPPED)
            self.wait_state(ranks.values(), "T")
            self.assertEqual(len(self.agents()), 6)
            self.wait_state(self.agents(), "SR")
            running.signal(signal.SIGCONT)
            os.waitid(os.P_PID, running.pid, os.WCONTINUED)
            self.wait_state([running.pid, *ranks.values()], "SR")
        os.write(handle, b"xxxxxx")
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), [f"{rank} got x" for rank in range(6)])

    def test_a_signal_to_an_agent_or_its_guardian_leaves_ranks_their_grace(self):
        """A scheduler signals the processes that it has started: no rank dies with its agent."""
        rank = self.script("saves", 'trap "echo saved; exit 0" TERM\n' + job.TELL + "\nwhile :; do sleep 1000 & wait; done\n")
        for name in ("scela-nla", "scela-guardian"):
            with self.subTest(name):
                running = self.start("--sim-nodes", 2, "--degree", 1, "--ppn", 1, rank)
                running.ranks(2)
                os.kill(next(one.pid for one in self.processes() if one.name == name and "sim1" in one.words), signal.SIGTERM)
                ended = running.wait()
                self.assertEqual((ended.status, ended.lines), (143, ["saved", "saved"]), ended.err)
                self.assertIn("killed by signal 15 (SIGTERM", ended.err)
                self.assertNotIn("failed nodes", ended.err)

    def test_user_signals_to_an_agent_or_its_guardian_reach_the_ranks_of_its_node(self):
        rank = self.script("says", 'trap "echo $SCELA_RANK got USR1; exit 0" USR1\n' + job.TELL + "\nwhile :; do sleep 1000 & wait; done\n")
        for name in ("scela-nla", "scela-guardian"):
            with self.subTest(name):
                running = self.start("--on-failure", "wait", "--sim-nodes", 2, "--degree", 1, "--ppn", 1, rank)
                ranks = running.ranks(2)
                agents = [one for one in self.processes() if one.name == name]
                os.kill(next(one.pid for one in agents if "sim1" in one.words), signal.SIGUSR1)
                job.wait_gone([ranks[1]], time.monotonic() + job.DEADLINE_S)
                self.assertIsNotNone(job.process(ranks[0]))
                os.kill(next(one.pid for one in agents if "sim0" in one.words), signal.SIGUSR1)
                ended = running.wait()
                # The output of one node may overtake that of another.
                self.assertEqual((ended.status, sorted(ended.lines), ended.err), (0, ["0 got USR1", "1 got USR1"], ""))

    def test_ctrl_z_on_a_terminal_stops_the_job_and_no_agent(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        running = self.start("--sim-nodes", 2, "--ppn", 1, "sh", "-c", job.HOLD, stdin=theirs,
                             before=["setsid", "--ctty", "--wait"])
        os.close(theirs)
        ranks = running.ranks(2)
        launcher = [one.pid for one in self.processes() if one.name == "scela-run"]
        os.write(ours, b"\x1a")
        self.wait_state([*launcher, *ranks.values()], "T")
        self.wait_state(self.agents(), "SR")
        os.kill(launcher[0], signal.SIGCONT)
        self.wait_state(ranks.values(), "SR")
        os.write(ours, b"\x03")
        self.assertEqual(running.wait().status, 130)

    def test_a_stopped_job_can_be_ended(self):
        running = self.start("--sim-nodes", 2, "--ppn", 1, "sh", "-c", job.HOLD)
        ranks = running.ranks(2)
        running.signal(signal.SIGTSTP)
        os.waitid(os.P_PID, running.pid, os.WSTOPPED)
        self.wait_state(ranks.values(), "T")
        running.signal(signal.SIGTERM)
        running.signal(signal.SIGCONT)
        self.assertEqual(running.wait().status, 143)

    def test_a_stopped_scela_run_that_is_killed_leaves_nothing(self):
        running = self.start("--sim-nodes", 2, "--ppn", 1, "sh", "-c", job.HOLD)
        ranks = running.ranks(2)
        running.signal(signal.SIGTSTP)
        os.waitid(os.P_PID, running.pid, os.WSTOPPED)
        self.wait_state(ranks.values(), "T")
        running.signal(signal.SIGKILL)
        self.assertEqual(running.wait().status, -signal.SIGKILL)

    def test_an_ignored_sigtstp_stays_ignored(self):
        running = self.start("-n", 1, "sh", "-c", job.HOLD, before=["sh", "-c", 'trap "" TSTP; exec "$@"', "sh"])
        ranks = running.ranks(1)
        running.signal(signal.SIGTSTP)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)
        self.assertFalse(job.process(ranks[0]))


if __name__ == "__main__":
    job.main()
