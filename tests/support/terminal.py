"""The person's terminal in a test: what is shown, typed and set there.

Nothing here sleeps: it waits for what is shown, or looks again and again at modes, of which nobody tells. DEADLINE_S
only keeps a hanging job from hanging the test.
"""
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

ROWS, COLUMNS = 33, 101
DEADLINE_S = 60
# Of a job whose ranks' shells read no file of the person's and have root's prompt, also where this does not get to.
ENVIRONMENT = {"TERM": "vt220", "PS1": "# ", "ENV": ""}
PROMPT = "# $"
# A shell on rank 2; the other ranks end at once.
SHELL_ON_RANK_2 = ("sh", "-c", '[ "$SCELA_RANK" = 2 ] || exec true; exec sh -i')


class Terminal:
    """A pseudo-terminal; `shown` is all that came so far."""

    def __init__(self, test, rows=ROWS, columns=COLUMNS):
        self.test = test
        self.ours, self.theirs = pty.openpty()
        test.addCleanup(self.close)
        self.resize(rows, columns)
        self.before = self.modes()
        self.shown, self.seen = "", 0

    def close(self):
        for end in (self.ours, self.theirs):
            if end is not None:
                os.close(end)
        self.ours = self.theirs = None

    def modes(self):
        return termios.tcgetattr(self.ours)

    def is_raw(self):
        return not self.modes()[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.ours, text.encode())

    def read(self, pattern):
        """Waits until the pattern is shown behind what was read so far; the match."""
        deadline = time.monotonic() + DEADLINE_S
        while not (found := re.compile(pattern, re.S).search(self.shown, self.seen)):
            left = deadline - time.monotonic()
            if left < 0 or not self.take(left):
                self.test.fail(f"{pattern!r} was not shown after\n{self.shown[self.seen:]}")
        self.seen = found.end()
        return found

    def take(self, timeout):
        """What comes within that time; False: nobody will write any more."""
        if not select.select([self.ours], [], [], timeout)[0]:
            return True
        with contextlib.suppress(OSError):
            if text := os.read(self.ours, 65536):
                self.shown += text.decode(errors="replace")
                return True
        return False

    def read_to_end(self, process):
        """Reads on until the process, a Popen, has ended; its status."""
        deadline = time.monotonic() + DEADLINE_S
        while process.poll() is None and time.monotonic() < deadline:
            self.take(0.01)
        while select.select([self.ours], [], [], 0)[0] and self.take(0):
            pass
        return process.wait(max(0, deadline - time.monotonic()))

    def wait_modes(self, right):
        """Waits until right(self); nobody tells of modes."""
        deadline = time.monotonic() + DEADLINE_S
        while not right(self):
            if time.monotonic() > deadline:
                self.test.fail(f"the terminal's modes are {self.modes()}")
            self.take(0.001)

    def finish(self, process):
        """Waits for the end of the process, a Popen; its status. The terminal must be as it was."""
        status = self.read_to_end(process)
        self.test.assertEqual(self.modes(), self.before)
        return status
