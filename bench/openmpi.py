#!/usr/bin/env python3
"""Programs of Debian's Open MPI and clients of libpmix: scela-run --pmi pmix beside Open MPI's own mpirun.

  bench/openmpi.py [--run SCELA-RUN] [--suites LIST] [--repeat N] [--quick] [--shares N] [--before AGENT]
                   [--results FILE.json] [--docs docs/results]
  bench/openmpi.py --render FILE.json --docs docs/results

Contestants take turns within one run. Suites:
  ssh     MPI_Init, a line of each rank, MPI_Finalize over ssh, on the same hosts (tests/cluster) with a real sshd each that
          takes one key exchange only; scela-run takes part in three states of its agent (bench/ssh_contest.py), which brings
          its PMIx server along
  node    the same on one machine: 16 simulated nodes with 4 ranks each beside mpirun -n 64
  fence   fences of 512 ranks on 64 simulated nodes, without data and with it, beside the PMI-1 barrier of as many
  weight  the agent, by file, memory and launch, in jobs that speak no PMIx, beside one of before there was PMIx (--before:
          the release preset of a work tree of that commit)
Needs what bench/launch_ssh.py needs.
"""
import os
import shutil
import sys

import contest
import launch
import launch_report
import measure
import ssh_contest
import ssh_peers
import ssh_report
from contest import say
from launch_report import spread, table, verdict
from ssh_contest import FORCED, summaries
from ssh_hosts import Groups, Hosts, Sample

SUITES = ["ssh", "node", "fence", "weight"]
SHAPES = [(16, 2), (64, 1)]  # hosts, ranks on each
LIMITS = {(16, 2): 1, (64, 1): 1 / 1.2}  # of scela-run's time over mpirun's
NODES, PPN = 16, 4
FENCE_NODES, FENCE_PPN, VALUE = 64, 8, 488
LOCAL = "PMIx fence of one node's ranks"  # which never leaves libpmix
PLAIN = ("PMI-1 barrier", "PMIx fence, no data")  # which bring nothing along, and are compared
# How Open MPI's messages travel, the same under both: what it would find out by trying everything takes the longer.
COMPONENTS = {"pml": "ob1", "btl": "self,vader,tcp"}


def program_of(options):
    """The ranks' program, built with Open MPI's own compiler."""
    return ssh_contest.compiled(options, "mpicc.openmpi", "hello_openmpi", "tests/interop/programs/mpi/init_mpi.c")


def greeted(argv, ranks, output):
    if output.count("hello from rank") != ranks:
        raise measure.Failed(f"{argv[0]}: {output.count('hello from rank')} of {ranks} ranks said hello")


def show(title, times):
    for name, each in times.items():
        say(f"  {title} {name}: {each['wall']['median'] * 1e3:.0f} ms, CPU {each['machine']['median'] * 1e3:.0f} ms")


def scela_words():
    return ["--pmi", "pmix", *(word for name, value in COMPONENTS.items() for word in ("--env", f"OMPI_MCA_{name}={value}"))]


def over_ssh(options, count, ppn):
    program = program_of(options)
    with Hosts(count, FORCED, own_processes=False) as hosts:
        launchers = ssh_peers.Launchers(hosts, options.run, ppn=ppn)
        argvs = {**{name: getattr(launchers, name)(program, options=scela_words()) for name in ("scela", "first", "later")},
                 "open_mpi": launchers.open_mpi(program)}

        def hello(argv):
            def run():
                sample = hosts.time(argv)
                greeted(argv, count * ppn, sample.output)
                return sample
            return run

        results, held = ssh_contest.in_turns(hosts, hosts.names, {name: hello(argv) for name, argv in argvs.items()}, options.repeat, 1)
        times = summaries(results)
    show(f"{count} x {ppn},", times)
    return {"hosts": count, "ppn": ppn, "times": times, "held": held}


def suite_ssh(options):
    return [over_ssh(options, *shape) for shape in ([(4, 2)] if options.quick else SHAPES)]


def accounted(groups, argv, timeout=120):
    """A Sample of a command on this machine."""
    with groups.member("head"):
        before, busy = groups.cpu("head"), measure.busy_seconds()
        ran = measure.run([str(word) for word in argv], timeout)
        cpu = groups.cpu("head") - before
    if ran.status != 0:
        raise measure.Failed(f"{' '.join(map(str, argv))[:200]}: status {ran.status}: {ran.errors.strip()[-300:]}")
    return Sample(ran.seconds, cpu, ran.cpu_seconds, measure.busy_seconds() - busy, ran.output, ran.errors)


