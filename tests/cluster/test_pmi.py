"""PMI over real hosts: every cache policy, the port, stock programs of MPICH and programs of this project's libpmi."""
import os
import re

import case
from jobs import JobTest

# Over TCP, ranks of MPICH 4.0.2 wait for each other in MPI_Finalize in every other run, whichever launcher started
# them; in one namespace for shared memory UCX takes all hosts for one.
TOGETHER = ("nsenter", "--ipc", "--target", "1")


def program(name):
    """One of tests/interop/programs, built."""
    return os.path.join(os.environ["SCELA_PROGRAMS"], name)


class PmiTest(JobTest):
    SIZE = 5
    OPTIONS = {**JobTest.OPTIONS, "own_processes": False}
    ALL = ("-w", "node[001-005]", "--degree", "2", "--ppn", "2")

    def check(self, line, *words):
        """A job of ten ranks of which one says this line, and nobody anything else."""
        done = self.run_job(*self.ALL, *words)
        self.assertEqual((done.stdout, done.stderr), (line + "\n", ""), words)

    def check_policy(self, *words):
        # The values that its ranks put are more than 500 bytes together.
        self.check("pmi library: 10 ranks ok", *words, program("pmi_library"), "names")
        self.check("point to point: 10 ranks ok", *words, *TOGETHER, program("point_to_point"))

    def test_hcs(self):
        self.check_policy("--cache", "hcs")

    def test_hcma(self):
        self.check_policy("--cache", "hcma")

    def test_hcmab(self):
        self.check_policy("--cache", "hcmab")

    def test_hcmab_lru_that_evicts(self):
        self.check_policy("--cache", "hcmab-lru", "--cache-limit", "500")

    def test_collectives_of_mpich(self):
        self.check("collectives: 10 ranks ok", *TOGETHER, program("collectives"))

    def test_programs_by_the_port(self):
        self.check("pmi library: 10 ranks ok", "--pmi", "port", program("pmi_library"), "plain")
        self.check("point to point: 10 ranks ok", "--pmi", "port", *TOGETHER, program("point_to_point"))
        self.check("collectives: 10 ranks ok", "--pmi", "port", *TOGETHER, program("collectives"))

    def test_netpipe_of_debian(self):
        """Which checks every byte of messages of growing size, and counts them on standard error."""
        for words in ((), ("--pmi", "port")):
            done = self.run_job("-w", "node[001-002]", "--degree", "1", "--ppn", "1", *words, *TOGETHER, "NPmpich2", "-i", "-n", "2", "-u",
                                "4096", "-o", "/dev/null")
            self.assertEqual(sorted(re.findall(r"^(\d): (.*)", done.stdout, re.M)), [("0", "node001"), ("1", "node002")])
            self.assertEqual(len(re.findall("Integrity check passed$", done.stderr, re.M)), 20, done.stderr)

    def check_end(self, how, status, says):
        for words in ((), ("--pmi", "port")):
            done = self.run_job(*self.ALL, *words, *TOGETHER, program("failing"), how, status=status)
            self.assertRegex(done.stderr, rf"(?m)^scela-run: rank 1 on node001 \(.*\) {says}", words)

    def test_mpi_abort(self):
        self.check_end("abort", 7, "aborted the job with code 7")

    def test_death_of_a_rank(self):
        self.check_end("segfault", 139, "killed by signal 11")


if __name__ == "__main__":
    case.main()
