#!/usr/bin/env python3
"""Ends a rank at each stage of connecting, and judges how the others go on.

usage: kills.py [--all] [--seed N] [--jobs N] [--workers N] [--pmi PMI] [--only REGEX] [--show] SCELA_RUN RANK_PROGRAM VERBS_LIBRARY xrc|owned|rc

The job: two nodes of two ranks (killed_rank.cpp). One rank, the victim, has failing_verbs.c for its adapter, and ends before or
after one call of a verb, or one datagram that it sends or hears: by SIGKILL, by _exit, or it stops, and is killed when the
others have nothing else to do than to wait for it. Or another rank, as it is there itself, kills the victim, and goes on when that is
gone. xrc: a node's ranks share a connection's receiving end; owned: the same where the device has no ibv_open_qp; rc: by RC.
Each rank is the victim: with the script "turns" rank 0 is the first to connect, rank 2 the one that it connects to directly, whose
receiving end rank 3 joins, and rank 1 comes last. The first job of each rank and script counts its calls.

--all, or FAILURES=all in the environment: of each function and word the FIRST calls after the channel was opened, MORE of those behind
them, the last, and two before the channel was open; else those that are never left to chance (ALWAYS), and --jobs
of the others, drawn by --seed (the commit's hash by itself).

Right is: the launcher names the victim and its end, and no other rank; no process and no file is left; no sanitizer has anything
to say. If the channel was open, each other rank exchanges all messages with all others but the victim, before and after it knows of the end;
no error is about another rank than the victim, and none says that a rank cannot be reached; and a victim that did not
come to the end is named by each. While channels are opened, each other rank is told which rank's end keeps it from it.
"""
import argparse
import concurrent.futures
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import uuid

RANKS = range(4)
FIRST = 4
MORE = 3
WAIT_S = 60  # of a rank for one message: longer is a hang
JOB_S = 240
# By SIGKILL, in turns, (victim, NAME:CALL, rank that is there): those that are never left to chance. The one that has made a node's receiving end
# goes just before another of its node opens that; and each word about a connection, on either side.
ALWAYS = [(2, "open_qp:2", 3), (2, "open_qp:3", 3), (0, "open_qp:2", 1), (2, "say_accept:1", 2), (0, "hear_accept:1", 0), (3, "hear_join:1", 3),
          (3, "hear_join:1", 2), (0, "hear_joined:1", 0), (2, "hear_confirm:1", 2), (0, "hear_confirm:1", 2)]
# Where other ranks are killed too.
CONNECTING = re.compile(r"say_.*|hear_.*|open_qp|create_qp.*|modify_qp_(init|rtr|rts)")
WHEN = ("before", "after")
SCRIPTS = ("turns", "at_once")
UNREACHABLE = re.compile(r"cannot reach|cannot be reached|did not answer|has not answered|does not answer|given this rank up")
MARK = "SCELA_TEST_MARK"


RUNNING = set()  # the scela-run of each job


def stop(signum, _):
    """The jobs end, and their folders go, before this does."""
    for process in list(RUNNING):
        process.terminate()
    raise SystemExit(128 + signum)


class Case:
    def __init__(self, victim, script, failing, ends="kill", when="before", opened=True, at=None):
        self.at = victim if at is None else at  # the rank that is at that stage
        self.victim, self.script, self.failing, self.ends, self.when = victim, script, failing, ends, when
        self.opened = opened  # whether the channel was open by then

    def is_always_tried(self):
        return self.script == "turns" and self.ends == "kill" and self.when == "before" and (self.victim, self.failing, self.at) in ALWAYS

    def __str__(self):
        return f"rank {self.victim}, {self.script}, {self.ends} {self.when} {self.failing} of rank {self.at}"


