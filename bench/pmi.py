#!/usr/bin/env python3
"""The exchanges of the thesis (section 3.2) under every cache policy and under Hydra, on simulated nodes.

  bench/pmi.py [--build DIR] [--suites LIST] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

All contestants run the same program (bench/pmi_exchange.c) and take turns. "library": gets are answered from the
memory that agents share with their ranks; "socket": the same library with SCELA_SEGMENT=0, a plain client of the wire
protocol, which is all that it can be under Hydra.
"""
import argparse
import json
import os
import re
import shutil
import sys

import launch_report
import measure
import plot_svg

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POLICIES = ["hcs", "hcma", "hcmab", "hcmab-lru"]
SUITES = ["exchange", "get", "stages"]
EXCHANGE = re.compile(r"exchange us: ([\d.]+) get us: ([\d.]+)")
PPN = 8


def say(text):
    print(text, file=sys.stderr, flush=True)


class Contest:
    def __init__(self, build, hydra):
        self.run = os.path.join(build, "bin", "scela-run")
        self.program = os.path.join(build, "bench", "pmi_exchange")
        self.hydra = shutil.which(hydra)
        if not self.hydra:
            sys.exit(f"pmi.py: {hydra} is missing: apt-get install mpich")

    def scela(self, nodes, policy, socket, *options):
        return [self.run, "--sim-nodes", str(nodes), "--ppn", str(PPN), "--cache", policy, "--env",
                f"SCELA_SEGMENT={0 if socket else 1}", self.program, *options]

    def with_hydra(self, nodes, *options):
        hosts = ",".join(f"n{i}" for i in range(nodes))
        return [self.hydra, "-launcher", "fork", "-hosts", hosts, "-ppn", str(PPN), "-n", str(nodes * PPN),
                self.program, *options]


def times(argv):
    """Seconds of the exchange, seconds of a get."""
    found = EXCHANGE.search(measure.run_ok(argv, 300).output)
    return float(found.group(1)) / 1e6, float(found.group(2)) / 1e6


def suite_exchange(contest, options):
    rows = []
    for kind in ("1:2", "1:p"):
        for nodes in ([2, 8] if options.quick else [1, 4, 16, 64]):
            extra = ["--all"] if kind == "1:p" else []
            contestants = {}
            for policy in POLICIES:
                contestants[f"{policy} library"] = lambda p=policy: times(contest.scela(nodes, p, False, *extra))[0]
                contestants[f"{policy} socket"] = lambda p=policy: times(contest.scela(nodes, p, True, *extra))[0]
            contestants["hydra"] = lambda: times(contest.with_hydra(nodes, *extra))[0]
            found = measure.alternate(contestants, options.repeat)
            row = {"kind": kind, "nodes": nodes, **{name: measure.summary(v) for name, v in found.items()}}
            rows.append(row)
            say(f"  {kind} {nodes:3} x {PPN}: " + ", ".join(
                f"{name} {row[name]['median'] * 1e3:.1f}" for name in contestants) + " ms")
    return rows


def suite_get(contest, options):
    count = "2000" if options.quick else "20000"
    found = measure.alternate({
        "library": lambda: times(contest.scela(4, "hcmab", False, "--repeat-gets", count))[1],
        "socket": lambda: times(contest.scela(4, "hcmab", True, "--repeat-gets", count))[1],
        "hydra": lambda: times(contest.with_hydra(4, "--repeat-gets", count))[1],
    }, options.repeat)
    row = {name: measure.summary(v) for name, v in found.items()}
    say("  get: " + ", ".join(f"{name} {row[name]['median'] * 1e9:.0f} ns" for name in row))
    return row


def suite_stages(contest, options):
    """Bytes of keys and values in the fullest agent's cache after so many stages."""
    rows = []
    for stages in ([1, 4] if options.quick else [1, 4, 16, 64]):
        row = {"stages": stages}
        for policy in POLICIES:
            argv = contest.scela(16, policy, False, "--stages", str(stages))
            result = measure.run_ok([argv[0], "--stats=json", *argv[1:]])
            line = next(line for line in result.errors.splitlines() if "max_cache_bytes" in line)
            row[policy] = json.loads(line[line.index("{"):])["max_cache_bytes"]
        rows.append(row)
        say(f"  {row}")
    return rows


