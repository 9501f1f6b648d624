#!/usr/bin/env python3
"""Collective operations: ScELA's beside MPICH and Open MPI, blocking and not, and what it costs to post them.

  bench/collectives.py [--build DIR] [--suites two,four,...] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

Every suite but `posting` is a few calls of scela-perf coll: `two` ranks on two processors, `four` more ranks than processors,
`overlap` non-blocking operations beside a computation, alone and 16 at once, `apart` the same by the engine with all ranks on one
processor and engines on the other, `progress` operations that are helped on every so many bytes (N5), `census` memory and queue
pairs (Tables 4.2 and 4.3 of the offload thesis), `sweep` ranks and nodes, `chapter4` the figures of that chapter. `posting` is
bench/collective_start. With --docs, curves are put into figures/ beside it.
"""
import json
import math
import os
import re

import collective_figures
import contest
import launch_report
import measure
from collective_figures import short
from contest import ROOT, say
from launch_report import table

SUITES = ["two", "four", "overlap", "apart", "progress", "census", "sweep", "chapter4", "posting", "sort"]
HEADINGS = {"two": "Collective operations of two ranks", "four": "Collective operations of more ranks than processors",
            "overlap": "Overlap of collective operations and computation",
            "apart": "Overlap of collective operations by the engine, ranks on one processor",
            "progress": "Overhead of collective operations with progress calls", "census": "Memory and queue pairs of collective operations",
            "sweep": "Collective operations over ranks and nodes", "chapter4": "Offloaded allgathers, flat and by leaders",
            "posting": "Posting a collective operation", "sort": "Sorting by collective operations"}
BLOCKING = "allreduce,bcast,barrier,allgather,alltoall"
SIZES = "8,64,1K,8K,64K,256K,1M"
SORTED = [["-n", "2"], ["-n", "4"], ["--sim-nodes", "2", "--ppn", "1"], ["--sim-nodes", "2", "--ppn", "2"]]


def offloaded(suite, quick):
    """Of one algorithm each: 16 ranks on 4 nodes, as the thesis's cluster B has, by the engine; the first beside Open MPI."""
    where = ["-n", "4", "--nodes", "2"] if quick else ["-n", "16", "--nodes", "4"]
    flat, leaders = collective_figures.FLAT, collective_figures.HIERARCHICAL
    if suite == "census":
        sizes = ["--sizes", "1K", "--rounds", "3"]
        algorithms, layout = [*flat, *leaders], []
    else:
        sizes = ["--sizes", "8,4K" if quick else "8,64,512,4K,16K,64K,256K", "--rounds", "5"]
        algorithms = [*flat, *leaders, *(collective_figures.ported(name, 3) for name in [*flat[:2], *leaders[:2]])]
        # Beside a single leader (O27).
        algorithms += [] if quick else ["multileader", "multigroup", "multigroup radix 4"]
        layout = ["--apart"]
    return [["coll", "allgather", *where, *sizes, "--algorithm", name, "--executor", "engine", *layout,
             *(["--vs", "openmpi"] if name == flat[0] and not layout else [])] for name in algorithms]


def swept(quick):
    layouts = [(2, 1), (4, 2)] if quick else [(2, 1), (4, 1), (8, 1), (2, 2), (4, 2), (8, 2), (4, 4), (8, 4), (16, 4)]
    return [["coll", BLOCKING, "-n", str(ranks), "--nodes", str(nodes), "--sizes", "8,64K", "--rounds", "5", "--vs", "openmpi"]
            for ranks, nodes in layouts]


def commands(suite, quick):
    """scela-perf's words, for each call."""
    if suite in ("census", "chapter4"):
        return offloaded(suite, quick)
    if suite == "sweep":
        return swept(quick)
    if suite == "progress":
        return [["coll", "allgather,alltoall,gather", "--sizes", "8K,64K" if quick else "2K,8K,32K,128K,512K",
                 "--progress", "2K,16K" if quick else "1K,2K,8K,64K", "--vs", "mpich,openmpi"]]
    sizes = ["--sizes", "8,64K" if quick else SIZES]
    if suite == "two":
        return [["coll", BLOCKING, *sizes, "--vs", "mpich,openmpi"]]
    if suite == "four":
        return [["coll", BLOCKING, "-n", "4", *sizes, "--vs", "openmpi"]]
    more = [["-n", "2"]] if quick else [["-n", "2"], ["-n", "4"], ["-n", "4", "--concurrent", "16"]]
    beside = ["coll", "allgather,alltoall,bcast,gather", "--sizes", "64K" if quick else "64K,256K,1M"]
    if suite == "apart":
        # Few rounds: ranks that spin where they share a processor take a scheduler's turn for each message.
        return [[*beside, *words, "--executor", "engine", "--apart", "--rounds", "5"] for words in more]
    beside += ["--vs", "mpich,openmpi"]
    return [[*beside, "-n", "2"], [*beside, "-n", "2", "--executor", "thread"], [*beside, "-n", "4"],
            [*beside, "-n", "4", "--concurrent", "16"]]


