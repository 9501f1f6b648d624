"""Rounds of chaos.py, of seeds that stay and of seeds from the commit; and that its judge sees what is wrong.

CHAOS=N in the environment: so many rounds of each kind."""
import copy
import dataclasses
import os
import random
import subprocess
import unittest

import case
import chaos
import chaos_judge
import chaos_plan

ROUNDS = int(os.environ.get("CHAOS", "10"))
FIRST = 1
STOPPED = 897167496


def seed_of_commit():
    """Drawn from the commit, so that every commit plays other rounds; a failure names the seed."""
    told = subprocess.run(["git", "-C", chaos.SOURCE, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return random.Random(told.stdout.strip()).randrange(10**6, 10**9)


class ChaosTest(case.ClusterTest):
    SIZE = chaos.MAX_HOSTS
    OPTIONS = chaos.OPTIONS

    def play(self, first):
        for seed in range(first, first + ROUNDS):
            round_, outcome, wrong = chaos.play(self.cluster, chaos.places(), seed)
            self.assertEqual(wrong, [], chaos.told(round_, outcome, wrong))

    def test_rounds_of_seeds_that_stay(self):
        self.play(FIRST)

    def test_rounds_of_seeds_from_the_commit(self):
        self.play(seed_of_commit())

    def test_a_launcher_that_is_stopped_while_it_reaches_hosts(self):
        """For longer than a phase may take: what has come meanwhile is looked at before the phase is given up."""
        for _ in range(3):
            round_, outcome, wrong = chaos.play(self.cluster, chaos.places(), STOPPED)
            self.assertEqual((round_.victim, round_.fault, round_.when), ("scela-run", "stop-go", "agent"))
            self.assertEqual((wrong, outcome.status), ([], 0), chaos.told(round_, outcome, wrong))

    def test_a_round_without_its_fault_is_as_documented(self):
        """And what is wrong with it is seen once it is wrong."""
        round_, outcome = self.quiet_round()
        self.assertEqual(chaos_judge.complaints(round_, outcome), [])
        for change, words in (
                (lambda each: each.out.append(each.out[0]), "doubled"),
                (lambda each: each.out.pop(1), "out of order"),
                (lambda each: each.out.append("R0 1 zzz\n"), "no rank has written"),
                (lambda each: each.out.pop(), "not written all"),
                (lambda each: setattr(each, "left", "a file"), "is left"),
                (lambda each: setattr(each, "hung", "a process"), "hangs"),
                (lambda each: setattr(each, "err", "scela-run:   failed nodes: node002\n"), "something is told"),
                (lambda each: setattr(each, "status", 68), "without a fault")):
            tampered = copy.deepcopy(outcome)
            change(tampered)
            self.assertIn(words, " ".join(chaos_judge.complaints(round_, tampered)))

    def quiet_round(self):
        """Of a victim that never appears: a job without a library has no engine."""
        plain = next(round_ for round_ in map(chaos_plan.draw, range(1000)) if round_.program == "plain" and round_.lines < 40)
        round_, outcome, _ = chaos.play_round(self.cluster, chaos.places(),
                                              dataclasses.replace(plain, victim="engine", fault="kill", when="line"))
        self.assertFalse(outcome.struck)
        return round_, outcome


class JudgeTest(unittest.TestCase):
    """What a fault may cause, and what it may not."""

    def test_only_a_job_of_mpich_may_leave_a_segment_of_its_library(self):
        rounds = {round_.program: round_ for round_ in map(chaos_plan.draw, range(1000))}
        left = {program: chaos_judge.is_unfinished(round_, "/dev/shm/ucx_shm_posix_1") for program, round_ in rounds.items()}
        self.assertEqual(left, {program: program == "mpich" for program in rounds})
        self.assertFalse(chaos_judge.is_unfinished(rounds["mpich"], "/dev/shm/scela-1"))

    def judge(self, victim, fault, status, err, hosts=3, program="plain", **changes):
        seed = next(seed for seed in range(100000)
                    if self.is_wanted(chaos_plan.draw(seed, 8, f"{victim}:{fault}"), hosts, program))
        round_ = chaos_plan.draw(seed, 8, f"{victim}:{fault}")
        tree = chaos_plan.Tree("scela-run\n|-- node001  rank 0\n|-- node002  rank 1\n`-- node003  rank 2\n")
        outcome = chaos.chaos_job.Outcome(tree, "node002", struck=True, status=status, err=err, rank=1, **changes)
        return " ".join(chaos_judge.complaints(round_, outcome))

    @staticmethod
    def is_wanted(round_, hosts, program):
        return round_.program == program and round_.when == "line" and not round_.once and not round_.wait and \
            round_.hosts == hosts and round_.ppn == 1

    LOST = "scela-run: rank {} on {} (x) lost with its node: the agent on {} was lost: its connection ended\n"

    def test_a_lost_node_is_named(self):
        self.assertEqual(self.judge("agent", "kill", 68, self.LOST.format(1, "node002", "node002")), "")

    def test_another_node_is_a_wrong_name(self):
        self.assertIn("does not concern", self.judge("agent", "kill", 68, self.LOST.format(0, "node001", "node001")))

    def test_a_rank_that_misses_another_may_end_first(self):
        ended = "scela-run: rank 2 on node003 (x) exited with code {}\n"
        self.assertEqual(self.judge("engine", "memory", 4, ended.format(4), program="library"), "")
        self.assertIn("does not concern", self.judge("engine", "memory", 3, ended.format(3), program="library"))

    def test_a_rank_and_a_host_must_belong_together(self):
        self.assertIn("does not concern", self.judge("agent", "kill", 68, self.LOST.format(0, "node002", "node002")))

    def test_a_status_must_be_the_documented_one(self):
        self.assertIn("not one of", self.judge("agent", "kill", 3, self.LOST.format(1, "node002", "node002")))

    def test_a_death_is_not_passed_over(self):
        self.assertIn("a rank was killed", self.judge("rank", "kill", 0, ""))

    def test_a_failure_says_why(self):
        self.assertIn("nothing says why", self.judge("agent", "kill", 68, ""))

    def test_an_end_comes_in_time(self):
        text = self.LOST.format(1, "node002", "node002")
        self.assertIn("not within", self.judge("agent", "kill", 68, text, to_end_s=60.0))

    def test_a_head_that_is_cut_while_it_reaches_hosts_has_the_time_that_this_may_take(self):
        round_ = chaos_plan.draw(761768053)
        self.assertEqual((round_.victim, round_.fault, round_.when), ("head", "cut", "victim"))
        late = dataclasses.replace(round_, when="line")
        self.assertEqual(chaos_judge.longest(round_) - chaos_judge.longest(late), chaos_judge.LAUNCH_S)


if __name__ == "__main__":
    case.main()
