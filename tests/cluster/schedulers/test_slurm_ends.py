"""How jobs end in a real Slurm: cancelled, out of time, or without a node; no hang, and nothing left on any host."""
import contextlib
import signal
import subprocess

from slurm_case import PATIENCE_S, SlurmCase

import case
import slurm

# Ranks that save their state when they are told to end, which takes some time.
SAVES = 'trap "trap : TERM; sleep 0.3; echo saved; exit 0" TERM; echo up; while :; do sleep 1000 & wait; done'


class SlurmEndsTest(SlurmCase):
    SETTINGS = {"KillWait": "2"}

    def batch(self, *words, ranks=6, program="echo up; exec sleep 1000"):
        """A job of sbatch that goes on until it is ended, once all of its ranks run: its number and its process."""
        with open(self.cluster.path("head", "/srv/job.sh"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nscela-run {' '.join(words)} sh -c '{program}'\necho status $? >>/srv/status\n")
        job = self.cluster.popen("head", ["sbatch", "-Q", "-W", "-N", "3", "-o", "/srv/output", "/srv/job.sh"],
                                 env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.until(lambda: "the ranks do not run", lambda: self.read("/srv/output").count("up\n") == ranks)
        return self.job_number(), job

    def read(self, path):
        with contextlib.suppress(FileNotFoundError), open(self.cluster.path("head", path), encoding="utf-8") as f:
            return f.read()
        return ""

    def step_of_agents(self):
        """Its number, JOB.STEP. salloc may have a step of its own."""
        steps = self.run_words("squeue", "-h", "-s", "-o", "%i %j").stdout
        return next(line.split()[0] for line in steps.splitlines() if "scela-nla" in line)

    def test_scancel_of_a_batch_job(self):
        number, job = self.batch()
        self.run_words("scancel", number)
        self.assertNotEqual(self.ended(job)[0], 0)

    def test_scancel_while_agents_start(self):
        """At whatever moment: Slurm has no step yet, or one whose agents have not dialed in."""
        for _ in range(5):
            job = self.cluster.popen("head", ["salloc", "-Q", "-N", "3", "scela-run", "sleep", "1000"], env=self.environment(),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.until(lambda: "there is no job", self.job_number)
            self.run_words("scancel", self.job_number())
            self.assertNotEqual(job.wait(PATIENCE_S), 0)
            # Slurm completes a job after salloc has ended. The next round must not take its number.
            self.until(lambda: "the job is not over", lambda: not self.job_number())

    def test_scancel_of_the_agents_step(self):
        """Slurm kills agents and guardians at once, so scela-run has their directories removed."""
        job = self.start()
        self.run_words("scancel", "--signal=KILL", self.step_of_agents())
        status, _, errors = self.ended(job)
        self.assertEqual(status, 68, errors)
        self.assertRegex(errors, r"failed nodes: node")  # the others may end with the job before they are lost

    def test_a_cancelled_step_gets_sigterm_first(self):
        job = self.start()
        self.run_words("scancel", self.step_of_agents())
        self.assertNotEqual(self.ended(job)[0], 0)

    def test_ranks_of_a_cancelled_job_have_their_grace(self):
        number, job = self.batch("--grace", "1.5", program=SAVES)
        self.run_words("scancel", number)
        self.assertNotEqual(self.ended(job)[0], 0)
        self.assertEqual(self.read("/srv/output").count("saved\n"), 6, self.read("/srv/output"))

    def test_ranks_of_a_step_that_gets_sigterm_have_their_grace(self):
        job = self.start("--grace", "1.5", program=SAVES)
        self.run_words("scancel", "--signal=TERM", self.step_of_agents())
        status, output, errors = self.ended(job)
        self.assertEqual((status, output), (128 + signal.SIGTERM, "saved\n" * 6), errors)
        self.assertNotIn("failed nodes", errors)

    def test_user_signals_of_slurm_reach_the_ranks(self):
        job = self.start(program="trap 'echo USR1; exit 0' USR1; echo up; while :; do sleep 1000 & wait; done")
        self.run_words("scancel", "-s", "USR1", self.step_of_agents())
        self.assertEqual(self.ended(job), (0, "USR1\n" * 6, ""))

    def test_the_time_limit(self):
        """Slurm looks for jobs that are over their time every 30 seconds."""
        _, job = self.batch()
        self.run_words("scontrol", "update", f"JobId={self.job_number()}", "EndTime=now")
        self.assertNotEqual(self.ended(job)[0], 0)
        self.assertRegex(self.read("/srv/output"), "CANCELLED AT .* DUE TO TIME LIMIT")

    def lose(self, how, *words):
        """What scela-run says in a job that keeps its allocation, when the processes of node003 are gone, Slurm's too."""
        program = "echo up; [ $SCELA_NODE = node003 ] && exec sleep 1000; while [ ! -e /srv/go ]; do sleep 0.05; done; echo on"
        job = self.start(*words, allocation=["--no-kill"], program=program)
        self.addCleanup(slurm.await_idle, self.cluster)
        self.addCleanup(slurm.start_daemons, self.cluster, "node003")
        self.addCleanup(self.cluster.undo)
        how("node003")
        self.addCleanup(self.remove_directories, "node003")
        if words:
            with open(self.cluster.path("head", "/srv/go"), "w", encoding="utf-8"):
                pass
        return self.ended(job)

    def remove_directories(self, host):
        """What only an agent of the lost host could have removed."""
        self.cluster.run(host, ["sh", "-c", "rm -rf /tmp/scela-* /dev/shm/.scela-*"])

    def test_a_lost_node_ends_the_job(self):
        status, output, errors = self.lose(self.cluster.kill_processes)
        self.assertEqual((status, output), (68, ""), errors)
        self.assertRegex(errors, r"rank \d on node003 \(sh\) lost with its node: the agent on node003 was lost: its connection ended\n")

    def test_a_silent_node_ends_the_job(self):
        status, output, errors = self.lose(self.cluster.crash)
        self.assertEqual((status, output), (68, ""), errors)
        self.assertRegex(errors, r"rank \d on node003 \(sh\) lost with its node: the agent on node003 was lost: no sign of life for \d+ s\n")

    def test_a_lost_node_costs_its_ranks_only(self):
        status, output, errors = self.lose(self.cluster.kill_processes, "--on-failure", "wait")
        self.assertEqual((status, output), (68, "on\n" * 4), errors)
        self.assertIn("failed nodes: node003\n", errors)

    def test_sigterm_to_scela_run(self):
        job = self.start()
        pid = self.cluster.run("head", ["pgrep", "-f", "^scela-run"]).stdout.split()[0]
        self.cluster.run("head", ["kill", "-TERM", pid])
        self.assertEqual(self.ended(job)[0], 128 + signal.SIGTERM)

    def test_a_killed_slurmd_does_not_disturb_the_job(self):
        """The processes of a step are those of slurmstepd."""
        job = self.start(program="echo up; while [ ! -e /srv/go ]; do sleep 0.05; done")
        self.kill("node002", "slurmd -D")
        with open(self.cluster.path("head", "/srv/go"), "w", encoding="utf-8"):
            pass
        status, _, errors = self.ended(job)
        self.addCleanup(slurm.await_idle, self.cluster)
        self.addCleanup(slurm.start_daemons, self.cluster, "node002")
        self.assertEqual((status, errors), (0, ""))


if __name__ == "__main__":
    case.main()
