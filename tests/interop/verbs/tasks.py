#!/usr/bin/env python3
"""verbs-tasks (tests/verbs) on the software adapter: every case passes, whoever executes the tasks.

usage: tasks.py LIBRARY TASKS-LIBRARY ENGINE PROGRAM engine|handed-on|thread

engine: the adapter's library alone; handed-on: through libscela-verbs-tasks, which finds out that the device knows
tasks; thread: as if it knew none.
"""
import re
import subprocess
import sys

import verbs

TIME_LIMIT_S = 280
DEADLINE_S = "60"  # for each case: an engine, a thread and a program on few processors


def main():
    library, tasks, engine, program, who = sys.argv[1:6]
    preloaded = library if who == "engine" else f"{tasks} {library}"
    with verbs.Place(preloaded, engine) as place:
        if who == "thread":
            place.environment["SCELA_TASKS"] = "thread"
        running = place.start([program, "--deadline", DEADLINE_S],
                              VERBS_TASKS_THREADS="1" if who == "thread" else "0")
        status, output = running.wait(timeout=TIME_LIMIT_S), verbs.output_of(running)
    cases = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.split()
    passed = set(re.findall(r"^ok ([a-z0-9.-]+)$", output, re.M))
    wrong = [line for line in output.splitlines() if line.startswith(("not ok", "skip"))]
    wrong += [f"{case} did not pass" for case in cases if case not in passed]
    if status != 0 or wrong or not cases:
        verbs.fail(f"status {status}, {len(passed)} of {len(cases)} passed\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
