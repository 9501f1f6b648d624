#!/usr/bin/env python3
"""Launch time on simulated nodes: scela-run beside MPICH's Hydra and beside the floor of the machine.

  bench/launch.py [--build DIR] [--suites target,grid,barrier,memory,exchange] [--repeat N] [--quick]
                  [--results FILE.json] [--docs docs/results]
  bench/launch.py --render FILE.json --docs docs/results

Contestants take turns within one run. Hydra gets as many host names as there are simulated nodes and its
`fork` launcher, so that neither side pays for ssh; it is given the bare PMI-1 client only, since it dies of
SIGPIPE on programs that end at once. The floor is what the same processes cost without any launcher: one
exec of the agent's own program a node (`scela-nla --noop`) and one posix_spawn of the program a rank, by one
spawner or by one a core, whichever is faster.
"""
import json
import os
import re
import subprocess
import sys
import time

import contest
import measure
from contest import say

GRID_NODES = [1, 4, 16, 64, 256]
GRID_PPN = [1, 2, 4, 8]
SUITES = ["target", "grid", "barrier", "memory", "exchange"]
# Spawners and children that each lets run unreaped. Which is fastest depends on the machine's load; the
# floor is the fastest of them in each cell.
FLOOR_WINDOWS = [1, 32]


class Programs(contest.Nodes):
    """Where everything is, and how each contestant is started."""

    def __init__(self, options):
        names = ("noop", "noop_bare", "pmi_client", "pmi_client_bare", "floor")
        super().__init__(options, names)
        self.noop, self.noop_bare, self.client, self.client_bare, self.floor = (self.bench[name] for name in names)
        self.agent_noop = f"{self.agent} --noop"
        if measure.run([self.agent, "--noop"]).status != 0:
            self.agent_noop = f"{self.agent} --version"

    def time_floor(self, nodes, ppn, program, spawners, window):
        argv = [self.floor, "--agents", str(nodes), "--agent", self.agent_noop, "--ranks",
                str(nodes * ppn), "--rank", program, "--spawners", str(spawners), "--window", str(window)]
        result = measure.run_ok(argv)
        return float(result.output.split()[-1]), result.cpu_seconds


def timed(argv):
    """A contestant: (wall seconds, CPU seconds of all its processes)."""
    def run():
        result = measure.run_ok(argv)
        return result.seconds, result.cpu_seconds
    return run


def summaries(results):
    """{name: summary of the wall seconds, with the median of the CPU seconds}."""
    return {name: dict(measure.summary([wall for wall, _ in values]),
                       cpu=measure.summary([cpu for _, cpu in values])["median"])
            for name, values in results.items()}


def floors(programs, nodes, ppn, program):
    """The ways to start the same processes without a launcher."""
    return {f"floor {spawners}x{window}":
            lambda s=spawners, w=window: programs.time_floor(nodes, ppn, program, s, w)
            for spawners in sorted({1, len(os.sched_getaffinity(0))}) for window in FLOOR_WINDOWS}


def with_floor(times):
    """Adds the fastest of the floors as "floor"."""
    best = min((name for name in times if name.startswith("floor ")), key=lambda n: times[n]["median"])
    return {**times, "floor": dict(times[best], form=best.split()[1])}


def cell(programs, nodes, ppn, repeat, client, noop):
    """All contestants on n nodes with c ranks each."""
    load = measure.load()
    times = with_floor(summaries(measure.alternate({
        "scela client": timed(programs.scela(nodes, ppn, client)),
        "hydra client": timed(programs.with_hydra(nodes, ppn, client)),
        # Without the C library, scela-run cannot see that it starts no program of Open MPI, and would start PMIx servers.
        "scela noop": timed(programs.scela(nodes, ppn, "--pmi", "fd", noop)),
        **floors(programs, nodes, ppn, noop)}, repeat)))
    row = {"nodes": nodes, "ppn": ppn, "load": load, "times": times,
           "client_ratio": times["scela client"]["median"] / times["hydra client"]["median"],
           "noop_ratio": times["scela noop"]["median"] / times["floor"]["median"]}
    say(f"  {nodes:4} x {ppn}: client {ms(times['scela client'])} hydra {ms(times['hydra client'])} "
        f"ratio {row['client_ratio']:.2f}; no-op {ms(times['scela noop'])} floor {ms(times['floor'])} "
        f"({times['floor']['form']}) ratio {row['noop_ratio']:.2f}")
    return row


def ms(summary):
    return f"{summary['median'] * 1e3:.0f} ms"


def suite_target(programs, options):
    """With and without the C library in the ranks."""
    repeat = 3 if options.quick else max(options.repeat, 11)
    return {"bare": cell(programs, 64, 8, repeat, programs.client_bare, programs.noop_bare),
            "libc": cell(programs, 64, 8, repeat, programs.client, programs.noop)}


def suite_grid(programs, options):
    nodes = [1, 4, 16] if options.quick else GRID_NODES
    return [cell(programs, n, c, options.repeat, programs.client_bare, programs.noop) for n in nodes for c in GRID_PPN]


