"""Simulated hosts with an sshd each (tests/cluster) on which commands are timed and their CPU time is accounted for.

    with Hosts(64, kex="curve25519-sha256") as hosts:
        sample = hosts.time(["/usr/bin/pdsh", "-w", ",".join(hosts.names), "hostname"])

The CPU time is what the kernel charges to two control groups: what runs on the head, which is the launcher with
whatever it starts there, and what runs on the hosts; with each_host=True one for every host. So other work on the machine is not counted, processes that
nobody waits for are, and the end of the hosts' sessions too: a run is over, but for its wall time, when as many
processes are left as before. Needs root and control groups of version 2.
"""
import collections
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "cluster"))
import cluster  # noqa: E402 pylint: disable=wrong-import-position
from cluster import ClusterError  # noqa: E402,F401 pylint: disable=wrong-import-position,unused-import

SETTLE_S = 20  # how long a run's last processes may take to leave
POLL_S = 0.001
UP_TRIES = 5

# Seconds: start to end, CPU of head and hosts, CPU of the head alone, busy time of the whole machine meanwhile. `each` is the CPU
# of every host by its name, or None.
Sample = collections.namedtuple("Sample", "wall machine launcher busy output errors each", defaults=(None,))
# Groups are named after this and the process that made them.
GROUP = "scela-bench-"


def end_cleanly():
    """Signals that ask this process to end raise SystemExit, once, so that hosts and control groups are removed first."""
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def leave(number, _):
        for each in asked:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for each in asked:
        signal.signal(each, leave)