def exchange_section(results):
    text = ""
    for kind in ("1:2", "1:p"):
        what = "each rank gets its two neighbours' pairs" if kind == "1:2" else "each rank gets every rank's pair"
        text += f"\n{kind} ({what}), milliseconds from the first put to the last get, median (least; quartiles):\n\n"
        rows = [row for row in results["exchange"] if row["kind"] == kind]
        names = [f"{p} {c}" for p in POLICIES for c in ("library", "socket")] + ["hydra"]
        text += launch_report.table(
            ["ranks", *names], [[row["nodes"] * PPN] + [launch_report.spread(row[n], digits=1) for n in names]
                                for row in rows])
        last = rows[-1]
        hydra = last["hydra"]["median"]
        text += (f"\nAt {last['nodes']} x {PPN}: Hydra takes {hydra / last['hcmab library']['median']:.1f} times as long as "
                 f"the library under hcmab and {hydra / last['hcmab socket']['median']:.1f} times as long as the socket; "
                 f"hcs takes {last['hcs library']['median'] / last['hcmab library']['median']:.1f} times as long as hcmab "
                 f"(library) and {last['hcs socket']['median'] / last['hcmab socket']['median']:.1f} times (socket).\n")
    return text


def get_section(results):
    rows = [[name, launch_report.spread(results["get"][name], 1e9)] for name in results["get"]]
    return "\nOne get of a pair that is there, nanoseconds, rank 0 of 4 x 8, all others idle:\n\n" + launch_report.table(
        ["", "ns"], rows)


def stages_section(results):
    rows = [[row["stages"]] + [f"{row[p]:,}" for p in POLICIES] for row in results["stages"]]
    return ("\nKeys and values in the fullest agent's cache on 16 x 8 after so many stages of 1:2, bytes (Table 3.1: "
            "O(p·n), O(p·n) at the root only, O(p·n) everywhere, O(p)):\n\n" +
            launch_report.table(["stages", *POLICIES], rows))


def curves(results):
    charts = []
    for kind in ("1:2", "1:p"):
        rows = [row for row in results["exchange"] if row["kind"] == kind]
        series = {name: [(row["nodes"] * PPN, row[name]["median"] * 1e3) for row in rows]
                  for name in [f"{p} library" for p in POLICIES] + ["hcs socket", "hcmab socket", "hydra"]}
        charts.append(plot_svg.line_chart(f"exchange {kind}", "ranks", "milliseconds", series))
    return plot_svg.beside(*charts)


def body(results):
    text = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"])
    for name in SUITES:
        if name in results:
            text += globals()[f"{name}_section"](results)
    if "exchange" in results:
        text += "\n![exchanges 1:2 and 1:p](pmi-exchange.svg)\n"
    return text


def measured(options):
    contest = Contest(os.path.join(ROOT, options.build), options.hydra)
    results = {"command": "bench/pmi.py " + " ".join(sys.argv[1:]), "date": measure.today(), **measure.commit(ROOT),
               "machine": measure.machine(), "repeat": options.repeat, "load_before": measure.load()}
    for name in options.suites:
        say(name)
        results[name] = globals()[f"suite_{name}"](contest, options)
    results["load_after"] = measure.load()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-release", help="build tree (default: build-release)")
    parser.add_argument("--hydra", default="mpiexec.hydra")
    parser.add_argument("--suites", type=lambda s: s.split(","), default=SUITES)
    parser.add_argument("--repeat", type=int, default=5, help="rounds after the warm-up (default: 5)")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything work?")
    parser.add_argument("--results", help="write the figures to this JSON file")
    parser.add_argument("--render", help="do not measure: take the figures from this JSON file")
    parser.add_argument("--docs", help="write the section into this Markdown file, curves beside it")
    options = parser.parse_args()
    if set(options.suites) - set(SUITES) or options.repeat < 1:
        parser.error("--suites: of " + ", ".join(SUITES) + "; --repeat: at least 1")
    if options.render:
        with open(options.render, encoding="utf-8") as f:
            results = json.load(f)
    else:
        results = measured(options)
    if options.results:
        with open(options.results, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
            f.write("\n")
    pictures = {"pmi-exchange.svg": curves(results)} if "exchange" in results else {}
    launch_report.put_sections([("PMI exchanges", body(results))], options.docs, pictures)


if __name__ == "__main__":
    main()
