#!/usr/bin/env python3
"""Takes all records of launches, one after the other, and rewrites their pages in docs/results and the headlines.

  bench/launches.py [--run SCELA-RUN] [--steps operator,ssh,...] [--shares N] [--quick]
  bench/launches.py --render

Each step is a benchmark, called as the record then says; --help of the benchmark tells what it needs. Figures go to bench/results, tables to
docs/results, and the rows of docs/results/headlines.json and docs/benchmarks.md follow. --render writes tables and headlines of the figures
that are there. --quick goes through all of that with few hosts in a copy, which is removed. A step that fails leaves its older record.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import contest
import launch_report
from contest import ROOT, say
from ssh_report import NAMES, best_peer, median, share

STEPS = {
    "operator": ["operator", "--suites", "equal", "--hosts", "1,16,64,128", "--runs", "3"],
    "defaults": ["operator", "--suites", "defaults", "--hosts", "16,64", "--runs", "3"],
    "ssh": ["launch_ssh.py", "--suites", "equal,defaults,idle,mpi,delay", "--hosts", "1,16,64,128", "--repeat", "3"],
    "openmpi": ["openmpi.py", "--suites", "ssh,node", "--repeat", "3"],
    "nodes": ["launch.py", "--repeat", "3"],
}
# The same with --quick, which makes the benchmarks take few hosts.
SMALL = {
    "operator": ["--suites", "equal"],
    "defaults": ["--suites", "defaults"],
    "ssh": ["--suites", "equal,mpi", "--hosts", "1,2", "--repeat", "1"],
    "openmpi": ["--suites", "ssh", "--repeat", "1"],
    "nodes": ["--suites", "target,memory", "--repeat", "1"],
}
RECORDS = {"operator": "operator.json", "launch_ssh.py": "launch-ssh.json", "openmpi.py": "openmpi.json", "launch.py": "launch.json"}
FIGURES, PAGES = "bench/results", "docs/results"
OF_MPICH = "Hydra of MPICH 4.0.2"


def row(what, section, run, headline=False, **fields):
    """A row; `run` has the date, commit and command of the record. tests/style/headlines.py says what the fields are."""
    order = ("result", "peer", "peer_result", "ratio", "target", "verdict")
    return {"what": what, **{field: fields[field] for field in order if field in fields}, "date": run["date"], "commit": run["commit"],
            "command": run["command"], "section": section, **({"headline": True} if headline else {})}


def seconds(value):
    return f"{value:.2f} s"


def milliseconds(value):
    return f"{value * 1e3:.0f} ms"


def over(own, peer, form=seconds):
    """Fields of a result beside a peer's, both in seconds."""
    return {"result": form(own), "peer_result": form(peer), "ratio": f"{own / peer:.2f}"}


def of_nodes(results):
    """Launches on simulated nodes, as bench/launch.py records them."""
    if "target" in results:
        section = "launch.md#launch-of-512-ranks-on-64-nodes"
        for what, kind, program, peer, name, target, headline in (
                ("PMI-1 client, start to end", "bare", "scela client", "hydra client", "Hydra 4.0.2", "at most 0.5", True),
                ("PMI-1 client with the C library, start to end", "libc", "scela client", "hydra client", "Hydra 4.0.2", "at most 0.6", True),
                ("no-ops, with the C library", "libc", "scela noop", "floor", "floor (as many bare process starts)", "at most 1.5", True),
                ("no-ops, without the C library", "bare", "scela noop", "floor", "floor (as many bare process starts)", "at most 1.5", False)):
            times = results["target"][kind]["times"]
            subject = f"512 ranks on 64 simulated nodes, {what}" if "client" in what else f"512 {what.replace(',', ' on 64 simulated nodes,')}"
            yield row(f"Launch of {subject}", section, results, peer=name, target=target, headline=headline,
                      **over(times[program]["median"], times[peer]["median"], milliseconds))
    cells = {(each["nodes"], each["ppn"]): each["times"]["scela noop"]["median"] for each in results.get("grid", [])}
    if {(64, 1), (64, 8)} <= set(cells):
        yield row("Launch of no-ops on 64 simulated nodes, 8 ranks a node against 1", "launch.md#launch-of-n-nodes-with-c-ranks-each", results,
                  result=f"{milliseconds(cells[64, 8])} against {milliseconds(cells[64, 1])}", target="a ratio near 1", verdict="missed")
    if cells:
        nodes = sorted({each for each, _ in cells})
        slopes = {each: launch_report.slope_per_rank(launch_report.beyond_floor(results, each), each) for each in nodes}
        worst = max(nodes, key=slopes.get)
        yield row(f"Growth of the launch time beyond the floor with ranks a node, on {worst} nodes (the worst of "
                  f"{', '.join(map(str, nodes[:-1]))} and {nodes[-1]} nodes)", "launch.md#launch-time-beyond-the-floor-by-ranks-per-node",
                  results, result=f"{slopes[worst]:.3f} ms a rank", target="at most 0.1 ms a rank", headline=True)
    for each in results.get("memory", []):
        if each["nodes"] == 256:
            yield row("Largest private memory of an agent, 2,048 ranks on 256 nodes", "launch.md#memory-of-an-agent", results,
                      result=f"{each['private']['max'] / 1024:.2f} MiB", target="at most 2 MiB", headline=True)


