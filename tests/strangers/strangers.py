#!/usr/bin/env python3
"""Plans that are drawn from a seed and carried out by strangers: programs that know of ScELA what it exports.

usage: strangers.py [--operations N] [--seed N] [--seconds N] [--keep FOLDER] SCELA_RUN STRANGER VERBS_LIBRARY
       strangers.py --play PLAN [--times N] SCELA_RUN STRANGER VERBS_LIBRARY
       strangers.py --shrink PLAN [--times N] SCELA_RUN STRANGER VERBS_LIBRARY

Each run draws where ranks are, the launcher, executors, and a plan (docs/testing.md, Strangers). A run fails if a rank finds a wrong
byte, an error that is not of a rank that has ended, or anything that is not over within the limit. It then says what ranks were
doing, keeps the plan, and prints the command that plays it again. --seeds: plays each plan of a folder, which has failed once.
--shrink removes steps as long as the plan fails (in one of N times) and writes what is left to PLAN.shrunk. STRANGERS=all in the
environment is --operations 1000000.
"""
import argparse
import os
import random
import re
import sys
import tempfile
import time

import runs
import shrink

ALL = 1000000
ORDINARY = 1000
# Where ranks are: nodes, ranks of a node; and how often.
PLACES = {(1, 1): 1, (1, 2): 8, (1, 3): 6, (1, 5): 4, (2, 1): 4, (2, 2): 5, (3, 2): 2, (2, 4): 1, (1, 8): 1}
EXECUTORS = ("at_once", "polled", "polled", "thread", "engine")
# What a job may have in its environment: (only between nodes, variables).
SETTINGS = (
    (False, ()), (False, ()), (False, ()), (False, ("SCELA_COLL_CHECK=1",)), (False, ("SCELA_CHANNEL_UNEXPECTED_BYTES=16K",)),
    (False, ("SCELA_COLL_ALLREDUCE=rabenseifner", "SCELA_COLL_BCAST=chain segment 8K")), (False, ("SCELA_CHANNEL_FRAGMENTED_SHM=1M",)),
    (True, ("SCELA_HCA_NO_XRC=1",)), (True, ("SCELA_CHANNEL_RENDEZVOUS=write",)), (True, ("SCELA_CHANNEL_RENDEZVOUS=read",)),
    (True, ("SCELA_CHANNEL_RENDEZVOUS=offloaded",)), (True, ("SCELA_CHANNEL_MAX_LINKS=1",)), (True, ("SCELA_CHANNEL_TRANSPORT=verbs",)),
    (True, ("SCELA_TASKS=thread",)),
    (True, ("SCELA_CHANNEL_REGISTRATION_CACHE=0",)),
)
LIMIT_S = 60
# Comments of a kept plan, which say how it is run.
SHAPE = re.compile(r"^# shape (.*)$", re.M)


def launches_of(tools):
    """All but those whose programs are not there."""
    beside = os.path.dirname(os.path.abspath(tools.scela_run))
    return [launch for launch in runs.LAUNCHES if launch != "pmix" or os.path.exists(os.path.join(beside, "scela-pmix"))]


def drawn_shape(tools, draw):
    nodes, ranks = draw.choices(list(PLACES), PLACES.values())[0]
    fitting = [variables for between, variables in SETTINGS if nodes > 1 or not between]
    return runs.Shape(nodes, ranks, draw.choice(launches_of(tools)), draw.choice(fitting))


def drawn_plan(tools, draw, shape, operations):
    ends = draw.choice((0, 0, 1, 2)) if shape.ranks > 1 else 0
    executors = draw.sample(EXECUTORS, draw.randint(1, 3))
    return tools.stranger_says("draw", draw.getrandbits(63), shape.ranks, operations, ends, *executors)


def shape_of(text):
    found = SHAPE.search(text)
    if not found:
        raise SystemExit("strangers: the plan has no line '# shape NODESxRANKS LAUNCH VARIABLE...'")
    return runs.Shape.parse(found[1])


