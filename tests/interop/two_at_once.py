#!/usr/bin/env python3
"""Runs a job twice at once: two_at_once.py RANKS COMMAND...

Its ranks say "up", and end when their input does, which is when those of both jobs are up.
"""
import subprocess
import sys


def main():
    ranks, command = int(sys.argv[1]), sys.argv[2:]
    jobs = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)]
    said = [[job.stdout.readline() for _ in range(ranks)] for job in jobs]
    ends = [job.communicate(timeout=120) for job in jobs]
    good = all(lines == ["up\n"] * ranks and end == ("", "") and job.returncode == 0
               for lines, end, job in zip(said, ends, jobs))
    if not good:
        print(said, ends, [job.returncode for job in jobs])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
