"""Which tests a change can affect, and which of them fit into a few minutes.

A test is affected if a file that it is built from, or a script that it is, has changed: of a program which it names itself, or
of one that such a program starts. Tests in memory run first, then those kinds, then simulated jobs; as many as fit, and how many
are left to the whole run is printed.
"""
import hashlib
import os
import subprocess
import typing

import graph
import results

# Build descriptions: what they change is not in the dependency files.
DESCRIPTIONS = ("CMakeLists.txt", ".cmake", "CMakePresets.json")
LEFT_OUT = ("bench", "mutants", "cluster", "rxe", "install")
UNKNOWN_S = 0.3  # a test that has never run
AT_ONCE = 2      # tests that ctest runs at once, on average


class Choice(typing.NamedTuple):
    stages: list  # (name, ctest's word for the tests: -I takes numbers)
    text: str     # what is told


def git(root, *words):
    """Paths that git lists; ends the run if git cannot tell."""
    run = subprocess.run(["git", "-C", root, words[0], "-z", *words[1:]], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"scripts/test: what has changed is not known: git {' '.join(words)}: {run.stderr.strip()}")
    return run.stdout.split("\0")[:-1]


def changed_files(root, base):
    """Paths that differ from `base`; without one from HEAD, or, where nothing differs from it, from its parent."""
    found = git(root, "diff", "--name-only", base or "HEAD", "--") + git(root, "ls-files", "-o", "--exclude-standard")
    return sorted(found or ([] if base else git(root, "diff", "--name-only", "HEAD~1", "--")))


def fitting(tests, seconds_of, budget_s):
    """(those that run within the budget, those that do not): spread over the names, so that neighbours do not stand for each
    other."""
    taken, left = [], []
    for test in sorted(tests, key=lambda t: hashlib.sha256(t.name.encode()).hexdigest()):
        cost = seconds_of.get(test.name, UNKNOWN_S) / AT_ONCE
        if cost <= budget_s:
            budget_s -= cost
            taken.append(test)
        else:
            left.append(test)
    return taken, left, budget_s


def choose(root, build, base, minutes):
    files = set(changed_files(root, base))
    tests = graph.Graph(root, build)
    described = [f for f in files if f.endswith(DESCRIPTIONS)]
    style, memory, named, started, simulated, out = [], [], [], [], [], []
    for test in tests.tests:
        labels = set(test.labels)
        if "style" in labels:
            if described or "configure" not in labels:
                style.append(test)
        elif not described and not files & tests.all_sources(test):
            continue
        elif labels & set(LEFT_OUT):
            out.append(test)
        elif labels & {"unit", "contract"}:
            memory.append(test)
        elif "sim" in labels:
            simulated.append(test)
        elif described or files & tests.own_sources(test):
            named.append(test)
        else:
            started.append(test)
    seconds_of = results.Costs("release").seconds()
    budget, taken, left = minutes * 60, [], len(out)
    for kind in (memory, named, started, simulated):
        fits, rest, budget = fitting(kind, seconds_of, budget)
        taken.append(fits)
        left += len(rest)
    words = ("in memory", "that name a program built from them", "that start one", "simulated jobs")
    counts = ", ".join(f"{len(fits)} of {len(kind)} {word}"
                       for fits, kind, word in zip(taken, (memory, named, started, simulated), words))
    text = f"{len(files)} files differ; of the tests affected these are chosen: {counts}.\n"
    text += (f"Left to the whole run: {left - len(out)} for which there is no time (--minutes N), and {len(out)} on simulated hosts, in "
             "emulated machines, of the installation, benchmarks and deliberate breaks.")
    if not any(taken) and not left:
        text = f"{len(files)} files differ; they affect no tests but the style checks."
    # The style checks last, because they may take minutes where nothing is known from before.
    stages = [("affected", [test for fits in taken for test in fits]), ("style", style)]
    return Choice([(name, [tests.number_of[t.name] for t in chosen]) for name, chosen in stages if chosen], text)
