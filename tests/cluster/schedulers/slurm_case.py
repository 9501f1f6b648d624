"""What tests of jobs in Slurm have in common: SlurmCase, a cluster with Slurm's daemons for each class."""
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import cluster  # noqa: E402
import slurm  # noqa: E402

PATIENCE_S = int(os.environ.get("TEST_DEADLINE_S", "60"))


class SlurmCase(unittest.TestCase):
    """After each test no job, no process and no file of one is left on any host."""
    SIZE = 3
    OPTIONS = {}  # of the cluster
    SETTINGS = {}  # of Slurm

    @classmethod
    def setUpClass(cls):
        lacks = slurm.missing()
        if lacks:
            raise unittest.SkipTest(f"Slurm needs {', '.join(lacks)}")
        # No host can log in to another: agents come by srun or not at all.
        cls.cluster = cls.enterClassContext(cluster.Cluster(cls.SIZE, kex="curve25519-sha256", node_keys=False, **cls.OPTIONS))
        slurm.start(cls.cluster, settings=cls.SETTINGS)
        cls.run_words("salloc", "-Q", "-N", str(cls.SIZE), "srun", "true")  # slurmd makes its directories
        cls.before = set(cls.left())

    @classmethod
    def left(cls):
        """What runs or lies on the hosts, but for what the daemons have."""
        return [line for line in cls.cluster.left(*cls.cluster.everyone)
                if not re.search(r"slurm|munge|/var/log", line)]

    def setUp(self):
        self.addCleanup(self.assert_nothing_left)

    def until(self, what, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), deadline, what())
            time.sleep(0.05)

    def assert_nothing_left(self):
        self.until(lambda: "jobs are left", lambda: not self.run_words("squeue", "-h").stdout)
        self.until(lambda: sorted(set(self.left()) - self.before), lambda: set(self.left()) <= self.before)

    @classmethod
    def environment(cls, **more):
        """The harness chooses a PMI, which a user's environment does not."""
        return {**slurm.ENVIRONMENT, "SCELA_PMI": "auto", "PATH": f"{os.path.dirname(os.environ['SCELA_RUN'])}:/usr/bin:/bin", **more}

    @classmethod
    def run_words(cls, *words, env=None, **options):
        return cls.cluster.run("head", list(words), env=cls.environment(**(env or {})), **options)

    def job(self, *words, hosts=None, **options):
        """What scela-run returns in an allocation of all hosts."""
        return self.run_words("salloc", "-Q", "-N", str(hosts or self.SIZE), "scela-run", *map(str, words), **options)

    def succeed(self, *words, **options):
        done = self.job(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def start(self, *words, ranks=6, allocation=(), program="echo up; exec sleep 1000"):
        """A job that goes on until it is ended, once all of its ranks run."""
        job = self.cluster.popen("head", ["salloc", "-Q", "-N", str(self.SIZE), *allocation, "scela-run", *words, "sh", "-c", program],
                                 env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        for _ in range(ranks):
            self.assertEqual(job.stdout.readline(), "up\n", job)
        return job

    def ended(self, job):
        output, errors = job.communicate(timeout=PATIENCE_S)
        return job.returncode, output, errors

    def job_number(self):
        """Slurm's number of the only job."""
        return self.run_words("squeue", "-h", "-o", "%i").stdout.strip()

    def kill(self, host, pattern):
        pids = self.cluster.run(host, ["pgrep", "-f", pattern]).stdout.split()
        self.assertTrue(pids, pattern)
        self.cluster.run(host, ["kill", "-KILL", pids[0]])
