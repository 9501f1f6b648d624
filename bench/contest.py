"""What benchmarks of contestants in suites share: their options, how contestants are started on simulated nodes, what is
recorded of a run."""
import argparse
import json
import os
import re
import shutil
import sys

import measure

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(text):
    print(text, file=sys.stderr, flush=True)


def parser(doc, suites, repeat, rounds="rounds after the warm-up"):
    """Of a benchmark with such suites; finish with options_of()."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--suites", type=lambda s: s.split(","), default=suites, help="of " + ", ".join(suites))
    made.add_argument("--repeat", type=int, default=repeat, help=f"{rounds} (default: {repeat})")
    made.add_argument("--quick", action="store_true", help="small sizes: does everything work?")
    made.add_argument("--results", help="write the figures to this JSON file")
    made.add_argument("--render", help="do not measure: take the figures from this JSON file")
    made.add_argument("--docs", help="write the tables into this Markdown file, or into the pages of this folder that "
                      "have the sections; curves beside them")
    return made


def with_build(made):
    """And that takes programs of a build tree."""
    made.add_argument("--build", default="build-release", help="build tree (default: build-release)")
    return made


def with_hydra(made):
    """And that takes Hydra for a peer."""
    with_build(made)
    made.add_argument("--hydra", default="mpiexec.hydra")
    return made


def options_of(made, suites):
    options = made.parse_args()
    unknown = set(options.suites) - set(suites)
    if unknown or options.repeat < 1:
        made.error(f"unknown suites: {', '.join(sorted(unknown))}" if unknown else "--repeat: at least 1")
    return options


class Nodes:
    """Simulated nodes of a build tree, and Hydra's: as many host names, and its `fork` launcher."""

    def __init__(self, options, programs):
        """`programs` are those of the folder bench that are needed."""
        build = os.path.join(ROOT, options.build)
        self.run = os.path.join(build, "bin", "scela-run")
        self.agent = os.path.join(build, "bin", "scela-nla")
        self.bench = {name: os.path.join(build, "bench", name) for name in programs}
        for path in (self.run, self.agent, *self.bench.values()):
            if not os.access(path, os.X_OK):
                sys.exit(f"{path} is missing: build the release preset with -DSCELA_BENCH=ON first")
        self.hydra = shutil.which(options.hydra) or ""
        if not self.hydra:
            sys.exit(f"{options.hydra} is missing: apt-get install mpich")

    def scela(self, nodes, ppn, *words):
        return [self.run, "--sim-nodes", str(nodes), "--ppn", str(ppn), *words]

    def with_hydra(self, nodes, ppn, *words):
        hosts = ",".join(f"n{i}" for i in range(nodes))
        return [self.hydra, "-launcher", "fork", "-hosts", hosts, "-ppn", str(ppn), "-n", str(nodes * ppn), *words]

    def version(self):
        hydra = re.search(r"Version:\s*(\S+)", measure.run([self.hydra, "--version"]).output)
        return {"scela": measure.first_line([self.run, "--version"]), "hydra": hydra.group(1) if hydra else "?"}


def in_a_row(argv):
    """What a program says of a thing that it did many times: microseconds, {"median", "quartile", "least"}."""
    found = re.search(r" us: median ([\d.]+) quartile ([\d.]+) least ([\d.]+)", measure.run_ok(argv).output)
    return dict(zip(("median", "quartile", "least"), map(float, found.groups())))


def in_rows(contestants, repeat):
    """{name: summaries of what in_a_row() said, in turns}."""
    found = measure.alternate({name: lambda a=argv: in_a_row(a) for name, argv in contestants.items()}, repeat)
    return {name: {key: measure.summary([run[key] for run in runs]) for key in ("median", "least")}
            for name, runs in found.items()}


def measured(name, suites, options, **facts):
    """{suite: figures} of options.suites, and of the run itself. `suites` maps names to functions without arguments."""
    results = {"command": f"bench/{name} " + " ".join(sys.argv[1:]), "date": measure.today(), **measure.commit(ROOT),
               "machine": measure.machine(), "repeat": options.repeat, **facts, "load_before": measure.load()}
    for suite in options.suites:
        say(suite)
        results[suite] = suites[suite]()
    results["load_after"] = measure.load()
    return results


def recorded(name, suites, options, make):
    """The results of a benchmark whose contest, make(options), has `suite(name)`: measured, or those of --render; written to
    --results."""
    if options.render:
        results = load(options.render)
    else:
        made = make(options)
        results = measured(name, {suite: lambda n=suite: made.suite(n) for suite in suites}, options)
    if options.results:
        save(options.results, results, sort_keys=False)
    return results


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def save(path, results, sort_keys=True):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1, sort_keys=sort_keys)
        f.write("\n")
