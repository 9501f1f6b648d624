#!/usr/bin/env python3
"""Messages between ranks: the channel beside MPICH, Open MPI and a bare copy, and what ranks cost in memory.

  bench/messages.py [--build DIR] [--suites node,pairs,...] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

Every suite is a few calls of scela-perf, whose rows are put into tables: `node` two ranks on two processors, `pairs` more
ranks than processors, `between` two ranks on two simulated nodes, `memory` 64 ranks on 8 simulated nodes, `overlap` and
`noise` on a node and between two.
"""
import json
import os

import contest
import launch_report
import measure
from contest import ROOT, say
from launch_report import table

SUITES = ["node", "pairs", "between", "memory", "overlap", "noise"]
HEADINGS = {"node": "Messages on a node", "pairs": "Messages of more ranks than processors",
            "between": "Messages between nodes", "memory": "Memory and queue pairs of ranks",
            "overlap": "Overlap of messages and computation", "noise": "Delays that are passed on to other ranks"}
PATTERNS = "all,BT,CG,EP,FT,IS,LU,MG,SP"


def commands(suite, quick):
    """scela-perf's words, for each call."""
    both = "mpich,openmpi"
    if suite == "node":
        return [["latency", "--sizes", "8,64,1K,8K,64K,1M", "--vs", both], ["rate", "--vs", both],
                ["bandwidth", "--sizes", "64K,256K,1M,4M", "--window", "16", "--vs", f"copy,{both}"],
                ["bidirectional", "--sizes", "64K,256K,1M,4M", "--window", "16", "--vs", f"copy,{both}"]]
    if suite == "pairs":
        return [[bench, "-n", str(ranks), "--sizes", "8,1K,64K", "--vs", "openmpi"]
                for ranks in (4, 8) for bench in ("latency", "pairs")]
    if suite == "between":
        return [["latency", "--nodes", "2", "--sizes", "8,1K,64K,1M", "--vs", "openmpi"],
                ["bandwidth", "--nodes", "2", "--sizes", "64K,1M,4M", "--window", "16", "--vs", "openmpi"]]
    if suite == "memory":
        ranks, nodes = ("16", "2") if quick else ("64", "8")
        return [["memory", "-n", ranks, "--nodes", nodes, "--pattern", "all" if quick else PATTERNS],
                ["memory", "-n", ranks, "--nodes", nodes, "--vs", "openmpi"],
                *(["memory", "-n", str(each * 4), "--nodes", "4"] for each in ((1, 2) if quick else (1, 2, 4, 8, 16)))]
    sizes = ["--sizes", "8,64K"] if quick else ["--sizes", "8,12K,16K,64K,512K"] if suite == "noise" else ["--sizes", "1K,64K,512K,1M"]
    node = [suite, *sizes, "--vs", both]
    return [node, [suite, *sizes, "--nodes", "2", "--vs", "write,offloaded,openmpi"]]


class Contest:
    def __init__(self, options):
        self.options = options
        self.perf = os.path.join(os.path.abspath(os.path.join(ROOT, options.build)), "bin", "scela-perf")

    def suite(self, name):
        found = []
        for words in commands(name, self.options.quick):
            few = ["--rounds", "3"] if self.options.quick else ["--rounds", "7"] if name == "noise" else []
            turns = "1" if words[0] == "memory" else str(self.options.repeat)
            words = [*words, *few, "--turns", turns]
            say(f"  scela-perf {' '.join(words)}")
            output = measure.run_ok([self.perf, *words, "--json"], timeout=1800).output
            found.append({"command": " ".join(["scela-perf", *words]), "rows": [json.loads(line) for line in output.splitlines()]})
        return found


def short(value):
    return "" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


COLUMNS = {
    "memory": ["op", "ranks", "nodes", "kib_rank", "kib_rank_alone", "kib_others", "partners", "connections", "max_connections",
               "send_queue_pairs", "receive_queue_pairs"],
    "overlap": ["op", "bytes", "median_us", "blocking_us", "pure_us", "work_us", "begin_us", "end_us", "osu_percent", "imb_percent",
                "imb_old_percent", "nbcbench_percent", "availability_percent", "processor_taken_us"],
    "noise": ["op", "bytes", "plain_us", "delay_us", "median_us", "propagated_percent"],
}
USUAL = ["bytes", "median_us", "min_us", "max_us", "mb_s", "messages_s"]


def body(results, suite):
    text = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"], suite)
    text += "\nMedians. The ratio is the channel's figure over the other contestant's (of `memory`: KiB a rank); below 1 the channel is ahead.\n"
    for call in results[suite]:
        columns = COLUMNS.get(suite, USUAL)
        cells = [[row["contestant"], *(short(row.get(name)) if isinstance(row.get(name), float) else row.get(name, "")
                                       for name in columns), short(row.get("ratio"))] for row in call["rows"]]
        text += f"\n`{call['command']}`\n\n" + table(["contestant", *columns, "ratio"], cells)
    return text


def main():
    options = contest.options_of(contest.with_build(contest.parser(__doc__, SUITES, 5, "turns of each contestant")), SUITES)
    results = contest.recorded("messages.py", SUITES, options, Contest)
    launch_report.put_sections([(HEADINGS[name], body(results, name)) for name in SUITES if name in results], options.docs)


if __name__ == "__main__":
    main()
