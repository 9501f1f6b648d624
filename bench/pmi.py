#!/usr/bin/env python3
"""The exchanges of the thesis (section 3.2) under every cache policy and under Hydra, on simulated nodes.

  bench/pmi.py [--build DIR] [--suites LIST] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

All contestants run the same program (bench/programs/pmi_exchange.c) and take turns. "library": gets are answered from the
memory that agents share with their ranks, other requests pass through memory too; "socket": the same library with
SCELA_SEGMENT=0, a plain client of the wire protocol, which is all that it can be under Hydra; "floor" (1:p only): as many
requests and answers over socket pairs by servers that look at nothing (bench/programs/echo.c). Suite `barrier`: barriers in a
row, by that library and by a client without any (bench/programs/pmi_client.c), beside the floor of their release: as many
processes woken once through socket pairs (bench/programs/wake.c).
"""
import json
import re

import contest
import launch_report
import measure
import plot_svg
from contest import say

POLICIES = ["hcs", "hcma", "hcmab", "hcmab-lru", "dht"]
SUITES = ["exchange", "get", "stages", "barrier"]
EXCHANGE = re.compile(r"exchange us: ([\d.]+) get us: ([\d.]+)")
SECTIONS = [("PMI exchanges", SUITES[:3]), ("PMI barriers", SUITES[3:])]
FLOOR = "as many processes woken once"
PPN = 8


class Contest(contest.Nodes):
    def __init__(self, options):
        super().__init__(options, ("pmi_exchange", "pmi_client_bare", "wake", "echo"))
        self.program = self.bench["pmi_exchange"]

    def under(self, nodes, policy, socket, *options):
        return self.scela(nodes, PPN, "--cache", policy, "--env", f"SCELA_SEGMENT={0 if socket else 1}", self.program,
                          *options)

    def peer(self, nodes, *options):
        return self.with_hydra(nodes, PPN, self.program, *options)


def times(argv):
    """Seconds of the exchange, seconds of a get."""
    found = EXCHANGE.search(measure.run_ok(argv, 300).output)
    return float(found.group(1)) / 1e6, float(found.group(2)) / 1e6


def suite_exchange(nodes_of, options):
    rows = []
    for kind in ("1:2", "1:p"):
        for nodes in ([2, 8] if options.quick else [1, 4, 16, 64]):
            extra = ["--all"] if kind == "1:p" else []
            contestants = {}
            for policy in POLICIES:
                contestants[f"{policy} library"] = lambda p=policy: times(nodes_of.under(nodes, p, False, *extra))[0]
                contestants[f"{policy} socket"] = lambda p=policy: times(nodes_of.under(nodes, p, True, *extra))[0]
            contestants["hydra"] = lambda: times(nodes_of.peer(nodes, *extra))[0]
            if kind == "1:p":
                contestants["floor"] = lambda: times([nodes_of.bench["echo"], "--servers", str(nodes), "--clients", str(PPN),
                                                      "--requests", str(nodes * PPN)])[0]
            found = measure.alternate(contestants, options.repeat)
            row = {"kind": kind, "nodes": nodes, **{name: measure.summary(v) for name, v in found.items()}}
            rows.append(row)
            say(f"  {kind} {nodes:3} x {PPN}: " + ", ".join(
                f"{name} {row[name]['median'] * 1e3:.1f}" for name in contestants) + " ms")
    return rows


def suite_get(nodes_of, options):
    count = "2000" if options.quick else "20000"
    found = measure.alternate({
        "library": lambda: times(nodes_of.under(4, "hcmab", False, "--repeat-gets", count))[1],
        "socket": lambda: times(nodes_of.under(4, "hcmab", True, "--repeat-gets", count))[1],
        "hydra": lambda: times(nodes_of.peer(4, "--repeat-gets", count))[1],
    }, options.repeat)
    row = {name: measure.summary(v) for name, v in found.items()}
    say("  get: " + ", ".join(f"{name} {row[name]['median'] * 1e9:.0f} ns" for name in row))
    return row


def suite_stages(nodes_of, options):
    """Bytes of keys and values in the fullest agent's cache after so many stages."""
    rows = []
    for stages in ([1, 4] if options.quick else [1, 4, 16, 64]):
        row = {"stages": stages}
        for policy in POLICIES:
            argv = nodes_of.under(16, policy, False, "--stages", str(stages))
            result = measure.run_ok([argv[0], "--stats=json", *argv[1:]])
            line = next(line for line in result.errors.splitlines() if "max_cache_bytes" in line)
            row[policy] = json.loads(line[line.index("{"):])["max_cache_bytes"]
        rows.append(row)
        say(f"  {row}")
    return rows


def suite_barrier(nodes_of, options):
    count, nodes = ("20", 16) if options.quick else ("100", 64)
    client, words = nodes_of.bench["pmi_client_bare"], ("--barriers", count)
    row = contest.in_rows({
        "scela-run, socket": nodes_of.scela(nodes, PPN, client, *words),
        "scela-run, library": nodes_of.scela(nodes, PPN, nodes_of.program, *words),
        "Hydra, socket": nodes_of.with_hydra(nodes, PPN, client, *words),
        "Hydra, library": nodes_of.with_hydra(nodes, PPN, nodes_of.program, *words),
        FLOOR: [nodes_of.bench["wake"], "--processes", str(nodes * PPN), "--rounds", count]}, options.repeat)
    say("  barrier: " + ", ".join(f"{name} {found['median']['median']:.0f}" for name, found in row.items()) + " us")
    return {"nodes": nodes, "barriers": int(count), "contestants": row}


