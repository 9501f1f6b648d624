"""Simulated hosts with an sshd each (tests/cluster) on which commands are timed and their CPU time is accounted for.

    with Hosts(64, kex="curve25519-sha256") as hosts:
        sample = hosts.time(["/usr/bin/pdsh", "-w", ",".join(hosts.names), "hostname"])

The CPU time is what the kernel charges to two control groups: what runs on the head, which is the launcher with
whatever it starts there, and what runs on the hosts. So other work on the machine is not counted, processes that
nobody waits for are, and the end of the hosts' sessions too: a run is over, but for its wall time, when as many
processes are left as before. Needs root and control groups of version 2.
"""
import collections
import contextlib
import json
import os
import re
import shutil
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

# Seconds: start to end, CPU of head and hosts, CPU of the head alone, busy time of the whole machine meanwhile.
Sample = collections.namedtuple("Sample", "wall machine launcher busy output errors")


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
        name = f"scela-bench-{os.getpid()}-{id(self)}"
        accounts = mount_of("cgroup2")
        self._homes = [accounts + own_group(r"^0::(.*)$")]
        self._top = os.path.join(accounts, name)
        self._folders = [os.path.join(self._top, each) for each in self.NAMES] + [self._top]
        self._scheduled = None
        if shares:
            cpu = mount_of("cgroup", "cpu")
            self._homes.append(cpu + own_group(r"^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(.*)$"))
            self._scheduled = os.path.join(cpu, name)
            self._folders.append(self._scheduled)
        for folder in reversed(self._folders):
            os.mkdir(folder)
        if shares:
            with open(os.path.join(self._scheduled, "cpu.shares"), "w", encoding="utf-8") as f:
                f.write(str(shares))

    @contextlib.contextmanager
    def member(self, name):
        """What this process starts meanwhile belongs to the group."""
        self._move([os.path.join(self._top, name)] + ([self._scheduled] if self._scheduled else []))
        try:
            yield
        finally:
            self._move(self._homes)

    @staticmethod
    def _move(groups):
        for group in groups:
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as f:
                f.write(str(os.getpid()))

    def cpu(self, name):
        with open(os.path.join(self._top, name, "cpu.stat"), encoding="utf-8") as f:
            return int(re.search(r"usage_usec (\d+)", f.read()).group(1)) / 1e6

    def count(self):
        """Processes of both groups."""
        found = 0
        for name in self.NAMES:
            with open(os.path.join(self._top, name, "cgroup.procs"), "rb") as f:
                found += f.read().count(b"\n")
        return found

    def close(self):
        deadline = time.monotonic() + SETTLE_S
        while self.count() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        for folder in self._folders:
            os.rmdir(folder)


class Hosts:
    """count hosts; kex and options as cluster.Cluster has them. `names` and `cluster` are for whoever makes command lines."""

    SHARES = None  # see Groups

    def __init__(self, count, kex="curve25519-sha256", **options):
        self.cluster = cluster.Cluster(count, kex=kex, **options)
        self.names = self.cluster.hosts
        self._groups = self._server = None
        self._resting = 0

    def __enter__(self):
        self._groups = Groups(self.SHARES)
        try:
            self._up()
            with self._groups.member("head"):
                self._server = self.cluster.popen(
                    "head", [sys.executable, "-S", "-E", "-B", os.path.join(HERE, "ssh_head.py")], text=True,
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
        run = self._ask({"argv": [shutil.which(argv[0]) or argv[0], *map(str, argv[1:])], "timeout": timeout, "output": output})
        if run["status"] != status:
            raise measure.Failed(f"{' '.join(map(str, argv))[:200]}: status {run['status']}: {run['errors'].strip()[-600:]}")
        self.wait_empty()
        after_machine, after_head, after_busy = self._cpu()
        return Sample(run["seconds"], after_machine - machine - run["own_seconds"],
                      after_head - head - run["own_seconds"], after_busy - busy, run["output"], run["errors"])

    def _cpu(self):
        head = self._groups.cpu("head")
        return head + self._groups.cpu("hosts"), head, measure.busy_seconds()

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
