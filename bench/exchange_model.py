#!/usr/bin/env python3
"""Figures 3.3 and 3.4 and Table 3.1 of the founding thesis anew, from simulated and measured exchanges.

  bench/exchange_model.py [--build DIR] [--large N] [--results FILE | --render FILE] [--docs docs/results]

Simulated: the agents' own code under assumed costs (tests/sim/exchange_run). Measured: what bench/pmi.py has recorded in
bench/results/pmi.json. Prints the section; with --docs, replaces it there and draws figures/ beside it.
"""
import argparse
import json
import os
import subprocess
import sys

import launch_report
import measure
import plot_svg

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PPN = 8
DEGREE = 4
# Nanoseconds; of a byte, picoseconds. docs/design/caches.md says what they stand for.
COSTS = {"message": 30000, "byte": 1000, "request": 3000, "hop": 50000}
NODES = [1, 2, 4, 8, 16, 32, 64]
TABLE = [64, 256, 1024, 4096, 16384, 65536]
STAGES = [1, 4]
FIGURES = [("1:2", "3.3", "fig-3-3.svg"), ("1:p", "3.4", "fig-3-4.svg")]


def simulate(program, **options):
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return json.loads(subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout)


def simulated(build, large):
    program = os.path.join(build, "tests", "sim", "exchange_run")
    results = {"command": "bench/exchange_model.py " + " ".join(sys.argv[1:]), "date": measure.today(),
               **measure.commit(ROOT), "costs": COSTS, "curves": [], "table": []}
    for kind, _, _ in FIGURES:
        for nodes in NODES:
            run = simulate(program, hosts=nodes, ranks=PPN, degree=DEGREE, value=64, all=int(kind == "1:p"), **COSTS)
            results["curves"].append({"kind": kind, "nodes": nodes, **{
                policy: found["microseconds"] for policy, found in run["policies"].items()}})
    for ranks in TABLE:
        for stages in STAGES:
            run = simulate(program, hosts=ranks // PPN, ranks=PPN, degree=16, stages=stages, value=20, sample=1000)
            results["table"].append({"ranks": ranks, "stages": stages, **{
                policy: {"agent": found["most"]["cache_bytes"] // run["pair_bytes"],
                         "root": found["root"]["cache_bytes"] // run["pair_bytes"]}
                for policy, found in run["policies"].items()}})
    run = simulate(program, hosts=large, ranks=PPN, degree=16, value=20, sample=1000)
    results["large"] = {"nodes": large, "degree": 16, **run}
    return results


def policies_of(row):
    return [name for name in row if name not in ("kind", "nodes", "ranks", "stages")]


def figure(results, measured, kind, number):
    rows = [row for row in results["curves"] if row["kind"] == kind]
    names = policies_of(rows[0])
    charts = [plot_svg.line_chart(f"Fig. {number}: exchange {kind}, simulated with assumed costs", "ranks", "milliseconds", {
        name: [(row["nodes"] * PPN, row[name] / 1e3) for row in rows] for name in names})]
    taken = [row for row in measured["exchange"] if row["kind"] == kind]
    for how in ("socket", "library"):
        charts.append(plot_svg.line_chart(f"Measured on one machine, by the {how}", "ranks", "milliseconds", {
            name: [(row["nodes"] * PPN, row[f"{name} {how}"]["median"] * 1e3) for row in taken]
            for name in names if f"{name} {how}" in taken[0]}))
    return plot_svg.beside(*charts)


def ratios(results):
    text = ""
    for kind, number, name in FIGURES:
        last = [row for row in results["curves"] if row["kind"] == kind][-1]
        parts = [f"{policy} {last[policy] / last['hcs']:.2f}" for policy in policies_of(last) if policy != "hcs"]
        text += (f"\nFig. {number}, {kind} at {last['nodes']} x {PPN}, simulated time over that of hcs: {', '.join(parts)} "
                 f"(thesis: hcmab and hcmab-lru {'under 1/3' if kind == '1:2' else '1/10'}).\n"
                 f"\n![Fig. {number}](figures/{name})\n")
    return text


def table(results):
    names = policies_of(results["table"][0])
    rows = []
    for ranks in TABLE:
        by_stage = {row["stages"]: row for row in results["table"] if row["ranks"] == ranks}
        cells = []
        for name in names:
            pairs = lambda who, n=name: " / ".join(f"{by_stage[s][n][who]:,}" for s in STAGES)  # pylint: disable=cell-var-from-loop
            cells.append(f"{pairs('agent')} (root {pairs('root')})")
        rows.append([f"{ranks:,}", *cells])
    return (f"\nTable 3.1: pairs in the fullest agent's cache, and in the root's, after {' / '.join(map(str, STAGES))} stages of 1:2 "
            f"with one pair a rank, {PPN} ranks a node, degree 16 (thesis: O(p·n), O(p·n), O(p·n), O(p) for the worst node):\n\n"
            + launch_report.table(["p", *names], rows))


def large(results):
    row = results["large"]
    rows = []
    for name, found in row["policies"].items():
        root, most = found["root"], found["most"]
        rows.append([name, *(f"{number:,}" for number in (
            root["puts"] + root["aggregates"] + root["gets"], root["bytes_up"], root["releases"] + root["answers"],
            root["bytes_down"], root["cache_bytes"], found["median"]["cache_bytes"], most["cache_bytes"],
            most["peak_bytes"]))])
    ranks = row["nodes"] * PPN
    return (f"\nOne exchange 1:2 of {ranks:,} ranks on {row['nodes']:,} agents of degree {row['degree']}, pairs of "
            f"{row['pair_bytes']} bytes: messages and bytes of pairs at the root, which the closed forms of docs/design/caches.md predict; "
            f"bytes in caches, and of pieces that wait meanwhile, as the agents account for them:\n\n" + launch_report.table(
                ["policy", "root: messages from children", "pair bytes", "messages to children", "pair bytes", "root's cache",
                 "agent's cache, median", "fullest", "most pieces"], rows))


def body(results):
    costs = results["costs"]
    return (launch_report.stated(results["command"], results, results["date"]) +
            f"Simulated time, not a measurement: {costs['message'] / 1e3:g} µs for a message through an agent and "
            f"{costs['byte'] / 1e3:g} ns for each byte, {costs['request'] / 1e3:g} µs for a rank's request, {costs['hop'] / 1e3:g} µs "
            f"between nodes; degree {DEGREE}. The curves beside are those of the section PMI exchanges.\n" +
            ratios(results) + table(results) + large(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-release", help="build tree (default: build-release)")
    parser.add_argument("--large", type=int, default=10000, metavar="N", help="agents of the large tree (default: 10,000)")
    parser.add_argument("--results", help="write the figures to this JSON file")
    parser.add_argument("--render", help="do not simulate: take the figures from this JSON file")
    parser.add_argument("--docs", help="write the section into this Markdown file, or into the page of this folder that has it; pictures below")
    options = parser.parse_args()
    if options.render:
        with open(options.render, encoding="utf-8") as f:
            results = json.load(f)
    else:
        results = simulated(os.path.join(ROOT, options.build), options.large)
    if options.results:
        with open(options.results, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
            f.write("\n")
    with open(os.path.join(ROOT, "bench", "results", "pmi.json"), encoding="utf-8") as f:
        measured = json.load(f)
    pictures = {f"figures/{name}": figure(results, measured, kind, number) for kind, number, name in FIGURES}
    launch_report.put_sections([("Simulated exchanges", body(results))], options.docs, pictures)


if __name__ == "__main__":
    main()
