"""This project's PMI libraries, and the channel's bootstrap, under another launcher's server: Slurm's, whose plug-in pmi2 serves PMI-1 and PMI-2."""
import os
import re
import unittest

import case
import cluster
import slurm
from test_pmi import program


# What the programs compare with: Slurm says -1 for the number of the only program.
TELL = 'EXPECTED_APPNUM=-1 MPI_LOCALRANKID=$SLURM_LOCALID exec "$0" "$@"'


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lacks = slurm.missing()
        if lacks:
            raise unittest.SkipTest(f"Slurm needs {', '.join(lacks)}")
        cls.cluster = cls.enterClassContext(cluster.Cluster(2, kex="curve25519-sha256"))
        slurm.start(cls.cluster)

    def srun(self, *words, ranks=4):
        """What ranks on two hosts say, by the plug-in."""
        env = {**slurm.ENVIRONMENT, "LD_LIBRARY_PATH": os.environ["SCELA_LIBRARIES"]}
        done = self.cluster.run("head", ["srun", "-Q", "--overcommit", "--mpi=pmi2", "-N", "2", "-n", str(ranks),
                                         "sh", "-c", TELL, *words], env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def test_libpmi2(self):
        loaded = self.srun("ldd", program("pmi2_client"), ranks=2)
        self.assertEqual(loaded.count(os.environ["SCELA_LIBRARIES"]), 2, loaded)
        self.assertEqual(self.srun(program("pmi2_client"), "exchange", "plain"), "pmi2 exchange: 4 ranks ok\n")
        self.assertEqual(self.srun(program("pmi2_client"), "mapping", "(vector,(0,2,2))"), "pmi2 mapping: 4 ranks ok\n")
        self.assertEqual(self.srun(program("pmi2_client"), "ring"), "pmi2 ring: 4 ranks ok\n")
        self.assertEqual(self.srun(program("pmi2_client"), "attributes"), "pmi2 attributes: 4 ranks ok\n")

    def test_adapter(self):
        """The example of docs/guide/run-verbs-programs.md: its ranks join their job, and reach each other between hosts."""
        for name in ("verbs_pmi2", "verbs_pmi"):
            said = self.srun(program(name), "--encrypt", ranks=2)
            played = re.findall(r"rank (\d) on node (\d) of 2: \d+ messages there and back with rank (\d)\n", said)
            self.assertEqual(sorted(played), [("0", "0", "1"), ("1", "1", "0")], said)

    def test_libpmi(self):
        self.assertEqual(self.srun(program("pmi_library"), "plain", "short"), "pmi library: 4 ranks ok\n")

    def test_bootstrap(self):
        """The channel's bootstrap, by either version of PMI; without the plug-in each task is alone, which one says."""
        probe = program("bootstrap_probe")
        self.assertEqual(self.srun(probe), "bootstrap: 4 ranks on 2 nodes: 0 0 1 1, PMI-1\n")
        self.assertEqual(self.srun("env", "SCELA_BOOTSTRAP=pmi2", probe), "bootstrap: 4 ranks on 2 nodes: 0 0 1 1, PMI-2\n")
        alone = self.cluster.run("head", ["srun", "-Q", "--overcommit", "--mpi=none", "-N", "2", "-n", "2", probe],
                                 env=slurm.ENVIRONMENT)
        self.assertEqual((alone.returncode, alone.stdout), (0, "bootstrap: 1 ranks on 1 nodes: 0, alone\n" * 2), alone)
        self.assertEqual(alone.stderr, "libscela: srun has started 2 tasks and offers them no PMI, so each runs alone "
                         "(start them with srun --mpi=pmi2 or --mpi=pmix)\n")


if __name__ == "__main__":
    case.main()
