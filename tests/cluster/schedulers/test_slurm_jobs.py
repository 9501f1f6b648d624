"""Jobs in a real Slurm: hosts of the allocation, agents by one srun, no ssh, and nothing left however the job ends."""
import os
import re

from slurm_case import SlurmCase

import case

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/guide/in-slurm.md")
WHERE = 'echo "$SCELA_RANK $SCELA_NODE"'


class SlurmJobsTest(SlurmCase):
    def stand_in(self, *lines):
        """Another srun, before the real one in the PATH of jobs that have it."""
        path = self.cluster.path("head", "/srv/bin/srun")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(("#!/bin/sh", *lines, "")))
        os.chmod(path, 0o755)

    def job_by(self, *lines):
        """What a job prints whose srun has these lines before it becomes the real one with the words that they leave."""
        self.stand_in(*lines, 'exec /usr/bin/srun "$@"')
        done = self.run_words("salloc", "-Q", "-N", "3", "env", "PATH=/srv/bin:/usr/bin:/bin", os.environ["SCELA_RUN"], "--agent",
                              os.environ["SCELA_AGENT"], "--ppn", "1", "sh", "-c", WHERE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 node001", "1 node002", "2 node003"])

    def test_the_job_of_the_guide(self):
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        script = re.search(r"```sh\n(.*?)```", page, re.S)[1]
        shown = re.findall(r"(?m)^    (\d: node00\d)$", page)
        path = self.cluster.path("head", "/srv/job.sh")
        with open(path, "w", encoding="utf-8") as f:
            f.write(script)
        done = self.run_words("sbatch", "-W", "-Q", "-o", "/srv/output.txt", "/srv/job.sh")
        with open(self.cluster.path("head", "/srv/output.txt"), encoding="utf-8") as f:
            self.assertEqual((done.returncode, sorted(f.read().splitlines())), (0, shown))

    def test_ranks_run_in_the_slots_of_all_hosts(self):
        shown = self.succeed("--dry-run", "true").splitlines()
        self.assertRegex(shown[0], r"^allocation: Slurm, job \d+: 3 hosts, 6 slots, 6 processors \(SLURM_JOB_NODELIST=node\[001-003\]\)$")
        self.assertEqual(shown[1], "agents: by one srun for all hosts")
        self.assertEqual(sorted(self.succeed("sh", "-c", WHERE).splitlines()),
                         [f"{rank} {host}" for rank, host in enumerate(h for h in self.cluster.hosts for _ in range(2))])

    def test_one_srun_starts_all_agents(self):
        """Whatever the shape of the tree, and whatever the ranks are."""
        steps = 'for i in 1 2 3 4 5; do s=$(squeue -h -s -j $SLURM_JOB_ID -o %i | grep -v extern); [ "$s" ] && break; done; echo $s'
        for degree in (1, 8):
            told = self.succeed("--degree", degree, "-n", 6, "sh", "-c", f'[ $SCELA_RANK = 0 ] || exit 0; {steps}')
            self.assertRegex(told, r"^\d+\.0\n$")

    def test_a_command_for_each_host_is_sorted(self):
        self.assertEqual(self.succeed("-b", "-w", "node[001-003]", "echo", "here"),
                         "---------------\nnode[001-003] (3)\n---------------\nhere\n")

    def test_hosts_that_the_command_line_names_are_used(self):
        self.assertEqual(self.succeed("-w", "node002", "-n", 1, "sh", "-c", WHERE), "0 node002\n")

    def test_input_and_the_exit_status_come_back(self):
        done = self.job("-n", 6, "sh", "-c", "[ $SCELA_RANK = 0 ] || exit 0; cat; exit 7", input="a b\nc")
        self.assertEqual((done.returncode, done.stdout), (7, "a b\nc"), done)

    def test_ranks_inherit_nothing_of_the_agents_task(self):
        told = self.succeed("-n", 6, "env")
        for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_ID", "SLURM_CPU_BIND", "SLURM_TASK_PID",
                     "SLURM_LAUNCH_NODE_IPADDR", "SLURM_NTASKS"):
            self.assertNotIn(f"\n{name}=", told)
        told = self.succeed("-n", 6, "--env-style", "slurm", "sh", "-c", "echo $SCELA_RANK $SLURM_PROCID $SLURM_NTASKS $SLURM_NODEID")
        self.assertEqual(sorted(told.splitlines()), [f"{rank} {rank} 6 {rank // 2}" for rank in range(6)])

    def test_inside_a_step_of_the_job(self):
        """A step that has all of the job's resources: another step without --overlap would wait for ever."""
        inner = '[ $SLURM_PROCID = 0 ] || exit 0; exec scela-run sh -c "$0"'
        done = self.run_words("salloc", "-Q", "-N", "3", "srun", "-N", "3", "-n", "3", "sh", "-c", inner, WHERE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 node001", "1 node002", "2 node003"])

    def test_options_that_srun_reads_from_variables_are_not_for_the_agents(self):
        odd = {"SLURM_CPU_BIND": "quiet,mask_cpu:0x0", "SLURM_MEM_PER_CPU": "1", "SLURM_MEM_PER_NODE": "1", "SLURM_LABELIO": "1",
               "SLURM_STDINMODE": "none", "SLURM_STDOUTMODE": "/nowhere/%j", "SLURM_NTASKS_PER_NODE": "2", "SLURM_DISTRIBUTION": "plane"}
        words = [f"{name}={value}" for name, value in odd.items()]
        done = self.run_words("salloc", "-Q", "-N", "3", "env", *words, "scela-run", "-n", "3", "--ppn", "1", "sh", "-c", WHERE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 node001", "1 node002", "2 node003"])

    def test_an_agent_that_is_not_there_is_told_of_with_srun_s_words(self):
        done = self.job("--agent", "/nowhere/scela-nla", "true")
        self.assertEqual(done.returncode, 71, done)
        self.assertRegex(done.stderr, r"it said: .*/nowhere/scela-nla: No such file or directory")

    def test_srun_that_is_missing_or_fails_is_told_of(self):
        self.stand_in("echo 'srun: error: Unable to create step: Job credential revoked' >&2; exit 1")
        agent = os.environ["SCELA_AGENT"]
        done = self.run_words("salloc", "-Q", "-N", "3", "env", "PATH=/srv/bin:/usr/bin:/bin", os.environ["SCELA_RUN"], "--agent", agent, "true")
        self.assertEqual(done.returncode, 71, done)
        self.assertIn("srun ended with code 1 before the agent had dialed in; it said: srun: error: Unable to create step: Job credential revoked",
                      done.stderr)
        self.assertIn("--launch ssh", done.stderr)
        done = self.run_words("salloc", "-Q", "-N", "3", "env", "PATH=/nowhere", os.environ["SCELA_RUN"], "--agent", agent, "true")
        self.assertIn("find 'srun': No such file or directory", done.stderr)

    def test_agents_need_no_standard_input_where_munged_opens_a_credential(self):
        self.job_by('for word; do shift; [ "$word" = --input=all ] && word=--input=none; set -- "$@" "$word"; done')

    def test_agents_that_cannot_open_the_credential_read_standard_input(self):
        seen = '[ "$seen" ] || exit 1'
        self.job_by('for word; do shift; case $word in MUNGE:*) seen=1; word=MUNGE:other:;; esac; set -- "$@" "$word"; done', seen)
        self.job_by('for word; do shift; case $word in --credential) ;; MUNGE:*) seen=1;; *) set -- "$@" "$word";; esac; done', seen)

    def test_no_other_user_can_open_the_credential(self):
        self.job_by('for word; do case $word in MUNGE:*) echo "$word" > /srv/credential;; esac; done')
        opened = self.run_words("unmunge", "-i", "/srv/credential").stdout
        self.assertRegex(opened, r"(?s)CIPHER:\s+aes128.*UID_RESTRICTION:\s+root.*\n[0-9a-f]{64}$")
        refused = self.run_words("setpriv", "--reuid", "65534", "--clear-groups", "unmunge", "-i", "/srv/credential")
        self.assertEqual(refused.stderr.strip(), "unmunge: Error: Unauthorized credential for client UID=65534 GID=0")
        self.assertEqual(refused.stdout, "")

    def test_scancel_ends_everything(self):
        job = self.start()
        self.run_words("scancel", self.job_number())
        status, _, errors = self.ended(job)
        self.assertNotEqual(status, 0, errors)

    def test_a_killed_scela_run_leaves_nothing(self):
        job = self.start()
        self.kill("head", "^scela-run")
        self.ended(job)

    def test_a_killed_srun_ends_the_job(self):
        """Slurm then kills all processes of the step at once, so scela-run has their directories removed."""
        job = self.start()
        self.kill("head", "^srun")
        self.assertEqual(self.ended(job)[0], 68)

    def test_a_killed_agent_ends_the_job(self):
        job = self.start()
        self.kill("node002", "scela-nla --dial")
        status, _, errors = self.ended(job)
        self.assertEqual(status, 68)
        self.assertIn("failed nodes: node002", errors)


if __name__ == "__main__":
    case.main()