class Plays:
    """Runs of plans, which are written into a folder of their own."""

    def __init__(self, tools, folder, limit_s):
        self.tools, self.folder, self.limit_s = tools, folder, limit_s

    def __call__(self, text, shape, look=True, limit_s=None):
        path = os.path.join(self.folder, "plan")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return runs.play(self.tools, path, shape, limit_s or self.limit_s, look)


def command(tools, *words):
    return " ".join(map(str, [sys.executable, "-B", os.path.abspath(__file__), *words, tools.scela_run, tools.stranger, tools.verbs]))


def random_runs(plays, options):
    """Until there were as many operations, or the time is up; or three runs have failed."""
    tools, draw = plays.tools, random.Random(options.seed)
    began, done, failed, count = time.monotonic(), 0, 0, 0
    while done < options.operations and failed < options.failures:
        if options.seconds and time.monotonic() - began > options.seconds:
            break
        shape = drawn_shape(tools, draw)
        operations = min(options.each, options.operations - done)
        text = f"# shape {shape}\n"
        head, _, steps = drawn_plan(tools, draw, shape, operations).partition("\n")
        text = f"{head}\n{text}{steps}"
        start = time.monotonic()
        wrong = plays(text, shape)
        done += operations
        count += 1
        if options.show:
            print(f"strangers: {shape}: {operations} operations, {time.monotonic() - start:.1f} s", flush=True)
        if wrong:
            failed += 1
            path = os.path.join(options.keep, f"strangers-{options.seed}-{count}.plan")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"strangers: run {count} ({shape}) fails:\n{wrong}\nagain: {command(tools, '--play', path)}\n"
                  f"smaller: {command(tools, '--shrink', path)}", flush=True)
    print(f"strangers: seed {options.seed}: {done} operations in {count} runs, {time.monotonic() - began:.0f} s; {failed} runs failed")
    return failed


def play(plays, path, times):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    failed = 0
    for _ in range(times):
        wrong = plays(text, shape_of(text))
        failed += wrong is not None
        print(f"strangers: {path}: {wrong or 'right'}", flush=True)
    return failed


def shrink_plan(plays, path, times):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    shape = shape_of(text)
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    def joined(some):
        return "\n".join([some[0], f"# shape {shape}", *some[1:]]) + "\n"

    def fails(some):
        failing = any(plays(joined(some), shape, look=False) for _ in range(times))
        if failing:
            print(f"strangers: {len(some) - 1} steps fail", flush=True)
        return failing

    if not fails(lines):
        raise SystemExit("strangers: the plan does not fail")
    left = joined(shrink.shrunk(lines, fails))
    with open(path + ".shrunk", "w", encoding="utf-8") as file:
        file.write(left)
    print(f"strangers: {path}.shrunk\n{left}")
    return 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--operations", type=int, default=ALL if os.environ.get("STRANGERS") == "all" else ORDINARY)
    parser.add_argument("--each", type=int, default=None, help="operations of a run")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--failures", type=int, default=3, help="after which it ends")
    parser.add_argument("--keep", default=".", help="the folder for plans that fail")
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds after which a run hangs")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--play")
    parser.add_argument("--seeds", help="a folder of plans")
    parser.add_argument("--shrink")
    parser.add_argument("scela_run")
    parser.add_argument("stranger")
    parser.add_argument("verbs")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().getrandbits(32)
    if options.each is None:
        options.each = 100 if options.operations <= ORDINARY else 2000
    with tempfile.TemporaryDirectory(prefix="strangers-", dir=options.keep) as folder:
        plays = Plays(runs.Tools(options.scela_run, options.stranger, options.verbs), folder, options.limit)
        if options.play:
            return 1 if play(plays, options.play, options.times) else 0
        if options.shrink:
            return shrink_plan(plays, options.shrink, options.times)
        if options.seeds:
            return 1 if sum(play(plays, os.path.join(options.seeds, name), options.times)
                            for name in sorted(os.listdir(options.seeds)) if name.endswith(".plan")) else 0
        return 1 if random_runs(plays, options) else 0


if __name__ == "__main__":
    sys.exit(main())