class Contest:
    def __init__(self, options):
        self.options = options
        self.build = os.path.abspath(os.path.join(ROOT, options.build))

    def suite(self, name):
        if name == "posting":
            say("  collective_start")
            return [{"command": "bench/collective_start",
                     "text": measure.run_ok([os.path.join(self.build, "bench", "collective_start")], timeout=600).output}]
        if name == "sort":
            return [self.sort(layout, by) for layout in SORTED for by in ("polled", "thread")]
        found = []
        for words in commands(name, self.options.quick):
            few = ["--rounds", "3"] if self.options.quick and "--rounds" not in words else []
            found.append(self.call([*words, *few, "--turns", str(self.options.repeat)]))
        if name == "census":
            found.append(self.call(["coll", "allgather", "--census", "-n", "128", "--nodes", "16"]))
        return found

    def sort(self, layout, by):
        """What examples/radix_sort.cpp says of its medians, in ms; those of all turns."""
        words = ["--keys", "65536" if self.options.quick else "1048576", "--run-by", by]
        command = " ".join(["scela-run", *layout, "radix_sort", *words])
        say(f"  {command}")
        argv = [os.path.join(self.build, "bin", "scela-run"), *layout, os.path.join(self.build, "tests", "interop", "bin", "radix_sort"), *words]
        turns = [re.search(r"plain ([\d.]+) ms, overlapped ([\d.]+) ms", measure.run_ok(argv).output) for _ in range(self.options.repeat)]
        return {"command": command, **{name: measure.summary([float(turn.group(i + 1)) for turn in turns])
                                       for i, name in enumerate(("plain", "overlapped"))}}

    def call(self, words):
        quoted = " ".join(["scela-perf", *(f"'{word}'" if " " in word else word for word in words)])
        say(f"  {quoted}")
        output = measure.run_ok([os.path.join(self.build, "bin", "scela-perf"), *words, "--json"], timeout=3600).output
        call = {"command": quoted, "rows": [json.loads(line) for line in output.splitlines()]}
        for word in ("--algorithm", "--nodes"):
            if word in words:
                call[word[2:]] = words[words.index(word) + 1]
        return call


USUAL = ["op", "bytes", "algorithm", "median_us", "min_us", "max_us", "post_us", "wait_us"]
COLUMNS = {"overlap": ["op", "bytes", "executor", "overlapped_us", "blocking_us", "pure_us", "work_us", "post_us", "wait_us", "osu_percent",
                       "imb_percent", "nbcbench_percent", "availability_percent", "processor_taken_us"]}


def ratios_to_best(rows):
    """By operation and size, ScELA's median by that of the best of the others."""
    best, own = {}, {}
    for row in rows:
        key = (row["op"], row["bytes"])
        if row["contestant"] == "scela":
            own[key] = row["median_us"]
        else:
            best[key] = min(best.get(key, math.inf), row["median_us"])
    return {key: own[key] / best[key] for key in own if key in best}


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def means(rows):
    """Geometric means of the ratios to the best of the others, by operation and of all."""
    found = ratios_to_best(rows)
    if not found:
        return ""
    lines = [[name, f"{mean_of([ratio for (op, _), ratio in found.items() if op == name]):.2f}"]
             for name in sorted({op for op, _ in found})]
    return ("\nGeometric means over sizes of the ratio to the better of the others (target: at most 0.8 over all).\n\n"
            + table(["operation", "ratio"], [*lines, ["all", f"{mean_of(list(found.values())):.2f}"]]))


def said(call):
    return f"\n`{call['command']}`\n"


def shown(names):
    return "".join(f"\n![{os.path.basename(name)[:-4]}]({name})\n" for name in names)


def progress_body(results):
    text = ("\nMedians, microseconds. The overhead is the part of an operation that a computation of the same length does not hide: the time"
            " of both together\nless that of the computation alone. The computation runs in one part, or in parts of so many bytes of the"
            " size with a test between them (N5).\n")
    for call in results["progress"]:
        text += said(call) + "\n" + collective_figures.progress_table(call["rows"])
    return text + shown(pictures(results, "progress"))


def census_body(results):
    *runs, counted = results["census"]
    found = collective_figures.all_of({"runs": runs}, "runs")
    flat, leaders = collective_figures.FLAT, collective_figures.HIERARCHICAL
    return ("\nTable 4.2, flat allgathers: memory of a rank after the operation, and its connections. Three queue pairs for each"
            " peer and two\nof the rank's own are the adapter's; the thesis's figures are those of 128 ranks on 16 nodes.\n"
            + "".join(said(call) for call in runs) + "\n" + collective_figures.queue_table(found, flat, False)
            + "\nTable 4.3, by leaders. The queue pairs by lists are those that leave a node, as in the thesis.\n\n"
            + collective_figures.queue_table(found, leaders, True)
            + "\nFrom the lists alone, for as many ranks as in the thesis. Bruck's is 39, not 42: the rank half the ring ahead is also the one half the"
            " ring behind.\n" + said(counted) + "\n" + collective_figures.list_table(counted["rows"]))


