"""Jobs in an instance of Flux: hosts by `flux getattr hostlist`, agents by one `flux exec`. The command is a stand-in (flux_standin.py),
the agents are real processes, each on a machine with a name of its own."""
import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
from job import HOLD, PYTHON, JobTest  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.environ["SCELA_AGENT"]
PAGE = os.path.join(HERE, "../../../../docs/guide/in-other-schedulers.md")
LIMIT = "5s"  # the tests that use it wait for an agent that never comes, and for slow ones that do
SHOW = 'echo "$SCELA_RANK $SCELA_NODE"'
NAMESPACE = ["unshare", "--uts"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


class FluxTest(JobTest):
    @classmethod
    def setUpClass(cls):
        if subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode != 0:
            raise unittest.SkipTest("machines with names of their own need unshare --uts")

    def flux(self, hostlist, **more):
        """The environment of a script of flux batch."""
        os.makedirs(os.path.join(self.folder, "bin"), exist_ok=True)
        self.script("bin/flux", f'exec "{PYTHON}" -B "{HERE}/flux_standin.py" "$@"\n')
        return {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "CALLS": os.path.join(self.folder, "calls"), "HOSTLIST": hostlist,
                "FLUX_URI": "local:///tmp/flux-Bq3/local-0", "FLUX_ENCLOSING_ID": "f2WbVzEn", **more}

    def calls(self):
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as f:
            return f.read().splitlines()

    def assert_runs_on(self, env, hosts, *arguments):
        ended = self.run_job(*arguments, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, ended.err, sorted(ended.lines)), (0, "", sorted(f"{i} {host}" for i, host in enumerate(hosts))))

    def test_one_flux_exec_starts_the_agents_of_all_hosts(self):
        hosts = [f"un{number:03}" for number in range(1, 10)]
        for degree in (1, 2, 16):
            self.assert_runs_on(self.flux("un[001-009]"), hosts, "--degree", degree)
        calls = self.calls()
        self.assertEqual(calls[::3], ["getattr hostlist"] * 3)
        self.assertEqual(calls[1::3], ["kvs get resource.R"] * 3)
        self.assertEqual(len(calls), 9)
        self.assertRegex(calls[2], rf"^exec -r 0-8 -d / {re.escape(AGENT)} --dial \S+ --own-name --id \w+$")

    def test_ranks_reach_the_broker_of_their_own_host_and_have_nothing_else_of_it(self):
        show = 'echo "$SCELA_NODE $FLUX_URI ${FLUX_EXEC_PATH-unset} ${FLUX_TASK_RANK-unset} $FLUX_ENCLOSING_ID"'
        ended = self.run_job("sh", "-c", show, env=self.flux("un[001-002]", FLUX_TASK_RANK="7"))
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["un001 local:///stand-in/0 unset unset f2WbVzEn",
                                                                   "un002 local:///stand-in/1 unset unset f2WbVzEn"]))

    def test_machines_may_call_themselves_with_or_without_their_domain(self):
        env = self.flux("un001.cluster,un002,un003.cluster", MACHINES="un001,un002.cluster,un003.cluster")
        for degree in (1, 16):
            ended = self.run_job("--degree", degree, "-l", "echo", "here", env=env)
            self.assertEqual((ended.status, ended.err, sorted(ended.lines)), (0, "", ["0: here", "1: here", "2: here"]))

    def test_named_hosts_of_the_instance_get_their_brokers_ranks(self):
        env = self.flux("un[001,001-004]")
        self.assert_runs_on(env, ["un004", "un001"], "-n", 2, "-w", "un004,un001")
        self.assertIn("exec -r 0,4 -d / ", self.calls()[2])
        self.assert_runs_on(env, ["un001", "un002"], "-n", 2, "--launch", "flux", "-w", "un[001-002]")
        ended = self.run_job("--launch", "flux", "-w", "other", "true", env=env)
        self.assert_ended(ended, 64, r"other: start an agent in a job of Flux: it is not a host of the job .*")

    def test_input_and_the_exit_status_come_back(self):
        text = b"a line\n" * 1000
        path = self.file("input", text.decode())
        with open(path, "rb") as f:
            ended = self.run_job("sh", "-c", '[ $SCELA_RANK = 0 ] || exit 0; cat; exit 5', stdin=f, env=self.flux("un[001-002]"))
        self.assertEqual((ended.status, ended.out), (5, text))
        self.assertNotIn("flux", ended.err)

    def test_the_detected_scheduler_is_explained(self):
        env = self.flux("un[001-002]")
        found = "allocation: Flux, job f2WbVzEn: 2 hosts, 2 slots (FLUX_URI=local:///tmp/flux-Bq3/local-0, flux getattr hostlist, flux kvs get resource.R)"
        starter = "agents: by one flux exec for all hosts"
        for launch in ("auto", "flux"):
            self.assertEqual(self.run_job("--launch", launch, "--dry-run", "true", env=env).lines[:3], [found, starter, "2 ranks on 2 nodes"])
        ended = self.run_job("--verbose=launch", "true", env=env)
        self.assertEqual(ended.err.splitlines()[:2], [f"scela-run: {found}", f"scela-run: {starter}"])

    def test_an_instance_on_this_machine_only_needs_no_flux_exec(self):
        name = os.uname().nodename
        env = self.flux(name)
        self.assertEqual(self.run_job("--dry-run", "true", env=env).lines[1], "agents: by scela-run itself, on this machine only")
        self.assert_runs_on(env, [name])
        self.assertEqual(self.calls(), ["getattr hostlist", "kvs get resource.R"] * 2)

    def test_ranks_fill_the_cores_of_the_instance(self):
        env = self.flux("un[001-002]", CORES="2")
        self.assert_runs_on(env, ["un001", "un001", "un002", "un002"])
        ended = self.run_job("-n", 5, "true", env=env)
        self.assert_ended(ended, 64, r".*5 ranks.*4 slots.*")

    def test_an_instance_that_tells_no_cores_has_a_rank_on_each_host(self):
        env = self.flux("un[001-002]")
        self.script("bin/flux", f'[ "$1" = kvs ] && {{ echo "flux-kvs: resource.R: Operation not permitted" >&2; exit 1; }}; '
                    f'exec "{PYTHON}" -B "{HERE}/flux_standin.py" "$@"\n')
        self.assert_runs_on(env, ["un001", "un002"])

    def test_the_gathered_output_is_of_one_command_on_each_host(self):
        env = self.flux("un[001-002]", CORES="2")
        self.assertEqual(self.run_job("-b", "echo", "here", env=env).out.decode().count("here"), 1)
        for words in (["-b"], ["--host-timeout", "1m"]):
            show = self.run_job("--dry-run", *words, "true", env=env).lines
            self.assertIn("2 ranks on 2 nodes", show)
        for words in (["-b", "--ppn", "2"], ["-b", "-n", "4"], ["-l"]):
            self.assertIn("4 ranks on 2 nodes", self.run_job("--dry-run", *words, "true", env=env).lines)
        self.assertIn("4 ranks on 2 nodes", self.run_job("--dry-run", "true", env={**env, "SCELA_GATHER": "yes"}).lines)

    def test_mpiexec_fills_the_slots_of_the_job(self):
        env = self.flux("un[001-002]", CORES="2")
        for words, ranks in (([], 4), (["-n", "1"], 1), (["-ppn", "1"], 2), (["-ppn", "3"], 6)):
            ended = self.run_job("--as", "mpiexec", *words, "echo", "x", env=env)
            self.assertEqual((ended.status, ended.err, ended.lines), (0, "", ["x"] * ranks))

    def test_flux_that_is_missing_or_fails_is_told_of(self):
        env = self.flux("un[001-002]")
        prefix = r"FLUX_URI=local:///tmp/flux-Bq3/local-0: read the allocation of Flux: 'flux getattr hostlist' "
        advice = r" \(has the instance ended\? unset FLUX_URI, name hosts with -w, or give --launch local\)"
        for launch in ("auto", "flux"):
            missing = self.run_job("--launch", launch, "true", env={**env, "PATH": "/usr/bin:/bin"})
            self.assert_ended(missing, 64, prefix + "cannot be run: find 'flux': No such file or directory.*" + advice)
        self.script("bin/flux", 'echo "flux-getattr: flux_open: Connection refused" >&2; exit 1\n')
        self.assert_ended(self.run_job("true", env=env), 64, prefix + "ended with code 1; it said: flux-getattr: flux_open: Connection refused" + advice)
        self.script("bin/flux", "exec sleep 1000\n")
        silent = self.run_job("--connect-timeout", "100ms", "true", env=env)
        self.assert_ended(silent, 64, prefix + r"has not ended within 100 ms \(--connect-timeout\)" + advice)
        self.assertEqual(self.run_job("--launch", "local", "sh", "-c", SHOW, env=env).lines, [f"0 {os.uname().nodename}"])

    def test_flux_exec_that_fails_is_told_of_in_its_own_words(self):
        env = self.flux("un[001-002]")
        self.script("bin/flux", '[ "$1" = exec ] || { echo "un[001-002]"; exit; }; echo "flux-exec: Error: rank 0: Operation not permitted" >&2; exit 126\n')
        self.assert_ended(self.run_job("true", env=env), 71, r"un\[001-002\]: start agents by flux exec \(2 hosts of 2\): flux exec ended with code 126 before "
                          r"the agent had dialed in; it said: flux-exec: Error: rank 0: Operation not permitted.*--launch ssh.*")

    def test_hosts_on_which_flux_starts_no_agent(self):
        env = self.flux("un[001-003]", DOWN="1")
        ended = self.run_job("--connect-timeout", LIMIT, "true", env=env)
        self.assert_ended(ended, 71, r"un002: start agents by flux exec \(1 host of 3\): no agent has dialed in within 5000 ms \(--connect-timeout\); "
                          r"it said: flux-exec: Error: rank 1: \S+: No route to host.*--launch ssh.*")
        ended = self.run_job("--connect-timeout", LIMIT, "--min-nodes", 1, "-n", 2, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un001", "1 un003"]))
        ended = self.run_job("--connect-timeout", LIMIT, "-b", "--expand", "echo", "%n", env=env)
        self.assertEqual(ended.status, 68)
        self.assertRegex(ended.out.decode(), r"un001\n-+\n0\n(.*\n)*un003\n-+\n2\n")

    def test_a_host_name_that_no_agent_uses_is_reported(self):
        env = self.flux("un[001-003]", MACHINES="un001,stranger,un003")
        ended = self.run_job("--connect-timeout", LIMIT, "true", env=env)
        self.assert_ended(ended, 71, r"un002: start agents by flux exec \(1 host of 3\): no agent has dialed in within 5000 ms \(--connect-timeout\).*")

    def test_an_agent_that_flux_cannot_execute_is_told_of(self):
        gone = os.path.join(self.folder, "gone")
        os.symlink(AGENT, gone)
        env = self.flux("un[001-002]")
        self.script("bin/flux", f'[ "$1" = exec ] && rm -f "{gone}"; exec "{PYTHON}" -B "{HERE}/flux_standin.py" "$@"\n')
        ended = self.run_job("--agent", gone, "true", env=env)
        self.assert_ended(ended, 71, r"un\[001-002\]: start agents by flux exec \(2 hosts of 2\): flux exec ended with code 127 .*it said: .*gone: .*not found.*")

    def test_a_task_of_a_job_with_other_hosts_is_refused(self):
        env = self.flux("un[001-009]", FLUX_JOB_ID="f3", FLUX_JOB_NNODES="2", FLUX_TASK_RANK="0")
        self.assert_ended(self.run_job("true", env=env), 64, r"FLUX_JOB_ID=f3: read the allocation of Flux: scela-run is a task of this job, which has no "
                          r"instance of Flux of its own \(start scela-run itself by flux batch or flux alloc, .*\)")
        alone = self.run_job("sh", "-c", SHOW, env={**env, "FLUX_JOB_NNODES": "1"})
        self.assertEqual((alone.status, alone.lines), (0, [f"0 {os.uname().nodename}"]))
        self.assertFalse(os.path.exists(env["CALLS"]))

    def test_a_killed_scela_run_leaves_nothing(self):
        running = self.start("sh", "-c", HOLD, env=self.flux("un[001-003]"))
        running.ranks(3)
        running.process.send_signal(signal.SIGKILL)
        self.assertEqual(running.wait().status, -signal.SIGKILL)

    def test_children_of_a_lost_agent_go_on_below_scela_run(self):
        go = os.path.join(self.folder, "go")
        os.mkfifo(go)
        going = os.open(go, os.O_RDWR)
        self.addCleanup(os.close, going)
        running = self.start("--degree", 2, "--on-failure", "wait", "sh", "-c", f'{job.TELL}read -r x < "$0"; {SHOW}', go, env=self.flux("un[001-007]"))
        running.ranks(7)
        children = {one.parent: one.pid for one in self.processes() if one.name == "scela-nla"}
        lost = next(one for one in self.processes() if one.name == "sh" and b"SCELA_RANK=0\0" in open(f"/proc/{one.pid}/environ", "rb").read())
        self.assertIn(lost.parent, children.values())
        os.kill(lost.parent, signal.SIGKILL)
        os.write(going, b"word\n" * 7)
        ended = running.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (68, [f"{rank} un{rank + 1:03}" for rank in range(1, 7)]), ended.err)

    def test_the_job_of_the_guide(self):
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        script = self.script("job.sh", re.search(r"```sh\n#!/bin/sh\n(.*?)```", page, re.S)[1])
        env = self.flux("node[001-002]", CORES="2")
        env["PATH"] = f"{os.path.dirname(os.environ['SCELA_RUN'])}:{env['PATH']}"
        done = subprocess.run([script], env={**self.environment, **env}, capture_output=True, text=True, check=False)
        shown = re.findall(r"(?m)^    (\d: node00\d)$", page)
        self.assertEqual((done.returncode, done.stderr, sorted(done.stdout.splitlines())), (0, "", shown))


if __name__ == "__main__":
    job.main()
