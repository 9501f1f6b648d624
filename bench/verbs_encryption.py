#!/usr/bin/env python3
"""What encryption between the software adapter's nodes costs: the same transfers, encrypted and not, in turns.

  bench/verbs_encryption.py [--build DIR] [--suites nodes] [--repeat N] [--quick] [--results FILE | --render FILE] [--docs FILE]

Two simulated nodes with an engine each, once told `encrypt yes` and once not; ib_write_bw and ib_send_lat between them.
"""
import contextlib
import importlib.util
import os
import sys

import contest
import launch_report
import measure
from contest import ROOT, say
from launch_report import spread, table

SUITES = ["nodes"]
KINDS = ["plain", "encrypted"]
BANDWIDTH_SIZES = [4096, 65536, 1 << 20]
LATENCY_SIZE = 8
HEADING = "Encryption between the adapter's nodes"


def load_nodes():
    """As the tests make nodes; their modules are found by name, and one has the name of another benchmark."""
    folder = os.path.join(ROOT, "tests", "interop", "verbs")
    for name in ("verbs", "nodes"):
        spec = importlib.util.spec_from_file_location(name, os.path.join(folder, f"{name}.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    sys.modules["nodes"].Node.strict = "0"
    return sys.modules["nodes"]


class Pair:
    """A context: two nodes of a job."""

    def __init__(self, nodes, build, kind):
        self.nodes, self.stack = nodes, contextlib.ExitStack()
        key = nodes.new_key()
        self.made = []
        for node in range(2):
            more = [f"encrypt {'yes' if kind == 'encrypted' else 'no'}"]
            made = nodes.Node(os.path.join(build, "lib", "libscela-ibverbs.so.1"), os.path.join(build, "bin", "scela-hca"),
                              nodes.record(node, 2, key, more=more))
            self.made.append(self.stack.enter_context(made))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def row(self, command):
        """The last one of the client's table."""
        server, client = self.made
        programs = self.nodes.start(server, [client], command)
        (_, _), (status, output) = server.finish(programs[0]), client.finish(programs[1])
        rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
        if status != 0 or not rows:
            raise measure.Failed(f"{' '.join(command)}: {output[-500:]}")
        return [float(word) for word in rows[-1]]


class Contest:
    def __init__(self, options):
        build = os.path.abspath(os.path.join(ROOT, options.build))
        self.options, nodes = options, load_nodes()
        self.pairs = {kind: Pair(nodes, build, kind) for kind in KINDS}

    def times(self, size):
        return 50 if self.options.quick else 2000 if size < 65536 else 500

    def in_turns(self, program, size, column):
        command = [program, "-x", "0", "-F", "-n", str(self.times(size)), "-s", str(size)]
        runs = measure.alternate({kind: lambda k=kind: self.pairs[k].row(command)[column] for kind in KINDS},
                                 self.options.repeat, warm_up=0 if self.options.quick else 1)
        row = {"program": program, "bytes": size, **{kind: measure.summary(runs[kind]) for kind in KINDS}}
        say(f"  {program} of {size}: " + ", ".join(f"{kind} {row[kind]['median']:.1f}" for kind in KINDS))
        return row


def suite_nodes(made):
    return [made.in_turns("ib_write_bw", size, 3) for size in BANDWIDTH_SIZES] + [
        made.in_turns("ib_send_lat", LATENCY_SIZE, 4)]


def body(results):
    text = launch_report.stated(results["command"], results, results["date"], results["machine"],
                                [f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"])
    text += ("\nBoth nodes on this machine, so that its processors seal, open and run the programs as well. Of the runs the median "
             "(least; quartiles): MiB/s of `ib_write_bw`, microseconds one way of `ib_send_lat`.\n\n")
    return text + table(["program", "bytes", *KINDS, "encrypted / plain"], [
        [row["program"], f"{row['bytes']:,}", *(spread(row[kind], 1, 1) for kind in KINDS),
         f"{row['encrypted']['median'] / row['plain']['median']:.2f}"] for row in results["nodes"]])


def main():
    parser = contest.parser(__doc__, SUITES, 7)
    parser.add_argument("--build", default="build-release", help="build tree (default: build-release)")
    options = contest.options_of(parser, SUITES)
    if options.render:
        results = contest.load(options.render)
    else:
        made = Contest(options)
        with contextlib.ExitStack() as stack:
            for pair in made.pairs.values():
                stack.enter_context(pair)
            results = contest.measured("verbs_encryption.py", {"nodes": lambda: suite_nodes(made)}, options)
    if options.results:
        contest.save(options.results, results, sort_keys=False)
    launch_report.put_sections([(HEADING, body(results))], options.docs)


if __name__ == "__main__":
    main()