class Job:
    """One run. What it says is in out and err, by lines."""

    def __init__(self, options, case):
        self.case, self.mark, self.pid, self.waits = case, uuid.uuid4().hex, None, {}
        self.killed = False
        self.lock = threading.Lock()
        self.out, self.err, self.left = [], [], []
        words = [options.scela_run, "--pmi", options.pmi, "--sim-nodes", "2", "--ppn", "2", "--on-failure", "wait", "--timeout", str(JOB_S)]
        for name, value in (("SCELA_HCA_NO_XRC", int(options.mode == "rc")), ("SCELA_HCA_NO_OPEN_QP", int(options.mode == "owned")),
                            ("SCELA_CHANNEL_OFFLOAD_MIN_USES", 1), ("SCELA_CHANNEL_VERBS", options.library),
                            ("FAILING_VERBS", case.failing), ("FAILING_VERBS_RANK", case.at), (MARK, self.mark),
                            ("FAILING_VERBS_ENDS", case.ends), ("FAILING_VERBS_WHEN", case.when)):
            words += ["--env", f"{name}={value}"]
        if case.at != case.victim:
            words += ["--env", f"FAILING_VERBS_VICTIM={case.victim}"]
        words += [options.program, str(case.victim), str(WAIT_S), case.script]
        with tempfile.TemporaryDirectory(prefix="kills.") as folder:
            self.run(words, folder)
            self.left += [f"file {name}" for name in os.listdir(folder)]

    def run(self, words, folder):
        environment = dict(os.environ, TMPDIR=folder, **{MARK: self.mark})
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", env=environment) as process:
            readers = [threading.Thread(target=self.read, args=pipe) for pipe in ((process.stdout, self.out), (process.stderr, self.err))]
            RUNNING.add(process)
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            self.status = process.wait(2 * JOB_S)
            RUNNING.discard(process)
        self.left += processes_of(self.mark)

    def read(self, pipe, lines):
        for line in pipe:
            lines.append(line.rstrip("\n"))
            stops = re.match(r"failing_verbs: .* ends process (\d+)", line)
            waits = re.match(r"rank (\d): (?:waits in exchange (\d+) for rank (\d)|all is well)", line)
            with self.lock:
                if stops:
                    self.pid = int(stops[1])
                if waits and int(waits[1]) != self.case.victim:
                    self.waits[waits[1]] = (int(waits[2]), int(waits[3])) if waits[2] else (sys.maxsize, self.case.victim)
                if self.case.ends == "stop" and self.pid and not self.killed and self.wait_for_victim():
                    os.kill(self.pid, signal.SIGKILL)
                    self.killed = True

    def wait_for_victim(self):
        """Whether all others do, or wait for one that does."""
        behind = min(self.waits.values(), default=(0, 0))[0]
        return len(self.waits) == len(RANKS) - 1 and all(peer == self.case.victim for at, peer in self.waits.values() if at == behind)

    def text(self):
        return "\n".join(self.out + self.err)


