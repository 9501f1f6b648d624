"""A place to run verbs programs in: the library preloaded, an engine of its own, nothing left afterwards.

VERBS_LAUNCHER in the environment is put before each command (tests/support/unprivileged.c); the place is then its
user's, with copies of what is run there.
"""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TIME_LIMIT_S = 60


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def wait_until(holds, what):
    end = time.monotonic() + TIME_LIMIT_S
    while not holds():
        if time.monotonic() > end:
            fail(f"gave up waiting until {what}")
        time.sleep(0.01)


def free_port():
    """One that nobody listens on, and that the system gives to nobody who connects."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        first = int(f.read().split()[0])
    for _ in range(1000):
        port = random.randrange(first - 12000, first)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    fail(f"no port from {first - 12000} to {first - 1} is free")


def listens(port):
    """Whether somebody listens on the TCP port, of any address."""
    wanted = re.compile(rf"\s*\d+: [0-9A-F]+:{port:04X} [0-9A-F]+:0000 0A ")
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as f:
            if any(wanted.match(line) for line in f):
                return True
    return False


def output_of(program):
    program.said.seek(0)
    return program.said.read()


def processor_ticks(pid):
    """What a process has used so far; none if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[11]) + int(fields[12])


class Place:
    """As a context: at its end every program has ended, and the engine with its last."""

    def __init__(self, library, engine):
        self.folder = tempfile.mkdtemp(prefix="verbs.")
        self.programs = []
        self.expected = ""  # what the engine says
        self.launcher = os.environ.get("VERBS_LAUNCHER", "").split()
        library = f"{os.environ.get('VERBS_DOMAINS', '')} {library}".strip()
        if self.launcher:
            library = " ".join(map(self.bring, library.split()))
            engine, self.launcher[0] = map(self.bring, (engine, self.launcher[0]))
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("SCELA_")}
        self.environment.update(LD_PRELOAD=library, SCELA_HCA=engine, SCELA_HCA_STRICT="1",
                                TMPDIR=self.folder, LC_ALL="C")

    def bring(self, program):
        """A copy that other users may run."""
        copy = os.path.join(self.folder, os.path.basename(program))
        if not os.path.exists(copy):  # else it may be running
            shutil.copy(program, copy)
            os.chmod(copy, 0o755)
        if os.geteuid() == 0:
            os.chown(self.folder, 65534, 65534)
        return copy

    def launched(self, command):
        """The words of a command here."""
        if self.launcher and os.path.isabs(command[0]):
            command = [self.bring(command[0])] + command[1:]
        return self.launcher + command

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for program in self.programs:
            if program.poll() is None:
                program.kill()
            program.wait()
        try:
            if kind is None:
                wait_until(lambda: not self.engines(), "the engine ends with its last process")
        finally:
            for pid in self.engines():
                os.kill(pid, signal.SIGKILL)
            log = self.log()
            shutil.rmtree(self.folder)
        if kind is None and log != self.expected:
            fail(f"the engine said:\n{log}")

    def log(self):
        for folder, _, files in os.walk(self.folder):
            if "log" in files:
                with open(os.path.join(folder, "log"), encoding="utf-8") as f:
                    return f.read()
        return ""

    def engines(self):
        """Those that serve this place."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if b"--until-idle" in words and any(w.startswith(self.folder.encode()) for w in words):
                found.append(int(entry))
        return found

    def start(self, command, **more):
        # To a file: nobody need read along, and what was said so far can be looked at.
        said = tempfile.TemporaryFile("w+", errors="replace")
        program = subprocess.Popen(self.launched(command), env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=subprocess.STDOUT)
        program.said = said
        self.programs.append(program)
        return program

    def start_pair(self, command, clients=1):
        """A server, and clients once it listens."""
        port = free_port()
        command = command + ["-p", str(port)]
        started = [self.start(command)]
        wait_until(lambda: listens(port) or started[0].poll() is not None, "the server listens")
        return started + [self.start(command + ["127.0.0.1"]) for _ in range(clients)]

    def finish(self, program):
        """Status and output."""
        try:
            program.wait(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            fail(f"{program.args} did not end within {TIME_LIMIT_S} s:\n{output_of(program)}")
        return program.returncode, output_of(program)
