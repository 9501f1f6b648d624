"""Ranks that are stopped for a debugger by --stop-on-exec and --stop-in-init, and let go by a signal, gdb, or a tool of PMIx."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
import job

GDB = shutil.which("gdb")
PROGRAMS = os.environ.get("SCELA_PROGRAMS", "")
TOOL = os.path.join(PROGRAMS, "pmix_tool")
# With "child" it tells others of itself once PMIx_Init has returned, and ends.
CHILD = os.path.join(PROGRAMS, "pmix_held")
RELEASE = "-3"  # PMIX_DEBUGGER_RELEASE


class StoppedRanksTest(job.JobTest):
    def listed(self, one):
        """The processes of the ranks, by rank, once all of them have been started."""
        deadline = time.monotonic() + job.DEADLINE_S
        while (listed := self.run_job("--attach", one.pid)).status == 74 and one.process.poll() is None:
            self.assertLess(time.monotonic(), deadline, listed.err)  # it has no job yet
        self.assertEqual(listed.status, 0, listed.err)
        return {int(line.split()[0]): int(line.split()[2]) for line in listed.lines}

    def marks(self):
        """The ranks that have run."""
        return sorted(name for name in os.listdir(self.folder) if name.startswith("ran."))

    def start_stopped(self, *words):
        """A job with four ranks on two nodes that each leave a file when they run, and end."""
        return self.start("--sim-nodes", 2, "--ppn", 2, *words, "sh", "-c", f"touch {self.folder}/ran.$SCELA_RANK")

    def assert_stopped(self, pids):
        """All of them stop. The agent leaves each a SIGSTOP, which acts when the kernel runs the process next."""
        deadline = time.monotonic() + job.DEADLINE_S
        while (states := self.states(pids)) != dict.fromkeys(pids, "T"):
            self.assertLess(time.monotonic(), deadline, states)

    def states(self, pids):
        states = {}
        for rank, pid in pids.items():
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                states[rank] = next(line.split()[1] for line in f if line.startswith("State:"))
        return states

    def test_ranks_stopped_at_their_start_go_on_with_a_signal_to_scela_run(self):
        for pmi in ("fd", "pmix"):
            with self.subTest(pmi=pmi):
                one = self.start_stopped("--pmi", pmi, "--stop-on-exec")
                pids = self.listed(one)
                self.assertEqual(sorted(pids), [0, 1, 2, 3])
                self.assert_stopped(pids)
                self.assertEqual(self.marks(), [])
                one.signal(signal.SIGCONT)
                ended = one.wait()
                self.assertEqual((ended.status, ended.err), (0, ""))
                self.assertEqual(self.marks(), [f"ran.{rank}" for rank in range(4)])
                for name in self.marks():
                    os.unlink(os.path.join(self.folder, name))

    def test_only_the_named_ranks_are_stopped_and_each_goes_on_alone(self):
        one = self.start("--sim-nodes", 2, "--ppn", 2, "--stop-on-exec=1,3", "sh", "-c", job.HOLD)
        pids = self.listed(one)
        self.assertEqual(one.ranks(2), {0: pids[0], 2: pids[2]})
        self.assert_stopped({rank: pids[rank] for rank in (1, 3)})
        os.kill(pids[3], signal.SIGCONT)
        self.assertEqual(one.ranks(1), {3: pids[3]})
        self.assert_stopped({1: pids[1]})
        one.signal(signal.SIGTERM)
        self.assertEqual(one.wait().status, 143)

    def test_stopped_ranks_end_with_scela_run(self):
        for signo in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(signo=signo):
                one = self.start_stopped("--stop-on-exec")
                self.assert_stopped(self.listed(one))
                one.signal(signo)
                self.assertEqual(one.wait().status, 130 if signo == signal.SIGINT else -9)
                self.assertEqual(self.marks(), [])

    @unittest.skipUnless(GDB, "no gdb here (package gdb)")
    def test_gdb_attaches_to_a_rank_at_its_first_instruction_and_lets_it_go(self):
        source = os.path.join(self.folder, "ends")
        with open(source + ".c", "w", encoding="ascii") as f:
            f.write("int main(void) { return 0; }\n")
        subprocess.run(["cc", "-g", "-o", source, source + ".c"], check=True)
        one = self.start("--sim-nodes", 2, "--ppn", 1, "--stop-on-exec", source)
        pids = self.listed(one)
        said = ""
        for pid in pids.values():
            words = [GDB, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-p", str(pid)]
            for command in ("handle SIGSTOP nostop noprint nopass", "info symbol $pc", "break main", "continue", "bt", "continue"):
                words += ["-ex", command]
            said += subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, timeout=job.DEADLINE_S, check=True).stdout
        self.assertEqual(said.count("_start in section .text"), 2, said)
        self.assertEqual(said.count("#0  main () at"), 2, said)
        self.assertEqual(said.count("exited normally"), 2, said)
        self.assertEqual(one.wait().status, 0)

    def tool(self, one, node, *words):
        """What a tool of PMIx on this node says."""
        agent = one.nodes()[node].agent
        server = next(found.pid for found in self.processes() if found.name == "scela-pmix" and found.parent == agent)
        done = subprocess.run((TOOL, str(server), *words), env={"PATH": os.environ["PATH"], "TMPDIR": self.temporary},
                              capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    @unittest.skipUnless(os.path.exists(TOOL), "tools for the tests were not built")
    def test_a_tool_hears_that_ranks_are_stopped_and_lets_them_go(self):
        for option, breakpoint_ in (("--stop-on-exec", "exec"), ("--stop-in-init", "pmix-init"), ("--stop-in-init=1,3", "pmix-init")):
            with self.subTest(option=option):
                one = self.start("--pmi", "pmix", "--sim-nodes", 2, "--ppn", 2, option, CHILD, "child")
                self.listed(one)
                for node in ("sim0", "sim1"):
                    self.assertEqual(self.tool(one, node, "stopped"), f"{breakpoint_}\n")
                self.assertIsNone(one.process.poll())
                self.tool(one, "sim1", "event", RELEASE)
                ended = one.wait()
                self.assertEqual((ended.status, ended.err), (0, ""))

    def test_what_cannot_be_stopped_is_refused(self):
        self.assert_refused(self.run_job("--stop-on-exec=4", "-n", 4, "true"), 64, "there is no rank 4, the job has 4 ranks")
        self.assert_refused(self.run_job("--pmi", "fd", "--stop-in-init", "-n", 4, "true"), 64,
                            "the ranks of this job find no PMIx .give --pmi pmix")


if __name__ == "__main__":
    job.main()
