"""--pty on real hosts: a shell there, and the person's terminal on the head."""
import signal
import time

import case
from case import DEADLINE_S
from jobs import JobTest, UNREACHABLE
from terminal import COLUMNS, ENVIRONMENT, PROMPT, ROWS, SHELL_ON_RANK_2, Terminal


class PtyTest(JobTest):
    SIZE = 3

    def shell(self, *words, command=("sh", "-i")):
        """A shell on a terminal there, up to its first prompt, as the job and the terminal here."""
        terminal = Terminal(self)
        job = self.cluster.popen("head", [self.scela_run(), "--agent", self.scela_agent(), *words, "--pty", *command],
                                 stdin=terminal.theirs, stdout=terminal.theirs, stderr=terminal.theirs, terminal=True,
                                 env=ENVIRONMENT)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        terminal.read(PROMPT)
        return job, terminal

    def running(self, host, word):
        """Waits until the host runs exactly one process with that word."""
        deadline = time.monotonic() + DEADLINE_S
        while len(found := [one for one in self.cluster.processes(host) if word in one.words.split()]) != 1:
            self.assertLess(time.monotonic(), deadline, found)
        return found[0].pid

    def test_a_shell_on_a_host_has_a_terminal(self):
        job, terminal = self.shell("-w", "node002")
        terminal.type("tty; stty size; echo $TERM on $(hostname)\r")
        terminal.read(rf"/dev/pts/\d+\r\n{ROWS} {COLUMNS}\r\nvt220 on node002\r\n" + PROMPT)
        terminal.resize(50, 200)
        terminal.type("until [ \"$(stty size)\" = '50 200' ]; do :; done; echo it is\r")
        terminal.read("it is\r\n")
        terminal.type("exit 3\r")
        self.assertEqual(terminal.finish(job), 3)

    def test_a_new_size_reaches_a_host_behind_another(self):
        job, terminal = self.shell("-w", "node[001-003]", "--ppn", "1", "--degree", "1", "--stdin", "2",
                                   command=SHELL_ON_RANK_2)
        terminal.type("hostname; until [ \"$(stty size)\" = '12 34' ]; do :; done; echo it is; exit\r")
        terminal.read("node003\r\n")
        terminal.resize(12, 34)
        terminal.read("it is\r\n")
        self.assertEqual(terminal.finish(job), 0)

    def test_ctrl_c_is_a_key_there(self):
        job, terminal = self.shell("-w", "node001")
        terminal.type("sleep 1001\r")
        self.running("node001", "1001")
        terminal.type("\x03")
        terminal.read(PROMPT)
        terminal.type("echo still $((1 + 1))\r")
        terminal.read("still 2\r\n")
        self.assertFalse([one for one in self.cluster.processes("node001") if "1001" in one.words.split()])
        terminal.type("exit\r")
        self.assertEqual(terminal.finish(job), 0)

    def test_the_terminal_is_restored_at_sigterm_and_nothing_is_left(self):
        job, terminal = self.shell("--grace", "0.5", "-w", "node001")
        terminal.type("sleep 1001\r")
        self.running("node001", "1001")
        terminal.wait_modes(Terminal.is_raw)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.finish(job), 128 + signal.SIGTERM)
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_the_terminal_is_restored_when_the_host_is_cut(self):
        job, terminal = self.shell("--heartbeat", "0.2", "-w", "node001")
        terminal.wait_modes(Terminal.is_raw)
        self.cluster.cut("node001")
        self.assertEqual(terminal.finish(job), UNREACHABLE)
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
