"""A Slurm that binds tasks to processors (task/affinity): ranks may use all processors of their job, not those of the agent's task."""
import re

from slurm_case import SlurmCase

import case

MAY_USE = "sed -n 's/Cpus_allowed_list:.//p' /proc/self/status"


class SlurmBindingTest(SlurmCase):
    SIZE = 2
    SETTINGS = {"TaskPlugin": "task/affinity", "TaskPluginParam": "cores", "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU"}

    def allowed(self, allocation, *words, ranks):
        """The processors that each rank may use, in an allocation of both hosts."""
        done = self.run_words("salloc", "-Q", "-N", "2", *allocation, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(len(done.stdout.splitlines()), ranks, done.stdout)
        return set(done.stdout.split())

    def test_slurm_binds_a_task_of_its_own(self):
        """The counterpart: without it the other tests would show nothing."""
        self.assertEqual(self.allowed(["--ntasks-per-node=2"], "srun", "-N", "2", "-n", "2", "sh", "-c", MAY_USE, ranks=2), {"0"})

    def test_ranks_may_use_all_processors_of_the_job(self):
        self.assertEqual(self.allowed(["--ntasks-per-node=2"], "scela-run", "sh", "-c", MAY_USE, ranks=4), {"0-1"})

    def test_ranks_may_use_no_processor_that_is_not_the_jobs(self):
        self.assertEqual(self.allowed(["--ntasks-per-node=1"], "scela-run", "sh", "-c", MAY_USE, ranks=2), {"0"})

    def test_ranks_are_bound_within_the_job(self):
        self.assertEqual(self.allowed(["--ntasks-per-node=2"], "scela-run", "--bind-to", "core", "sh", "-c", MAY_USE, ranks=4), {"0", "1"})

    def test_a_bound_step_around_scela_run_binds_no_agent(self):
        """The step's own binding is in the environment of scela-run, by variables that srun reads."""
        inner = '[ $SLURM_PROCID = 0 ] || exit 0; [ "$SLURM_CPU_BIND" ] && exec scela-run sh -c "$0"'
        self.assertEqual(self.allowed(["--ntasks-per-node=2"], "srun", "-N", "2", "-n", "2", "--cpu-bind=cores", "sh", "-c", inner, MAY_USE,
                                      ranks=2), {"0-1"})

    def test_ranks_inherit_no_binding_that_a_step_of_theirs_would_take(self):
        """srun takes the binding of a step around it from variables, and fails if that fits its own step badly."""
        told = self.succeed("-n", 2, "--ppn", 1, "env")
        self.assertFalse(re.search(r"(?m)^(SLURM_CPU_BIND|SLURM_MEM_BIND|SBATCH_CPU_BIND|SRUN_)", told), told)
        told = self.succeed("-n", 1, "srun", "--overlap", "-N", "1", "-n", "1", "sh", "-c", MAY_USE)
        self.assertRegex(told, r"^\d\n$")


if __name__ == "__main__":
    case.main()
