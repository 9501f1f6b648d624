#!/usr/bin/env python3
"""Runs one program under mpirun and under scela-run, and checks that a user gets the same.

usage: compare_runs.py --mpirun MPIRUN --scela-run SCELA-RUN [--ranks N] [--status N] -- PROGRAM...

The same exit status, which is --status (0), and the same lines of standard output, in any order: of several ranks it is
free. The name of a node, "on ...", is not compared: scela-run's simulated ones have names of their own. scela-run is asked
for one node, and for two.
"""
import argparse
import os
import re
import subprocess
import sys

from check_run import TIME_LIMIT_S


def ran(argv):
    """Exit status and lines of output."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                          timeout=TIME_LIMIT_S, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    return done.returncode, sorted(re.sub(r" on \S+$", "", line) for line in done.stdout.splitlines()), done.stderr


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--scela-run", required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    ranks = str(options.ranks)

    status, lines, errors = ran([options.mpirun, "--oversubscribe", "-n", ranks, *program])
    found = []
    if status != options.status:
        found.append(f"mpirun ends with {status}, expected {options.status}: {errors}")
    for nodes in ([], ["--sim-nodes", "2"]):
        own_status, own_lines, own_errors = ran([options.scela_run, "--pmi", "pmix", *nodes, "-n", ranks, *program])
        name = " ".join(["scela-run", *nodes])
        if own_status != status:
            found.append(f"{name} ends with {own_status}, mpirun with {status}: {own_errors}")
        if own_lines != lines:
            found.append(f"{name} prints {own_lines}, mpirun {lines}")
    for text in found:
        print(f"compare_runs: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