def of_hosts(results):
    """Launches over ssh, as bench/launch_ssh.py records them."""
    equal = {each["hosts"]: each["times"] for each in results.get("equal", [])}
    section, kex = "ssh.md#launch-over-ssh-with-one-key-exchange-for-all", "one key exchange for all programs"
    state = {"scela": "agent installed", "flat": "agent installed, `--flat`", "later": "later run"}
    for hosts, name in ((128, "scela"), (128, "later"), (128, "flat"), (64, "scela"), (64, "flat"), (64, "later"), (16, "later")):
        times = equal.get(hosts, {})
        if name in times:
            peer = best_peer(times)
            yield row(f"`hostname` on {hosts} hosts over ssh, {state[name]}, {kex}", section, results["runs"]["equal"],
                      peer=f"{named(peer)}, the best peer over ssh", target="at most 0.70", headline=hosts == 128 and name != "flat",
                      **over(median(times[name]), median(times[peer])))
    for hosts in (128, 64, 16):
        times = equal.get(hosts, {})
        if "first" in times:
            yield row(f"`hostname` on {hosts} hosts over ssh, first run, {kex}", section, results["runs"]["equal"],
                      result=seconds(median(times["first"])), peer="pdsh 2.34", peer_result=seconds(median(times["pdsh"])),
                      ratio=f"{share(times, 'first', 'pdsh'):.2f}", target="at most 1", headline=hosts == 128)
    if {16, 128} <= set(equal):
        few, many = (median(equal[hosts]["scela"], "launcher") for hosts in (16, 128))
        yield row("Growth of scela-run's own CPU time from 16 to 128 hosts over ssh", section, results["runs"]["equal"],
                  result=f"{few:.3f} s and {many:.3f} s", ratio=f"{many / few:.1f}", target="flat", verdict="missed")
    for each in results.get("defaults", []):
        if each["hosts"] == 128:
            times, peer = each["times"], best_peer(each["times"])
            yield row("`hostname` on 128 hosts over ssh, agent installed, default key exchanges: the peer's time over scela-run's",
                      "ssh.md#launch-over-ssh-with-default-key-exchanges", results["runs"]["defaults"],
                      result=seconds(median(times["scela"])), peer=f"{named(peer)}, the best peer over ssh", peer_result=seconds(median(times[peer])),
                      ratio=f"{median(times[peer]) / median(times['scela']):.1f}", target="at least 3", headline=True)
    yield from of_output(results)


def of_output(results):
    times = results.get("output", {}).get("times", {})
    tree = f", `--degree {results['output'].get('degree')}`" if times else ""
    for name, words in (("scela", ""), ("tree", tree)) if times else ():
        yield row(f"Output of 64 ranks on 16 hosts, 10 MB each, encrypted{words}", "ssh.md#output-over-ssh", results["runs"]["output"],
                  peer=f"{OF_MPICH}, not encrypted", target="at most 1.00", headline=name == "scela",
                  **over(median(times[name]), median(times["hydra"])))


def of_open_mpi(results):
    """Launches of Open MPI over ssh, as bench/openmpi.py records them."""
    for each in results.get("ssh", []):
        if (each["hosts"], each["ppn"]) == (64, 1):
            yield row("Hello of Open MPI 4.1.4 by PMIx on 64 hosts over ssh, agent installed", "pmi.md#open-mpi-and-pmix", results["runs"]["ssh"],
                      peer="mpirun of Open MPI 4.1.4", target="at most 0.83", headline=True,
                      **over(median(each["times"]["scela"]), median(each["times"]["open_mpi"])))


