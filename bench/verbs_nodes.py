#!/usr/bin/env python3
"""The software adapter with many processes, when its engine is killed, and when idle.

  bench/verbs_nodes.py [--build DIR] [--suites LIST] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

Suites: `kills` (an engine is killed at any moment, --repeat times: until when is everybody told who waits for something;
tests/interop/verbs/kills.py), `mesh` (64 processes on 8 nodes, connected each with all others by XRC and by RC: connections
and what they cost; tests/interop/verbs/mesh.py), `idle` (processor time and memory of an engine whose programs sleep).
"""
import contextlib
import os
import sys
import time

import contest
import launch_report
import measure
from contest import ROOT, say
from launch_report import table

sys.path.insert(0, os.path.join(ROOT, "tests", "interop", "verbs"))  # ahead of this folder's verbs.py
import kills  # noqa: E402 (the path above)
import mesh  # noqa: E402
import nodes  # noqa: E402

nodes.Node.strict = "0"
SUITES = ["kills", "mesh", "idle"]
KILL_LIMIT_MS, IDLE_CPU_LIMIT, IDLE_MIB_LIMIT, IDLE_S = 1000, 0.1, 8, 10
HOW = {"busy": "sends, and polls", "polls": "polls in vain, and sleeps meanwhile", "event": "completion channel",
       "async": "asynchronous events", "asks": "asks the engine for objects", "peer": "polls for another node's messages",
       "remote": "sends from another node"}


class Tree:
    def __init__(self, options):
        build = os.path.abspath(os.path.join(ROOT, options.build))
        self.library = os.path.join(build, "lib", "libscela-ibverbs.so.1")
        self.engine = os.path.join(build, "bin", "scela-hca")
        programs = os.path.join(build, "tests", "interop", "verbs")
        self.waiter, self.mesh = (os.path.join(programs, name) for name in ("verbs_waiter", "verbs_mesh"))
        for path in (self.library, self.engine, self.waiter, self.mesh):
            if not os.path.exists(path):
                sys.exit(f"{path} is missing: build the release preset with -DSCELA_TESTS=ON first")
        self.options = options


def suite_kills(tree):
    seed = 1
    found = kills.runs(tree.library, tree.engine, tree.waiter, 3 if tree.options.quick else tree.options.repeat, seed)
    rows = {how: measure.summary([times[how] for times in found]) for how in found[0]}
    for how, row in rows.items():
        say(f"  {how}: median {row['median']:.1f} ms, slowest {row['max']:.1f} ms")
    late = {how: sum(times[how] > KILL_LIMIT_MS for times in found) for how in rows}
    return {"seed": seed, "runs": len(found), "rows": rows, "late": late}


def suite_mesh(tree):
    node_count, processes = (2, 8) if tree.options.quick else (8, 64)
    return [mesh.run(tree.library, tree.engine, tree.mesh, mode, node_count, processes) for mode in ("xrc", "rc")]


def ran_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0])


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def idle(tree, sleepers):
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(nodes.Node(tree.library, tree.engine, nodes.record(0, 2, nodes.new_key())))
        for number in range(sleepers):
            one = kills.Waiter(node, tree.waiter, ["event", "async"][number % 2])
            one.line()
            one.expect("waits")
        pid = node.process.pid
        time.sleep(1)  # what it still had to do
        before, begun = ran_ns(pid), time.monotonic()
        time.sleep(1 if tree.options.quick else IDLE_S)
        return {"processes": sleepers, "percent": (ran_ns(pid) - before) / (time.monotonic() - begun) / 1e7,
                "resident_mib": resident_kib(pid) / 1024}


def suite_idle(tree):
    return [idle(tree, sleepers) for sleepers in (0, 1, 8)]


def met(holds):
    return "met" if holds else "missed"


def kills_section(found):
    slowest = max(row["max"] for row in found["rows"].values())
    late = sum(found["late"].values())
    return (f"\nAn engine of two is killed {found['runs']} times, at a moment drawn with seed {found['seed']}, while processes wait. "
            "Every process is told, by an error completion or an asynchronous event. Time from the kill, ms:\n\n" + table(
                ["waits by", "median", "quartiles", "slowest", f"over {KILL_LIMIT_MS} ms"],
                [[HOW[how], f"{row['median']:.1f}", f"{row['q1']:.1f}-{row['q3']:.1f}", f"{row['max']:.1f}", found["late"][how]]
                 for how, row in found["rows"].items()]) +
            f"\nThe slowest of all took {slowest:.0f} ms (target at most {KILL_LIMIT_MS}: {met(late == 0)}). A sender on another "
            "node has a timeout of 67 ms and 7 retries.\n")


def mesh_section(rows):
    return ("\nEach process is connected with all others, and has sent a message to each. An XRC connection leads from a process to "
            "a node, and the processes of the node share it; an RC connection is of two processes. Bytes: rings of queue pairs that engine and "
            "programs share, and shared receive queues beside them; memory: of all engines (Pss). Send queues hold 4 requests for "
            "each process that a queue pair leads to.\n\n" + table(
                ["", "processes x nodes", "connections", "queue pairs", "bytes of a connection", "bytes of queue pairs",
                 "of receive queues", "shared chunks, MiB", "engines, MiB", "TCP connections"],
                [[row["mode"].upper(), f"{row['processes']} x {row['nodes']}", f"{row['connections']:,}", f"{row['queue_pairs']:,}",
                  f"{row['bytes'] / row['connections']:,.0f}", f"{row['bytes']:,}", f"{row['srq_bytes']:,}",
                  f"{row['shared_bytes'] / 2**20:.1f}", f"{row['engine_kib'] / 1024:.1f}", row["links"]] for row in rows]))


def idle_section(rows):
    worst_cpu, worst_mib = max(row["percent"] for row in rows), max(row["resident_mib"] for row in rows)
    return (f"\nAn engine of a job of two nodes with sleeping programs, over {IDLE_S} s:\n\n" + table(
        ["programs", "processor, %", "resident, MiB"],
        [[row["processes"], f"{row['percent']:.4f}", f"{row['resident_mib']:.1f}"] for row in rows]) +
        f"\nProcessor (target under {IDLE_CPU_LIMIT} %): {met(worst_cpu < IDLE_CPU_LIMIT)}. "
        f"Memory (target under {IDLE_MIB_LIMIT} MiB): {met(worst_mib < IDLE_MIB_LIMIT)}.\n")


def sections(results):
    head = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"])
    made = {"kills": ("The software adapter when its engine is killed", kills_section),
            "mesh": ("The software adapter with many processes", mesh_section),
            "idle": ("The software adapter when idle", idle_section)}
    return [(heading, head + section(results[suite])) for suite, (heading, section) in made.items() if suite in results]


def main():
    options = contest.options_of(contest.with_build(contest.parser(__doc__, SUITES, 500)), SUITES)
    if options.render:
        results = contest.load(options.render)
    else:
        tree = Tree(options)
        results = contest.measured("verbs_nodes.py", {name: lambda n=name: globals()[f"suite_{n}"](tree) for name in SUITES},
                                   options)
    if options.results:
        contest.save(options.results, results, sort_keys=False)
    launch_report.put_sections(sections(results), options.docs)


if __name__ == "__main__":
    main()