def mount_of(kind, option=""):
    """Where control groups of this kind are."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for line in f:
            _, path, found, options, *_ = line.split()
            if found == kind and (not option or option in options.split(",")):
                return path
    sys.exit(f"launch_ssh.py: CPU time is accounted for by control groups: mount {kind} {option} first")


def own_group(pattern):
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        return re.search(pattern, f.read(), re.M).group(1)


class Groups:
    """Two groups for accounting, where no limit is set; and with shares, one for both that the scheduler gives so many
    parts of the CPU where other work of the machine gets 1024 a session: its processes then share as equals, whatever
    sessions they are in, as they would on a machine of their own."""

    NAMES = ("head", "hosts")

    def __init__(self, shares=None):
        name = f"{GROUP}{os.getpid()}-{id(self)}"
        accounts = mount_of("cgroup2")
        self._homes = [accounts + own_group(r"^0::(.*)$")]
        self._top = os.path.join(accounts, name)
        self._folders = [os.path.join(self._top, each) for each in self.NAMES] + [self._top]
        self._counted = [os.path.join(self._top, each) for each in self.NAMES]
        self._scheduled = None
        if shares:
            cpu = mount_of("cgroup", "cpu")
            self._homes.append(cpu + own_group(r"^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(.*)$"))
            self._scheduled = os.path.join(cpu, name)
            self._folders.append(self._scheduled)
        for folder in reversed(self._folders):
            self._remove_stale(os.path.dirname(folder))
            os.mkdir(folder)
        if shares:
            with open(os.path.join(self._scheduled, "cpu.shares"), "w", encoding="utf-8") as f:
                f.write(str(shares))

    @staticmethod
    def _remove_stale(parent):
        """Removes the groups of processes that were killed before they could."""
        for found in glob.glob(os.path.join(parent, GROUP + "*")):
            if not os.path.exists(f"/proc/{os.path.basename(found)[len(GROUP):].split('-')[0]}"):
                for folder, _, _ in os.walk(found, topdown=False):
                    with contextlib.suppress(OSError):  # another benchmark removes it, or a process is left in it
                        os.rmdir(folder)

    def split(self, members):
        """Makes a group for each host within that of all hosts, and moves the processes of `members`, {host: process IDs}, there;
        what they start from then on belongs to it too."""
        for name, pids in members.items():
            folder = os.path.join(self._top, "hosts", name)
            os.mkdir(folder)
            self._folders.insert(0, folder)
            self._counted.append(folder)
            for pid in pids:
                self._write(folder, pid)

    @contextlib.contextmanager
    def member(self, name):
        """What this process starts meanwhile belongs to the group."""
        try:
            self._move([os.path.join(self._top, name)] + ([self._scheduled] if self._scheduled else []))
            yield
        finally:
            self._move(self._homes)

    def _move(self, groups):
        for group in groups:
            self._write(group, os.getpid())

    @staticmethod
    def _write(group, pid):
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as f:
            f.write(str(pid))

    def cpu(self, name):
        with open(os.path.join(self._top, name, "cpu.stat"), encoding="utf-8") as f:
            return int(re.search(r"usage_usec (\d+)", f.read()).group(1)) / 1e6

    def count(self):
        """Processes of all groups."""
        return sum(len(self.processes(folder)) for folder in self._counted)

    def processes(self, group):
        """Process IDs in the group, which is named by its folder, or as in NAMES."""
        with open(os.path.join(self._top, group, "cgroup.procs"), "rb") as f:
            return list(map(int, f.read().split()))

    def close(self):
        deadline = time.monotonic() + SETTLE_S
        while self.count() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        for folder in self._folders:
            os.rmdir(folder)


class Hosts:
    """count hosts; kex and options as cluster.Cluster has them. `names` and `cluster` are for callers that make command lines.
    With each_host=True samples say the CPU of each host, too."""

    SHARES = None  # see Groups

    def __init__(self, count, kex="curve25519-sha256", each_host=False, **options):
        self.cluster = cluster.Cluster(count, kex=kex, **options)
        self.names = self.cluster.hosts
        self._groups = self._server = None
        self._each_host = each_host
        self._resting = 0

    def __enter__(self):
        self._groups = Groups(self.SHARES)
        try:
            self._up()
            if self._each_host:
                self._groups.split(self._processes_of_hosts())
            with self._groups.member("head"):
                self._server = self.cluster.popen(
                    "head", [sys.executable, "-S", "-E", "-B", os.path.join(HERE, "programs", "ssh_head.py")], text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.rest()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _up(self):
        """Tried again for a while: many hosts at once can meet limits that all users of the machine share."""
        with self._groups.member("hosts"):
            for left in reversed(range(UP_TRIES)):
                try:
                    return self.cluster.up()
                except ClusterError as error:
                    if left == 0:
                        raise measure.Failed(f"{len(self.names)} hosts do not start: {error}") from error
                    time.sleep(1)

    def _processes_of_hosts(self):
        """{host: its processes}, found by their network."""
        networks = {os.stat(f"/proc/{self.cluster.first_process(name)}/ns/net").st_ino: name for name in self.names}
        found = {name: [] for name in self.names}
        for pid in self._groups.processes("hosts"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                name = networks.get(os.stat(f"/proc/{pid}/ns/net").st_ino)
                if name:
                    found[name].append(pid)
        return found

    def __exit__(self, *_):
        self.cluster.down()
        self._groups.close()

    def rest(self):
        """What runs now is what shall run between commands."""
        self._resting = self._groups.count()

    def write(self, path, text):
        """A file on the head; below /srv, on all hosts."""
        with open(self.cluster.path("head", path), "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, host, argv, **options):
        """A process that stays, counted as the hosts'."""
        with self._groups.member("hosts"):
            return self.cluster.popen(host, argv, **options)

    def launch(self, argv, **options):
        """As time(), but still running: cluster.popen's process on the head."""
        with self._groups.member("head"):
            return self.cluster.popen("head", argv, **options)

    def time(self, argv, timeout=120, output=None, status=0):
        """Runs a command on the head to its end and until nothing of it is left."""
        machine, head, busy = self._cpu()
        each = self._cpu_of_hosts()
        run = self._ask({"argv": [shutil.which(argv[0]) or argv[0], *map(str, argv[1:])], "timeout": timeout, "output": output})
        if run["status"] != status:
            raise measure.Failed(f"{' '.join(map(str, argv))[:200]}: status {run['status']}: {run['errors'].strip()[-600:]}")
        self.wait_empty()
        after_machine, after_head, after_busy = self._cpu()
        after_each = self._cpu_of_hosts()
        return Sample(run["seconds"], after_machine - machine - run["own_seconds"],
                      after_head - head - run["own_seconds"], after_busy - busy, run["output"], run["errors"],
                      {name: after_each[name] - each[name] for name in each} if self._each_host else None)

    def _cpu(self):
        head = self._groups.cpu("head")
        return head + self._groups.cpu("hosts"), head, measure.busy_seconds()

    def _cpu_of_hosts(self):
        return {name: self._groups.cpu(os.path.join("hosts", name)) for name in self.names} if self._each_host else {}

    def _ask(self, request):
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline() or '{"error": "the head is gone"}')
        if "error" in answer:
            raise measure.Failed(answer["error"])
        return answer

    def wait_empty(self):
        """Waits until no process is left that was not there at rest(); returns the seconds."""
        start = time.monotonic()
        while self._groups.count() > self._resting:
            if time.monotonic() - start > SETTLE_S:
                raise measure.Failed("left running: " + "; ".join(self.cluster.left(*self.cluster.everyone))[:500])
            time.sleep(POLL_S)
        return time.monotonic() - start
