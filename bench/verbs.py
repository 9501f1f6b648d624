#!/usr/bin/env python3
"""The software adapter by perftest's own figures, beside what its messages and copies cost without it.

  bench/verbs.py [--build DIR] [--suites LIST] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

Suites: `latency` (ib_send_lat, ib_write_lat, ib_read_lat, ib_atomic_lat), 8 bytes to 1 MiB, and `bandwidth` (ib_send_bw,
ib_write_bw, ib_read_bw), 8 bytes to 4 MiB, of two processes of one node; `nodes` (ib_send_lat), 8 bytes between two simulated
nodes. Each with nothing bound, so that the engine shares processors with the programs as the system likes, and those of one
node with the programs bound to processors 0 and 1 and the engine to processor 2, or to 0 where there is none. Floors
(bench/programs/verbs_floor.c) take turns with them: a token through one relaying process by futexes, 8 bytes through two relays over
socket pairs, a loopback TCP connection, a bare process_vm_writev, and a copy by a third process.
"""
import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import contest
import launch_report
import measure
import verbs_encryption
from contest import ROOT, say
from launch_report import spread, table

SUITES = ["latency", "nodes", "bandwidth"]
SIZES = {"latency": [8, 64, 512, 4096, 32768, 262144, 1048576],
         "bandwidth": [8, 64, 512, 4096, 32768, 65536, 262144, 1048576, 4194304]}
QUICK_SIZES = {"latency": [8, 1048576], "bandwidth": [8, 65536, 1048576, 4194304]}
BOUND = "bound"
MODES = ["unbound", BOUND]
LATENCY_FLOORS = {"futex": "a token through one relay, by futexes", "sockets": "through two relays, over socket pairs",
                  "tcp": "one TCP connection"}
COPY_FLOORS = {"copy": "process_vm_writev", "relayed": "a copy by a third process"}
SEND_LIMIT, NODES_LIMIT, WRITE_LIMIT, OWN_CORE_US = 3, 2.5, 0.9, 2
MIB = 1 << 20
JUDGED = [65536, MIB, 4 * MIB]
HEADING = "The software adapter"


def load_place():
    """What the tests of verbs programs know of ports; their module has this one's name."""
    path = os.path.join(ROOT, "tests", "interop", "verbs", "verbs.py")
    spec = importlib.util.spec_from_file_location("verbs_place", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def processors():
    """Those of the two programs and of the engine, where they are bound."""
    allowed = sorted(os.sched_getaffinity(0))
    return [allowed[0], allowed[1 % len(allowed)], allowed[2] if len(allowed) > 2 else allowed[0]]


class Engine:
    """A context: an engine with a place of its own."""

    def __init__(self, build, bound):
        self.build, self.cpus = build, processors() if bound else None
        self.folder = tempfile.mkdtemp(prefix="scela-verbs-")
        self.process = None
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("SCELA_")}
        self.environment.update(LD_PRELOAD=os.path.join(build, "lib", "libscela-ibverbs.so.1"), LC_ALL="C",
                                SCELA_HCA_SOCKET=os.path.join(self.folder, "socket"))

    def __enter__(self):
        ready, told = os.pipe()
        self.process = subprocess.Popen(
            [os.path.join(self.build, "bin", "scela-hca"), "--socket", self.environment["SCELA_HCA_SOCKET"], "--ready-fd",
             str(told)], pass_fds=[told], env=dict(os.environ, LC_ALL="C"))
        os.close(told)
        if not os.read(ready, 1):
            raise measure.Failed("the engine does not start")
        os.close(ready)
        # Now, not before: it has counted the processors that it may share out.
        if self.cpus:
            os.sched_setaffinity(self.process.pid, [self.cpus[2]])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.folder)

    def words(self, which, command):
        return ["taskset", "-c", str(self.cpus[which]), *command] if self.cpus else command

    def pair(self, place, command):
        """The client's output of a perftest program, when both have ended well."""
        port = place.free_port()
        command = [*command, "-F", "-p", str(port)]
        said = [tempfile.TemporaryFile("w+") for _ in range(2)]
        programs = []

        def start(which, *more):
            programs.append(subprocess.Popen(self.words(which, [*command, *more]), env=self.environment,
                                             stdin=subprocess.DEVNULL, stdout=said[which], stderr=subprocess.STDOUT))
        try:
            start(0)
            place.wait_until(lambda: place.listens(port) or programs[0].poll() is not None, "the server listens")
            start(1, "127.0.0.1")
            failed = [p for p in programs if p.wait(timeout=120) != 0]
        finally:
            for program in programs:
                if program.poll() is None:
                    program.kill()
                    program.wait()
        said[1].seek(0)
        output = said[1].read()
        if failed:
            raise measure.Failed(f"{' '.join(command)}: {output[-500:]}")
        return output