def suite_node(options):
    nodes, ppn = (4, 2) if options.quick else (NODES, PPN)
    program, peer = program_of(options), shutil.which("mpirun.openmpi")
    mca = [word for name, value in COMPONENTS.items() for word in ("--mca", name, value)]
    argvs = {"scela": [options.run, "--sim-nodes", nodes, "--ppn", ppn, *scela_words(), program],
             "open_mpi": [peer, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", *mca, "-n", nodes * ppn, program]}
    groups = Groups()

    def hello(argv):
        def run():
            sample = accounted(groups, argv)
            greeted(argv, nodes * ppn, sample.output)
            return sample
        return run

    try:
        times = summaries(measure.alternate({name: hello(argv) for name, argv in argvs.items()}, options.repeat))
    finally:
        groups.close()
    show(f"{nodes} x {ppn},", times)
    return {"nodes": nodes, "ppn": ppn, "times": times}


def suite_fence(options):
    nodes, ppn, count = (4, 4, 10) if options.quick else (FENCE_NODES, FENCE_PPN, 50)
    run = [options.run, "--sim-nodes", str(nodes), "--ppn", str(ppn)]
    fence, client = (os.path.join(options.programs, name) for name in ("pmix_fence", "pmi_client"))
    row = contest.in_rows({
        "PMIx fence, no data": [*run, "--pmi", "pmix", fence, str(count)],
        f"PMIx fence, {VALUE} bytes of each": [*run, "--pmi", "pmix", fence, "--data", str(VALUE), str(count)],
        "PMI-1 barrier": [*run, client, "--barriers", str(count)],
        LOCAL: [options.run, "--pmi", "pmix", "-n", str(ppn), fence, str(count)]}, options.repeat)
    say("  fence: " + ", ".join(f"{name} {found['median']['median']:.0f}" for name, found in row.items()) + " us")
    return {"nodes": nodes, "ppn": ppn, "fences": count, "contestants": row}


class Programs:
    """What launch.held() wants: simulated nodes with this agent, and its scela-run beside it."""

    def __init__(self, agent, programs):
        self.agent = agent
        self._run = os.path.join(os.path.dirname(agent), "scela-run")
        self.client_bare = os.path.join(programs, "pmi_client_bare")
        self.noop = os.path.join(programs, "noop")

    def scela(self, nodes, ppn, *words):
        return [self._run, "--sim-nodes", str(nodes), "--ppn", str(ppn), *words]


def suite_weight(options):
    """Jobs that speak no PMIx; in turns with an agent of before."""
    if not options.before:
        say("  left out: no --before")
        return None
    nodes, ppn = (4, 4) if options.quick else (64, 8)
    agents = {"before": options.before, "now": os.path.join(os.path.dirname(options.run), "scela-nla")}
    programs = {name: Programs(agent, options.programs) for name, agent in agents.items()}
    rows = {name: {"file": os.path.getsize(agent), "memory": launch.held(programs[name], nodes, ppn)}
            for name, agent in agents.items()}
    runs = {name: lambda p=each: measure.run_ok(p.scela(nodes, ppn, p.noop)).seconds for name, each in programs.items()}
    for name, walls in measure.alternate(runs, max(options.repeat, 11)).items():
        rows[name]["launch"] = measure.summary(walls)
        say(f"  {name}: {rows[name]['file']} bytes, launch {rows[name]['launch']['median'] * 1e3:.0f} ms")
    return {"nodes": nodes, "ppn": ppn, "commit": options.before_commit, "rows": rows}


def ratios(times):
    """Rows of a table, and the time of scela-run with an installed agent over mpirun's."""
    names = {**{name: ssh_report.NAMES[name].replace("scela-run", "scela-run --pmi pmix") for name in ("scela", "first", "later")},
             "open_mpi": "mpirun"}
    rows = [[names[name], spread(times[name]["wall"], 1, 2), f"{times[name]['machine']['median']:.2f}"] for name in names if name in times]
    return rows, times["scela"]["wall"]["median"] / times["open_mpi"]["wall"]["median"]


def ssh_text(row):
    rows, ratio = ratios(row["times"])
    times, limit = row["times"], LIMITS.get((row["hosts"], row["ppn"]), 1)
    ranks = "one rank" if row["ppn"] == 1 else f"{row['ppn']} ranks"
    sent = "; ".join(f"{ssh_report.NAMES[name].split(', ')[1]} {times[name]['wall']['median'] / times['open_mpi']['wall']['median']:.2f}"
                     for name in ("first", "later") if name in times)
    return (f"\n`hello` on {row['hosts']} hosts with {ranks} each over ssh; every sshd takes {FORCED} only. s.{ssh_report.states([row])}\n\n" +
            table(["launcher", "start to end", "CPU of all hosts"], rows) +
            f"\nOver mpirun's {verdict(ratio, round(limit, 2))}; mpirun takes {1 / ratio:.2f} times as long." +
            (f" {sent[0].upper()}{sent[1:]}.\n" if sent else "\n"))


def node_text(row):
    rows, ratio = ratios(row["times"])
    return (f"\n`hello` on {row['nodes']} simulated nodes with {row['ppn']} ranks each, beside `mpirun -n {row['nodes'] * row['ppn']}` "
            "on one node. s.\n\n" + table(["launcher", "start to end", "CPU"], rows) + f"\nOver mpirun's {ratio:.2f}.\n")


def fence_text(row):
    found = row["contestants"]
    base = found["PMI-1 barrier"]["median"]["median"]
    alone = found[LOCAL]["median"]["median"] * row["nodes"]
    return (f"\nMicroseconds, as rank 0 of {row['nodes']} x {row['ppn']} sees them: the median of {row['fences']} in a row, its median "
            "(least; quartiles) over the runs.\n\n" +
            table(["", "median", "least", "over the PMI-1 barrier"],
                  [[name, spread(each["median"], 1), spread(each["least"], 1),
                    f"{each['median']['median'] / base:.1f}" if name in PLAIN else ""]
                   for name, each in found.items()]) +
            f"\nlibpmix alone, which wakes the ranks of one node, takes {alone:.0f} us for {row['nodes']} nodes one after the other: the fence "
            f"without data takes {found['PMIx fence, no data']['median']['median'] / alone:.1f} times that.\n")


def weight_text(row):
    rows = row["rows"]

    def cells(name):
        memory, each = rows[name]["memory"], rows[name]
        return [f"{each['file'] / 1024:.0f}", *(memory[kind]["median"] for kind in ("private", "pss", "rss")), spread(each["launch"])]

    return (f"\nThe agent in jobs of {row['nodes']} x {row['ppn']} ranks that use no PMIx: KiB of its file, and of memory, median, while "
            "all ranks sleep in a barrier; ms of a job in which all ranks end at once.\n\n" +
            table(["agent", "file", "private", "proportional", "resident", "launch"],
                  [[f"before there was PMIx ({row['commit']})", *cells("before")], ["now", *cells("now")]]))


def sections(results):
    text = ""
    for suite in SUITES:
        if suite not in results:
            continue
        run = results["runs"][suite]
        text += "\n" + launch_report.stated(
            run["command"], run, run["date"], run["machine"],
            [f"{run['versions']['scela']}, Open MPI {run['versions']['Open MPI']}, libpmix {run['versions']['libpmix']}",
             f"load {run['loads'][0]:.1f} before, {run['loads'][1]:.1f} after"], suite)
        found = results[suite]
        for row in found if isinstance(found, list) else [found]:
            text += globals()[f"{suite}_text"](row)
    yield "Open MPI and PMIx", (
        "Median (least; quartiles); contestants in turns. `hello` is MPI_Init, a line, MPI_Finalize. CPU is what the kernel charges to the control groups of the hosts and the "
        f"head. Both launchers are told {', '.join(f'{k}={v}' for k, v in COMPONENTS.items())}.\n" + text)


def versions(options):
    all_of_them = ssh_peers.versions(options.run)
    pmix = measure.first_line(["dpkg-query", "-W", "-f", "${Version}", "libpmix2"])
    return {"scela": all_of_them["scela"], "Open MPI": all_of_them["Open MPI"], "libpmix": pmix or "?"}


def arguments():
    parser = ssh_contest.with_hosts(contest.parser(__doc__, SUITES, 9))
    parser.add_argument("--before", help="scela-nla of a commit before there was PMIx, with its scela-run beside it")
    parser.add_argument("--before-commit", default="", help="that commit, for the record")
    options = ssh_contest.options_of(parser, SUITES)
    options.before = options.before and os.path.realpath(options.before)
    options.repeat = min(options.repeat, 3) if options.quick else options.repeat
    return options


def main():
    return ssh_contest.recorded(arguments(), lambda name: globals()[f"suite_{name}"], versions,
                                lambda results: (list(sections(results)), None))


if __name__ == "__main__":
    sys.exit(main())