def processes_of(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                there = f"{MARK}={mark}".encode() in environment.read()
            if there:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                    found.append(f"process {pid} ({name.read().strip()})")
        except OSError:
            pass  # it has ended
    return found


def counts(options, victim, script):
    """How often each function is called, before the channel is open and in all."""
    job = Job(options, Case(victim, script, "all"))
    found = {}
    for which in (" before", ""):
        for name, times in re.findall(rf"^failing_verbs: (\S+) was called (\d+) times{which}$", job.text(), re.M):
            found.setdefault(name, {})[which] = int(times)
    if job.status != 0 or "poll_cq" not in found or not any(name.startswith("hear_") for name in found):
        raise SystemExit(f"kills: the job in which no rank ends fails:\n{job.text()}")
    return {name: (times.get(" before", 0), times[""]) for name, times in found.items()}


def calls_of(first, last):
    """Each of the first calls, then some, and the last."""
    beyond = range(first + FIRST, last + 1)
    some = min(len(beyond), MORE)
    return [*range(first, min(first + FIRST, last + 1)), *sorted({beyond[i * len(beyond) // some] for i in range(some)} | set(beyond[-1:]))]


def cases_of(victim, script, name, before, times):
    """Of one function."""
    found = []
    for call in calls_of(before + 1, times):
        found += [Case(victim, script, f"{name}:{call}", "kill", when) for when in WHEN]
        found.append(Case(victim, script, f"{name}:{call}", "exit", WHEN[call % 2]))
        # Another rank is killed as this one is there.
        if CONNECTING.fullmatch(name) and script == "turns":
            found += [Case(other, script, f"{name}:{call}", "kill", "before", at=victim) for other in RANKS if other != victim]
        # A rank that takes turns does not wait for the victim alone.
        if script == "at_once":
            found.append(Case(victim, script, f"{name}:{call}", "stop", WHEN[(call // 2) % 2]))
    if script == "turns":
        found += [Case(victim, script, f"{name}:{call}", ends, "before", False)
                  for call in sorted({1, before}) if 0 < call <= before for ends in ("kill", "exit")]
    return found


def cases(options):
    """By the function's name."""
    found = {}
    for victim in RANKS:
        for script in SCRIPTS:
            for name, (before, times) in counts(options, victim, script).items():
                if re.fullmatch(options.only, name):
                    found.setdefault(name, []).extend(cases_of(victim, script, name, before, times))
    return found


def draw(found, jobs, seed):
    """Those that are never left to chance, then functions in turn, and any case of each."""
    chance = random.Random(seed)
    shuffled = [chance.sample(of_one, len(of_one)) for of_one in found.values()]
    chance.shuffle(shuffled)
    chosen = [case for of_one in found.values() for case in of_one if case.is_always_tried()]
    most = jobs + len(chosen)
    while len(chosen) < most and any(shuffled):
        chosen += [of_one.pop() for of_one in shuffled if of_one]
    return chosen[:most]


def wrong_with(job):
    """What is not right, or None."""
    case, text = job.case, job.text()
    if job.left:
        return "is left: " + ", ".join(job.left)
    if re.search(r"Sanitizer|runtime error:", text):
        return "a sanitizer has something to say"
    said = {rank: re.findall(rf"^rank {rank}: (.*)$", "\n".join(job.out), re.M) for rank in RANKS}
    reached = job.pid is not None
    if not reached:
        return None if job.status == 0 and all(lines[-1:] == ["all is well"] for lines in said.values()) else "no rank ended, and all is not well"
    if case.at != case.victim and job.status == 0 and all(lines[-1:] == ["all is well"] for lines in said.values()):
        return None  # it had said so, and ended by itself before it was killed
    if not re.search(rf"rank {case.victim} .*" + ("exited with code 7" if case.ends == "exit" else "killed by signal 9"), text) or \
            job.status not in (7, 137, 3):
        return "the launcher does not tell how the victim ended"
    others = [rank for rank in RANKS if rank != case.victim]
    return next(filter(None, (wrong_of(case, rank, said[rank], said[case.victim]) for rank in others)), None)


def wrong_of(case, rank, lines, of_victim):
    if any(UNREACHABLE.search(line) for line in lines):
        return f"rank {rank} says of a rank that it cannot be reached"
    if not case.opened and lines and re.match(rf"not opened: .*\brank[_ ]{case.victim}_ended", lines[-1]):
        return None
    if lines[-1:] != ["all is well"]:
        return f"rank {rank} does not say that all is well"
    named = any(line.startswith(f"rank {case.victim} has ended: ") for line in lines)
    if not named and "comes to the end" not in of_victim:
        return f"rank {rank} does not name the rank that has ended"
    return None


def seed_of_commit():
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, check=False)
    return int(hashlib.sha256(commit.stdout).hexdigest()[:8], 16)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--all", action="store_true", default=os.environ.get("FAILURES") == "all")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=25)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default=".*")
    parser.add_argument("--pmi", default="fd")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("scela_run")
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("mode", choices=("xrc", "owned", "rc"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    found = cases(options)
    chosen = [case for of_one in found.values() for case in of_one]
    every = len(chosen)
    if not options.all:
        seed = seed_of_commit() if options.seed is None else options.seed
        print(f"kills: seed {seed}", flush=True)
        chosen = draw(found, options.jobs, seed)
    bad = reached = missed = 0
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        for job in pool.map(lambda case: Job(options, case), chosen):
            reached += job.pid is not None
            missed += job.pid is None and job.case.is_always_tried()
            wrong = wrong_with(job)
            bad += wrong is not None
            if wrong or options.show:
                print(f"kills: {job.case}: {wrong or 'right'}, status {job.status}\n{job.text()}", flush=True)
    print(f"kills: {len(chosen)} of {every} stages, of which {reached} were reached; {bad} were borne wrongly")
    # How often some are called depends on time, of words about the end of connections above all. Where nothing is answered in time,
    # as on a machine with much else to do, connections are made in another order, too.
    too_few = missed > 1 or reached < 0.5 * len(chosen)
    if too_few:
        print(f"kills: {missed} of those that are always tried were not reached, or too few of the others")
    return 1 if bad or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
