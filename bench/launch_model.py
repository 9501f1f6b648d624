#!/usr/bin/env python3
"""Table 2.1 and the curve of Fig. 2.7 of the founding thesis, from the launch model, as Markdown and SVG.

  bench/launch_model.py [--build DIR] [--set NAME:T_CONN,T_NLA,T_LAUNCH[,HOP]]... [--ppn N]
                        [--docs docs/results]

Prints the section; with --docs, replaces it there and writes launch-model-*.svg beside it. Constants are
milliseconds; the defaults, and where they come from, stand in bench/programs/launch_model.cpp.
"""
import argparse
import json
import os
import re
import subprocess
import sys

import launch_report
import measure
import plot_svg

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADING = "Launch model"
# What the thesis measured: a hello world on TACC Ranger, 16 cores a node (section 2.4.2).
MEASURED = {10240: (185, 25)}
CURVES = [("without", "one connection a rank"), ("flat", "agents, one launcher"),
          ("one_by_one", "tree, children one by one"), ("together", "tree, children together"),
          ("doubling", "doubling (Fig. 2.2)")]


def seconds(ms):
    return f"{ms / 1e3:.3g}" if ms < 1e6 else f"{ms / 1e3:,.0f}"


def spawn_table(constants):
    sizes = sorted({row["nodes"] for row in constants["table"]})
    cores = sorted({row["ppn"] for row in constants["table"]})
    cells = {(row["nodes"], row["ppn"]): row for row in constants["table"]}
    return launch_report.table(
        ["n"] + [f"c = {c}" for c in cores],
        [[n] + [f"{seconds(cells[n, c]['with'])} / {seconds(cells[n, c]['without'])}" for c in cores] for n in sizes])


def curve_table(constants):
    rows = [[f"{row['ranks']:,}", f"{row['nodes']:,}", row["degree"]] + [seconds(row[key]) for key, _ in CURVES]
            for row in constants["curve"]]
    return launch_report.table(["ranks", "nodes", "degree"] + [name for _, name in CURVES], rows)


def body(model, command):
    text = [launch_report.stated(command, measure.commit(ROOT), measure.today()) +
            "\nArithmetic, not a measurement; the constants are explained in bench/programs/launch_model.cpp.\n",
            "Spawn times in seconds, with agents / without (Table 2.1: n (T_conn + T_nla) + c T_launch against "
            "n c (T_conn + T_launch)), then the launch of jobs of "
            f"{model['ppn']} ranks a node to 32,768 (Fig. 2.7) and to a million ranks. In the tree an agent starts its children "
            "one by one, as a launcher does that waits for each, or together, as ScELA does. Ranks "
            "are started when all agents have reported.\n"]
    for constants in model["sets"]:
        text.append(f"Constants \"{constants['name']}\": T_conn {constants['conn']:g} ms, T_nla {constants['nla']:g} ms, "
                    f"T_launch {constants['launch']:g} ms, {constants['hop']:g} ms a hop.\n")
        text.append(spawn_table(constants))
        text.append(curve_table(constants))
        text.append(f"![launch model, {constants['name']}]({file_name(constants)})\n")
    for ranks, (old, new) in MEASURED.items():
        row = next((r for r in model["sets"][0]["curve"] if r["ranks"] == ranks), None)
        if row and model["sets"][0]["name"] == "thesis":
            text.append(f"The thesis measured about {old} s without agents and about {new} s with them at {ranks:,} ranks, "
                        f"MPI_Init included. The model gives {seconds(row['without'])} s and {seconds(row['together'])} to "
                        f"{seconds(row['flat'])} s for spawning alone. The measured times also have the exchange in MPI_Init and, without agents, "
                        f"connections that are refused and tried again at one controller.\n")
    return "\n".join(text)


def file_name(constants):
    return "launch-model-" + re.sub(r"[^a-z0-9]+", "-", constants["name"].lower()) + ".svg"


def chart(constants, ppn):
    series = {name: [(row["ranks"], row[key] / 1e3) for row in constants["curve"]] for key, name in CURVES}
    return plot_svg.line_chart(f"Launch model ({constants['name']}), {ppn} ranks a node", "ranks", "seconds", series)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build-release"))
    parser.add_argument("--set", action="append", default=[], dest="sets")
    parser.add_argument("--ppn", type=int, default=16)
    parser.add_argument("--docs")
    args = parser.parse_args()
    command = [os.path.join(args.build, "bench", "launch_model"), "--ppn", str(args.ppn)]
    for one in args.sets:
        command += ["--set", one]
    model = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shown = "bench/launch_model.py" + "".join(f" --set '{one}'" for one in args.sets)
    text = body(model, shown + (f" --ppn {args.ppn}" if args.ppn != 16 else ""))
    launch_report.put_sections([(HEADING, text)], args.docs, {file_name(constants): chart(constants, model["ppn"])
                                                              for constants in model["sets"]})


if __name__ == "__main__":
    sys.exit(main())
