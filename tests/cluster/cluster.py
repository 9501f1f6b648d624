"""Simulated hosts on one machine, with a real sshd each: for tests and benchmarks of what runs over ssh.

    with cluster.Cluster(8) as c:
        c.run("head", ["ssh", "node003", "hostname"])
        c.cut("node003")

Every host has a network, host name, IPC, file systems and, unless own_processes=False, processes of its own, and a
cable to a bridge that lies in a namespace of the cluster. "head" is the launcher's. See README.md for what a
host looks like and how faults work. Nothing of the machine's own network, home, keys or folders is touched.

A Cluster may be used from several threads, and must be made in one that outlives it: a process that dies, by SIGKILL
too, takes its clusters along. Clusters do not know of each other and may be up at once. Needs root.

By hand: people.py.
"""
import array
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import typing

import faults
import kernel
import layout

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = kernel.NEWNS | kernel.NEWUTS | kernel.NEWIPC | kernel.NEWNET | kernel.NEWPID
UP_DEADLINE_S = 120
REPLY_DEADLINE_S = 120
RUN_DEADLINE_S = 120  # of run(), unless told otherwise: only keeps a hanging command from hanging a test
EMPTY_DEADLINE_S = 10
POLL_S = 0.005
MESSAGE_BYTES = 1 << 20


class ClusterError(Exception):
    pass


class Process(typing.NamedTuple):
    pid: int  # as seen by the test
    words: str  # its command line

    def __str__(self):
        return f"{self.pid} ({self.words})"


def why_not():
    """What a machine lacks to hold a cluster, or None."""
    if os.geteuid() != 0:
        return "a cluster needs root"
    missing = [tool for tool in (layout.SSHD, "ssh", "ssh-keygen", "ip", "tc") if not shutil.which(tool)]
    return f"a cluster needs {', '.join(missing)}" if missing else None


