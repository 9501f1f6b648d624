"""--gdb and --tmux: ranks with terminals of their own in panes of a real tmux, under a real gdb."""
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
import job
from terminal import ENVIRONMENT, PROMPT, Terminal

GDB, TMUX = shutil.which("gdb"), shutil.which("tmux")
NODES = ("--sim-nodes", 2, "--degree", 1, "--ppn", 2)
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int total = 40;
int main(void) {
  total += atoi(getenv("SCELA_RANK"));
  printf("rank %s has %d\\n", getenv("SCELA_RANK"), total);
  return 0;
}
"""
# Says its terminal's size at first and whenever it is told of another, until a line comes, which it repeats.
SIZES = """
import os, select, signal, sys
told, tell = os.pipe()
os.set_blocking(tell, False)
signal.set_wakeup_fd(tell)
signal.signal(signal.SIGWINCH, lambda *_: None)
with open(os.environ["E2E_READY"], "w") as ready: print(os.environ["SCELA_RANK"], os.getpid(), file=ready)
while True:
    os.write(1, b"size %d %d\\n" % os.get_terminal_size(0))
    ready = select.select([0, told], [], [])[0]
    if told in ready: os.read(told, 100)
    if 0 in ready: break
print(os.environ["SCELA_RANK"], "got", input(), flush=True)
input()
"""


@unittest.skipUnless(TMUX, "no tmux here (package tmux)")
class PanesTest(job.JobTest):
    def setUp(self):
        super().setUp()
        self.environment.update(ENVIRONMENT)

    def program(self):
        path = os.path.join(self.folder, "adds")
        with open(path + ".c", "w", encoding="ascii") as f:
            f.write(PROGRAM)
        subprocess.run(["cc", "-g", "-O0", "-o", path, path + ".c"], check=True)
        return path

    def until(self, get, right, what):
        """Asks again and again, as tmux tells of nothing; what was right."""
        deadline = time.monotonic() + job.DEADLINE_S
        while not right(got := get()):
            if time.monotonic() > deadline:
                self.fail(f"{what}: {got!r}\n{self.state_text()}")
            select.select([], [], [], 0.01)
        return got

    def tmux(self, *words):
        done = subprocess.run([TMUX, "-S", self.server, *words], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)
        return done.stdout if done.returncode == 0 else ""

    def start_detached(self, *arguments, **options):
        """scela-run without a terminal; its panes are in self.panes by their titles."""
        running = self.start(*arguments, **options)
        said = self.until(running.err, lambda err: " attach\n" in err, "no way to attach was told")
        self.server = re.search(r"tmux -S (\S+) attach\n", said).group(1)
        return running

    def list_panes(self):
        rows = self.tmux("list-panes", "-a", "-F", "#{@scela}=#{pane_id}").splitlines()
        return dict(row.rsplit("=", 1) for row in rows)

    def pane_of(self, rank):
        panes = self.until(self.list_panes, lambda all: any(title.startswith(f"rank {rank} ") for title in all),
                           f"no pane of rank {rank}")
        return next(pane for title, pane in panes.items() if title.startswith(f"rank {rank} "))

    def type(self, rank, *keys):
        self.tmux("send-keys", "-t", self.pane_of(rank), *keys)

    def wait_shown(self, rank, pattern):
        pane = self.pane_of(rank)
        return self.until(lambda: self.tmux("capture-pane", "-p", "-J", "-t", pane),
                          lambda text: re.search(pattern, text, re.M), f"rank {rank} does not show {pattern}")

    @unittest.skipUnless(GDB, "no gdb here (package gdb)")
    def test_ranks_of_two_nodes_are_debugged_in_a_pane_each(self):
        running = self.start_detached(*NODES, "--gdb", "all", self.program())
        for rank in range(4):
            self.wait_shown(rank, r"^\(gdb\)")
            self.type(rank, "break 7", "Enter", "run", "Enter")
            self.wait_shown(rank, r"^Breakpoint 1, main")
        self.assertEqual(sorted(self.list_panes()),
                         ["rank 0 on sim0", "rank 1 on sim0", "rank 2 on sim1", "rank 3 on sim1"])
        self.type(2, "print total = 7", "Enter")
        self.wait_shown(2, r"^\$1 = 7")
        for rank, total in enumerate((40, 41, 7, 43)):
            self.type(rank, "continue", "Enter")
            self.wait_shown(rank, rf"rank {rank} has {total}")  # perhaps behind the prompt
            self.wait_shown(rank, r"exited normally")
            self.type(rank, "quit", "Enter")
            self.until(self.list_panes, lambda all: not any(f"rank {rank} " in title for title in all), "not closed")
        ended = running.wait()
        self.assertEqual((ended.status, ended.out), (0, b""))

    @unittest.skipUnless(GDB, "no gdb here (package gdb)")
    def test_some_ranks_are_under_gdb_and_the_others_run(self):
        running = self.start_detached(*NODES, "--gdb", "1,3", self.program())
        out = self.until(lambda: open(running.out_path, encoding="ascii").read(),
                         lambda text: text.count("\n") == 2, "the other ranks wrote")
        self.assertEqual(sorted(out.splitlines()), ["rank 0 has 40", "rank 2 has 42"])
        self.assertEqual(sorted(self.list_panes()), ["rank 1 on sim0", "rank 3 on sim1"])
        for rank in (1, 3):
            self.wait_shown(rank, r"^\(gdb\)")
            self.type(rank, "quit", "Enter")
        self.assertEqual(running.wait().status, 0)

    @unittest.skipUnless(GDB, "no gdb here (package gdb)")
    def test_one_rank_under_gdb_has_the_terminal_of_scela_run(self):
        terminal = Terminal(self)
        running = self.start(*NODES, "--gdb", 3, self.program(), before=["setsid", "--ctty", "--wait"],
                             stdin=terminal.theirs, stdout=terminal.theirs, stderr=terminal.theirs)
        terminal.read(r"\(gdb\) ")
        terminal.type("run\r")
        terminal.read("rank 3 has 43\r\n")
        terminal.read(r"\(gdb\) ")
        terminal.type("quit\r")
        terminal.finish(running.process)
        self.assertEqual(running.wait().status, 0)
        self.assertEqual(sorted(re.findall(r"rank (\d) has", terminal.shown)), ["0", "1", "2", "3"])

    def test_a_pane_has_its_own_size_and_keys(self):
        running = self.start_detached(*NODES, "--tmux", job.PYTHON, "-c", SIZES)
        running.ranks(4)

        def size_of(rank):
            return self.tmux("display-message", "-p", "-t", self.pane_of(rank), "#{pane_width} #{pane_height}").strip()
        for rank in range(4):
            self.wait_shown(rank, rf"^size {size_of(rank)}$")
        self.tmux("resize-pane", "-t", self.pane_of(0), "-x", "40")
        self.wait_shown(0, rf"^size 40 ")
        self.wait_shown(1, rf"^size {size_of(1)}$")
        for rank in (3, 0, 2, 1):
            self.type(rank, f"word{rank}", "Enter")
            self.wait_shown(rank, rf"^{rank} got word{rank}$")
        for rank in range(4):
            self.type(rank, "Enter")
        self.assertEqual(running.wait().status, 0)

    def test_a_rank_that_does_not_read_keeps_no_keys_of_others(self):
        running = self.start_detached(*NODES, "--tmux", "sh", "-c",
                                      f'[ "$SCELA_RANK" = 1 ] || {{ stty raw -echo; {job.HOLD}; }}; {job.TELL} '
                                      'while read line; do echo "got $line"; done')
        running.ranks(4)
        text = self.file("text", "x" * 60000)
        for _ in range(40):  # more than all that agents keep, and than the window of standard input
            self.tmux("load-buffer", text, ";", "paste-buffer", "-d", "-t", self.pane_of(0))
        for word in ("one", "two"):
            self.type(1, word, "Enter")
            self.wait_shown(1, f"^got {word}$")
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_a_pane_that_is_closed_hangs_up_its_rank_only(self):
        running = self.start_detached(*NODES, "--on-failure", "wait", "--tmux", "sh", "-c",
                                      f"{job.TELL} while read line; do echo got $line; done")
        running.ranks(4)
        self.tmux("kill-pane", "-t", self.pane_of(2))
        self.type(1, "word", "Enter")
        self.wait_shown(1, "^got word$")
        for rank in (0, 1, 3):
            self.type(rank, "C-d")
        self.assert_ended(running.wait(), 129, r"rank 2 on sim1 \(sh\) killed by signal 1 .*")

    def test_a_killed_scela_run_leaves_no_pane(self):
        running = self.start_detached(*NODES, "--tmux", "sh", "-c", job.HOLD)
        running.ranks(4)
        self.pane_of(3)
        running.signal(signal.SIGKILL)
        running.wait()
        self.assertEqual(self.wait_nothing_runs(), [])
        self.assertEqual(os.listdir(self.temporary), [])

    def test_a_killed_tmux_ends_the_job(self):
        running = self.start_detached(*NODES, "--tmux", "sh", "-c", job.HOLD)
        running.ranks(4)
        self.tmux("kill-server")
        self.assertEqual(running.wait().status, 129)

    def test_tmux_is_attached_to_the_terminal_and_leaves_it_as_it_was(self):
        terminal = Terminal(self, rows=50, columns=120)
        running = self.start(*NODES, "--tmux", "sh", "-c", f'{job.TELL} read line; echo "got $line"; read line; exit 3',
                             before=["setsid", "--ctty", "--wait"], stdin=terminal.theirs, stdout=terminal.theirs,
                             stderr=terminal.theirs)
        running.ranks(4)
        terminal.read("rank 3 on sim1")
        terminal.type("word\r")  # the last pane is the active one
        terminal.read("got word")
        terminal.type("\r")
        status = terminal.read_to_end(running.process)
        self.assertEqual((status, terminal.modes()), (3, terminal.before))
        self.assertRegex(terminal.shown, r"\nscela-run: rank 3 on sim1 \(sh\) [^\n]*3[^\n]*\n$")

    def test_other_ranks_have_a_pane_too_if_tmux_has_the_terminal(self):
        if not GDB:
            self.skipTest("no gdb here (package gdb)")
        terminal = Terminal(self, rows=50, columns=120)
        running = self.start(*NODES, "--tmux", "--gdb", "2", self.program(), before=["setsid", "--ctty", "--wait"],
                             stdin=terminal.theirs, stdout=terminal.theirs, stderr=terminal.theirs)
        terminal.read("the other ranks")
        terminal.read("rank [013] has")
        # The line that names the socket may be missing: tmux discards unread output when it takes the terminal.
        self.server, = glob.glob(os.path.join(self.temporary, ".scela-tmux-*", "tmux"))
        self.type(2, "quit", "Enter")
        self.assertEqual(terminal.read_to_end(running.process), 0)
        self.assertEqual(terminal.modes(), terminal.before)

    def test_in_tmux_a_window_is_made_there(self):
        self.server = os.path.join(self.temporary, "mine")
        command = " ".join([os.environ["SCELA_RUN"], *map(str, NODES), "--tmux", "sh", "-c",
                            f"'{job.TELL} read line'", ";", "echo", "status", "$?", ";", "read", "line"])
        self.tmux("new-session", "-d", "-x", "150", "-y", "50", "-s", "mine", "-n", "first", "sh", "-c", command)
        self.addCleanup(self.tmux, "kill-server")
        for rank in range(4):
            self.pane_of(rank)
        self.assertEqual(len(self.tmux("list-windows", "-t", "mine").splitlines()), 2)
        for rank in range(4):
            self.type(rank, "Enter")
        self.until(lambda: self.tmux("capture-pane", "-p", "-t", "mine:first"), lambda text: "status 0" in text, "no end")
        self.assertEqual(len(self.tmux("list-windows", "-t", "mine").splitlines()), 1)
        self.tmux("kill-server")
        os.unlink(self.server)

    def test_without_tmux_nothing_is_started(self):
        mark = os.path.join(self.folder, "ran")
        ended = self.run_job(*NODES, "--tmux", "touch", mark, env={"PATH": self.folder})
        self.assertEqual(ended.status, 71, ended.err)
        self.assertRegex(ended.err, r"^scela-run: open a pane for each rank \(--tmux, --gdb\): there is no tmux in PATH "
                                    r"\(install it .*\)\n$")
        self.assertFalse(os.path.exists(mark))

    def test_a_node_without_gdb_is_named(self):
        ended = self.run_job("-n", 1, "--gdb", 0, sys.executable, env={"PATH": self.folder})
        self.assertEqual(ended.status, 127, ended.err)
        self.assertIn("find 'gdb'", ended.err)


if __name__ == "__main__":
    job.main()