def suite_barrier(programs, options):
    """The median barrier of each run, then the median over runs."""
    count = "20" if options.quick else "100"
    nodes, ppn = 64, 8
    words = programs.client_bare, "--barriers", count
    row = {"nodes": nodes, "ppn": ppn, "barriers": int(count), **contest.in_rows({
        "scela": programs.scela(nodes, ppn, *words), "hydra": programs.with_hydra(nodes, ppn, *words)}, options.repeat)}
    row["ratio"] = row["scela"]["median"]["median"] / row["hydra"]["median"]["median"]
    say(f"  barrier of {nodes * ppn} ranks on {nodes} nodes: scela {row['scela']['median']['median']:.0f} us, "
        f"hydra {row['hydra']['median']['median']:.0f} us")
    return row


def descendants(root):
    """Process ids of everything below `root`, by parent links at one moment."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def memory_of(pid):
    """Name and KiB of private, proportional and resident memory."""
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        name = f.read().strip()
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        sizes = {k: int(v) for k, v in re.findall(r"^(\w+):\s+(\d+) kB", f.read(), re.M)}
    return name, {"private": sizes["Private_Clean"] + sizes["Private_Dirty"], "pss": sizes["Pss"],
                  "rss": sizes["Rss"]}


def suite_memory(programs, options):
    """Agents and their guardians while all ranks sleep in a barrier, after an exchange of all of them."""
    return [held(programs, n, 8) for n in ([4, 16] if options.quick else [64, 256])]


def held(programs, nodes, ppn):
    argv = programs.scela(nodes, ppn, "--stats=json", programs.client_bare, "--exchange", "--hold", "6000")
    job = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True)
    try:
        if job.stdout.readline().strip() != "holding":
            raise measure.Failed(f"{' '.join(argv)}: {job.stderr.read()[-300:]}")
        time.sleep(1)  # the ranks enter the barrier
        samples = {"scela-nla": [], "scela-guardian": []}
        for pid in descendants(job.pid):
            try:
                name, sizes = memory_of(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if name in samples:
                samples[name].append(sizes)
        root = memory_of(job.pid)[1]
        _, errors = job.communicate(timeout=120)
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()
    if job.returncode != 0:
        raise measure.Failed(f"{' '.join(argv)}: status {job.returncode}: {errors[-300:]}")
    agents, guardians = samples["scela-nla"], samples["scela-guardian"]
    if len(agents) != nodes:
        raise measure.Failed(f"{' '.join(argv)}: {len(agents)} agents found, not {nodes}")
    row = {"nodes": nodes, "ppn": ppn, "guardians": len(guardians), "launcher_kib": root,
           "stats": stats_in(errors)}
    for kind in ("private", "pss", "rss"):
        sizes = sorted(s[kind] for s in agents)
        row[kind] = {"median": sizes[len(sizes) // 2], "max": sizes[-1],
                     "guardian_max": max((s[kind] for s in guardians), default=0),
                     "per_node": sum(s[kind] for s in agents + guardians) / nodes}
    say(f"  {nodes} nodes x {ppn}: private max {row['private']['max']} KiB, "
        f"PSS max {row['pss']['max']} KiB")
    return row


def stats_in(text):
    """The object that --stats=json printed, if one can be found."""
    for line in text.splitlines():
        at = line.find("{")
        if at >= 0:
            try:
                return json.loads(line[at:])
            except ValueError:
                continue
    return None


def suite_exchange(programs, options):
    nodes, ppn = (16, 8) if options.quick else (256, 8)
    times = summaries(measure.alternate({
        "scela": timed(programs.scela(nodes, ppn, programs.client_bare, "--exchange")),
        "hydra": timed(programs.with_hydra(nodes, ppn, programs.client_bare, "--exchange")),
    }, options.repeat))
    row = {"nodes": nodes, "ppn": ppn, **times}
    row["ratio"] = row["scela"]["median"] / row["hydra"]["median"]
    say(f"  {nodes * ppn} ranks exchange: scela {ms(row['scela'])} hydra {ms(row['hydra'])}")
    return row


def measured(options):
    programs = Programs(options)
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    return contest.measured(
        "launch.py", {name: lambda n=name: globals()[f"suite_{n}"](programs, options) for name in SUITES}, options,
        versions=programs.version(), realtime=options.realtime, agent_noop=programs.agent_noop.split()[-1])


def main():
    parser = contest.with_hydra(contest.parser(__doc__, SUITES, 7))
    parser.add_argument("--realtime", action="store_true",
                        help="run all contestants in the round-robin real-time class, so that other work on a "
                             "shared machine waits meanwhile (root)")
    options = contest.options_of(parser, SUITES)
    results = contest.load(options.render) if options.render else measured(options)
    if options.results:
        contest.save(options.results, results)
    import launch_report
    launch_report.put_sections(list(launch_report.sections(results)), options.docs, launch_report.curves(results))


if __name__ == "__main__":
    try:
        main()
    except measure.Failed as failure:
        sys.exit(f"launch.py: {failure}")
