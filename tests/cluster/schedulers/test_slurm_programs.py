"""Programs in a real Slurm, with default options: of MPICH, Open MPI and libscela, and ranks that spawn others."""
import os
import re
import sys

from slurm_case import SlurmCase

import case
from test_pmi import TOGETHER

SPAWNING = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "spawning_rank.py")
ADAPTER = {"SCELA_CHANNEL_VERBS": os.environ.get("SCELA_ADAPTER", "")}


class SlurmProgramsTest(SlurmCase):
    OPTIONS = {"own_processes": False}  # TOGETHER enters the first process of all

    def program(self, name):
        """One of tests/interop/programs; MPICH, Open MPI or libpmix may be missing here."""
        path = os.path.join(os.environ["SCELA_PROGRAMS"], name)
        if not os.path.exists(path):
            self.skipTest(f"{name} is not built")
        return path

    def hello(self, *words):
        """The ranks and hosts of a program of MPI, as its ranks say them."""
        said = re.findall(r"hello from rank (\d) of (\d) on (node00\d)\n", self.succeed(*words))
        self.assertEqual(sorted(said), [(str(rank), "6", f"node00{rank // 2 + 1}") for rank in range(6)])

    def test_programs_of_mpich(self):
        self.hello(*TOGETHER, self.program("hello_mpi"))
        self.assertEqual(self.succeed(*TOGETHER, self.program("collectives")), "collectives: 6 ranks ok\n")

    def test_programs_of_open_mpi(self):
        self.hello(self.program("openmpi_hello_mpi"))
        self.assertEqual(self.succeed(self.program("openmpi_collectives")), "collectives: 6 ranks ok\n")

    def test_programs_of_libscela(self):
        self.assertEqual(self.succeed(self.program("ring_scela"), env=ADAPTER),
                         "the ring's sum is 15, that of the collective operation 15\n")

    def test_clients_of_pmi_and_pmix(self):
        self.assertEqual(self.succeed(self.program("pmi_library"), "plain"), "pmi library: 6 ranks ok\n")
        self.assertEqual(self.succeed(self.program("pmix_client"), "exchange"), "pmix exchange: 6 ranks ok\n")

    def test_ranks_of_open_mpi_spawn_others(self):
        """Slots are taken on all hosts, those without a rank too."""
        self.assertEqual(self.succeed("-n", 2, self.program("openmpi_dynamic_mpi"), "spawn", "4"), "dynamic spawn: 2 ranks ok\n")
        self.assertEqual(self.succeed("-n", 2, self.program("openmpi_dynamic_mpi"), "nested", "2"), "dynamic nested: 2 ranks ok\n")

    def test_ranks_spawn_others_by_pmi_on_named_hosts(self):
        said = self.succeed("-n", 3, "--ppn", 1, "--pmi", "fd", "sh", "-c",
                            f'[ $SCELA_RANK = 0 ] || exit 0; exec {sys.executable} {SPAWNING} "2 node003 end" "1 node002 end"')
        self.assertEqual(sorted(said.splitlines()), ["spawn 0 0 ", "spawn 1 0 ", "up 0 node003", "up 0 node003", "up 1 node002"])

    def test_ranks_have_what_slurm_says_of_each_of_them(self):
        """Programs that take their rank from Slurm's variables find the truth by --env-style slurm, and nothing without it."""
        said = self.succeed("--env-style", "slurm", "sh", "-c", "echo $SCELA_RANK $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID")
        self.assertEqual(sorted(said.splitlines()), [f"{rank} {rank} {rank % 2} {rank // 2}" for rank in range(6)])

    def test_the_list_of_hosts_has_the_names_of_slurm(self):
        said = self.succeed("--env-style", "slurm", "sh", "-c", "echo $SLURM_JOB_NODELIST $SLURM_STEP_NODELIST")
        self.assertEqual(set(said.splitlines()), {"node001,node002,node003 node001,node002,node003"})

    def test_agents_bring_no_variables_and_no_limits_of_their_own(self):
        tell = "echo ${OWN-none} $(ulimit -Sn)"
        words = ["sh", "-c", f"ulimit -Sn 321; scela-run --env-pass none sh -c '{tell}'; scela-run -w node[001-003] -b '{tell}'; scela-run sh -c '{tell}'"]
        done = self.run_words("salloc", "-Q", "-N", "3", *words, env={"OWN": "mine"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:6] + lines[-6:], ["none 321"] * 6 + ["mine 321"] * 6, done.stdout)
        self.assertIn("none 321", lines[6:-6], done.stdout)


class SlurmPartsTest(SlurmCase):
    SETTINGS = {"SchedulerType": "sched/backfill", "SchedulerParameters": "bf_interval=1,sched_interval=1"}

    def test_a_heterogeneous_job_has_the_hosts_of_all_its_parts(self):
        with open(self.cluster.path("head", "/srv/het.sh"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n#SBATCH -N1 -n2\n#SBATCH hetjob\n#SBATCH -N2 --ntasks-per-node=1\n"
                    "scela-run sh -c 'echo $SCELA_RANK $SCELA_NODE' && scela-run -n 2 -w node003,node001 --ppn 1 sh -c 'echo $SCELA_NODE'\n")
        done = self.run_words("sbatch", "-Q", "-W", "-o", "/srv/output", "/srv/het.sh")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.cluster.path("node001", "/srv/output"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        self.assertEqual((done.returncode, sorted(lines[:4]), sorted(lines[4:])),
                         (0, ["0 node001", "1 node001", "2 node002", "3 node003"], ["node001", "node003"]), lines)


if __name__ == "__main__":
    case.main()
