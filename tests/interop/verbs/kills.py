#!/usr/bin/env python3
"""An engine is killed at any moment: everybody who waits for something is told.

usage: kills.py LIBRARY ENGINE WAITER [--runs N] [--seed N]

Each run has two nodes. On the one whose engine is killed processes wait in every way that there is (verbs_waiter), on the
other one sends to a process of the first. SCELA_ENGINE_KILLS: so many runs, instead of --runs. Says how long the slowest of
each kind took; that is not judged here.
"""
import argparse
import os
import random
import select
import signal
import subprocess
import time

import nodes
import verbs

HERE = ["busy", "polls", "event", "async", "asks", "peer"]
WORDS = {"remote": "transport retry counter exceeded", "async": "device fatal", "asks": "device fatal"}


class Waiter:
    def __init__(self, node, program, how):
        self.how = how
        self.process = subprocess.Popen(node.launched([program, how]), env=node.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        node.programs.append(self.process)

    def line(self):
        if not select.select([self.process.stdout], [], [], verbs.TIME_LIMIT_S)[0]:
            verbs.fail(f"nothing is heard of the process that waits by {self.how}")
        found = self.process.stdout.readline().decode().strip()
        if not found:
            verbs.fail(f"the process that waits by {self.how} ended with {self.process.wait()}")
        return found

    def tell(self, text):
        self.process.stdin.write(f"{text}\n".encode())

    def expect(self, word):
        found = self.line()
        if found != word:
            verbs.fail(f"the process that waits by {self.how} says '{found}' instead of '{word}'")


def connect(one, other):
    places = [waiter.line() for waiter in (one, other)]
    one.tell(places[1])
    other.tell(places[0])
    for waiter in (one, other):
        waiter.expect("connected")
    for waiter in (one, other):
        waiter.tell("")


def run(library, engine, program, drawn):
    """{how: ms until it was told}."""
    key = nodes.new_key()
    with nodes.Node(library, engine, nodes.record(0, 2, key)) as killed, \
            nodes.Node(library, engine, nodes.record(1, 2, key)) as other:
        killed.complaints = other.complaints = True
        waiters = [Waiter(killed, program, how) for how in HERE]
        remote = Waiter(other, program, "remote")
        connect(waiters[-1], remote)
        for waiter in waiters[:-1]:
            waiter.line()
        for waiter in [*waiters, remote]:
            waiter.expect("waits")
        time.sleep(drawn.uniform(0, 0.05))  # the moment: drawn, not waited for
        begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        times = {}
        for waiter in [*waiters, remote]:
            how, ns, words = waiter.line().split(None, 2)
            wanted = [WORDS[how]] if how in WORDS else ["Work Request Flushed Error", "a poll that fails",
                                                        "a post that fails"]
            if words.lower() not in [w.lower() for w in wanted]:
                verbs.fail(f"who waits by {how} is told '{words}', not one of {wanted}")
            times[how] = (int(ns) - begun) / 1e6
            if waiter.process.wait(verbs.TIME_LIMIT_S) != 0:
                verbs.fail(f"who waits by {how} ends with {waiter.process.returncode}")
        return times


def runs(library, engine, program, count, seed):
    """[{how: ms}], one of each run."""
    drawn = random.Random(seed)
    return [run(library, engine, program, drawn) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("engine")
    parser.add_argument("waiter")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    count = int(os.environ.get("SCELA_ENGINE_KILLS", options.runs))
    print(f"{count} runs, seed {options.seed}", flush=True)
    found = runs(options.library, options.engine, options.waiter, count, options.seed)
    print("slowest, ms: " + ", ".join(f"{how} {max(times[how] for times in found):.1f}" for how in found[0]))


if __name__ == "__main__":
    main()
