"""A test on a simulated cluster: a class derives from ClusterTest and uses self.cluster.

The classes of a module with the same SIZE and OPTIONS share a cluster. After each test, and after its own cleanups,
the faults that it left are undone, and then all hosts must become as they were at first: no process, no file. ctest
starts a process for each test, and so a cluster.

Environment: SCELA_RUN and SCELA_AGENT, the programs under test. Tests find the modules of tests/support once they have
imported this one.
"""
import os
import sys
import unittest

import cluster

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

DEADLINE_S = int(os.environ.get("TEST_DEADLINE_S", "60"))
_shared = {}


class ClusterTest(unittest.TestCase):
    SIZE = 8
    OPTIONS = {"kex": "curve25519-sha256"}  # the one that ssh prefers costs five times as much

    @classmethod
    def setUpClass(cls):
        key = repr((cls.SIZE, sorted(cls.OPTIONS.items())))
        if key not in _shared:
            _shared[key] = cluster.Cluster(cls.SIZE, **cls.OPTIONS).up()
            unittest.addModuleCleanup(_drop, key)
        cls.cluster = _shared[key]

    def setUp(self):
        self.addCleanup(self.cluster.reset)
        self.addCleanup(self._check)

    def _check(self):
        self.cluster.undo()
        self.cluster.assert_empty(*self.cluster.everyone)

    @staticmethod
    def scela_run():
        return os.environ["SCELA_RUN"]

    @staticmethod
    def scela_agent():
        return os.environ["SCELA_AGENT"]


def _drop(key):
    _shared.pop(key).down()


def main():
    unittest.main(module=sys.modules["__main__"])