def named(peer):
    return OF_MPICH if peer == "hydra" else NAMES[peer]


def updated(rows, made, verdict):
    """`rows` with those that were made in place of all older ones of their sections. Only what is missed is in the second table, so a row
    there that is met is left out; `verdict(row)` tells."""
    made = [each for each in made if each.get("headline") or verdict(each) == "missed"]
    sections = {each["section"] for each in made}
    places = {}
    for place, each in enumerate(rows):
        places.setdefault(each["section"], place)
    kept = [(place, each) for place, each in enumerate(rows) if each["section"] not in sections]
    kept += [(places.get(each["section"], len(rows)), each) for each in made]
    return [each for _, each in sorted(kept, key=lambda pair: pair[0])]


HEADLINES = {"launch_ssh.py": of_hosts, "openmpi.py": of_open_mpi, "launch.py": of_nodes}


def called(step, options, figures, pages):
    """The words of a benchmark."""
    script, *words = STEPS[step]
    words = ["--quick", *SMALL[step]] if options.quick else words
    if script != "launch.py":
        words += ["--run", options.run] if options.run else []
        words += ["--shares", str(options.shares)] if options.shares else []
    elif options.run:
        words += ["--build", os.path.dirname(os.path.dirname(options.run))]
    return [f"bench/{script}", *words, "--results", f"{figures}/{RECORDS[script]}", "--docs", pages]


def measure_all(options, figures, pages):
    """Takes the records of all steps. Returns the names of those that failed."""
    failed = []
    for step in options.steps:
        words, start = called(step, options, figures, pages), time.monotonic()
        say(f"{step}: {' '.join(words)}")
        if subprocess.run(words, cwd=ROOT, check=False).returncode != 0:
            failed.append(step)
        say(f"{step}: {time.monotonic() - start:.0f} s")
    return failed


def render(figures, pages):
    for script, record in RECORDS.items():
        subprocess.run([f"bench/{script}", "--render", f"{figures}/{record}", "--docs", pages], cwd=ROOT, check=True)


def write_headlines(figures, tree):
    """Writes the headlines in docs of the tree."""
    style = os.path.join(ROOT, "tests", "style")
    sys.path.insert(0, style)
    import headlines  # pylint: disable=import-outside-toplevel,import-error
    made = []
    for script, of in HEADLINES.items():
        record = os.path.join(ROOT, figures, RECORDS[script])
        made += of(contest.load(record)) if os.path.exists(record) else []
    path = os.path.join(tree, headlines.DATA)
    contest.save(path, updated(contest.load(path), made, headlines.verdict), sort_keys=False)
    return subprocess.run([sys.executable, "-B", os.path.join(style, "headlines.py"), tree, "--write"], check=False).returncode


def rehearse(options):
    with tempfile.TemporaryDirectory() as tree:
        shutil.copytree(os.path.join(ROOT, "docs"), f"{tree}/docs")
        failed = measure_all(options, tree, f"{tree}/{PAGES}")
        return 1 if failed or write_headlines(tree, tree) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="scela-run of a release build with the benchmarks' programs (default: build-release/bin/scela-run)")
    parser.add_argument("--steps", type=lambda s: s.split(","), default=list(STEPS), help="of " + ", ".join(STEPS))
    parser.add_argument("--shares", type=int, metavar="N", help="as the benchmarks have it")
    parser.add_argument("--quick", action="store_true", help="few hosts: does everything work?")
    parser.add_argument("--render", action="store_true", help="do not measure")
    options = parser.parse_args()
    if unknown := set(options.steps) - set(STEPS):
        parser.error(f"unknown steps: {', '.join(sorted(unknown))}")
    if options.quick:
        return rehearse(options)
    failed = []
    if options.render:
        render(FIGURES, PAGES)
    else:
        failed = measure_all(options, FIGURES, PAGES)
    if failed:
        say(f"failed: {', '.join(failed)}")
    return write_headlines(FIGURES, ROOT) or (1 if failed else 0)


if __name__ == "__main__":
    sys.exit(main())
