"""What benchmarks of launches over ssh share: their options, how suites are measured and recorded, and contestants in the states in which
scela-run may find the agent on simulated hosts. Each state is a row of its own in every benchmark of launches:

  first      the host has no agent: it is sent, and the cache of agents was emptied before
  later      the host has no agent but the one that an earlier run left in the cache
  installed  --agent names an agent that is on the host
  uncached   as the first, by --no-agent-cache, which neither looks for an agent in the cache nor leaves one there

A scela-run that has no cache has no state `uncached`, and sends the agent in the state `later` as in the state `first`.
"""
import os
import shutil
import subprocess
import sys
import time

import contest
import launch_report
import measure
from contest import say
from ssh_hosts import ClusterError, Hosts, end_cleanly

FORCED = "curve25519-sha256"  # the only key exchange of each sshd, where all contestants have the same
PEER_TRIES = 4
STATES = ("first", "later", "installed", "uncached")
CACHE = "/root/.cache/scela"
NOWHERE = "/nonexistent"  # for --agent, on hosts that see the folder of the agent of the head
NO_CACHE = "--no-agent-cache"


def states_of(scela_run):
    """The states that this scela-run has."""
    has_cache = NO_CACHE in measure.run([scela_run, "--help"]).output
    return [state for state in STATES if state != "uncached" or has_cache]


def install(cluster, names, agent, path):
    """Copies the agent of the head to the path on each of the hosts, which may not share that folder."""
    for name in names:
        there = cluster.path(name, path)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        shutil.copy(agent, there)


class Caches:
    """The caches of agents of some hosts. They are read and emptied from outside, so that no process does it on the hosts."""

    def __init__(self, cluster, names):
        self._paths = [cluster.path(name, CACHE) for name in names]

    def empty(self):
        for path in self._paths:
            shutil.rmtree(path, ignore_errors=True)

    def filled(self):
        """How many hosts have a file in their cache."""
        return sum(any(names for _, _, names in os.walk(path)) for path in self._paths)

    def full(self):
        return self.filled() == len(self._paths)


class Prepared:
    """The contestant `run`, a function that starts scela-run, with the hosts put into the state before each run. `held` says
    whether all hosts were in it; it is None before the first run."""

    def __init__(self, state, caches, run):
        self._state, self._caches, self._run = state, caches, run
        self.held = None

    def __call__(self):
        return getattr(self, f"_{self._state}")()

    def _first(self):
        self._caches.empty()
        self.held = True
        return self._run()

    def _later(self):
        if self.held is not False and not self._caches.full():
            self._run()
        self.held = self._caches.full()
        return self._run()

    def _installed(self):
        """The caches are empty at the first run, which shows that no agent is sent to a host that has one."""
        if not self.held:
            self._caches.empty()
        result = self._run()
        if not self.held and self._caches.filled():
            raise measure.Failed(f"{self._caches.filled()} hosts with an installed agent were sent another")
        self.held = True
        return result

    def _uncached(self):
        self.held = True
        return self._run()


def summaries(results):
    """{name: {"wall", "machine", "launcher", "busy": summary}} from lists of samples."""
    return {name: {field: measure.summary([getattr(sample, field) for sample in samples])
                   for field in ("wall", "machine", "launcher", "busy")} for name, samples in results.items()}


def tried(once, tries=PEER_TRIES):
    """The contestant, asked so many times until it does not fail; `failures` of the result counts."""
    def run():
        for left in reversed(range(tries)):
            try:
                return once()
            except measure.Failed as failure:
                if left == 0:
                    raise
                run.failures += 1
                say(f"  again: {failure}")

    run.failures = 0
    return run


def failures(runs):
    """{name: how often it failed and was made again} of tried() contestants."""
    return {name: run.failures for name, run in runs.items() if run.failures}


def in_turns(hosts, names, runs, repeat, warm_up=0):
    """Runs the contestants, {name: function}, in turns. Before each run of one that is named after a state of the agent, the hosts `names`
    are put into that state. Returns {name: [result...]}, and {state: whether the hosts were in it}."""
    caches = Caches(hosts.cluster, names)
    states = {name: Prepared(name, caches, run) for name, run in runs.items() if name in STATES}
    results = measure.alternate({**runs, **states}, repeat, warm_up)
    return results, {name: state.held for name, state in states.items()}


def with_hosts(parser, hosts=None):
    """And that runs on simulated hosts, by default on these numbers of them."""
    parser.add_argument("--run", default="build-release/bin/scela-run", help="scela-run of a release build, with its agent and what it "
                        "needs beside it, and the benchmarks' programs in ../bench")
    if hosts:
        parser.add_argument("--hosts", type=lambda s: sorted(map(int, s.split(","))), default=hosts)
    parser.add_argument("--shares", type=int, metavar="N", help="parts of the CPU where each session of other work on the machine "
                        "gets 1024, such as 200000; needs a cpu controller of version 1")
    return parser


def options_of(parser, suites):
    """As contest.options_of(), with the path of scela-run and the folder of the benchmarks' programs."""
    options = contest.options_of(parser, suites)
    options.run = os.path.realpath(options.run)
    options.programs = os.path.join(os.path.dirname(os.path.dirname(options.run)), "bench")
    return options


def compiled(options, compiler, name, source):
    """Builds a program of the tree by an MPI's own compiler, where all hosts see it. Returns its path."""
    os.makedirs(options.programs, exist_ok=True)
    path = os.path.join(options.programs, name)
    subprocess.run([compiler, "-O2", "-o", path, os.path.join(contest.ROOT, source)], check=True)
    return path


def measured(options, results, suite_of, versions):
    """Adds the suites to `results`: {suite: figures}, and under "runs" how each was measured. True if none failed."""
    good = True
    for name in options.suites:
        say(name)
        start, load = time.monotonic(), measure.load()
        try:
            row = suite_of(name)(options)
        except (measure.Failed, ClusterError) as failure:
            say(f"  failed: {failure}")
            good, row = False, None
        if row is not None:
            results[name] = row
            results.setdefault("runs", {})[name] = {
                "command": " ".join([f"bench/{os.path.basename(sys.argv[0])}", *sys.argv[1:]]), "date": measure.today(),
                **measure.commit(contest.ROOT), "machine": measure.machine(), "versions": versions, "shares": options.shares,
                "loads": [load, measure.load()]}
        say(f"  {time.monotonic() - start:.0f} s, load {load:.1f} before, {measure.load():.1f} after")
    return good


def recorded(options, suite_of, prepare, report):
    """Measures the suites, or takes them from --render; writes them to --results, beside those that the file has. `prepare(options)` is called
    before, and returns {name: version} of what is compared. `report(results)` returns sections and pictures for --docs. Returns the exit
    status."""
    known, good = options.render or options.results, True
    results = contest.load(known) if known and os.path.exists(known) else {}
    if not options.render:
        versions = prepare(options)
        end_cleanly()
        Hosts.SHARES = options.shares
        good = measured(options, results, suite_of, versions)
    if options.results:
        contest.save(options.results, results)
    sections, pictures = report(results)
    launch_report.put_sections(sections, options.docs, pictures)
    return 0 if good else 1