def last_row(output):
    """Of perftest's table."""
    rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
    if not rows:
        raise measure.Failed(f"no figures in: {output[-500:]}")
    return [float(word) for word in rows[-1]]


class Contest:
    def __init__(self, options):
        build = os.path.abspath(os.path.join(ROOT, options.build))
        self.floor = os.path.join(build, "bench", "verbs_floor")
        for path in (self.floor, os.path.join(build, "bin", "scela-hca"),
                     os.path.join(build, "lib", "libscela-ibverbs.so.1")):
            if not os.path.exists(path):
                sys.exit(f"{path} is missing: build the release preset with -DSCELA_BENCH=ON first")
        for program in ("ib_send_lat", "taskset"):
            if not shutil.which(program):
                sys.exit(f"{program} is missing: apt-get install perftest util-linux")
        self.options, self.place, self.build = options, load_place(), build
        self.engines = {mode: Engine(build, mode == BOUND) for mode in MODES}

    @contextlib.contextmanager
    def running(self):
        with contextlib.ExitStack() as stack:
            for engine in self.engines.values():
                stack.enter_context(engine)
            yield self

    def times(self, size):
        """How often: a run takes some tenths of a second."""
        return (100 if size < MIB else 30) if self.options.quick else (5000 if size < 65536 else 500)

    def latency(self, mode, program, size):
        row = last_row(self.engines[mode].pair(self.place, [f"ib_{program}_lat", "-n", str(self.times(size)),
                                                            *([] if program == "atomic" else ["-s", str(size)])]))
        return {"median": row[4], "least": row[2]}

    def bandwidth(self, mode, program, size):
        row = last_row(self.engines[mode].pair(self.place, [f"ib_{program}_bw", "-n", str(self.times(size)), "-s", str(size)]))
        return {"median": row[3]}

    def floor_time(self, mode, kind, size):
        cpus = ["--cpus", ",".join(map(str, processors()))] if mode == BOUND else []
        return contest.in_a_row([self.floor, kind, "--bytes", str(size), "--rounds", str(self.times(size)), *cpus])

    def floor_rate(self, mode, kind, size):
        return {"median": size / MIB / (self.floor_time(mode, kind, size)["median"] / 1e6)}

    def in_turns(self, size, what, programs, floor_of, floors):
        contestants = {}
        for mode in MODES:
            for program in programs:
                contestants[mode, program] = lambda m=mode, p=program: what(m, p, size)
            for floor in floors:
                contestants[mode, floor] = lambda m=mode, f=floor: floor_of(m, f, size)
        found = measure.alternate(contestants, self.options.repeat, warm_up=0 if self.options.quick else 1)
        row = {"bytes": size}
        for (mode, name), runs in found.items():
            row.setdefault(mode, {})[name] = {key: measure.summary([run[key] for run in runs])
                                              for key in ("median", "least") if key in runs[0]}
        return row

    def sizes(self, suite):
        return (QUICK_SIZES if self.options.quick else SIZES)[suite]


def shown(row, unit):
    for mode in MODES:
        say(f"  {row['bytes']} bytes, {mode}: " + ", ".join(
            f"{name} {found['median']['median']:.1f}" for name, found in row[mode].items()) + f" {unit}")
    return row


def suite_latency(made):
    def row_of(size):
        small = size == 8
        programs = ["send", "write", "read"] + (["atomic"] if small else [])
        floors = list(LATENCY_FLOORS) if small else ["tcp"]
        return shown(made.in_turns(size, made.latency, programs, made.floor_time, floors), "us")
    return [row_of(size) for size in made.sizes("latency")]


def suite_nodes(made):
    """Two nodes on this machine, and what their messages would cost over socket pairs."""
    command = ["ib_send_lat", "-x", "0", "-F", "-n", str(made.times(8)), "-s", "8"]
    with verbs_encryption.Pair(verbs_encryption.load_nodes(), made.build, "plain") as pair:
        def send():
            row = pair.row(command)
            return {"median": row[4], "least": row[2]}
        contestants = {"send": send, **{floor: lambda f=floor: made.floor_time(MODES[0], f, 8) for floor in ("sockets", "tcp")}}
        found = measure.alternate(contestants, made.options.repeat, warm_up=0 if made.options.quick else 1)
    row = {name: {key: measure.summary([run[key] for run in runs]) for key in ("median", "least")} for name, runs in found.items()}
    say("  between nodes: " + ", ".join(f"{name} {one['median']['median']:.1f}" for name, one in row.items()) + " us")
    return row


def suite_bandwidth(made):
    return [shown(made.in_turns(size, made.bandwidth, ["send", "write", "read"], made.floor_rate, list(COPY_FLOORS)), "MiB/s")
            for size in made.sizes("bandwidth")]


def at(rows, size, mode, name):
    return next(row for row in rows if row["bytes"] == size)[mode][name]["median"]["median"]


