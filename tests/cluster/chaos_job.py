"""Plays a round of chaos.py on a cluster: starts the job, harms the victim when the time has come, and tells what happened."""
import contextlib
import dataclasses
import re
import signal
import subprocess
import threading
import time

import chaos_faults
import chaos_judge
import chaos_plan
from chaos_plan import HEAD

HANG_S = 60  # of a job, from its start or from the end of its fault
LEFT_S = 45  # until nothing is left; an agent that has no job yet waits 30 s for its parent
POLL_S = 0.002
SSHD = "sshd: root@"


class Places:
    """Where things are: scela-run, the ranks' programs, the adapter."""

    def __init__(self, scela_run, programs, adapter):
        self.scela_run, self.programs, self.adapter = scela_run, programs, adapter

    def command(self, round_):
        words = [self.scela_run, *round_.options()]
        # Its libraries say what it speaks, whatever the environment of the cluster says of scripts.
        words += ["--pmi", "auto"] if round_.program == "openmpi" and "--pmi" not in words else []
        if round_.program == "library":
            words += ["--env", f"SCELA_CHANNEL_VERBS={self.adapter}"]
            words += ["--env", "SCELA_BOOTSTRAP=pmi2"] if round_.pmi == "pmi2" else []
        # MPICH's network library takes all hosts for one in a memory namespace of its own (test_pmi.py).
        words += ["nsenter", "--ipc", "--target", "1"] if round_.program == "mpich" else []
        words += [f"{self.programs}/chaos_{round_.program}", str(round_.lines), str(round_.pause_us)]
        return words + ([round_.executor] if round_.program == "library" else [])


@dataclasses.dataclass
class Outcome:
    tree: chaos_plan.Tree
    host: str  # the victim's
    struck: bool = False  # the fault came before the job had ended
    rank: int = -1  # the victim, if it is one
    status: int = 0
    out: list = dataclasses.field(default_factory=list)  # lines, with their ends
    err: str = ""
    to_end_s: float = 0.0  # from the fault, or from its end where the job may wait for that
    hung: str = ""  # what ran then
    left: str = ""
    left_s: float = 0.0


