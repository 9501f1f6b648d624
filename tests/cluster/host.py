"""The first process of a host: makes its file systems, network and sshd, ends orphans, serves requests.

Runs as a fork of the holder, already in the namespaces of the host. One request at a time over a sequential
packet socket: {"op": NAME, ...} is answered by {"value": V} or {"error": TEXT}. Ends when the socket closes;
the kernel then ends what else runs here.
"""
import json
import os
import select
import selectors
import shutil
import signal
import socket
import subprocess
import time

import kernel
import layout

START_DEADLINE_S = 30
MESSAGE_BYTES = 1 << 20
ETC = "/etc/ssh/.etc"  # the host's own files that are shown over the machine's


def write(path, text, mode=0o644):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as f:
        f.write(text)


class Host:
    def __init__(self, index, channel, plan):
        self._index, self._channel, self._plan = index, channel, plan
        self._sshd = None  # its process ID, or None
        self._listeners = []  # sockets that play an ill sshd
        self._victims = []  # connections of a slow sshd
        self._next_byte = 0.0
        self._selector = selectors.DefaultSelector()

    # Start.

    def prepare(self):
        kernel.adopt_orphans()
        kernel.set_process_name(f"host:{layout.name(self._index)}")
        kernel.set_host_name(layout.name(self._index))
        self._mount()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", layout.name(self._index), "-f",
                        layout.HOST_KEY], check=True)
        with open(layout.HOST_KEY + ".pub", encoding="utf-8") as f:
            return f.read().strip()

    def _mount(self):
        kept = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in self._plan["keep"]
                if any(path.startswith(folder + "/") for folder in layout.PRIVATE)]
        etc = {name: self._etc(name) for name in
               ("hosts", "passwd", "shadow", "nsswitch.conf", "resolv.conf", "hostname")}
        if self._plan["own_processes"]:
            kernel.mount("proc", "/proc", "proc")
        self._mount_sys()
        for folder in layout.PRIVATE:
            mode = "1777" if folder in ("/tmp", "/dev/shm", "/var/tmp") else "0700" if folder == layout.HOME else "0755"
            kernel.mount("cluster", folder, "tmpfs", data=f"mode={mode},size={self._plan['disk']}")
        os.makedirs("/run/sshd", 0o755)
        os.makedirs(ETC, 0o755)
        for name, text in etc.items():
            if os.path.exists(f"/etc/{name}"):
                write(f"{ETC}/{name}", text, 0o640 if name == "shadow" else 0o644)
                kernel.bind(f"{ETC}/{name}", f"/etc/{name}")
        for path, fd in kept:
            if os.path.isdir(f"/proc/self/fd/{fd}"):
                os.makedirs(path, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                write(path, "")
            kernel.bind(f"/proc/self/fd/{fd}", path)
            os.close(fd)
        for path in self._plan["hidden"] if self._index else ():
            kernel.mount("cluster", path, "tmpfs", data=f"mode=0755,size={self._plan['disk']}")

    def _mount_sys(self):
        """/sys that shows the interfaces of this host."""
        groups = os.open("/sys/fs/cgroup", os.O_PATH | os.O_CLOEXEC)
        kernel.mount("sysfs", "/sys", "sysfs")
        kernel.bind(f"/proc/self/fd/{groups}", "/sys/fs/cgroup")
        os.close(groups)

    def _etc(self, name):
        if name == "passwd":
            with open("/etc/passwd", encoding="utf-8") as f:
                return layout.passwd(f.read(), "/bin/bash")
        return {"hosts": layout.hosts_file(self._plan["count"]), "shadow": "root:*:20000:0:99999:7:::\n",
                "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
                "resolv.conf": "", "hostname": layout.name(self._index) + "\n"}[name]

    def op_start(self, known_hosts, key, public):
        subprocess.run(["ip", "-batch", "-"], input=layout.network_of_host(self._index), text=True, check=True)
        os.mkdir(f"{layout.HOME}/.ssh", 0o700)
        ssh = f"{layout.HOME}/.ssh"
        write(f"{ssh}/authorized_keys", public)
        write(f"{ssh}/known_hosts", known_hosts)
        if key:
            write(f"{ssh}/id_ed25519", key, 0o600)
            write(f"{ssh}/id_ed25519.pub", public)
        write("/etc/ssh/ssh_config", "Host *\n    HashKnownHosts no\n")
        extra = self._plan["sshd"].get(layout.name(self._index), []) + self._plan["sshd"].get("", [])
        write("/etc/ssh/sshd_config", layout.sshd_config(self._plan["kex"], extra))
        self.op_sshd("on")

    # sshd.

    def op_sshd(self, state):
        """on; off: the port is closed; hang: accepts and is silent; slow: a byte a second; end: closes behind the version line."""
        self._stop_sshd()
        if state == "on":
            self._start_sshd()
        elif state != "off":
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address, 22))
                listener.listen(4096)
                self._listeners.append(listener)
                if state == "slow":
                    self._selector.register(listener, selectors.EVENT_READ, self._accept_victim)
                elif state == "end":
                    self._selector.register(listener, selectors.EVENT_READ, self._answer_and_end)

    def _stop_sshd(self):
        if self._sshd:
            os.kill(self._sshd, signal.SIGKILL)
            os.waitpid(self._sshd, 0)
            self._sshd = None
            os.unlink(layout.SSHD_PID)
        for listener in self._listeners:
            if listener in self._selector.get_map():
                self._selector.unregister(listener)
        for each in self._listeners + [connection for connection, _ in self._victims]:
            each.close()
        self._listeners, self._victims = [], []

    def _start_sshd(self):
        watch = kernel.watch_closed_writes("/run")
        try:
            pid = os.posix_spawn(layout.SSHD, [layout.SSHD, "-D", "-E", layout.SSHD_LOG], self._plan["environment"],
                                 setsigdef=[signal.SIGPIPE], setsid=True)
            ended = os.pidfd_open(pid)
            # The file with its process ID is written when the ports are open.
            readable = select.select([watch, ended], [], [], START_DEADLINE_S)[0]
            os.close(ended)
            if watch not in readable:
                with open(layout.SSHD_LOG, encoding="utf-8") as f:
                    raise RuntimeError(f"sshd does not start: {f.read()}")
            self._sshd = pid
        finally:
            os.close(watch)

    @staticmethod
    def _answer_and_end(listener):
        try:
            with listener.accept()[0] as connection:
                connection.send(b"SSH-2.0-OpenSSH_9\r\n", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            return

    def _accept_victim(self, listener):
        try:
            self._victims.append([listener.accept()[0], 0])
        except OSError:
            return
        self._next_byte = self._next_byte or time.monotonic()

    def _feed_victims(self):
        """A byte of a banner that has no end to each, once a second."""
        for victim in list(self._victims):
            try:
                victim[0].send((b"SSH-2.0-" + b"x")[min(victim[1], 8):][:1], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                victim[1] += 1
            except OSError:
                victim[0].close()
                self._victims.remove(victim)
        self._next_byte = time.monotonic() + 1 if self._victims else 0.0

    def op_new_key(self):
        for path in (layout.HOST_KEY, layout.HOST_KEY + ".pub"):
            os.unlink(path)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "changed", "-f", layout.HOST_KEY],
                       check=True)
        self.op_sshd("on")

    # Processes.

    def op_own(self):
        """Processes of the harness, numbered as in this host's namespace."""
        return [os.getpid()] + ([self._sshd] if self._sshd else [])

    def _others(self):
        """Every running process in this host's network but this one."""
        here = os.stat("/proc/self/ns/net").st_ino
        for word in os.listdir("/proc"):
            if word.isdigit() and int(word) != os.getpid():
                try:
                    with open(f"/proc/{word}/stat", "rb") as f:
                        state = f.read().rpartition(b")")[2].split()[0]
                    if state not in (b"Z", b"X") and os.stat(f"/proc/{word}/ns/net").st_ino == here:
                        yield int(word), state
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    pass  # it has ended; while it does, its links may not be read

    def op_freeze(self):
        """One that waits in the kernel for a child that is stopped stops when it comes back, so it is not waited for."""
        told = set()
        while running := [pid for pid, state in self._others() if state != b"T" and not (state == b"D" and pid in told)]:
            self._signal(running, signal.SIGSTOP)
            told.update(running)

    def op_thaw(self):
        self._signal([pid for pid, _ in self._others()], signal.SIGCONT)

    def op_kill(self, listener):
        """Stops all, so that none can start another, and kills them; the listening sshd only if told."""
        spared = set() if listener else {self._sshd}
        while running := [pid for pid, _ in self._others() if pid not in spared]:
            self._signal(running, signal.SIGSTOP)
            if not [pid for pid, _ in self._others() if pid not in spared and pid not in running]:
                self._signal(running, signal.SIGKILL)
        if listener:
            self._stop_sshd()

    @staticmethod
    def _signal(pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    # File systems.

    def op_fill(self, folders):
        for folder in folders:
            used = os.statvfs(folder)
            size = (used.f_blocks - used.f_bfree) * used.f_frsize + (64 << 10)
            kernel.mount(None, folder, flags=kernel.MS_REMOUNT, data=f"size={size}")
            with open(folder + layout.FILL, "wb", buffering=0) as f:
                try:
                    while f.write(bytes(4096)):
                        pass
                except OSError:
                    pass  # full, as wanted

    def op_empty(self, folders):
        for folder in folders:
            kernel.mount(None, folder, flags=kernel.MS_REMOUNT, data=f"size={self._plan['disk']}")
            if os.path.exists(folder + layout.FILL):
                os.unlink(folder + layout.FILL)

    def op_noexec(self, path):
        kernel.bind(path, path, kernel.MS_NOEXEC)

    def op_umount(self, path):
        kernel.umount(path)

    def op_remove(self, paths):
        for path in paths:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                os.unlink(path)

    # Network.

    def op_rate(self, mbit):
        subprocess.run(["tc", *rate_words("eth0", mbit)], check=True, capture_output=True)

    def op_firewall(self, closed):
        """Packets of TCP that are neither to nor from port 22 leave for an address that nobody has."""
        for words in layout.firewall(closed):
            subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    # Loop.

    def serve(self):
        wake, signalled = socket.socketpair()
        signalled.setblocking(False)
        signal.set_wakeup_fd(signalled.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wake, selectors.EVENT_READ, self._reap)
        self._selector.register(self._channel, selectors.EVENT_READ, self._answer)
        while True:
            wait = max(0.0, self._next_byte - time.monotonic()) if self._next_byte else None
            for key, _ in self._selector.select(wait):
                key.data(key.fileobj)
            if self._next_byte and time.monotonic() >= self._next_byte:
                self._feed_victims()

    def _reap(self, wake):
        wake.recv(4096)
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                if pid == self._sshd:
                    self._sshd = None
        except ChildProcessError:
            pass

    def _answer(self, channel):
        text = channel.recv(MESSAGE_BYTES)
        if not text:
            os._exit(0)
        request = json.loads(text)
        try:
            reply = {"value": getattr(self, "op_" + request.pop("op"))(**request)}
        except subprocess.CalledProcessError as error:
            reply = {"error": f"{layout.name(self._index)}: {error}: {error.stderr}"}
        except Exception as error:  # pylint: disable=broad-except
            reply = {"error": f"{layout.name(self._index)}: {error!r}"}
        channel.send(json.dumps(reply).encode())


def rate_words(device, mbit):
    """Arguments of tc: at most so many megabits a second out of the device; None ends it."""
    if mbit is None:
        return ["qdisc", "del", "dev", device, "root"]
    # A bucket of 10 ms or two large packets, and a queue of 100 ms.
    burst = max(128 << 10, int(mbit * 1e6 / 8 / 100))
    return ["qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{mbit}mbit", "burst", str(burst),
            "latency", "100ms"]


def main(index, channel, hello, plan):
    """Never returns."""
    signal.set_wakeup_fd(-1)  # the holder's
    try:
        host = Host(index, channel, plan)
        key = host.prepare()
        hello.send(json.dumps({"host": index, "key": key}).encode())
        hello.close()
        host.serve()
    except BaseException as error:  # pylint: disable=broad-except
        try:
            hello.send(json.dumps({"host": index, "error": repr(error)}).encode())
        finally:
            os._exit(1)
