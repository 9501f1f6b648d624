"""The states in which scela-run may find the agent on simulated hosts: each is a row of its own in every benchmark of launches.

  first      the host has no agent: it is sent, and the cache of agents was emptied before
  later      the host has no agent but the one that an earlier run left in the cache
  installed  --agent names an agent that is on the host
  uncached   as the first, by --no-agent-cache, which neither looks for an agent in the cache nor leaves one there

A scela-run that has no cache has no state `uncached`, and sends the agent in the state `later` as in the state `first`.
"""
import os
import shutil

import measure

STATES = ("first", "later", "installed", "uncached")
CACHE = "/root/.cache/scela"
NOWHERE = "/nonexistent"  # for --agent, on hosts that see the folder of the agent of the head
NO_CACHE = "--no-agent-cache"


def of(scela_run):
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
