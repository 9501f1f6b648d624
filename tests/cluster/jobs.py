"""What tests of jobs on simulated hosts have in common: JobTest.

Files that a test puts on a host go to folders of its own where no leftovers are looked for: STORE, and ~/.ssh, which
is restored after the test.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess

import layout
from case import ClusterTest, DEADLINE_S

STORE = "/etc/ssh/store"
SSH = f"{layout.HOME}/.ssh"
NO_AGENT = ("--agent", "/nonexistent")  # nowhere installed: it is sent
NO_CACHE = NO_AGENT + ("--no-agent-cache",)
UNREACHABLE, LAUNCH = 68, 71  # exit statuses, see scela-run(1)


def _parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return int(f.read().rpartition(")")[2].split()[1])


class JobTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self._log_sizes = {host: len(self.cluster.log(host)) for host in self.cluster.everyone}
        self.addCleanup(self._clear_store)
        self.addCleanup(self._restore, {host: self._ssh_files(host) for host in self.cluster.everyone})

    # Files.

    def _ssh_files(self, host):
        folder = self.cluster.path(host, SSH)
        files = {}
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            with open(path, "rb") as f:
                files[name] = f.read(), os.stat(path).st_mode & 0o777
        return files

    def _restore(self, before):
        self.cluster.undo()  # lock_out() has a file of its own there
        for host, files in before.items():
            now = self._ssh_files(host)
            for name in now.keys() - files.keys():
                os.unlink(self.cluster.path(host, f"{SSH}/{name}"))
            for name, (text, mode) in files.items():
                if now.get(name) != (text, mode):
                    self.put(host, f"{SSH}/{name}", text, mode)

    def _clear_store(self):
        for host in self.cluster.everyone:
            for folder in (STORE, layout.CACHE):
                shutil.rmtree(self.cluster.path(host, folder), ignore_errors=True)

    def put(self, host, path, content, mode=0o600):
        """A file of the host; a bare name lies in STORE. Returns its path there."""
        path = path if path.startswith("/") else f"{STORE}/{path}"
        real = self.cluster.path(host, path)
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open(real, "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        os.chmod(real, mode)
        return path

    def put_everywhere(self, path, content, mode=0o600):
        for host in self.cluster.hosts:
            where = self.put(host, path, content, mode)
        return where

    def read(self, host, path):
        with open(self.cluster.path(host, path), encoding="utf-8") as f:
            return f.read()

    def configure(self, text):
        """The user's ssh configuration on the head."""
        self.put("head", f"{SSH}/config", text)

    def fake(self, host, **programs):
        """Scripts for /bin/sh that the host's logins find before the system's programs."""
        for name, text in programs.items():
            self.put(host, f"{STORE}/bin/{name}", "#!/bin/sh\n" + text, 0o755)
        self.cluster.restart_sshd(host, [f"SetEnv PATH={STORE}/bin:/usr/bin:/bin"])

    def add_worker(self, *hosts, shell="/bin/sh"):
        """A user without privileges, who takes root's key."""
        for host in hosts:
            home = self.put(host, f"{STORE}/home/.ssh/authorized_keys", self.read("head", f"{SSH}/id_ed25519.pub"))
            for path in (os.path.dirname(os.path.dirname(home)), os.path.dirname(home), home):
                os.chown(self.cluster.path(host, path), 1234, 1234)
            for path in ("/etc/ssh", STORE):
                os.chmod(self.cluster.path(host, path), 0o755)
            users = self.read(host, "/etc/passwd")
            self.put(host, "/etc/passwd", users + f"worker:x:1234:1234::{STORE}/home:{shell}\n", 0o644)
            self.addCleanup(self.put, host, "/etc/passwd", users, 0o644)

    # Jobs.

    def start(self, *words, **streams):
        streams.setdefault("stdout", subprocess.PIPE)
        streams.setdefault("stderr", subprocess.PIPE)
        job = self.cluster.popen("head", [self.scela_run(), *words], text=True, **streams)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def run_job(self, *words, status=0, timeout=DEADLINE_S, **options):
        done = self.cluster.run("head", [self.scela_run(), *words], timeout=timeout, **options)
        self.assertEqual(done.returncode, status, (words, done.stdout[:1000], done.stderr))
        return done

    def assert_hosts(self, expected, *words, **options):
        """A job of one rank on each host prints these host names, and no error."""
        done = self.run_job(*words, "--ppn", "1", "hostname", **options)
        self.assertEqual((sorted(done.stdout.split()), done.stderr), (sorted(expected), ""))

    def sleepers(self, *words, count=8, program="echo up; exec sleep 1000"):
        """A job whose ranks all sleep."""
        job = self.start(*words, "--ppn", "1", "sh", "-c", program)
        for _ in range(count):
            if job.stdout.readline() != "up\n":
                self.fail(job.communicate(timeout=DEADLINE_S))
        return job

    def agents(self, host):
        """Process IDs of the host's agents, each behind its guardian's: the numbers themselves may wrap in between."""
        pids = [process.pid for process in self.cluster.processes(host) if " --stdio " in process.words]
        return sorted(pids, key=lambda pid: _parent(pid) in pids)

    def executables(self, host):
        return {os.readlink(f"/proc/{pid}/exe") for pid in self.agents(host)}

    def packages(self, host):
        """Where the packages of the host's agents were executed from."""
        found = set()
        for pid in self.agents(host):
            folder = f"/proc/{pid}/fd"
            links = [os.readlink(f"{folder}/{number}") for number in os.listdir(folder)]
            found.update(link for link in links if re.search(r"/\.?scela-nla-[0-9a-f]{16}", link))
        return found

    def end(self, job):
        """Ends it; returns what it has written to its standard error."""
        job.send_signal(signal.SIGTERM)
        return job.communicate(timeout=DEADLINE_S)[1]

    # Logins.

    def log(self, host):
        return self.cluster.log(host)[self._log_sizes[host]:]

    def _sources(self, pattern, host):
        names = {self.cluster.address(each): each for each in self.cluster.everyone}
        names.update({self.cluster.address6(each): each for each in self.cluster.everyone})
        return [names[address] for address in re.findall(pattern, self.log(host))]

    def logins(self, *hosts):
        """By host: from where somebody logged in during this test."""
        return {host: self._sources(r"Accepted publickey for \S+ from (\S+) port", host)
                for host in hosts or self.cluster.hosts}

    def refusals(self):
        """From where somebody was refused during this test, once for each time; wants LogLevel VERBOSE."""
        return [source for host in self.cluster.hosts
                for source in self._sources(r"Failed publickey for \S+ from (\S+) port", host)]

    def forget_logins(self):
        self._log_sizes = {host: len(self.cluster.log(host)) for host in self.cluster.everyone}

    # Keys.

    def keygen(self, *words):
        """ssh-keygen on the head, in ~/.ssh."""
        self.cluster.run("head", ["ssh-keygen", "-q", *words], cwd=SSH, check=True)

    def remove_key(self, host="head"):
        os.unlink(self.cluster.path(host, f"{SSH}/id_ed25519"))

    def authorize(self, line, *hosts):
        for host in hosts or self.cluster.hosts:
            self.put(host, f"{SSH}/authorized_keys", line)

    @contextlib.contextmanager
    def ssh_agent(self):
        """A running ssh-agent on the head, as the process and its socket's path."""
        socket = f"{STORE}/agent"
        os.makedirs(self.cluster.path("head", STORE), exist_ok=True)
        agent = self.cluster.popen("head", ["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE)
        try:
            agent.stdout.readline()  # it listens
            yield agent, socket
        finally:
            agent.kill()
            agent.wait()
