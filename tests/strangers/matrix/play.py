#!/usr/bin/env python3
"""Plays the rows of the table `matrix`, each under its launchers by its executors, and says which end otherwise.

usage: play.py [--times N] [--beside] [--only PROGRAM] [--row REGEX] [--launchers A,B] [--at-once N] [--show]
               [--list] --scela-run PATH --programs FOLDER
       play.py --self-test ...

--times: how often each cell is played (1). --beside: one process for each processor spins meanwhile.
MATRIX=all in the environment is --times 10 --beside. --row: only cells of which that is found in the
command. --launchers: those that there are here. --at-once: so many cells (1). --show: what each cell ends with. --list: the cells' commands, which are not run.
For each cell that ends otherwise there is what differs, its output, and the command that repeats it. Exit status 1 then. Of each row
it is also looked whether its expectations can fail: on the output of a good run, with each of them changed, they have to.
--self-test: the same of runs that end otherwise, and with processes left over.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "..", "interop"))
import check_run  # noqa: E402 (the path above)

LAUNCHERS = {"default": [], "fd": ["--pmi", "fd"], "pmi2": ["--pmi", "fd", "--env", "SCELA_BOOTSTRAP=pmi2"],
             "port": ["--pmi", "port"], "unshared": ["--pmi", "fd", "--env", "SCELA_SEGMENT=0"], "pmix": ["--pmi", "pmix"]}
EXECUTORS = ("polled", "thread", "once", "engine")
COUNTS = re.compile(r"scela-run:   \d+ ranks? .*")
CAUSE = re.compile(r"scela-run: (rank \d+) on \S+ \(.*?\) ")
SPIN = """import os, sys
while os.getppid() == int(sys.argv[1]): pass"""


@dataclasses.dataclass(frozen=True)
class Row:
    line: int
    program: str
    arguments: str
    nodes: int
    ranks: int
    launchers: tuple
    waits: bool
    executors: tuple
    status: int
    out: tuple  # (how many lines, pattern)
    err: tuple
    limit: int


@dataclasses.dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str
    left: tuple = ()


def patterns(text, ranks):
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        counted = re.fullmatch(r"(\d+)\* (.*)", part)
        found.append((int(counted.group(1)), counted.group(2)) if counted else (ranks, part))
    return tuple(found)


def row_of(number, text):
    program, arguments, where, launchers, executors, status, says, limit = (part.strip() for part in text.split(" | "))
    nodes, ranks = map(int, where.split("x"))
    waits = launchers.endswith("+wait")
    launchers = launchers.removesuffix("+wait").split()
    out, _, err = (" " + says).partition(" ! ") if "! " in says else (says, "", "")
    row = Row(number, program, arguments, nodes, ranks, tuple(LAUNCHERS) if launchers == ["all"] else tuple(launchers), waits,
              EXECUTORS if executors == "all" else ("-",) if executors == "-" else tuple(executors.split()), int(status),
              patterns(out, nodes * ranks), patterns(err, nodes * ranks), int(limit))
    if not set(row.launchers) <= set(LAUNCHERS) or not set(row.executors) <= {"-", *EXECUTORS}:
        raise SystemExit(f"matrix:{number}: a launcher or executor that there is not")
    if not row.out and not row.err:
        raise SystemExit(f"matrix:{number}: nothing is expected of what it says")
    return row


def table(path):
    """The rows, and what may be in no output."""
    rows, never = [], []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            if line.startswith("never: "):
                never.append(line.removeprefix("never: "))
            elif line and not line.startswith("#"):
                rows.append(row_of(number, line))
    return rows, never


def lines_differ(name, wanted, text):
    """What is wrong with the lines of a stream: too many or few of what is expected, and others."""
    lines, found = text.splitlines(), []
    for number, pattern in wanted:
        matching = sum(1 for line in lines if re.fullmatch(pattern, line))
        if matching != number:
            found.append(f"{matching} lines of standard {name} match {pattern!r}, not {number}")
    found += [f"standard {name} has the line {line!r}" for line in lines
              if not any(re.fullmatch(pattern, line) for _, pattern in wanted)]
    return found


def differences(row, never, ended):
    found = []
    if ended.status != row.status:
        found.append(f"it ends with {ended.status}, not {row.status}")
    err = "\n".join(CAUSE.sub(r"\1 ", line) for line in ended.err.splitlines() if not COUNTS.fullmatch(line))
    found += lines_differ("output", row.out, ended.out) + lines_differ("error", row.err, err)
    for pattern in never:
        if hit := re.search(pattern, ended.out + ended.err):
            found.append(f"there is {hit.group()!r}, which may never be")
    return found + [f"it leaves {name} (pid {pid})" for pid, name in ended.left]


def cannot_fail(row, never, ended):
    """Which expectations of a row would be met by another end than the good one."""
    others = [("its status", ended, dataclasses.replace(row, status=row.status + 1)),
              ("what is left", dataclasses.replace(ended, left=((1, "x"),)), row),
              ("another line", dataclasses.replace(ended, out=ended.out + "rank 0: another line\n"), row),
              ("another error", dataclasses.replace(ended, err=ended.err + "rank 0 exited with code 99\n"), row)]
    for stream in ("out", "err"):
        wanted = getattr(row, stream)
        for i, (number, pattern) in enumerate(wanted):
            fewer = wanted[:i] + ((number - 1, pattern),) + wanted[i + 1:]
            others.append((f"how many lines match {pattern!r}", ended, dataclasses.replace(row, **{stream: fewer})))
            text = getattr(ended, stream).splitlines(keepends=True)
            less = text[:]
            for line in text:
                if re.fullmatch(pattern, CAUSE.sub(r"\1 ", line.rstrip("\n"))):
                    less.remove(line)
                    break
            others.append((f"a line less of {pattern!r}", dataclasses.replace(ended, **{stream: "".join(less)}), row))
    return [f"its row would not see a difference in {what}" for what, end, changed in others if not differences(changed, never, end)]


def command_of(options, row, launcher, executor, seed):
    where = ["-n", str(row.ranks)] if row.nodes == 1 else ["--sim-nodes", str(row.nodes), "--ppn", str(row.ranks)]
    arguments = [word.replace("{by}", executor).replace("{seed}", str(seed)) for word in shlex.split(row.arguments)]
    return [options.scela_run, *LAUNCHERS[launcher], *(["--on-failure", "wait"] if row.waits else []), "--timeout", str(row.limit),
            *where, os.path.join(options.programs, row.program), *arguments]


def play(options, command, limit):
    """Runs one cell; into files, as a process that is left over would keep a pipe open."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    path = os.path.dirname(os.path.abspath(options.scela_run)) + os.pathsep + os.environ.get("PATH", "")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                               env={**os.environ, "PATH": path, check_run.MARK: mark})
        try:
            status = job.wait(timeout=2 * limit)
        except BaseException as error:
            job.kill()
            job.wait()
            check_run.left_over(mark)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = -1
        left = check_run.left_over(mark)
        return Ended(status, check_run.whole(out), check_run.whole(err), tuple(left))


