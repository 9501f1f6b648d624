"""Runs one real job of scela-run for a test, and checks that nothing of it stays behind.

A test derives from JobTest. Every job runs in a session of its own with a folder, a TMPDIR and a mark in its
environment that are the test's alone. When the test is over, no process with that mark may run, nothing may
stand below that TMPDIR and nothing new in /dev/shm.

Nothing here sleeps: it waits for descriptors (a fifo that ranks write to, pidfds, pipes). DEADLINE_S only keeps
a hanging job from hanging the test; no test says how fast something must be.

Environment: SCELA_RUN and SCELA_AGENT, the programs under test; REPLAY_RECORD, this folder's replay_record.
Tests find the modules of tests/support once they have imported this one.
"""
import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing
import unittest
import uuid

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

DEADLINE_S = int(os.environ.get("TEST_DEADLINE_S", "60"))
GONE_DEADLINE_S = 20
# Not SCELA_*: those are options of scela-run, which ranks do not inherit.
MARK = "E2E_MARK"
READY = "E2E_READY"
PYTHON = sys.executable
SEGMENTS = "/dev/shm"
PR_SET_PDEATHSIG = 1
# MPI libraries leave these when their processes are killed; the ranks here use none, so they are another test's.
FOREIGN_SEGMENTS = ("ucx_shm_posix_", "mpich_", "sem.mp-")

# What ranks run: shell text that tells the test its rank and process, then goes on.
TELL = f'echo "$SCELA_RANK $$" > "${READY}"; '
HOLD = TELL + "exec sleep 1000"


class Ended(typing.NamedTuple):
    """How scela-run ended, and what it wrote."""
    status: int  # as Popen.returncode: -N if signal N killed it
    out: bytes
    err: str

    @property
    def lines(self):
        return self.out.decode().splitlines()

    @property
    def last(self):
        """The last line of standard error: the cause."""
        return self.err.splitlines()[-1] if self.err else ""


class Process(typing.NamedTuple):
    """One process as /proc shows it."""
    pid: int
    parent: int
    name: str
    state: str
    words: tuple


def process(pid):
    """The process, or None if there is none (a zombie counts as none)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            head, _, tail = f.read().rpartition(")")
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = tuple(word.decode(errors="replace") for word in f.read().split(b"\0")[:-1])
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent = tail.split()[:2]
    return None if state in "ZX" else Process(int(pid), int(parent), head.split("(", 1)[1], state, words)


def processes_with(variable):
    """Every process that has this NAME=VALUE in the environment it was started with."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                marked = variable.encode() in f.read().split(b"\0")
        except OSError:
            continue
        if marked and int(entry) != os.getpid():
            found.append(process(entry))
    return [one for one in found if one]


def wait_gone(pids, deadline):
    """Waits until none of the processes runs; those that still do."""
    running = []
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
            running.append(pid)
        os.close(handle)
    return running


def wait_reaped(pid):
    """Waits until the process is gone and its parent has taken notice of it; there is no event for that."""
    deadline = time.monotonic() + DEADLINE_S
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        select.select([], [], [], 0.001)


def kill_together(node):
    """Kills a node's agent and its guardian so that neither acts on the other's end."""
    for pid in (node.guardian, node.agent):
        os.kill(pid, signal.SIGSTOP)
    os.kill(node.agent, signal.SIGKILL)  # first: its number stays its own, because its parent is stopped
    os.kill(node.guardian, signal.SIGKILL)


def is_used(path):
    """Whether any process has the file mapped, or a lock on the directory."""
    if os.path.isdir(path):
        with contextlib.suppress(OSError), open("/proc/locks", encoding="ascii") as f:
            return f":{os.stat(path).st_ino} " in f.read()
        return False
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/maps", encoding="utf-8", errors="replace") as f:
            if path in f.read():
                return True
    return False


def abandoned(before):
    """What is in /dev/shm, was not there before, and is used by nobody for a second: other tests' is in use or goes."""
    deadline = time.monotonic() + 1
    found = {name for name in set(os.listdir(SEGMENTS)) - before if not name.startswith(FOREIGN_SEGMENTS)}
    while True:
        found = {name for name in found
                 if os.path.exists(f"{SEGMENTS}/{name}") and not is_used(f"{SEGMENTS}/{name}")}
        if not found or time.monotonic() > deadline:
            return found
        select.select([], [], [], 0.05)


