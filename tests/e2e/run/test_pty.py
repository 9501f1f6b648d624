"""--pty: a rank with a terminal of its own, and the person's terminal meanwhile."""
import fcntl
import glob
import hashlib
import os
import select
import signal
import subprocess
import termios
import time

import job
from terminal import COLUMNS, ENVIRONMENT, PROMPT, ROWS, SHELL_ON_RANK_2, Terminal

# The last of three ranks, behind two agents, has the terminal; the others wait for nothing.
BEHIND = ("--sim-nodes", 3, "--degree", 1, "--ppn", 1, "--stdin", 2, "--pty")
# Says its terminal's size at first and whenever it is told of another, until a line comes.
SIZES = """
import os, select, signal
told, tell = os.pipe()
os.set_blocking(tell, False)
signal.set_wakeup_fd(tell)
signal.signal(signal.SIGWINCH, lambda *_: None)
ready = [told]
while 0 not in ready:
    os.write(1, b"size %d %d\\n" % os.get_terminal_size(0))
    ready = select.select([0, told], [], [])[0]
    if told in ready: os.read(told, 100)
"""


class PtyTest(job.JobTest):
    def setUp(self):
        super().setUp()
        self.environment.update(ENVIRONMENT)

    def start_on(self, terminal, *arguments, **options):
        """scela-run as a shell would start it there."""
        options.setdefault("before", ["setsid", "--ctty", "--wait"])
        return self.start(*arguments, stdin=terminal.theirs, stdout=terminal.theirs, stderr=terminal.theirs, **options)

    def launcher(self):
        return next(one.pid for one in self.processes() if one.name == "scela-run")

    def finish(self, running, terminal):
        """Waits for the end; the exit status. The terminal must be as it was."""
        terminal.finish(running.process)
        return running.wait().status

    def shell(self, terminal, *arguments, command=("sh", "-i"), **options):
        """A shell on one rank, up to its first prompt."""
        running = self.start_on(terminal, *(arguments or ("-n", 1, "--pty")), *command, **options)
        terminal.read(PROMPT)
        return running

    def test_a_rank_has_a_terminal_like_the_launchers(self):
        terminal = Terminal(self)
        script = 'test -t 0 && test -t 1 && test -t 2 && echo "$TERM" $(stty size) $(tty); : </dev/tty; echo err >&2'
        running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", script)
        terminal.read(rf"vt220 {ROWS} {COLUMNS} /dev/pts/\d+\r\nerr\r\n")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_keys_and_modes_are_the_launchers(self):
        terminal = Terminal(self)
        subprocess.run(["stty", "intr", "^G", "erase", "^H", "iutf8", "-echo"], stdin=terminal.theirs, check=True)
        terminal.before = terminal.modes()
        running = self.start_on(terminal, "-n", 1, "--pty", "stty", "-a")
        terminal.read(r"intr = \^G;.*erase = \^H;.*iutf8.* -echo ")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_a_new_size_reaches_the_rank_through_the_tree(self):
        terminal = Terminal(self)
        running = self.start_on(terminal, *BEHIND, job.PYTHON, "-c",
                                "import os\nif os.environ['SCELA_RANK'] != '2': os._exit(0)\n" + SIZES)
        terminal.read(f"size {COLUMNS} {ROWS}\r\n")
        for rows, columns in ((50, 200), (10, 20), (24, 80)):
            terminal.resize(rows, columns)
            terminal.read(f"size {columns} {rows}\r\n")
        terminal.type("\r")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_a_shell_ends_with_its_own_status(self):
        terminal = Terminal(self)
        running = self.shell(terminal, *BEHIND, command=SHELL_ON_RANK_2)
        terminal.type("echo $((40 + 2)) $SCELA_NODE\r")
        terminal.read("42 sim2\r\n")
        terminal.type("exit 7\r")
        self.assertEqual(self.finish(running, terminal), 7)

    def test_ctrl_c_ends_what_is_in_the_foreground_and_nothing_else(self):
        terminal = Terminal(self)
        running = self.shell(terminal)
        terminal.type(f"sh -c '{job.HOLD}'\r")
        child = running.ranks(1)[0]
        terminal.type("\x03")
        self.assertEqual(job.wait_gone([child], time.monotonic() + job.DEADLINE_S), [])
        terminal.read(PROMPT)
        terminal.type("echo still $((1 + 1))\r")
        terminal.read("still 2\r\n")
        terminal.type("\x04")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_ctrl_z_stops_what_is_in_the_foreground_and_not_scela_run(self):
        terminal = Terminal(self)
        running = self.shell(terminal)
        terminal.type(f"sh -c '{job.HOLD}'\r")
        child = running.ranks(1)[0]
        terminal.type("\x1a")
        terminal.read(r"Stopped")
        self.assertEqual(job.process(child).state, "T")
        self.assertIn(job.process(self.launcher()).state, "SR")
        terminal.type("kill -KILL %1; echo on\r")
        terminal.read("on\r\n")
        terminal.type("exit; exit\r")  # the first may say that there was a stopped job
        self.assertEqual(self.finish(running, terminal), 0)

    def test_the_terminal_is_raw_while_the_rank_runs(self):
        terminal = Terminal(self)
        running = self.shell(terminal)
        terminal.wait_modes(Terminal.is_raw)
        terminal.type("exit\r")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_the_terminal_is_restored_however_scela_run_ends(self):
        for signo, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)):
            with self.subTest(signo):
                terminal = Terminal(self)
                running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", job.HOLD)
                running.ranks(1)
                terminal.wait_modes(Terminal.is_raw)
                os.kill(self.launcher(), signo)
                self.assertEqual(self.finish(running, terminal), status)

    def test_the_terminal_is_restored_by_signals_without_a_handler(self):
        for signo in (signal.SIGABRT, signal.SIGSEGV, signal.SIGALRM):
            with self.subTest(signo):
                terminal = Terminal(self)
                running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", job.HOLD)
                running.ranks(1)
                terminal.wait_modes(Terminal.is_raw)
                os.kill(self.launcher(), signo)
                self.assertEqual(self.finish(running, terminal), signo)  # in the words of setsid --wait

    def test_the_terminal_is_restored_when_the_program_cannot_be_started(self):
        terminal = Terminal(self)
        running = self.start_on(terminal, "-n", 1, "--pty", "/nonexistent/program")
        self.assertEqual(self.finish(running, terminal), 127)

    def test_the_terminal_is_restored_when_the_node_is_lost(self):
        terminal = Terminal(self)
        running = self.start_on(terminal, "--sim-nodes", 1, "-n", 1, "--pty", "sh", "-c", job.HOLD)
        running.ranks(1)
        terminal.wait_modes(Terminal.is_raw)
        os.kill(running.nodes()["sim0"].agent, signal.SIGKILL)
        self.assertEqual(self.finish(running, terminal), 68)

    def test_keys_are_for_scela_run_again_when_that_rank_has_ended(self):
        terminal = Terminal(self)
        script = f'[ "$SCELA_RANK" = 0 ] || {{ {job.HOLD}; }}; echo ready; read line'
        running = self.start_on(terminal, "--sim-nodes", 2, "--ppn", 1, "--pty", "sh", "-c", script)
        running.ranks(1)
        terminal.read("ready\r\n")
        terminal.wait_modes(Terminal.is_raw)
        terminal.type("\r")
        terminal.wait_modes(lambda one: one.modes() == one.before)
        terminal.type("\x03")
        self.assertEqual(self.finish(running, terminal), 130)

    def test_keys_are_for_scela_run_again_when_that_node_is_lost(self):
        terminal = Terminal(self)
        running = self.start_on(terminal, "--sim-nodes", 2, "--degree", 2, "--ppn", 1, "--on-failure", "wait", "--pty",
                                "sh", "-c", job.HOLD)
        running.ranks(2)
        terminal.wait_modes(Terminal.is_raw)
        os.kill(running.nodes()["sim0"].agent, signal.SIGKILL)
        terminal.wait_modes(lambda one: one.modes() == one.before)
        terminal.type("\x03")
        self.assertEqual(self.finish(running, terminal), 130)

    def test_a_stopped_scela_run_leaves_the_terminal_as_it_was_and_takes_it_back(self):
        terminal = Terminal(self)
        running = self.start_on(terminal, "-n", 1, "--pty", job.PYTHON, "-c", SIZES)
        terminal.read(f"size {COLUMNS} {ROWS}\r\n")
        terminal.wait_modes(Terminal.is_raw)
        launcher = self.launcher()
        os.kill(launcher, signal.SIGTSTP)
        terminal.wait_modes(lambda one: one.modes() == one.before)
        self.wait_state(launcher, "T")
        terminal.resize(12, 34)
        self.wait_state(launcher, "T")
        os.kill(launcher, signal.SIGCONT)
        terminal.wait_modes(Terminal.is_raw)
        terminal.read("size 34 12\r\n")
        terminal.type("\r")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_a_scela_run_stopped_by_sigstop_takes_the_terminal_back(self):
        """It had no chance to leave it; the shell has then set its own modes."""
        terminal = Terminal(self)
        running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", f"{job.TELL} read line; echo [$line]")
        running.ranks(1)
        terminal.wait_modes(Terminal.is_raw)
        os.kill(self.launcher(), signal.SIGSTOP)
        self.wait_state(self.launcher(), "T")
        termios.tcsetattr(terminal.theirs, termios.TCSANOW, terminal.before)
        os.kill(self.launcher(), signal.SIGCONT)
        terminal.wait_modes(Terminal.is_raw)
        terminal.type("word\r")
        terminal.read(r"\[word\]\r\n")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_a_scela_run_continued_in_the_background_takes_the_terminal_in_the_foreground(self):
        terminal = Terminal(self)
        path = self.channel("go")
        script = self.file("shell", f'set -m; modes=$(stty -g); "$@"; stty "$modes"; bg; read line < {path}; fg; exit\n')
        program = f"{job.TELL} for i in 1 2; do read line; echo [$line]; done"
        running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", program,
                                before=["setsid", "--ctty", "--wait", "bash", script])
        running.ranks(1)
        terminal.wait_modes(Terminal.is_raw)
        os.kill(self.launcher(), signal.SIGSTOP)
        terminal.wait_modes(lambda one: one.modes() == one.before)
        job.release(path)
        terminal.type("one\n")
        terminal.read(r"\[one\]")
        terminal.wait_modes(Terminal.is_raw)
        terminal.type("two\r")
        terminal.read(r"\[two\]\r\n")
        self.assertEqual(self.finish(running, terminal), 0)

    def wait_state(self, pid, state):
        """Waits until the process, a stranger's child, is in that state; there is no event for that."""
        deadline = time.monotonic() + job.DEADLINE_S
        while job.process(pid).state != state and time.monotonic() < deadline:
            select.select([], [], [], 0.001)
        self.assertEqual(job.process(pid).state, state)

    def test_a_terminal_that_is_closed_ends_the_job(self):
        terminal = Terminal(self)
        running = self.shell(terminal)
        terminal.type(f"sh -c '{job.HOLD}'\r")
        running.ranks(1)
        terminal.close()
        running.wait()  # nothing is left: see tearDown

    def test_an_interactive_shell_ends_with_the_job(self):
        """It ignores SIGTERM, and so does what it runs."""
        terminal = Terminal(self)
        running = self.shell(terminal, "-n", 1, "--grace", 0.2, "--pty")
        terminal.type(f"sh -c 'trap \"\" TERM HUP; {job.TELL} sleep 1000; sleep 1000'\r")
        running.ranks(1)
        os.kill(self.launcher(), signal.SIGTERM)
        self.assertEqual(self.finish(running, terminal), 143)

    def test_a_killed_scela_run_leaves_nothing(self):
        terminal = Terminal(self)
        running = self.shell(terminal)
        terminal.type(f"sh -c '{job.HOLD}'\r")
        running.ranks(1)
        os.kill(self.launcher(), signal.SIGKILL)
        self.assertEqual(running.wait().status, signal.SIGKILL)  # in the words of setsid --wait

    def test_a_program_that_ends_at_sigterm_has_time_for_it(self):
        terminal = Terminal(self)
        script = f"trap 'echo cleaned up; exit 0' TERM; {job.TELL} while :; do sleep 0.01; done"
        running = self.start_on(terminal, "-n", 1, "--grace", 60, "--pty", "sh", "-c", script)
        running.ranks(1)
        os.kill(self.launcher(), signal.SIGTERM)
        terminal.read("cleaned up\r\n")
        self.assertEqual(self.finish(running, terminal), 143)

    def test_every_byte_before_the_end_arrives(self):
        out = self.succeed("-n", 1, "--pty", "sh", "-c", "stty -opost; seq 300000")
        expected = b"".join(b"%d\n" % number for number in range(1, 300001))
        self.assertEqual(hashlib.sha256(out).digest(), hashlib.sha256(expected).digest())

    def test_lines_of_other_ranks_are_lines_on_a_raw_terminal(self):
        terminal = Terminal(self)
        running = self.start_on(terminal, *BEHIND, "-l", "sh", "-c",
                                '[ "$SCELA_RANK" = 2 ] && read go || { cat; echo a; echo b >&2; }; exit 0')
        terminal.wait_modes(Terminal.is_raw)
        terminal.read("0: a\r\n")
        terminal.type("\r")
        self.assertEqual(self.finish(running, terminal), 0)
        self.assertEqual(sorted(terminal.shown.split("\r\n"))[-4:], ["0: a", "0: b", "1: a", "1: b"])

    def test_input_typed_before_the_program_reads_arrives(self):
        terminal = Terminal(self)
        path = self.channel("go")
        script = f"{job.TELL} read go < {path}; read line; echo [$line]"
        running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", script)
        running.ranks(1)
        terminal.wait_modes(Terminal.is_raw)
        terminal.type("early\r")
        terminal.read("early")  # the rank's terminal shows it
        job.release(path)
        terminal.read(r"\[early\]\r\n")
        self.assertEqual(self.finish(running, terminal), 0)

    def held_program(self):
        """A program that nobody can start before release() is called, and wait() for the first who opens it: not scela-run itself,
        to see what it speaks."""
        path = self.script("program", "read line; echo [$line]\n")
        tells, told = os.pipe()
        self.addCleanup(os.close, tells)
        self.addCleanup(os.close, told)
        self.addCleanup(signal.signal, signal.SIGIO, signal.signal(signal.SIGIO, lambda *_: os.write(told, b"!")))
        lease = os.open(path, os.O_RDONLY)
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)

        def wait():
            self.assertTrue(select.select([tells], [], [], job.DEADLINE_S)[0])

        return path, wait, lambda: os.close(lease)

    def test_ctrl_c_ends_a_job_while_its_ranks_are_being_started(self):
        terminal = Terminal(self)
        path, wait, release = self.held_program()
        running = self.start_on(terminal, "-v", "--pmi", "none", "-n", 1, "--pty", path)
        wait()
        terminal.type("\x03")
        terminal.read("received SIGINT")
        release()
        self.assertEqual(self.finish(running, terminal), 130)

    def test_input_typed_while_the_rank_is_being_started_arrives(self):
        terminal = Terminal(self)
        path, wait, release = self.held_program()
        running = self.start_on(terminal, "--pmi", "none", "-n", 1, "--pty", path)
        wait()
        terminal.type("word\r")
        release()
        terminal.read(r"\[word\]\r\n")
        self.assertEqual(self.finish(running, terminal), 0)

    def test_in_the_background_the_terminal_is_let_alone(self):
        terminal = Terminal(self)
        path = self.channel("go")
        script = self.script("background", f'set -m; "$@" & echo $! > {self.folder}/pid; read line < {path}; fg; exit\n')
        running = self.start_on(terminal, "-n", 1, "--pty", "sh", "-c", f"{job.TELL} read line; echo [$line]",
                                before=["setsid", "--ctty", "--wait", "sh", script])
        running.ranks(1)
        self.assertEqual(terminal.modes(), terminal.before)
        job.release(path)
        terminal.read("@")  # fg says what it is about
        terminal.type("word\n")
        terminal.read(r"\[word\]")
        self.assertEqual(self.finish(running, terminal), 0)

    # Input that is no terminal.

    def test_input_from_a_file_is_not_shown_and_ends(self):
        with open(self.file("input", "one\ntwo"), encoding="utf-8") as f:
            out = self.succeed("-n", 1, "--pty", "sh", "-c", "stty size; cat", stdin=f)
        self.assertEqual(out, b"24 80\r\none\r\ntwo")

    def test_a_shell_without_input_ends(self):
        for shell in ("sh", "bash"):
            with self.subTest(shell):
                ended = self.run_job("-n", 1, "--pty", shell, "-i")
                self.assertEqual((ended.status, ended.err), (0, ""))

    def test_a_script_on_standard_input_decides_the_status(self):
        with open(self.file("input", "echo $((40 + 2))\nexit 5\n"), encoding="utf-8") as f:
            ended = self.run_job("-n", 1, "--pty", "sh", stdin=f)
        self.assertEqual(ended.status, 5)
        self.assertIn(b"42\r\n", ended.out)

    def test_each_reader_of_a_terminal_sees_the_end_of_input(self):
        self.assertEqual(self.succeed("-n", 1, "--pty", "sh", "-c", "cat; cat; echo over"), b"over\r\n")

    def test_much_input_goes_through_a_terminal(self):
        text = "".join(f"line {number}\n" for number in range(50000))
        with open(self.file("input", text), encoding="utf-8") as f:
            out = self.succeed("-n", 1, "--pty", "sh", "-c", "stty -opost; cat", stdin=f)
        self.assertTrue(out == text.encode())

    def test_a_line_is_as_long_as_a_terminals_may_be(self):
        for length, left in ((4095, 4095), (4096, 4095), (9000, 4095)):
            with self.subTest(length), open(self.file("input", "x" * length + "\nnext\n"), encoding="utf-8") as f:
                out = self.succeed("-n", 1, "--pty", "sh", "-c", "stty -opost; cat", stdin=f)
                self.assertEqual([len(line) for line in out.split(b"\n")], [left, 4, 0])

    def test_options_that_exclude_a_terminal_are_refused(self):
        self.assert_refused(self.run_job("--pty", "-b", "true"), 64, "--pty and --gather: .*standard output")
        self.assert_refused(self.run_job("--pty", "--output-dir", "d", "true"), 64, "--pty and --output-dir")
        self.assert_refused(self.run_job("--pty", "--stdin", "all", "true"), 64, "a terminal is one rank's")
        self.assert_refused(self.run_job("--pty", "-w", "a,b", "true"), 64, "runs on 2 hosts")

    def test_a_run_with_a_terminal_replays_to_the_same_actions(self):
        terminal = Terminal(self)
        path = os.path.join(self.folder, "record")
        running = self.start_on(terminal, "--record", path, *BEHIND, job.PYTHON, "-c",
                                "import os\nif os.environ['SCELA_RANK'] != '2': os._exit(0)\n" + SIZES)
        terminal.read(f"size {COLUMNS} {ROWS}\r\n")
        terminal.resize(50, 200)
        terminal.read("size 200 50\r\n")
        terminal.type("\r")
        self.assertEqual(self.finish(running, terminal), 0)
        paths = sorted(glob.glob(path + "*"))
        self.assertEqual(len(paths), 4)
        replayed = subprocess.run([os.environ["REPLAY_RECORD"], *paths], capture_output=True, text=True, check=False,
                                  timeout=job.DEADLINE_S)
        self.assertEqual(replayed.returncode, 0, replayed.stdout)


if __name__ == "__main__":
    job.main()
