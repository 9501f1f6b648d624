"""Agents in the middle of the tree are killed while the ranks below them write: those go on below another parent."""
import glob
import os
import shutil
import signal

import job
from job import JobTest

NODES = 15  # of degree 2: sim00 (sim01 (sim02 .., ..), ..), sim08 (..); three levels and more
# Each rank writes numbered lines, says that it runs, waits for a word and writes the rest.
LINES = 4000
WRITE = 'while [ $i -lt $n ]; do i=$((i + 1)); echo "$SCELA_RANK $i ......................................"; done; '
PROGRAM = f'i=0; n={LINES // 2}; {WRITE}{job.TELL}read -r x < "$0"; n={LINES}; {WRITE}'


class AdoptionTest(JobTest):
    def begin(self, *options, **how):
        self.go = os.path.join(self.folder, "go")
        os.mkfifo(self.go)
        self.going = os.open(self.go, os.O_RDWR)
        self.addCleanup(os.close, self.going)
        running = self.start("--sim-nodes", NODES, "--degree", 2, "--ppn", 1, "--on-failure", "wait", *options,
                             "sh", "-c", PROGRAM, self.go, **how)
        running.ranks(NODES)
        return running, running.nodes()

    def release(self):
        os.write(self.going, b"word\n" * NODES)

    def lines_of(self, ended):
        found = {rank: [] for rank in range(NODES)}
        for line in ended.lines:
            rank, number = line.split()[:2]
            found[int(rank)].append(int(number))
        return found

    def check(self, ended, lost):
        """Every line of the others is there once and in order; what the lost ones wrote is whole as far as it goes."""
        for rank, numbers in self.lines_of(ended).items():
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)), f"rank {rank}")
            if rank not in lost:
                self.assertEqual(len(numbers), LINES, f"rank {rank}\n{ended.err}")
        self.assertEqual(ended.status, 68, ended.err)
        self.assertIn(f"{NODES - len(lost)} ranks exited with code 0", ended.err)

    def lose(self, *names, both=True):
        running, nodes = self.begin()
        for name in names:
            if both:
                os.kill(nodes[name].guardian, signal.SIGSTOP)  # else it ends the node, and itself
            os.kill(nodes[name].agent, signal.SIGKILL)
            if both:
                os.kill(nodes[name].guardian, signal.SIGKILL)
        self.release()
        self.check(running.wait(), {int(name[3:]) for name in names})
        if len(names) > 1:  # who would have removed the directory of the first may have been the second
            for name in names:
                for path in glob.glob(os.path.join(self.folder, "tmp", f"scela-*-{name}")):
                    shutil.rmtree(path)

    def test_children_of_a_lost_agent_go_on_below_scela_run(self):
        self.lose("sim00", both=False)

    def test_children_of_an_agent_that_is_lost_with_its_guardian_go_on(self):
        self.lose("sim00")

    def test_children_of_an_agent_of_the_second_level_go_on_below_the_first(self):
        self.lose("sim01")

    def test_the_loss_of_the_adopter_is_survived_too(self):
        self.lose("sim01", "sim00")

    def test_the_loss_of_two_levels_from_above_is_survived(self):
        self.lose("sim00", "sim01")

    def test_a_stopped_agent_is_a_lost_one(self):
        running, nodes = self.begin()
        os.kill(nodes["sim08"].agent, signal.SIGSTOP)
        self.release()
        self.check(running.wait(), {8})

    def test_without_time_for_an_adoption_all_below_is_lost(self):
        running, nodes = self.begin("--adopt-timeout", 0)
        os.kill(nodes["sim00"].agent, signal.SIGKILL)
        self.release()
        ended = running.wait()
        self.assertEqual(ended.status, 68, ended.err)
        self.assertRegex(ended.err, r"8 ranks lost with its node: 0-7|8 ranks lost with their nodes?: 0-7")

    def test_scela_run_is_killed_after_an_adoption(self):
        running, nodes = self.begin()
        os.kill(nodes["sim00"].agent, signal.SIGKILL)
        job.wait_gone([nodes["sim00"].agent], job.DEADLINE_S)
        running.process.kill()
        running.process.wait()  # what is left is looked for after the test

    def test_a_signal_reaches_adopted_ranks(self):
        running, nodes = self.begin()
        os.kill(nodes["sim00"].agent, signal.SIGKILL)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 128 + signal.SIGTERM)


if __name__ == "__main__":
    job.main()
