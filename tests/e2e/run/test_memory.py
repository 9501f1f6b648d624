"""However much ranks write, whoever reads it, no process of ScELA grows."""
import os

import job
from job import JobTest

LIMIT_KIB = 32 * 1024
# 100 MB in lines of 50 bytes, from one rank.
PRINT = [job.PYTHON, "-c", """
import os
line = (os.environ["SCELA_RANK"] + " ").ljust(49, "x") + "\\n"
with open(1, "w") as out:
    for _ in range(1000):
        out.write(line * 2000)
"""]
SLOW_BYTES = 40_000_000


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


class MemoryTest(JobTest):
    def peaks(self, running):
        pids = {"scela-run": running.pid}
        for node in running.nodes().values():
            pids[node.name] = node.agent
            pids[node.name + "'s guardian"] = node.guardian
        return {name: peak_kib(pid) for name, pid in pids.items()}

    def assert_small(self, running, nodes=8):
        peaks = self.peaks(running)
        self.assertEqual(len(peaks), 1 + 2 * nodes)
        name, peak = max(peaks.items(), key=lambda one: one[1])
        self.assertLess(peak, LIMIT_KIB, name)

    def check(self, *options):
        """Measured while nobody reads and all ranks stand still, and again after a reader of small pieces."""
        read, write = os.pipe()
        running = self.start("--sim-nodes", 8, "--degree", 2, "--ppn", 8, *options, *PRINT, stdout=write)
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as out:
            out.read(1)
            self.wait_standstill()
            self.assert_small(running)
            left = SLOW_BYTES
            while left > 0:
                left -= len(out.read(1000))
            self.assert_small(running)
        self.assertEqual(running.wait().status, 141)

    def test_64_ranks_write_100_megabytes_each_to_a_slow_reader(self):
        self.check()

    def test_64_ranks_write_labelled_lines_to_a_slow_reader(self):
        self.check("--label", "--timestamp")

    def test_64_ranks_write_much_that_is_not_ended_by_a_newline(self):
        read, write = os.pipe()
        running = self.start("--sim-nodes", 8, "--degree", 2, "--ppn", 8, "--label", "head", "-c", "100000000", "/dev/zero",
                             stdout=write)
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as out:
            left = SLOW_BYTES
            while left > 0:
                left -= len(out.read(4000))
            self.assert_small(running)
        self.assertEqual(running.wait().status, 141)

    def test_10000_ranks_print_a_kilobyte_each_without_a_reader(self):
        read, write = os.pipe()
        running = self.start("--sim-nodes", 20, "--degree", 4, "--ppn", 500, "--label", "echo", "x" * 1000, stdout=write)
        os.close(write)
        with os.fdopen(read, "rb") as out:
            first = out.read(1)
            self.wait_standstill()
            self.assert_small(running, 20)
            lines = sorted((first + out.read()).splitlines())
            self.assertTrue(lines == [f"{rank:04}: {'x' * 1000}".encode() for rank in range(10_000)])
        self.assertEqual(running.wait().status, 0)


if __name__ == "__main__":
    job.main()