def moved(pid):
    """Bytes that a process has read and written so far."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/io", encoding="ascii") as f:
        return [int(line.split()[1]) for line in f if line.startswith(("rchar", "wchar"))]
    return []


class Node(typing.NamedTuple):
    """The processes that stand for one node."""
    name: str
    guardian: int
    agent: int
    children: tuple  # names of nodes whose agents this one's started


def end_with_parent():
    """Has this process told to end when its parent is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Job:
    """One scela-run that was started."""

    def __init__(self, test, arguments, **options):
        self.test = test
        count = len(os.listdir(test.folder))
        self.out_path, self.err_path = (os.path.join(test.folder, f"{name}.{count}") for name in ("out", "err"))
        environment = {**test.environment, **options.pop("env", {})}
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            options.setdefault("stdin", subprocess.DEVNULL)
            options.setdefault("stdout", out)
            options.setdefault("stderr", err)
            options.setdefault("cwd", test.folder)
            options.setdefault("start_new_session", True)
            command = [*options.pop("before", []), os.environ["SCELA_RUN"], *map(str, arguments)]
            # A test that is killed takes its jobs with it, which clean up.
            self.process = subprocess.Popen(command, env=environment, preexec_fn=end_with_parent, **options)
        self.pid = self.process.pid
        self.peak_kib = 0

    def signal(self, signo):
        self.process.send_signal(signo)

    def wait(self):
        """Waits for the end of scela-run."""
        if wait_gone([self.pid], time.monotonic() + DEADLINE_S):
            self.test.fail(f"scela-run has not ended after {DEADLINE_S} s\n{self.test.state_text()}\n{self.err()}")
        self.process.wait()
        with open(self.out_path, "rb") as out:
            return Ended(self.process.returncode, out.read(), self.err())

    def err(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def news(self, count):
        """The next `count` lines that ranks wrote to $E2E_READY, as lists of words."""
        news = self.test.news
        handle = os.pidfd_open(self.pid)
        poll = select.poll()
        poll.register(self.test.fifo, select.POLLIN)
        poll.register(handle, select.POLLIN)
        deadline = time.monotonic() + DEADLINE_S
        while len(news) < count:
            seen = poll.poll(max(0, deadline - time.monotonic()) * 1000)
            if self.test.fifo in dict(seen):
                self.test.read_fifo()
            elif seen:
                os.close(handle)
                self.test.fail(f"scela-run ended with {self.process.wait()} before its ranks said all\n{self.err()}")
            else:
                os.close(handle)
                self.test.fail(f"only {len(news)} of {count} messages came\n{self.test.state_text()}\n{self.err()}")
        os.close(handle)
        told, self.test.news = news[:count], news[count:]
        return [line.split() for line in told]

    def ranks(self, count):
        """Waits until `count` ranks ran TELL; their process ids by rank."""
        return {int(rank): int(pid) for rank, pid in self.news(count)}

    def nodes(self):
        """The agents of this job's nodes by name, while it runs."""
        here = self.test.processes()
        guardians = {one.words[one.words.index("--name") + 1]: one for one in here
                     if one.name == "scela-guardian"}
        agents = {one.parent: one.pid for one in here if one.name == "scela-nla"}
        owner = {agents[guardian.pid]: name for name, guardian in guardians.items()}
        below = {name: [] for name in guardians}
        for name, guardian in guardians.items():
            if guardian.parent in owner:
                below[owner[guardian.parent]].append(name)
        return {name: Node(name, guardian.pid, agents[guardian.pid], tuple(below[name]))
                for name, guardian in guardians.items()}


class JobTest(unittest.TestCase):
    """A test that runs jobs."""
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="scela-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.temporary)
        self.segments = set(os.listdir(SEGMENTS))
        fifo_path = os.path.join(self.folder, "ready")
        os.mkfifo(fifo_path)
        self.fifo = os.open(fifo_path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.addCleanup(os.close, self.fifo)
        self.news, self.partial_news = [], ""
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.folder, "LANG": "C", "TMPDIR": self.temporary,
            # Scripts are served PMIx too unless it is said that they need none; tests of that choice take this away.
            "SCELA_PMI": "fd", "SCELA_AGENT": os.environ["SCELA_AGENT"], MARK: self.mark, READY: fifo_path}

    def run(self, result=None):
        """As TestCase's; a test that is interrupted ends its jobs and removes its files before it ends itself."""
        self.mark, self.jobs = uuid.uuid4().hex, []  # before setUp(), which a signal may interrupt too
        try:
            return super().run(result)
        except KeyboardInterrupt:
            for job in self.jobs:
                job.process.terminate()
            self.wait_nothing_runs()
            self.doCleanups()
            raise

    def tearDown(self):
        for job in self.jobs:
            if job.process.poll() is None:
                job.process.kill()
                job.process.wait()
        left = self.wait_nothing_runs()
        found = [f"process {one.pid} ({' '.join(one.words)}), state {one.state}, parent {one.parent}" for one in left]
        for one in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        found += [f"file {os.path.join(self.temporary, name)}" for name in os.listdir(self.temporary)]
        segments = abandoned(self.segments)
        found += [f"segment {name}" for name in segments]
        for name in segments:  # it is told of below, and in the way of others from now on
            shutil.rmtree(f"{SEGMENTS}/{name}", ignore_errors=True)
        if found:
            errors = "".join(job.err() for job in self.jobs)
            self.fail("left behind:\n  " + "\n  ".join(found) + f"\nscela-run said:\n{errors}")

    def start(self, *arguments, **options):
        """Starts scela-run. Options as Popen's; env adds to the environment, before goes before the command."""
        self.jobs.append(Job(self, arguments, **options))
        return self.jobs[-1]

    def run_job(self, *arguments, **options):
        """Starts scela-run and waits for its end."""
        return self.start(*arguments, **options).wait()

    def succeed(self, *arguments, **options):
        """Runs a job that must end well and quietly; its standard output."""
        ended = self.run_job(*arguments, **options)
        self.assertEqual((ended.status, ended.err), (0, ""))
        return ended.out

    def assert_ended(self, ended, status, last):
        """The exit status, and a pattern for the whole last line of standard error after "scela-run: "."""
        self.assertEqual(ended.status, status, ended.err)
        self.assertRegex(ended.last, "^scela-run: " + last + "$")

    def assert_refused(self, ended, status, pattern):
        """Nothing was run: a single line on standard error that matches."""
        self.assertEqual((ended.status, ended.out), (status, b""), ended.err)
        self.assertRegex(ended.err, r"^scela-run: .*\n$")
        self.assertRegex(ended.err, pattern)

    def processes(self):
        return processes_with(f"{MARK}={self.mark}")

    def wait_nothing_runs(self):
        """Waits until no process of this test's jobs runs; those that still do."""
        deadline = time.monotonic() + GONE_DEADLINE_S
        while left := self.processes():
            if wait_gone([one.pid for one in left], deadline):
                return self.processes()
        return []

    def wait_standstill(self):
        """Waits until no process of this test moves a byte for a while: all that could be done is done."""
        deadline = time.monotonic() + DEADLINE_S
        before, since = None, 0
        while since < 10 and time.monotonic() < deadline:
            now = sorted((one.pid, moved(one.pid)) for one in self.processes())
            since = since + 1 if now == before else 0
            before = now
            select.select([], [], [], 0.02)

    def state_text(self):
        return "\n".join(f"{one.pid} {one.parent} {one.state} {one.name} {' '.join(one.words)}"
                         for one in self.processes())

    def read_fifo(self):
        text = self.partial_news + os.read(self.fifo, 65536).decode()
        *lines, self.partial_news = text.split("\n")
        self.news += lines

    def file(self, name, text="", mode=0o644):
        """Writes a file into the test's folder; its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def script(self, name, text):
        return self.file(name, "#!/bin/sh\n" + text, 0o755)

    def channel(self, name):
        """A fifo for the test to release ranks with; its path. Ranks read from it, release() ends their wait."""
        path = os.path.join(self.folder, name)
        os.mkfifo(path)
        return path


def release(path):
    """Lets whoever reads the fifo go on; waits for a reader."""
    with open(path, "wb"):
        pass


def labelled(lines):
    """Labelled output as {rank: [line...]}; order among ranks is not defined."""
    found = {}
    for line in lines:
        rank, text = re.fullmatch(r"(\d+): (.*)", line).groups()
        found.setdefault(int(rank), []).append(text)
    return found


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unittest.main()
