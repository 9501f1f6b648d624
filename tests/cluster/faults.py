"""What can go wrong with a host of a cluster, and how it is put right again: part of Cluster.

Every fault lasts until it is undone by its opposite, or by reset(). Hosts are named as for run().
"""
import os
import shutil

import layout

NOISE = ('echo "Welcome to $(hostname)"; printf "unterminated \\001\\377 noise"; echo "a warning" >&2\n')
# As much of fish as matters to one who starts a command by ssh: it knows no $?, $$, ${}, backquotes, subshells or
# here-documents, and its own words for blocks.
FISH = r"""#!/bin/sh
[ "$1" = -c ] || { echo 'fish: expected -c' >&2; exit 127; }
case $2 in
  *'$?'*|*'$$'*|*'${'*|*'`'*|*'<<'*|*'; then'*|*'; do'*|*'; fi'*|*'; done'*|'('*|*[\;\&\|]' ('*)
    echo "fish: unsupported syntax: $2" >&2
    exit 127 ;;
esac
exec /bin/sh -c "$2"
"""
SILENT = "#!/bin/sh\nexec sleep 1000000\n"
SHELLS = "/etc/ssh/.shells"  # private, and not among the folders where leftovers are looked for


class Faults:
    # From Cluster.
    hosts: list
    everyone: list

    def __init__(self):
        self._undo = {}  # (host, kind): what reset() calls

    def _note(self, host, kind, undo):
        if undo is None:
            self._undo.pop((host, kind), None)
        else:
            self._undo[host, kind] = undo

    def undo(self, *hosts):
        """Ends all faults of the hosts, or of all."""
        for (host, kind), undo in list(self._undo.items()):
            if host in (hosts or self.everyone) and (host, kind) in self._undo:
                undo()

    def reset(self, *hosts):
        """The hosts, or all, as they were at first: faults undone, foreign processes killed, files removed."""
        names = hosts or self.everyone
        self.undo(*names)
        self._ask_hosts(names, "kill", listener=False)
        for host in names:
            paths = [each.split(":", 1)[1] for each in self.files(host)]
            if paths:
                self._ask_hosts([host], "remove", paths=paths)

    # Cable and power.

    def cut(self, host):
        """The cable is out: silence both ways, connections stay open."""
        self._ask_holder("link", index=self._index[host], up=False)
        self._note(host, "link", lambda: self.heal(host))

    def heal(self, host):
        self._ask_holder("link", index=self._index[host], up=True)
        self._note(host, "link", None)

    def crash(self, host):
        """Power is lost: silence, and every process is gone at once."""
        self.cut(host)
        self._note(host, "power", lambda: self.boot(host))
        self._ask_hosts([host], "kill", listener=True)

    def boot(self, host):
        """A crashed host comes up: sshd listens, nothing else runs, /tmp and other private folders are kept."""
        self._ask_hosts([host], "sshd", state="on")
        self.heal(host)
        self._note(host, "power", None)

    # Processes.

    def kill_processes(self, host):
        """SIGKILL to every process but the listening sshd; the kernel closes their connections."""
        self._ask_hosts([host], "kill", listener=False)

    def freeze(self, host):
        """SIGSTOP to every process, sshd too; the kernel still answers."""
        self._note(host, "frozen", lambda: self.thaw(host))
        self._ask_hosts([host], "freeze")

    def thaw(self, host):
        self._ask_hosts([host], "thaw")
        self._note(host, "frozen", None)

    # sshd.

    def _sshd(self, host, state):
        self._note(host, "sshd", None if state == "on" else lambda: self.restart_sshd(host))
        self._ask_hosts([host], "sshd", state=state)

    def refuse(self, host):
        """sshd does not listen: connections are refused. Sessions that there are go on."""
        self._sshd(host, "off")

    def hang(self, host):
        """Port 22 takes connections and never says a word."""
        self._sshd(host, "hang")

    def slow_loris(self, host):
        """Port 22 sends a banner without end, a byte a second."""
        self._sshd(host, "slow")

    def answer_and_end(self, host):
        """Port 22 sends a version line, and ends each connection."""
        self._sshd(host, "end")

    def restart_sshd(self, host, lines=None):
        """The real sshd listens, as at first, or with these lines of configuration first."""
        if lines is not None:
            self._note(host, "config", lambda: self.restart_sshd(host, []))
            own = self.sshd_lines.get(host, []) + self.sshd_lines.get("", [])
            with open(self.path(host, "/etc/ssh/sshd_config"), "w", encoding="utf-8") as f:
                f.write(layout.sshd_config(self.kex, list(lines) + own))
            if not lines:
                self._note(host, "config", None)
        self._sshd(host, "on")

    def change_host_key(self, host):
        """The host has another key than known_hosts says."""
        folder = self.path(host, os.path.dirname(layout.HOST_KEY))
        if (host, "key") not in self._undo:
            saved = []
            for name in (layout.HOST_KEY, layout.HOST_KEY + ".pub"):
                with open(self.path(host, name), encoding="utf-8") as f:
                    saved.append((os.path.join(folder, os.path.basename(name)), f.read()))
            self._note(host, "key", lambda: self._restore_key(host, saved))
        self._ask_hosts([host], "new_key")
        self._note(host, "sshd", None)

    def _restore_key(self, host, saved):
        for path, text in saved:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        self._note(host, "key", None)
        self.restart_sshd(host)

    def lock_out(self, host):
        """The host takes no key."""
        path = self.path(host, f"{layout.HOME}/.ssh/authorized_keys")
        if os.path.exists(path):
            os.rename(path, path + ".kept")
        self._note(host, "keys", lambda: self.let_in(host))

    def let_in(self, host):
        path = self.path(host, f"{layout.HOME}/.ssh/authorized_keys")
        os.rename(path + ".kept", path)
        self._note(host, "keys", None)

    # Network.

    def rate(self, host, mbit):
        """At most so many megabits a second, each way; None ends it."""
        if mbit is None and (host, "rate") not in self._undo:
            return
        self._ask_holder("rate", index=self._index[host], mbit=mbit)
        self._ask_hosts([host], "rate", mbit=mbit)
        self._note(host, "rate", None if mbit is None else lambda: self.rate(host, None))

    def delay(self, ms, *hosts):
        """Every frame on the cables of the hosts, or of all nodes, takes so many milliseconds, each way; None ends
        it. The round trip grows by 2 ms per ms between head and node, and by 4 ms between two nodes."""
        for host in hosts or self.hosts:
            if ms is not None or (host, "delay") in self._undo:
                self._ask_holder("delay", index=self._index[host], ms=ms)
                self._note(host, "delay", None if ms is None else lambda host=host: self.delay(None, host))

    def firewall(self, host, closed=True):
        """TCP passes to and from port 22 only; all else meets silence, new connections and those that there are."""
        if closed != ((host, "firewall") in self._undo):
            self._ask_hosts([host], "firewall", closed=closed)
        self._note(host, "firewall", (lambda: self.firewall(host, False)) if closed else None)

    # Files and shells.

    def disk_full(self, host, *folders):
        """No byte can be written to the folders, or to any private one that is watched."""
        folders = folders or layout.WATCHED
        self._ask_hosts([host], "fill", folders=folders)
        self._note(host, "disk", lambda: self.disk_empty(host))

    def disk_empty(self, host):
        self._ask_hosts([host], "empty", folders=layout.WATCHED)
        self._note(host, "disk", None)

    def noexec(self, host, *paths):
        """Nothing below the paths can be executed."""
        for path in paths:
            self._ask_hosts([host], "noexec", path=path)
            self._note(host, "noexec " + path, lambda path=path: self._exec(host, path))

    def _exec(self, host, path):
        self._ask_hosts([host], "umount", path=path)
        self._note(host, "noexec " + path, None)

    def set_shell(self, host, kind):
        """root's login shell: bash; noisy (bash whose .bashrc writes); csh; fish (a script that refuses what fish
        does); missing (does not exist); silent (takes a command and sleeps); or a path."""
        paths = {"bash": "/bin/bash", "noisy": "/bin/bash", "csh": shutil.which("tcsh") or "/bin/tcsh",
                 "missing": "/bin/no-such-shell"}
        for name, text in (("fish", FISH), ("silent", SILENT)):
            paths[name] = f"{SHELLS}/{name}"
            if kind == name:
                os.makedirs(self.path(host, SHELLS), exist_ok=True)
                with open(self.path(host, paths[name]), "w", encoding="utf-8") as f:
                    f.write(text)
                os.chmod(self.path(host, paths[name]), 0o755)
        with open("/etc/passwd", encoding="utf-8") as f:
            text = layout.passwd(f.read(), paths.get(kind, kind))
        with open(self.path(host, "/etc/passwd"), "w", encoding="utf-8") as f:
            f.write(text)
        noise = self.path(host, f"{layout.HOME}/.bashrc")
        if kind == "noisy":
            with open(noise, "w", encoding="utf-8") as f:
                f.write(NOISE)
        elif os.path.exists(noise):
            os.unlink(noise)
        self._note(host, "shell", None if kind == "bash" else lambda: self.set_shell(host, "bash"))