def sweep_body(results):
    rows = swept_rows(results)
    cells = [[row["contestant"], row["op"], row["ranks"], row["asked_nodes"], row["bytes"], row.get("algorithm", ""), short(row["median_us"]),
              short(row["min_us"]), short(row["max_us"]), short(row.get("ratio"))] for row in rows]
    return ("\nMedians, microseconds. The ratio is ScELA's figure over the other's; below 1 ScELA is ahead.\n"
            + "".join(said(call) for call in results["sweep"]) + "\n"
            + table(["contestant", "op", "ranks", "nodes", "bytes", "algorithm", "median_us", "min_us", "max_us", "ratio"], cells)
            + shown(pictures(results, "sweep")))


def swept_rows(results):
    """With the nodes that were asked for: others than ScELA do not know of simulated ones."""
    return [dict(row, asked_nodes=int(call["nodes"])) for call in results["sweep"] for row in call["rows"]]


def chapter4_body(results):
    found = collective_figures.all_of(results, "chapter4")
    cells = [[row["contestant"], algorithm if row["contestant"] == "scela" else "", row["bytes"], short(collective_figures.latency_of(row)),
              short(row["blocking_us"]), short(row["nbcbench_percent"]), short(row["processor_taken_us"])] for algorithm, row in found]
    return ("\nMedians. Figures 4.6 to 4.13 of the offload thesis, drawn again on simulated nodes; its ports are k of a radix k + 1."
            " Latency is that of the\nnon-blocking call with nothing beside it, of others that of the blocking one; overlap is NBCBench's.\n"
            + "".join(said(call) for call in results["chapter4"]) + "\n"
            + table(["contestant", "algorithm", "bytes", "latency, us", "blocking_us", "nbcbench_percent", "processor_taken_us"], cells)
            + shown(pictures(results, "chapter4")))


def sort_body(results):
    cells = [[f"`{call['command']}`", *(f"{call[mode]['median']:.1f} ({call[mode]['min']:.1f})" for mode in ("plain", "overlapped")),
              f"{call['overlapped']['median'] / call['plain']['median']:.2f}"] for call in results["sort"]]
    return ("\nThe kernel of the offload thesis's section 4.5.3 (O40): each operation is waited for where it is started, or goes on while keys are"
            " counted and\nplaced. ms: median (least) of all turns, each the median of its rounds. Below 1 overlapping gains.\n\n"
            + table(["command", "plain", "overlapped", "ratio"], cells))


SPECIAL = {"sort": sort_body, "progress": progress_body, "census": census_body, "sweep": sweep_body, "chapter4": chapter4_body}


def pictures(results, suite):
    """{file name: SVG text}, beside the page."""
    if suite == "progress":
        return collective_figures.progress_figures([row for call in results[suite] for row in call["rows"]])
    if suite == "sweep":
        return collective_figures.sweep_figures(swept_rows(results))
    if suite == "chapter4":
        return collective_figures.chapter_four(collective_figures.all_of(results, suite))
    return {}


def body(results, suite):
    text = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"], suite)
    if suite == "posting":
        return (text + "\nA cached plan is bound to bytes and begun up to its first wait. Messages cost nothing here, so the figures are what lists add to"
                " them. Medians of 201\nbatches of 100. Target: less than 3 us, without an allocation (counted: `collectives_allocations_test`; through a"
                " communicator: `communicator_allocations_test`).\n\n" + results[suite][0]["text"])
    if suite in SPECIAL:
        return text + SPECIAL[suite](results)
    text += "\nMedians. The ratio is ScELA's figure over the other's; below 1 ScELA is ahead.\n"
    for call in results[suite]:
        columns = COLUMNS.get("overlap" if suite == "apart" else suite, USUAL)
        cells = [[row["contestant"], *(short(row.get(name)) if isinstance(row.get(name), float) else row.get(name, "")
                                       for name in columns), short(row.get("ratio"))] for row in call["rows"]]
        text += f"\n`{call['command']}`\n\n" + table(["contestant", *columns, "ratio"], cells)
        if suite == "apart":
            text += "\n" + collective_figures.targets(call["rows"])
        elif suite != "overlap":
            text += means(call["rows"])
    return text


def main():
    options = contest.options_of(contest.with_build(contest.parser(__doc__, SUITES, 5, "turns of each contestant")), SUITES)
    results = contest.recorded("collectives.py", SUITES, options, Contest)
    drawn = {}
    for name in SUITES:
        if name in results:
            drawn.update(pictures(results, name))
    launch_report.put_sections([(HEADINGS[name], body(results, name)) for name in SUITES if name in results], options.docs, drawn)


if __name__ == "__main__":
    main()