@contextlib.contextmanager
def uninterrupted():
    """Signals that ask this process to end wait until the end of the block. Their handlers may raise exceptions, and a child that
    was forgotten would never be reaped: the end of its process namespace would wait for that. Yields the mask from before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def spawn(argv, enter, *, cwd, mask, new_session=True, terminal=False, **options):
    """A Popen whose process was made by enter(), called after fork: it returns 0 in the process that shall
    execute argv, a child of ours like any, and its process ID in the one between, which is forgotten. Called within
    uninterrupted(), which says the mask of signals of the new process."""
    told, tell = os.pipe()

    def between():
        pid = enter()
        if pid:
            os.write(tell, b"%d" % pid)
            os._exit(0)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if new_session:
            os.setsid()
        if terminal:
            import fcntl  # pylint: disable=import-outside-toplevel
            import termios  # pylint: disable=import-outside-toplevel
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(cwd)

    try:
        try:
            process = subprocess.Popen(argv, preexec_fn=between, **options)
        finally:
            os.close(tell)
            text = os.read(told, 32)
            if not text:
                raise ClusterError("the process between did not start another")
            pid = int(text)
    except OSError:
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(told)
    os.waitpid(process.pid, 0)
    process.pid = pid
    return process


def environment(extra=None):
    # Scripts are served PMIx too unless it is said that they need none.
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": layout.HOME, "SCELA_PMI": "fd",
            "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash", "LANG": "C.UTF-8", **(extra or {})}


class Cluster(faults.Faults):
    """count hosts and the head.

    own_processes  each host has a process namespace, so that it sees its own only
    kex            the only key exchange that sshd takes, such as "curve25519-sha256"; None: sshd's defaults
    sshd           lines of sshd_config for all hosts, a list, or by host name, a dictionary ("" is all)
    node_keys      the nodes can log in to each other; if not, only the head can
    disk           size of each private file system of a host, as mount takes it
    keep           paths of the machine that shall be seen on the hosts though they lie below /tmp, /root or another
                   private folder; the source tree and this Python are kept anyway
    hidden         folders of the machine, or /srv, that every node has to itself, empty at first; the head sees them as they are
    """

    def __init__(self, count, *, own_processes=True, kex=None, sshd=(), node_keys=True, disk="1g", keep=(), hidden=()):
        if not 1 <= count <= layout.MAX_HOSTS:
            raise ValueError(f"a cluster has 1 to {layout.MAX_HOSTS} hosts, not {count}")
        super().__init__()
        self.hosts = [layout.name(index) for index in range(1, count + 1)]
        self.everyone = ["head"] + self.hosts
        self.own_processes = own_processes
        self.sshd_lines = dict(sshd) if isinstance(sshd, dict) else {"": list(sshd)}
        self._index = {name: index for index, name in enumerate(self.everyone)}
        self._keep = [os.path.realpath(path) for path in
                      (os.path.dirname(os.path.dirname(HERE)), sys.base_prefix, *keep)]
        self.kex = kex
        self._plan = {"count": count, "own_processes": own_processes, "kex": kex, "disk": disk, "keep": self._keep,
                      "hidden": _outermost(hidden), "sshd": self.sshd_lines, "environment": environment()}
        self._node_keys = node_keys
        self._lock = threading.Lock()
        self._holder = self._channel = None
        self._inits = []  # process IDs of the hosts' first processes
        self._started = []

    # Up and down.

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def up(self):
        reason = why_not()
        if reason:
            raise ClusterError(reason)
        try:
            self._up()
        except BaseException:
            self.down()
            raise
        return self

    def _up(self):
        hello, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        hello.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._channel, channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # -S: no site packages, which cost more than the rest.
        with uninterrupted() as mask:
            self._holder = spawn(
                [sys.executable, "-S", "-E", "-B", os.path.join(HERE, "holder.py"), str(channel.fileno())],
                lambda: kernel.clone(kernel.CLONE_PARENT | ALL), cwd="/", mask=mask, stdin=subprocess.DEVNULL,
                pass_fds=[channel.fileno(), theirs.fileno()], env=environment())
        channel.close()
        fd = theirs.fileno()
        self._send({"op": "up", "hello": fd, "plan": self._plan})
        theirs.close()
        keys = self._await_hosts(hello)
        self._receive()
        hello.close()
        private, public = self._key_pair()
        known = layout.known_hosts(keys)
        everyone = range(len(self.everyone))
        for indexes, key in ([everyone, private],) if self._node_keys else ([[0], private], [everyone[1:], ""]):
            self._ask({"hosts": list(indexes), "op": "start", "known_hosts": known, "key": key, "public": public})

    def _await_hosts(self, hello):
        """Every host's public key; notes the process IDs that the kernel attests."""
        keys = [""] * len(self.everyone)
        self._inits = [0] * len(self.everyone)
        hello.settimeout(UP_DEADLINE_S)
        for _ in keys:
            text, ancillary, _, _ = hello.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(12))
            if not text:
                raise ClusterError(f"the cluster ended while it started: {self._receive()}")
            said = json.loads(text)
            if "error" in said:
                raise ClusterError(f"{layout.name(said['host'])} does not start: {said['error']}")
            self._inits[said["host"]] = array.array("i", ancillary[0][2])[0]
            keys[said["host"]] = said["key"]
        return keys

    def _key_pair(self):
        """Made on the head, where the files go away with it."""
        path = self.path("head", "/run/cluster-key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "root@cluster", "-f", path], check=True)
        texts = []
        for name in (path, path + ".pub"):
            with open(name, encoding="utf-8") as f:
                texts.append(f.read())
            os.unlink(name)
        return texts

    def down(self):
        """Kills what runs in the cluster; when it returns, no process of it is left."""
        if self._holder is None:
            return
        try:
            self._holder.kill()
            for process in self._started:
                if process.returncode is None:
                    process.wait()
                for stream in (process.stdin, process.stdout, process.stderr):
                    if stream:
                        with contextlib.suppress(OSError):
                            stream.close()
            self._holder.wait()
            self._channel.close()
        finally:
            self._holder, self._started, self._inits = None, [], []

    # Commands.

    def popen(self, host, argv, *, env=None, cwd=layout.HOME, stdin=subprocess.DEVNULL, **options):
        """argv on the host, as subprocess.Popen: a child of ours in a session of its own, and its streams, signals,
        exit status and process ID are as usual. terminal=True: standard input becomes its controlling terminal."""
        first = os.pidfd_open(self.first_process(host))

        def enter():
            kernel.setns(first, ALL)
            return kernel.clone(kernel.CLONE_PARENT)

        with uninterrupted() as mask:
            try:
                process = spawn([str(word) for word in argv], enter, cwd=cwd, mask=mask, stdin=stdin, env=environment(env), **options)
            finally:
                os.close(first)
            self._started = [each for each in self._started if each.returncode is None] + [process]
        return process

    def run(self, host, argv, *, input=None, timeout=RUN_DEADLINE_S, check=False, text=True,
            **options):  # pylint: disable=redefined-builtin
        """argv on the host to its end, as subprocess.run, with both outputs captured as text."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("errors", "surrogateescape" if text else None)
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.popen(host, argv, text=text, **options)
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        if check and process.returncode:
            raise ClusterError(f"{' '.join(map(str, argv))} on {host}: exit {process.returncode}: {err}")
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def ssh(self, host, *command, source="head", **options):
        """A command on the host by ssh from another."""
        return self.run(source, ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, *command], **options)

    # What is there.

    def first_process(self, host):
        """The harness's own on the host, as seen by the test: its namespaces are the host's."""
        return self._inits[self._index[host]]

    def path(self, host, path):
        """The host's file as a path of the test."""
        return f"/proc/{self.first_process(host)}/root{path}"

    def address(self, host):
        return layout.address(self._index[host])

    def address6(self, host):
        return layout.address6(self._index[host])

    def log(self, host):
        """What the host's sshd has written."""
        with open(self.path(host, layout.SSHD_LOG), encoding="utf-8") as f:
            return f.read()

    def processes(self, *hosts):
        """Running processes of the hosts, or of all nodes, that are not the harness's."""
        names = hosts or self.hosts
        networks = {os.stat(f"/proc/{self.first_process(name)}/ns/net").st_ino: name for name in names}
        own = dict(zip(names, self._ask_hosts(names, "own")))
        found = []
        for word in os.listdir("/proc"):
            if not word.isdigit():
                continue
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                host = networks.get(os.stat(f"/proc/{word}/ns/net").st_ino)
                if host and _inner_pid(word) not in own[host]:
                    with open(f"/proc/{word}/cmdline", "rb") as f:
                        words = f.read().replace(b"\0", b" ").decode(errors="replace").strip()
                    if words:  # else it is dead
                        found.append(Process(int(word), words))
        return found

    def listener(self, host):
        """The host's sshd, which all logins come from, as seen by the test."""
        wanted = self._ask_hosts([host], "own")[0][1:]
        network = os.stat(f"/proc/{self.first_process(host)}/ns/net").st_ino
        for word in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if os.stat(f"/proc/{word}/ns/net").st_ino == network and _inner_pid(word) in wanted:
                    return int(word)
        raise ClusterError(f"no sshd listens on {host}")

    def files(self, *hosts):
        """Files and folders of the hosts, or of all nodes, in folders that were empty at first: "host:path"."""
        found = []
        for host in hosts or self.hosts:
            root = self.path(host, "")
            for folder in layout.WATCHED:
                for at, folders, names in os.walk(root + folder):
                    at = at[len(root):]
                    for name in list(folders) + names:
                        path = f"{at}/{name}"
                        known = path in layout.OF_THE_HARNESS + tuple(self._keep) or name == layout.FILL[1:]
                        if known and name in folders:
                            folders.remove(name)
                        if not known and not any(keep.startswith(path + "/") for keep in self._keep):
                            found.append(f"{host}:{path}")
        return sorted(found)

    def left(self, *hosts):
        """Processes and files, as text."""
        return [f"process {process}" for process in self.processes(*hosts)] + self.files(*hosts)

    def assert_left(self, host, words, within=EMPTY_DEADLINE_S):
        """Waits until the host's processes are these, by their command lines."""
        start = time.monotonic()
        while (left := {process.words for process in self.processes(host)}) != words:
            if time.monotonic() - start > within:
                raise AssertionError(f"left on {host} {within} s later: {left}, not {words}")
            select.select([], [], [], POLL_S)

    def assert_empty(self, *hosts, within=EMPTY_DEADLINE_S):
        """Waits until the hosts, or all nodes, are as they were at first; returns the seconds that it took."""
        start = time.monotonic()
        while left := self.left(*hosts):
            if time.monotonic() - start > within:
                raise AssertionError(f"left behind {within} s later:\n" + "\n".join(left))
            select.select([], [], [], POLL_S)
        return time.monotonic() - start

    # Requests.

    def _ask_hosts(self, hosts, op, **arguments):
        return self._ask({"hosts": [self._index[host] for host in hosts], "op": op, **arguments})

    def _ask_holder(self, op, **arguments):
        return self._ask({"op": op, **arguments})

    def _ask(self, request):
        with self._lock:
            self._send(request)
            reply = self._receive()
        if "error" in reply:
            raise ClusterError(reply["error"])
        return reply["value"]

    def _send(self, request):
        self._channel.send(json.dumps(request).encode())

    def _receive(self):
        self._channel.settimeout(REPLY_DEADLINE_S)
        text = self._channel.recv(MESSAGE_BYTES)
        return json.loads(text) if text else {"error": "the cluster is gone"}


def _outermost(paths):
    """The folders without those that lie below another of them."""
    real = {os.path.realpath(path) for path in paths}
    return sorted(path for path in real if not any(path.startswith(other + "/") for other in real))


def _inner_pid(word):
    """The process's number in its own namespace."""
    with open(f"/proc/{word}/status", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return -1
