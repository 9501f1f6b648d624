"""PMIx over real hosts: programs of Debian's Open MPI, and clients of libpmix alone."""
import os
import re
import signal
import subprocess
import unittest

import case
from case import DEADLINE_S
from jobs import UNREACHABLE, JobTest

PROGRAMS = os.environ.get("SCELA_PROGRAMS", "")


@unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, "pmix_client")), "libpmix or Open MPI is not here")
class PmixTest(JobTest):
    SIZE = 5
    OPTIONS = {**JobTest.OPTIONS, "own_processes": False}
    ALL = ("-w", "node[001-005]", "--degree", "2", "--ppn", "2", "--pmi", "pmix")

    def test_open_mpi_and_clients_of_libpmix(self):
        for line, *words in (("collectives: 10 ranks ok", "openmpi_collectives"),
                             ("point to point: 10 ranks ok", "openmpi_point_to_point"),
                             ("pmix exchange: 10 ranks ok", "pmix_client", "exchange"),
                             ("pmix direct: 10 ranks ok", "pmix_client", "direct"),
                             ("pmix publish: 10 ranks ok", "pmix_client", "publish")):
            done = self.run_job(*self.ALL, os.path.join(PROGRAMS, words[0]), *words[1:])
            self.assertEqual((done.stdout, done.stderr), (line + "\n", ""), words)

    def hold(self):
        """A job of Open MPI's whose ranks have talked to each other, and end with its input."""
        job = self.start(*self.ALL, os.path.join(PROGRAMS, "openmpi_hold_mpi"), stdin=subprocess.PIPE)
        for _ in range(10):
            if job.stdout.readline() != "up\n":
                self.fail(job.communicate(timeout=DEADLINE_S))
        return job

    def kill(self, host, words):
        """One process of the host whose command line has these words."""
        os.kill(next(process.pid for process in self.cluster.processes(host) if words in process.words), signal.SIGKILL)

    def kill_agent(self, host):
        os.kill(self.agents(host)[1], signal.SIGKILL)

    def test_two_jobs_of_open_mpi_at_once_on_the_same_hosts(self):
        jobs = [self.hold(), self.hold()]
        for job in jobs:
            self.assertEqual((job.communicate(timeout=DEADLINE_S), job.returncode), (("", ""), 0))

    def test_nothing_of_open_mpi_stays_whatever_is_killed(self):
        def agent_and_server():
            self.kill("node003", "scela-pmix")
            self.kill_agent("node003")

        for end, status in ((lambda: self.kill("node003", "openmpi_hold_mpi"), 137), (lambda: self.kill_agent("node003"), UNREACHABLE),
                            (agent_and_server, UNREACHABLE)):
            job = self.hold()
            end()
            _, errors = job.communicate(timeout=DEADLINE_S)
            self.assertEqual(job.returncode, status, errors)
            self.cluster.assert_empty(*self.cluster.everyone)
        job = self.hold()
        job.kill()
        job.communicate(timeout=DEADLINE_S)
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_an_abort_of_open_mpi_ends_all_hosts(self):
        done = self.run_job(*self.ALL, os.path.join(PROGRAMS, "openmpi_failing"), "abort", status=7)
        self.assertTrue(re.search(r"^scela-run: rank 1 on node001 .* aborted the job with code 7$", done.stderr, re.M),
                        done.stderr)


if __name__ == "__main__":
    case.main()