class Reader(threading.Thread):
    """Takes a stream's lines, and lets others wait for the k-th."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.lines, self.ended = stream, [], False
        self.changed = threading.Condition()
        self.start()

    def run(self):
        for line in self.stream:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, count, limit):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.lines) >= count or self.ended, limit)


class Play:
    def __init__(self, cluster, places, round_):
        self.cluster, self.places, self.round = cluster, places, round_
        self.undo = None
        self.struck_at = self.started_at = 0.0

    def run(self):
        command = self.places.command(self.round)
        shown = self.cluster.run(HEAD, [command[0], "--dry-run", *command[1:]], check=True).stdout
        tree = chaos_plan.Tree(shown)
        self.outcome = Outcome(tree, tree.choose(self.round))
        try:
            if self.round.when == "before":
                self.strike()
            self.started_at = time.monotonic()
            self.job = self.cluster.popen(HEAD, command, text=True, errors="surrogateescape", stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE)
            self.out, self.err = Reader(self.job.stdout), Reader(self.job.stderr)
            if self.round.when != "before":
                self.await_moment()
            self.end_fault()
            self.await_end()
            self.look_for_rest()
        finally:
            self.put_right()
        return self.outcome

    # When.

    def over(self):
        return self.job.poll() is not None or time.monotonic() > self.started_at + HANG_S

    def await_moment(self):
        round_ = self.round
        if round_.when == "line":
            self.out.wait_for(round_.line, HANG_S)
        pid = None
        while not self.over():
            pid = self.victim_now()
            if pid is not None:
                break
            time.sleep(POLL_S)
        if pid is not None:
            time.sleep(round_.delay_s)
            if self.job.poll() is None:
                self.strike(pid)

    def victim_now(self):
        """Its process, 0 of a host; None: not yet."""
        round_, host = self.round, self.outcome.host
        if round_.victim == "scela-run":
            return self.job.pid
        if round_.when == "agent" or round_.victim in ("host", "head"):
            if host != HEAD and chaos_faults.find(self.cluster, "guardian", host, 0) is None:
                return None
        if round_.victim in ("host", "head"):
            return 0
        return chaos_faults.find(self.cluster, round_.victim, host, round_.pick)

    # What.

    def strike(self, pid=0):
        if self.round.victim == "rank":
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{pid}/environ", "rb") as f:
                    self.outcome.rank = int(f.read().split(b"\0SCELA_RANK=", 1)[1].split(b"\0")[0])
        self.outcome.struck = not pid or chaos_faults.runs(pid)
        self.struck_at = time.monotonic()
        if self.round.victim in ("host", "head"):
            self.undo = chaos_faults.harm_host(self.cluster, self.round, self.outcome.host)
        else:
            self.undo = chaos_faults.harm_process(self.round, pid)

    def end_fault(self):
        """Of one that ends by itself; and what is stopped for good ends with its job, a launcher too."""
        if not self.outcome.struck:
            return
        by_signal = self.round.ended_by_hand() and signal.SIGTERM
        if self.round.victim == "scela-run" and self.round.fault == "stop":
            by_signal = signal.SIGKILL
        if by_signal or self.round.fault in ("stop-go", "cut-heal", "freeze-thaw"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.job.wait(self.round.hold_s)
            if by_signal:
                self.job.send_signal(by_signal)
            else:
                self.undo()
            self.struck_at = time.monotonic()

    # Afterwards.

    def await_end(self):
        outcome = self.outcome
        try:
            outcome.status = self.job.wait(HANG_S)
        except subprocess.TimeoutExpired:
            outcome.hung = self.processes_in_words()
            self.job.kill()
            outcome.status = self.job.wait()
        outcome.to_end_s = time.monotonic() - (self.struck_at or self.started_at)
        for reader in (self.out, self.err):
            reader.join(5)  # whoever holds the stream longer is left over
        outcome.out, outcome.err = list(self.out.lines), "".join(self.err.lines)

    def processes_in_words(self):
        lines = []
        for host in self.cluster.everyone:
            for process in self.cluster.processes(host):
                with contextlib.suppress(OSError):
                    with open(f"/proc/{process.pid}/status", encoding="utf-8", errors="replace") as f:
                        state = next(line.split()[1] for line in f if line.startswith("State:"))
                    with open(f"/proc/{process.pid}/wchan", encoding="utf-8", errors="replace") as f:
                        lines.append(f"{host} {process} state {state} in {f.read()} below {chaos_faults.parent_of(process.pid)}")
        return "\n".join(lines)

    def rest(self, allowed):
        """What is left and may not be."""
        found = [(host, f"process {process}") for host in self.cluster.everyone for process in self.cluster.processes(host)]
        found += [tuple(each.split(":", 1)) for each in self.cluster.files(*self.cluster.everyone)]
        return [f"{host}: {what}" for host, what in found if not allowed(host, what)]

    def await_rest(self, allowed):
        start = time.monotonic()
        while rest := self.rest(allowed):
            if time.monotonic() - start > LEFT_S:
                self.outcome.left += "\n".join(rest) + "\n" + self.processes_in_words() + "\n"
                return
            time.sleep(0.01)
        self.outcome.left_s = max(self.outcome.left_s, time.monotonic() - start)

    def meanwhile(self, host, what):
        """May be there as long as the fault lasts: what is stopped, what only a stopped one can end, and what sshd has of
        connections that it cannot know to be over."""
        round_ = self.round
        if self.of_sshd(what) or self.for_good(host, what):
            return True
        if host != self.outcome.host or not self.outcome.struck:
            return False
        if round_.victim == "host":
            return round_.fault == "freeze" or (round_.fault == "cut" and SSHD in what)
        return round_.fault == "stop" and round_.victim in ("sshd", "guardian", "agent")

    def of_sshd(self, what):
        """It waits for its LoginGraceTime, or until it has something to send, where its client vanished."""
        cut = self.outcome.struck and self.round.fault in ("cut", "cut-heal", "crash", "freeze", "freeze-thaw")
        return cut and re.search(r"sshd: (\[accepted\]|\[net\]|unknown |root\b)", what) is not None

    def for_good(self, host, what):
        """May be there until the next agent comes, as no process was left to remove it."""
        ended = self.round.fault in ("crash", "kill-all") or (
            self.round.shipped and self.round.fault in ("kill", "processes", "memory"))
        return self.of_sshd(what) or chaos_judge.is_unfinished(self.round, what) or (
            host == self.outcome.host and self.outcome.struck and ended and not what.startswith("process "))

    def look_for_rest(self):
        self.await_rest(self.meanwhile)
        if self.undo:
            self.undo()
            self.undo = None
            self.await_rest(self.for_good)

    def put_right(self):
        if self.undo:
            self.undo()
        self.cluster.reset()
        if self.round.fault.startswith(("cut", "crash")):  # else who looked for a neighbour in vain soon says so of the next
            for host in self.cluster.everyone:
                self.cluster.run(host, ["ip", "neigh", "flush", "all"])
        job = getattr(self, "job", None)
        if job:
            job.wait()
            for stream in (job.stdout, job.stderr):
                stream.close()