def exchange_section(results):
    text = ""
    for kind in ("1:2", "1:p"):
        what = "each rank gets its two neighbours' pairs" if kind == "1:2" else "each rank gets every rank's pair"
        text += f"\n{kind} ({what}), milliseconds from the first put to the last get, median (least; quartiles):\n\n"
        rows = [row for row in results["exchange"] if row["kind"] == kind]
        names = [f"{p} {c}" for p in POLICIES for c in ("library", "socket")] + ["hydra"]
        names += ["floor"] if "floor" in rows[0] else []
        text += launch_report.table(
            ["ranks", *names], [[row["nodes"] * PPN] + [launch_report.spread(row[n], digits=1) for n in names]
                                for row in rows])
        last = rows[-1]
        hydra = last["hydra"]["median"]
        text += (f"\nAt {last['nodes']} x {PPN}: Hydra takes {hydra / last['hcmab library']['median']:.1f} times as long as "
                 f"the library under hcmab and {hydra / last['hcmab socket']['median']:.1f} times as long as the socket; "
                 f"hcs takes {last['hcs library']['median'] / last['hcmab library']['median']:.1f} times as long as hcmab "
                 f"(library) and {last['hcs socket']['median'] / last['hcmab socket']['median']:.1f} times (socket).\n")
        if "floor" in last:
            floor = last["floor"]["median"]
            text += (f"As many requests and answers over socket pairs alone take {floor * 1e3:.0f} ms: by the socket, hcmab takes "
                     f"{last['hcmab socket']['median'] / floor:.1f} times that, Hydra {hydra / floor:.1f} times.\n")
    return text


def get_section(results):
    rows = [[name, launch_report.spread(results["get"][name], 1e9)] for name in results["get"]]
    return "\nOne get of a pair that is there, nanoseconds, rank 0 of 4 x 8, all others idle:\n\n" + launch_report.table(
        ["", "ns"], rows)


def stages_section(results):
    rows = [[row["stages"]] + [f"{row[p]:,}" for p in POLICIES] for row in results["stages"]]
    return ("\nKeys and values in the fullest agent's cache on 16 x 8 after so many stages of 1:2, bytes (Table 3.1: "
            "O(p·n), O(p·n) at the root only, O(p·n) everywhere, O(p); dht spreads O(p·n) over all agents):\n\n" +
            launch_report.table(["stages", *POLICIES], rows))


def barrier_section(results):
    row = results["barrier"]
    medians = {name: found["median"]["median"] for name, found in row["contestants"].items()}
    text = (f"\nMicroseconds, as rank 0 of {row['nodes']} x {PPN} sees them: the median of {row['barriers']} in a row, its median (least; "
            f"quartiles) over {results['repeat']} runs in turns.\n\n" + launch_report.table(
                ["", "median", "least", "over the floor"],
                [[name, launch_report.spread(found["median"], 1), launch_report.spread(found["least"], 1),
                  f"{medians[name] / medians[FLOOR]:.1f}"] for name, found in row["contestants"].items()]))
    for how in ("socket", "library"):
        own = medians[f"scela-run, {how}"]
        text += (f"\nBy the {how}: over Hydra's {launch_report.verdict(own / medians[f'Hydra, {how}'], 1)}, over the floor "
                 f"{launch_report.verdict(own / medians[FLOOR], 3)}.\n")
    return text


def curves(results):
    charts = []
    for kind in ("1:2", "1:p"):
        rows = [row for row in results["exchange"] if row["kind"] == kind]
        series = {name: [(row["nodes"] * PPN, row[name]["median"] * 1e3) for row in rows]
                  for name in [f"{p} library" for p in POLICIES] + ["hcs socket", "hcmab socket", "hydra"]}
        charts.append(plot_svg.line_chart(f"exchange {kind}", "ranks", "milliseconds", series))
    return plot_svg.beside(*charts)


def body(results, suites):
    text = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"])
    for name in suites:
        if name in results:
            text += globals()[f"{name}_section"](results)
    if "exchange" in results and "exchange" in suites:
        text += "\n![exchanges 1:2 and 1:p](pmi-exchange.svg)\n"
    return text


def main():
    parser = contest.with_hydra(contest.parser(__doc__, SUITES, 5))
    options = contest.options_of(parser, SUITES)
    if options.render:
        results = contest.load(options.render)
    else:
        nodes_of = Contest(options)
        results = contest.measured("pmi.py", {name: lambda n=name: globals()[f"suite_{n}"](nodes_of, options)
                                              for name in SUITES}, options)
    if options.results:
        contest.save(options.results, results, sort_keys=False)
    pictures = {"pmi-exchange.svg": curves(results)} if "exchange" in results else {}
    sections = [(heading, body(results, suites)) for heading, suites in SECTIONS if set(suites) & set(results)]
    launch_report.put_sections(sections, options.docs, pictures)


if __name__ == "__main__":
    main()
