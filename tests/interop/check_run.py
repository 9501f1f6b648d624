#!/usr/bin/env python3
"""Runs one command and checks what a user would see of it; used by the ctests of this folder.

usage: check_run.py [--status N] [--within SECONDS] [--out REGEX]... [--err REGEX]... [--count N REGEX]... [--said N REGEX]... [--quiet] -- COMMAND...

--status: the exit status it must end with (0). --out, --err: a line of standard output or standard error that
must match as a whole. --count: how many lines of standard output must match; --said: of standard error. --quiet: nothing on standard
error. In all cases it must end within 120 seconds, or those of --within, and two seconds later no process may be left that
has this run's mark in its environment.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

TIME_LIMIT_S = 120
GONE_WITHIN_S = 2
MARK = "SCELA_CHECK_RUN"


def marked(mark):
    """Processes with this run's mark in their environment, zombies left out."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                if f"{MARK}={mark}".encode() in f.read().split(b"\0"):
                    with open(f"/proc/{entry}/comm", encoding="utf-8") as name:
                        found.append((int(entry), name.read().strip()))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def left_over(mark):
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid, _ in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return left


def whole(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def matching(pattern, text):
    return sum(1 for line in text.splitlines() if re.fullmatch(pattern, line))


def findings(options, ended, out, err):
    if ended is None:
        return [f"not ended after {options.within} s"]
    errors = []
    if ended != options.status:
        errors.append(f"status {ended}, expected {options.status}")
    errors += [f"no line of standard output matches {p!r}" for p in options.out if not matching(p, out)]
    errors += [f"no line of standard error matches {p!r}" for p in options.err if not matching(p, err)]
    for wanted, text, name in ((options.count, out, "output"), (options.said, err, "error")):
        errors += [f"{matching(pattern, text)} lines of standard {name} match {pattern!r}, not {number}"
                   for number, pattern in wanted if matching(pattern, text) != int(number)]
    if options.quiet and err:
        errors.append("standard error is not empty")
    return errors


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--within", type=int, default=TIME_LIMIT_S)
    parser.add_argument("--out", action="append", default=[])
    parser.add_argument("--err", action="append", default=[])
    parser.add_argument("--count", nargs=2, action="append", default=[])
    parser.add_argument("--said", nargs=2, action="append", default=[])
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command

    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    # Into files: a process that is left over would hold a pipe open and hide behind the wait for its end.
    with tempfile.TemporaryFile() as out_file, tempfile.TemporaryFile() as err_file:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out_file, stderr=err_file,
                               env={**os.environ, MARK: mark})
        try:
            ended = job.wait(timeout=options.within)
        except subprocess.TimeoutExpired:
            ended = None
            job.kill()
            job.wait()
        left = left_over(mark)
        out, err = (whole(f) for f in (out_file, err_file))
    errors = findings(options, ended, out, err)
    errors += [f"still running: {name} (pid {pid})" for pid, name in left]
    if errors:
        print(f"--- standard output\n{out[-4000:]}\n--- standard error\n{err[-4000:]}\n---")
    for error in errors:
        print(f"check_run: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
