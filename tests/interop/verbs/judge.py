#!/usr/bin/env python3
"""verbs-semantics (tests/verbs) on the software adapter: every case passes, but for what it says it lacks.

usage: judge.py LIBRARY ENGINE SEMANTICS [RXE]

RXE: the verdicts on the kernel's soft-RoCE (tests/rxe); what passes there must be run and pass here.
"""
import re
import sys

import verbs

# What the adapter says of itself that it lacks.
LACKS = {"srq.resize": "resizing of SRQs", "objects.memory-windows": "memory windows"}


def main():
    library, engine, semantics = sys.argv[1:4]
    with verbs.Place(library, engine) as place:
        status, output = place.finish(place.start([semantics]))
    verdicts = dict(re.findall(r"^(?:ok|not ok|skip) ([a-z.-]+[a-z])\b(.*)$", output, re.M))
    passed = set(re.findall(r"^ok ([a-z.-]+[a-z])$", output, re.M))
    skipped = dict(re.findall(r"^skip ([a-z.-]+[a-z]): device lacks (.*)$", output, re.M))
    wrong = [line for line in output.splitlines() if line.startswith("not ok")]
    wrong += [f"{case} is skipped: {why}" for case, why in skipped.items() if LACKS.get(case) != why]
    wrong += [f"{case} is neither passed nor skipped" for case in verdicts if case not in passed and case not in skipped
              and not any(case in line for line in wrong)]
    if len(sys.argv) > 4:
        with open(sys.argv[4], encoding="utf-8") as f:
            there = dict(line.rstrip("\n").split(" ", 1) for line in f)
        if not any(verdict == "ok" for verdict in there.values()):
            wrong.append("nothing passed on soft-RoCE: there is nothing to compare with")
        wrong += [f"{case} passes on soft-RoCE, and is not passed here" for case, verdict in there.items()
                  if verdict == "ok" and case not in passed and case not in LACKS]
    if status != 0 or wrong or len(passed) < 200:
        verbs.fail(f"status {status}, {len(passed)} passed\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
