"""--pty on real hosts: a shell there, and the person's terminal on the head."""
import os
import signal
import sys
import time

import case
from case import DEADLINE_S
from jobs import JobTest, UNREACHABLE

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from terminal import COLUMNS, ROWS, Terminal  # noqa: E402 (the path above) pylint: disable=wrong-import-position


class PtyTest(JobTest):
    SIZE = 3

    def shell(self, *words, command=("sh", "-i")):
        """A shell on a terminal there, up to its first prompt, as the job and the terminal here."""
        terminal = Terminal(self)
        job = self.cluster.popen("head", [self.scela_run(), "--agent", self.scela_agent(), *words, "--pty", *command],
                                 stdin=terminal.theirs, stdout=terminal.theirs, stderr=terminal.theirs, terminal=True,
                                 env={"TERM": "vt220", "PS1": "# ", "ENV": ""})
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        terminal.read("# $")
        return job, terminal

    def finish(self, job, terminal):
        """Waits for the end; the exit status. The terminal must be as it was."""
        status = terminal.read_to_end(job)
        self.assertEqual(terminal.modes(), terminal.before)
        return status

    def running(self, host, word):
        """Waits until the host runs exactly one process with that word."""
        deadline = time.monotonic() + DEADLINE_S
        while len(found := [one for one in self.cluster.processes(host) if word in one.words.split()]) != 1:
            self.assertLess(time.monotonic(), deadline, found)
        return found[0].pid

    def test_a_shell_on_a_host_has_a_terminal(self):
        job, terminal = self.shell("-w", "node002")
        terminal.type("tty; stty size; echo $TERM on $(hostname)\r")
        terminal.read(rf"/dev/pts/\d+\r\n{ROWS} {COLUMNS}\r\nvt220 on node002\r\n# $")
        terminal.resize(50, 200)
        terminal.type("until [ \"$(stty size)\" = '50 200' ]; do :; done; echo it is\r")
        terminal.read("it is\r\n")
        terminal.type("exit 3\r")
        self.assertEqual(self.finish(job, terminal), 3)

    def test_a_new_size_reaches_a_host_behind_another(self):
        only = 'if [ "$SCELA_RANK" != 2 ]; then exec true; fi; exec sh -i'
        job, terminal = self.shell("-w", "node[001-003]", "--ppn", "1", "--degree", "1", "--stdin", "2",
                                   command=("sh", "-c", only))
        terminal.type("hostname; until [ \"$(stty size)\" = '12 34' ]; do :; done; echo it is; exit\r")
        terminal.read("node003\r\n")
        terminal.resize(12, 34)
        terminal.read("it is\r\n")
        self.assertEqual(self.finish(job, terminal), 0)

    def test_ctrl_c_is_a_key_there(self):
        job, terminal = self.shell("-w", "node001")
        terminal.type("sleep 1001\r")
        self.running("node001", "1001")
        terminal.type("\x03")
        terminal.read("# $")
        terminal.type("echo still $((1 + 1))\r")
        terminal.read("still 2\r\n")
        self.assertFalse([one for one in self.cluster.processes("node001") if "1001" in one.words.split()])
        terminal.type("exit\r")
        self.assertEqual(self.finish(job, terminal), 0)

    def test_the_terminal_is_restored_at_sigterm_and_nothing_is_left(self):
        job, terminal = self.shell("--grace", "0.5", "-w", "node001")
        terminal.type("sleep 1001\r")
        self.running("node001", "1001")
        self.assertTrue(terminal.is_raw())
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job, terminal), 128 + signal.SIGTERM)
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_the_terminal_is_restored_when_the_host_is_cut(self):
        job, terminal = self.shell("--heartbeat", "0.2", "-w", "node001")
        self.assertTrue(terminal.is_raw())
        self.cluster.cut("node001")
        self.assertEqual(self.finish(job, terminal), UNREACHABLE)
        self.cluster.heal("node001")
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_a_terminal_that_is_closed_leaves_nothing(self):
        job, terminal = self.shell("--grace", "0.5", "-w", "node001")
        terminal.type("sleep 1001\r")
        self.running("node001", "1001")
        terminal.close()
        job.wait(DEADLINE_S)
        self.cluster.assert_empty(*self.cluster.everyone)


if __name__ == "__main__":
    case.main()