class Spinning:
    """One process for each processor that does nothing else than use it, in a session of its own, as some kernels share out
    processors by session. They end with this process, however it ends."""

    def __init__(self, wanted):
        self.count = os.cpu_count() if wanted else 0
        self.children = []

    def __enter__(self):
        self.children = [subprocess.Popen([sys.executable, "-c", SPIN, str(os.getpid())], start_new_session=True)
                         for _ in range(self.count)]

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()


def cells(options, rows):
    for seed in range(1, options.times + 1):
        for row in rows:
            for launcher in row.launchers:
                for executor in row.executors if launcher in options.launchers else ():
                    command = command_of(options, row, launcher, executor, seed)
                    if re.search(options.row, shlex.join(command)):
                        yield row, command


def show(row, command, ended, wrong):
    print(f"matrix:{row.line}: {shlex.join(command)}")
    for line in wrong:
        print(f"  {line}")
    print(f"--- standard output\n{ended.out[-3000:]}--- standard error\n{ended.err[-3000:]}---", flush=True)


def play_all(options):
    rows, never = table(os.path.join(HERE, "matrix"))
    rows = [row for row in rows if options.only in ("", row.program)]
    began, played, bad, looked_at = time.monotonic(), 0, 0, set()
    wanted = list(cells(options, rows))
    if options.list:
        print("\n".join(shlex.join(command) for _, command in wanted))
        return 0
    try:
        with Spinning(options.beside), concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            for (row, command), ended in zip(wanted, pool.map(lambda cell: play(options, cell[1], cell[0].limit), wanted)):
                wrong = differences(row, never, ended)
                if not wrong and row.line not in looked_at:
                    looked_at.add(row.line)
                    wrong = cannot_fail(row, never, ended)
                played += 1
                bad += bool(wrong)
                if wrong or options.show:
                    show(row, command, ended, wrong)
    finally:  # also where it is interrupted
        print(f"matrix: {played} of {len(wanted)} runs of {len(wanted) // options.times} cells, {bad} ended otherwise; "
              f"{time.monotonic() - began:.0f} s", flush=True)
    return 1 if bad or not played else 0


