"""PMIx over real hosts: programs of Debian's Open MPI, and clients of libpmix alone."""
import os
import re
import unittest

import case
from jobs import JobTest

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

    def test_an_abort_of_open_mpi_ends_all_hosts(self):
        done = self.run_job(*self.ALL, os.path.join(PROGRAMS, "openmpi_failing"), "abort", status=7)
        self.assertTrue(re.search(r"^scela-run: rank 1 on node001 .* aborted the job with code 7$", done.stderr, re.M),
                        done.stderr)


if __name__ == "__main__":
    case.main()
