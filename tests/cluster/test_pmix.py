"""PMIx over real hosts: programs of Debian's Open MPI, and clients of libpmix alone."""
import contextlib
import os
import re
import signal
import subprocess
import unittest

import case
from case import DEADLINE_S
from jobs import NO_AGENT, UNREACHABLE, JobTest

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
                             ("pmix publish: 10 ranks ok", "pmix_client", "publish"),
                             ("pmix queries: 10 ranks ok", "pmix_observer", "queries"),
                             ("pmix events: 10 ranks ok", "pmix_observer", "events"),
                             ("pmix signal: 10 ranks ok", "pmix_observer", "signal"),
                             ("pmix spawn: 10 ranks ok", "pmix_client", "spawn"),
                             ("dynamic spawn: 10 ranks ok", "openmpi_dynamic_mpi", "spawn", "5"),
                             ("dynamic nested: 10 ranks ok", "openmpi_dynamic_mpi", "nested", "2"),
                             ("dynamic multiple: 10 ranks ok", "openmpi_dynamic_mpi", "multiple", "4"),
                             ("dynamic connect: 10 ranks ok", "openmpi_dynamic_mpi", "connect")):
            done = self.run_job(*self.ALL, os.path.join(PROGRAMS, words[0]), *words[1:])
            self.assertEqual((done.stdout, done.stderr), (line + "\n", ""), words)

    def hold(self, *words):
        """A job of Open MPI's whose ranks have talked to each other, and end with its input."""
        job = self.start(*self.ALL, *words, os.path.join(PROGRAMS, "openmpi_hold_mpi"), stdin=subprocess.PIPE)
        for _ in range(10):
            if job.stdout.readline() != "up\n":
                self.fail(job.communicate(timeout=DEADLINE_S))
        return job

    def one_of(self, words):
        """A process of the host node003 whose command line has these words."""
        return next(process.pid for process in self.cluster.processes("node003") if words in process.words)

    def test_hosts_without_scela_execute_the_server_that_comes_with_the_agent(self):
        hosts = self.ALL[:2]
        for words in (("--ppn", "2"), ("--ppn", "2", "--link", "ssh"), ("--ppn", "2", "--degree", "1")):
            done = self.run_job(*hosts, *words, *NO_AGENT, "--pmi", "auto", os.path.join(PROGRAMS, "openmpi_collectives"))
            self.assertEqual((done.stdout, done.stderr), ("collectives: 10 ranks ok\n", ""), words)
        job = self.hold(*NO_AGENT)
        servers = {host: os.readlink(f"/proc/{process.pid}/exe") for host in self.cluster.everyone[1:]
                   for process in self.cluster.processes(host) if process.words.startswith("scela-pmix")}
        self.assertEqual(job.communicate(timeout=DEADLINE_S), ("", ""))
        self.assertEqual(servers, {f"node00{i}": "/memfd:scela-pmix (deleted)" for i in range(1, 6)})

    def test_two_jobs_of_open_mpi_at_once_on_the_same_hosts(self):
        jobs = [self.hold(), self.hold()]
        for job in jobs:
            self.assertEqual((job.communicate(timeout=DEADLINE_S), job.returncode), (("", ""), 0))

    def test_nothing_of_open_mpi_stays_whatever_is_killed(self):
        def rank():
            return [self.one_of("openmpi_hold_mpi")]

        def agent():
            return [self.agents("node003")[1]]

        def agent_and_server():
            return agent() + [self.one_of("scela-pmix")]

        for victims, status in ((rank, 137), (agent, UNREACHABLE), (agent_and_server, UNREACHABLE)):
            job = self.hold()
            for pid in victims():
                with contextlib.suppress(ProcessLookupError):  # a server may be as fast to follow its agent
                    os.kill(pid, signal.SIGKILL)
            _, errors = job.communicate(timeout=DEADLINE_S)
            self.assertEqual(job.returncode, status, errors)
            self.cluster.assert_empty(*self.cluster.everyone)
        job = self.hold()
        job.kill()
        job.communicate(timeout=DEADLINE_S)
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_ranks_are_spawned_on_hosts_that_had_none(self):
        done = self.run_job("-w", "node[001-005]", "--degree", "2", "--usize", "5", "-n", "1", "--pmi", "pmix",
                            os.path.join(PROGRAMS, "openmpi_dynamic_mpi"), "spawn", "8")
        self.assertEqual((done.stdout, done.stderr), ("dynamic spawn: 1 ranks ok\n", ""))

    def test_an_abort_of_open_mpi_ends_all_hosts(self):
        done = self.run_job(*self.ALL, os.path.join(PROGRAMS, "openmpi_failing"), "abort", status=7)
        self.assertTrue(re.search(r"^scela-run: rank 1 on node001 .* aborted the job with code 7$", done.stderr, re.M),
                        done.stderr)


if __name__ == "__main__":
    case.main()