SELF_TEST = [
    # What scela-run runs; the row's status and words; what has to be found.
    (["sh", "-c", "echo fine"], 0, "fine", None),
    (["sh", "-c", "echo fine; exit 3"], 0, "fine", "it ends with 3, not 0"),
    (["sh", "-c", "echo other"], 0, "fine", "0 lines of standard output match 'fine', not 1"),
    (["sh", "-c", "echo fine; echo more"], 0, "fine", "standard output has the line 'more'"),
    (["sh", "-c", "echo fine; echo more >&2"], 0, "fine", "standard error has the line 'more'"),
    (["sh", "-c", "echo fine rank 1 cannot be reached"], 0, "fine.*", "there is 'cannot be reached', which may never be"),
    (["sh", "-c", "exit 3"], 3, " ! rank 0 exited with code 3", None),
    (["sh", "-c", "kill -9 $$"], 3, " ! rank 0 exited with code 3", "it ends with 137, not 3"),
    (["sleep", "60"], 0, "fine", "reached its time limit"),
]


def self_test(options):
    _, never = table(os.path.join(HERE, "matrix"))
    errors = []
    for program, status, says, wanted in SELF_TEST:
        row = row_of(0, f"x | - | 1x1 | default | - | {status} | {says} | 2")
        ended = play(options, [options.scela_run, "--timeout", str(row.limit), "-n", "1", *program], 30)
        found = differences(row, never, ended)
        if (wanted is None and found) or (wanted and not any(wanted in line for line in found)):
            errors.append(f"{program}: found {found}, expected {wanted}")
        if wanted is None and (blind := cannot_fail(row, never, ended)):
            errors.append(f"{program}: {blind}")
    ended = play(options, ["sh", "-c", "sleep 60 & echo fine"], 30)
    if not any("it leaves sleep" in line for line in differences(row_of(0, "x | - | 1x1 | default | - | 0 | fine | 2"), never, ended)):
        errors.append("a process that is left over was not found")
    if not cannot_fail(row_of(0, "x | - | 1x1 | default | - | 0 | fine; 0* more | 2"), never, Ended(0, "fine\n", "")):
        errors.append("an expectation that cannot fail was not found")
    print("\n".join([*errors, f"matrix: {len(errors)} errors of the self-test"]))
    return 1 if errors else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    every = os.environ.get("MATRIX") == "all"
    parser.add_argument("--times", type=int, default=10 if every else 1)
    parser.add_argument("--beside", action="store_true", default=every)
    parser.add_argument("--only", default="")
    parser.add_argument("--row", default="")
    parser.add_argument("--launchers", type=lambda text: text.split(","), default=list(LAUNCHERS))
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--scela-run", required=True)
    parser.add_argument("--programs", required=True)
    options = parser.parse_args()
    # What has been begun ends, and nothing is left.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    return self_test(options) if options.self_test else play_all(options)


if __name__ == "__main__":
    sys.exit(main())