def judged(value, limit, at_most):
    met = value <= limit if at_most else value >= limit
    return f"{value:.2f} (target at {'most' if at_most else 'least'} {limit}: {'met' if met else 'missed'})"


def title_of(mode, cores):
    if mode != BOUND:
        return "Nothing bound: the engine shares the processors with the programs"
    return "Programs and engine bound, " + ("each to a processor of its own" if cores > 2 else
                                            "the engine to that of one program")


def latency_section(rows, cores):
    text = ("\nOne way, microseconds (reads and atomics: there and back): of each run the median, as perftest's `t_typical`, and of "
            "the runs the median (least; quartiles).\n")
    for mode in MODES:
        names = ["send", "write", "read", "atomic", "tcp"]
        text += f"\n{title_of(mode, cores)}:\n\n" + table(
            ["bytes", *(f"ib_{name}_lat" for name in names[:-1]), LATENCY_FLOORS["tcp"]],
            [[f"{row['bytes']:,}", *(spread(row[mode][name]["median"], 1, 1) if name in row[mode] else "" for name in names)]
             for row in rows])
        own, least = at(rows, 8, mode, "send"), rows[0][mode]["send"]["least"]["median"]
        text += (f"\nA send of 8 bytes takes {own:.1f} us (at best {least:.1f}); beside it:\n\n" + table(
            ["", "us", "the send takes times that"],
            [[name, spread(rows[0][mode][floor]["median"], 1, 1), f"{own / at(rows, 8, mode, floor):.2f}"]
             for floor, name in LATENCY_FLOORS.items()]))
        text += f"\nOver the relay by futexes {judged(own / at(rows, 8, mode, 'futex'), SEND_LIMIT, True)}.\n"
    bound = at(rows, 8, BOUND, "send")
    text += (f"\nWith a processor for the engine: {judged(bound, OWN_CORE_US, True)} us.\n" if cores > 2 else
             "\nA processor for the engine alone was not measured: the machine has two.\n")
    return text


def nodes_section(row):
    own = row["send"]["median"]["median"]
    text = (f"\nBetween two simulated nodes (nothing bound) a send of 8 bytes takes {own:.1f} us; beside it:\n\n" + table(
        ["", "us", "the send takes times that"],
        [[name, spread(row[key]["median"], 1, 1), f"{own / row[key]['median']['median']:.2f}"]
         for key, name in [("send", "ib_send_lat"), ("sockets", LATENCY_FLOORS["sockets"]), ("tcp", LATENCY_FLOORS["tcp"])]]))
    return text + f"\nOver the relays by socket pairs {judged(own / row['sockets']['median']['median'], NODES_LIMIT, True)}.\n"


def bandwidth_section(rows, cores):
    text = "\nMiB/s, as perftest's `BW average`: of the runs the median (least; quartiles).\n"
    for mode in MODES:
        names = ["send", "write", "read", *COPY_FLOORS]
        text += f"\n{title_of(mode, cores)}:\n\n" + table(
            ["bytes", *(f"ib_{name}_bw" for name in names[:3]), *COPY_FLOORS.values()],
            [[f"{row['bytes']:,}", *(spread(row[mode][name]["median"], 1, 1 if row["bytes"] < 4096 else 0) for name in names)]
             for row in rows])
        text += "\nBeside process_vm_writev and a copy by a third process, as a share of it:\n\n" + table(
            ["bytes", *(f"ib_{name}_bw / {COPY_FLOORS[floor]}" for name in names[:3] for floor in COPY_FLOORS)],
            [[f"{size:,}", *(f"{at(rows, size, mode, name) / at(rows, size, mode, floor):.2f}"
                             for name in names[:3] for floor in COPY_FLOORS)] for size in JUDGED])
        text += (f"\nWrites of 1 MiB over process_vm_writev "
                 f"{judged(at(rows, MIB, mode, 'write') / at(rows, MIB, mode, 'copy'), WRITE_LIMIT, False)}.\n")
    return text


def body(results):
    cores = results["machine"]["cores"]
    text = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [results["perftest"], f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"])
    if "latency" in results:
        text += latency_section(results["latency"], cores)
    if "nodes" in results:
        text += nodes_section(results["nodes"])
    if "bandwidth" in results:
        text += bandwidth_section(results["bandwidth"], cores)
    return text


def main():
    options = contest.options_of(contest.with_build(contest.parser(__doc__, SUITES, 7)), SUITES)
    if options.render:
        results = contest.load(options.render)
    else:
        with Contest(options).running() as made:
            results = contest.measured("verbs.py", {name: lambda n=name: globals()[f"suite_{n}"](made) for name in SUITES},
                                       options, perftest="perftest " + measure.first_line(
                                           ["dpkg-query", "-W", "-f", "${Version}", "perftest"]))
    if options.results:
        contest.save(options.results, results, sort_keys=False)
    launch_report.put_sections([(HEADING, body(results))], options.docs)


if __name__ == "__main__":
    main()
