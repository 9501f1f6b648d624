"""Jobs in the allocation of a scheduler: which hosts they get, and by which command agents are started there. The commands are stand-ins
(starters.py); tests/cluster/schedulers has a real scheduler."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
import starters  # noqa: E402
from job import JobTest  # noqa: E402

AGENT = os.environ["SCELA_AGENT"]
SHOW = 'echo "$SCELA_RANK $SCELA_NODE"'
WAITING = "waiting for srun to start the agents of 2 hosts"


class SchedulersTest(JobTest):
    def grid_engine(self, *hosts, slots=2):
        """The environment of a job of Grid Engine on these hosts."""
        text = "".join(f"{host} {slots} all.q@{host} UNDEFINED\n" for host in hosts)
        return {**starters.install(self, "qrsh"), "JOB_ID": "7", "JOB_NAME": "mine", "PE_HOSTFILE": self.file("pe_hostfile", text)}

    def test_ranks_run_on_the_hosts_of_grid_engine_within_their_slots(self):
        env = self.grid_engine("un001", "un002")
        ended = self.run_job("sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), ["0 un001", "1 un001", "2 un002", "3 un002"])
        self.assertEqual(sorted(starters.calls(self)), ["un001", "un002"])

    def test_input_output_and_the_status_pass_through_qrsh(self):
        env = self.grid_engine("un001", "un002")
        data = os.urandom(100_000)
        path = os.path.join(self.folder, "input")
        with open(path, "wb") as f:
            f.write(data)
        with open(path, "rb") as f:
            ended = self.run_job("-n", 3, "sh", "-c", '[ $SCELA_RANK = 0 ] || exit 0; cat; exit 5', stdin=f, env=env)
        self.assertEqual((ended.status, ended.out), (5, data))

    def test_more_ranks_than_slots_are_refused(self):
        ended = self.run_job("-n", 5, "true", env=self.grid_engine("un001", "un002"))
        self.assert_ended(ended, 64, r".*5 ranks.*4 slots.*")

    def test_ranks_inherit_nothing_of_a_schedulers_task(self):
        env = {**self.grid_engine("un001"), "SLURM_PROCID": "3", "SLURM_NTASKS": "9", "SLURM_CPU_BIND": "mask", "SLURM_JOB_NAME": "j"}
        show = 'echo "${QRSH_COMMAND-unset} ${SLURM_PROCID-unset} ${SLURM_NTASKS-unset} ${SLURM_CPU_BIND-unset} $SLURM_JOB_NAME $JOB_NAME"'
        expected = "unset unset unset unset j mine"
        self.assertEqual(self.run_job("-n", 2, "sh", "-c", show, env=env).lines, [expected] * 2)
        self.assertEqual(self.run_job("--sim-nodes", 2, "-n", 2, "sh", "-c", show, env=env).lines, [expected] * 2)
        named = self.run_job("-n", 1, "--launch", "local", "--env", "SLURM_PROCID=8", "sh", "-c", "echo $SLURM_PROCID", env=env)
        self.assertEqual(named.lines, ["8"])

    def test_the_detected_scheduler_is_explained(self):
        env = self.grid_engine("un001", "un002")
        qrsh = "agents: by 'qrsh -inherit' on each host, from this machine"
        found = f"allocation: Grid Engine, job 7: 2 hosts, 4 slots (PE_HOSTFILE={env['PE_HOSTFILE']})"
        self.assertEqual(self.run_job("--dry-run", "true", env=env).lines[:3], [found, qrsh, "4 ranks on 2 nodes"])
        ended = self.run_job("--verbose=launch", "-n", 1, "true", env=env)
        self.assertEqual(ended.err.splitlines()[:2], [f"scela-run: {found}", f"scela-run: {qrsh}"])
        self.assertEqual(self.run_job("-n", 1, "true", env=env), (0, b"", ""))

    def test_named_hosts_precede_the_allocation(self):
        env = self.grid_engine("un001", "un002")
        ended = self.run_job("-w", "un002", "-n", 1, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, ended.lines), (0, ["0 un002"]))
        self.assertEqual(starters.calls(self), ["un002"])
        ended = self.run_job("-w", "other", "--dry-run", "true", env=env)
        self.assertRegex(ended.lines[0], "^set aside: Grid Engine, job 7: .*; 'other' is not a host of it$")
        self.assert_ended(self.run_job("--launch", "sge", "-w", "other", "true", env=env), 64, r"other: .*not a host of the job.*")
        self.assertEqual(self.run_job("--launch", "local", "sh", "-c", "echo $SCELA_SIZE", env=env).lines, ["1"])

    def test_the_words_of_a_command_that_fails_are_shown(self):
        env = self.grid_engine("un001")
        env["PE_HOSTFILE"] = self.file("pe_hostfile", "un001 1 q UNDEFINED\n")
        self.script("bin/qrsh", 'echo "error: commlib error: access denied (client IP resolved to host name)" >&2; exit 1\n')
        ended = self.run_job("true", env=env)
        self.assert_ended(ended, 71, r".*un001.*'qrsh -inherit' ended before an agent answered: exit status 1; it said: error: commlib "
                          r"error: access denied \(client IP resolved to host name\).*")

    def test_a_command_that_is_missing_is_named(self):
        env = {**self.grid_engine("un001"), "SGE_ROOT": os.path.join(self.folder, "sge"), "ARC": "lx-amd64"}
        ended = self.run_job("true", env=env)
        self.assert_ended(ended, 71, rf".*find '{self.folder}/sge/bin/lx-amd64/qrsh': No such file or directory.*another --launch.*")

    def test_an_allocation_that_cannot_be_read_is_an_error(self):
        gone = os.path.join(self.folder, "gone")
        ended = self.run_job("-n", 2, "true", env={"PE_HOSTFILE": gone})
        self.assert_ended(ended, 64, rf"PE_HOSTFILE={gone}: read the allocation of Grid Engine: .*No such file.*has the job ended\?.*-w.*")
        ended = self.run_job("-n", 2, "true", env={"SLURM_JOB_NODELIST": "n[1-"})
        self.assert_ended(ended, 64, r"SLURM_JOB_NODELIST=n\[1-: read the allocation of Slurm: .*a bracket is not closed.*")
        self.assertEqual(self.run_job("--sim-nodes", 2, "true", env={"PE_HOSTFILE": gone}), (0, b"", ""))
        self.assertEqual(self.run_job("-w", "a", "--launch", "local", "true", env={"PE_HOSTFILE": gone}), (0, b"", ""))

    def test_of_two_schedulers_one_is_used_and_the_other_told_of(self):
        both = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "un[001-002]", "SLURM_TASKS_PER_NODE": "2(x2)",
                "PBS_JOBID": "17.head", "PBS_NODEFILE": self.file("nodes", "un003\n")}
        lines = self.run_job("--dry-run", "true", env=both).lines
        self.assertEqual(lines[:3], [
            "allocation: Slurm, job 1: 2 hosts, 4 slots (SLURM_JOB_NODELIST=un[001-002])",
            "agents: by one srun for all hosts",
            f"set aside: PBS, job 17.head: 1 host, 1 slot (PBS_NODEFILE={both['PBS_NODEFILE']}); --launch pbs chooses it"])
        self.assertEqual(lines[3], "4 ranks on 2 nodes")
        self.assert_ended(self.run_job("--launcher", "pbs", "true", env=both), 64, r".*agents get no secret by pbsdsh, which carries no standard input.*")
        self.assert_ended(self.run_job("-launcher", "lsf", "true", env=both), 64, r"find the job of LSF \(--launch lsf\): no variable.*")

    def slurm(self, hosts, **settings):
        """The environment of a job of Slurm with two slots on each of these hosts. The settings are those of the stand-in."""
        env = starters.install(self, "srun")
        self.file(os.path.join("bin", "srun.settings"), f"CALLS='{env['CALLS']}'\n" + "".join(f"{key}='{value}'\n" for key, value in settings.items()))
        return {**env, "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": ",".join(hosts), "SLURM_TASKS_PER_NODE": f"2(x{len(hosts)})"}

    def test_one_srun_starts_the_agents_of_all_hosts(self):
        hosts = [f"un{number:03}" for number in range(1, 10)]
        for degree in (1, 2, 16):
            ended = self.run_job("--degree", degree, "sh", "-c", SHOW + ' "${SLURM_PROCID-}${SLURM_NTASKS_PER_NODE-}"', env=self.slurm(hosts))
            self.assertEqual((ended.status, ended.err), (0, ""))
            self.assertEqual(sorted(ended.lines), sorted(f"{rank} {hosts[rank // 2]} " for rank in range(18)))
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as f:
            calls = f.read().splitlines()
        self.assertEqual(len(calls), 3)
        self.assertIn(f"--nodes=9 --ntasks=9 --nodelist={','.join(hosts)} {AGENT} --dial ", calls[0])

    def test_a_job_of_this_machine_only_needs_no_srun(self):
        name = os.uname().nodename
        alone = "agents: by scela-run itself, on this machine only"
        for hosts, more in ([name], ()), ([name, "un001"], ("-x", "un001")), ([name, "un001"], ("-w", name)):
            self.assertEqual(self.run_job(*more, "--dry-run", "true", env=self.slurm(hosts)).lines[1], alone)
            self.assertEqual(self.run_job(*more, "-n", 1, "true", env=self.slurm(hosts)), (0, b"", ""))
        self.assertEqual(self.run_job("--dry-run", "true", env=self.slurm([name, "un001"])).lines[1], "agents: by one srun for all hosts")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "calls")))

    def test_hosts_on_which_srun_starts_no_agent(self):
        hosts = ["un001", "un002", "un003"]
        env = self.slurm(hosts, NOT_HERE="un002")
        ended = self.run_job("--connect-timeout", "2s", "true", env=env)
        self.assert_ended(ended, 71, r".*un002: start agents by srun \(1 host of 3\): no agent has dialed in within 2000 ms \(--connect-timeout\); "
                          r"it said: srun: error: Task launch for StepId=1.0 failed on node un002: Communication connection failure.*--launch ssh.*")
        ended = self.run_job("--connect-timeout", "2s", "--min-nodes", 1, "-n", 4, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un001", "1 un001", "2 un003", "3 un003"]))

    def told(self):
        """A command by which the stand-in tells the test that it has come there, and waits for a line in the file "go"."""
        os.mkfifo(os.path.join(self.folder, "go"))
        return f'echo 0 $$ > "{self.environment[job.READY]}"; read -r line < "{self.folder}/go"'

    def go_on(self):
        with open(os.path.join(self.folder, "go"), "w", encoding="ascii") as f:
            f.write("go\n")

    def test_signals_for_ranks_do_nothing_while_a_job_that_has_ended_waits_for_srun(self):
        run = self.start("true", env=self.slurm(["un001", "un002"], AT_END=self.told()))
        run.news(1)
        for signo in (signal.SIGUSR1, signal.SIGUSR2):
            run.signal(signo)
        self.go_on()
        self.assertEqual(run.wait(), (0, b"", ""))

    def test_a_signal_ends_the_wait_for_srun_and_it_with_its_agents(self):
        """The agent of one host has been started, and that of the other never comes."""
        for number, signo in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            records = self.file(f"records-{number}")
            env = self.slurm(["un001", "un002"], NOT_HERE="un002", WHILE_THEY_RUN=f'echo 0 $$ > "{self.environment[job.READY]}"')
            run = self.start(f"--json={records}", "--connect-timeout", "1h", "true", env=env)
            run.news(1)
            run.signal(signo)
            cause = rf"interrupted by signal {int(signo)} \({signo.name}, [A-Za-z ]+\) while {WAITING}; the start was given up"
            self.assert_ended(run.wait(), 128 + signo, cause)
            with open(records, encoding="utf-8") as f:
                first, *_, last = map(json.loads, f)
            self.assertEqual((first["type"], first["ranks"], last["type"], last["exit_status"]), ("job", 0, "end", 128 + signo))
            self.wait_nothing_runs()

    def test_the_time_limit_covers_the_wait_for_srun(self):
        for host in ("un002", "un001 un002"):
            ended = self.run_job("--timeout", "300ms", "--connect-timeout", "1h", "true", env=self.slurm(["un001", "un002"], NOT_HERE=host, AT_END="exec sleep 1000"))
            self.assert_ended(ended, 124, rf"the job reached its time limit of 300 ms \(--timeout\) while {WAITING}; the start was given up")

    def test_signals_for_ranks_do_nothing_while_srun_is_awaited(self):
        run = self.start("echo", "ran", env=self.slurm(["un001", "un002"], AT_FIRST=self.told()))
        run.news(1)
        for signo in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
            run.signal(signo)
        self.go_on()
        self.assertEqual(run.wait(), (0, b"ran\n" * 4, ""))

    def test_an_agent_of_another_build_is_told_of(self):
        ended = self.run_job("true", env=self.slurm(["un001", "un002"], OTHER_BUILD="00ff"))
        self.assert_ended(ended, 71, r".*this agent is of build \w+, and scela-run of build 00ff: install one version on all machines.*")

    def test_blaunch_and_condor_ssh_start_agents(self):
        for name, env in (("blaunch", {"LSB_JOBID": "9", "LSB_MCPU_HOSTS": "un001 1 un002 1"}),
                          ("condor_ssh", {"_CONDOR_NPROCS": "2", "_CONDOR_PROCNO": "0", "CONDOR_CONTACT_FILE":
                                          self.file("contact", "0 un001 4444 me /d 1\n1 un002 4444 me /d 1\n")})):
            ended = self.run_job("sh", "-c", SHOW + '"${LSF_PM_TASKID-}${_CONDOR_PROCNO-}"', env={**env, **starters.install(self, name)})
            self.assertEqual((ended.status, sorted(ended.lines), ended.err), (0, ["0 un001", "1 un002"], ""))
        self.assertEqual(sorted(starters.calls(self)), ["un001"] * 2 + ["un002"] * 2)

    def test_commands_of_containers_start_agents(self):
        env = starters.install(self, "kubectl", "podman", "docker")
        for name in ("kubectl", "podman", "docker"):
            ended = self.run_job("--launch", name, "-w", "worker-[0-1]:1", "sh", "-c", SHOW, env=env)
            self.assertEqual((ended.status, sorted(ended.lines), ended.err), (0, ["0 worker-0", "1 worker-1"], ""))
        ended = self.run_job("--launch", "kubectl", "-w", "gone:1", "true", env=env)
        self.assert_ended(ended, 71, r'.*gone.*exit status 1; it said: Error from server \(NotFound\): pods "gone" not found.*')
        text = "rsh:podman exec -i {host} /bin/sh -c {command}"
        self.assertEqual(self.run_job("--launch", text, "-w", "worker-7:1", "sh", "-c", SHOW, env=env).lines, ["0 worker-7"])


if __name__ == "__main__":
    job.main()
