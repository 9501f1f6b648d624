"""Jobs of a resource manager that tells its allocation, and the loss of nodes, by a PMIx server: pmix_manager, over libpmix's server
interface (tests/interop/programs/pmix/pmix_manager.c). Agents are started by a stand-in for rsh, on this machine."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
import starters  # noqa: E402
from job import DEADLINE_S, HOLD, TELL, JobTest, release  # noqa: E402

MANAGER = os.path.join(os.environ["SCELA_PROGRAMS"], "pmix_manager")
SHOW = 'echo "$SCELA_RANK $SCELA_NODE"'
HERE = os.uname().nodename
WAIT = TELL + 'read -r line < "$GO"; echo "$SCELA_RANK ends"'
DAMAGED = {"number": "PMIX_QUERY_ALLOCATION is no array of nodes", "text": "PMIX_QUERY_ALLOCATION is no array of nodes",
           "flat": "node 0 of PMIX_QUERY_ALLOCATION has no usable name", "break": "node 0 of PMIX_QUERY_ALLOCATION has no usable name",
           "nameless": "node 0 of PMIX_QUERY_ALLOCATION has no usable name", "twice": "it names a twice", "line": "it tells none: SUCCESS"}


class ManagerTest(JobTest):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(MANAGER):
            raise unittest.SkipTest("pmix_manager was not built: it needs libpmix")

    def manager(self, how, *hosts):
        """Starts the manager; the environment of its batch script."""
        place = os.path.join(self.folder, f"manager{len(os.listdir(self.folder))}")
        os.mkdir(place)
        self.server = subprocess.Popen([MANAGER, how, place, *hosts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env={"PATH": "/usr/bin:/bin", "TMPDIR": place})
        self.addCleanup(self.end_manager, self.server)
        self.script("rsh", 'echo "$1" >> "$CALLS"; shift; exec sh -c "$*"\n')
        given = iter(self.server.stdout.readline, "\n")
        return {**dict(line.rstrip("\n").split("=", 1) for line in given), "CALLS": os.path.join(self.folder, "calls")}

    @staticmethod
    def end_manager(server):
        server.stdin.close()
        server.stdout.close()
        try:
            server.wait(DEADLINE_S)
        finally:
            server.kill()
            server.wait()

    def tell(self, line):
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()

    def assert_script_is_there(self):
        """The manager lives, and has taken no tool of scela-run for its batch script."""
        self.tell("script")
        self.assertEqual(self.server.stdout.readline(), "script there\n")

    def start_on(self, env, *arguments):
        return self.start("--launch", f"rsh:{self.folder}/rsh", *arguments, env=env)

    def run_on(self, env, *arguments):
        return self.start_on(env, *arguments).wait()

    def wait_said(self, started, text):
        """Waits until scela-run has said this."""
        deadline = job.time.monotonic() + DEADLINE_S
        while text not in started.err():
            if job.time.monotonic() > deadline:
                self.fail(f"scela-run has not said: {text}\n{started.err()}")
            job.select.select([], [], [], 0.01)

    def listening(self, started):
        """Waits until scela-run hears of lost nodes (-v says so)."""
        self.wait_said(started, "losses of nodes are heard from a PMIx server\n")

    def test_ranks_run_on_the_hosts_of_the_allocation_within_their_slots(self):
        env = self.manager("nodes", "un001:2", "un002:1")
        ended = self.run_on(env, "sh", "-c", SHOW)
        self.assertEqual((ended.status, ended.err, sorted(ended.lines)), (0, "", ["0 un001", "1 un001", "2 un002"]))
        self.assertEqual(sorted(starters.calls(self)), ["un001", "un002"])
        self.assert_ended(self.run_on(env, "-n", 4, "true"), 64, r".*4 ranks.*3 slots.*")
        self.assert_script_is_there()

    def test_the_detected_server_is_explained(self):
        env = self.manager("nodes", "un001:2", "un002:1")
        found = f"a PMIx server: 2 hosts, 3 slots (PMIX_SERVER_URI41={env['PMIX_SERVER_URI41']}, PMIX_QUERY_ALLOCATION)"
        for launch in ("auto", "pmix"):
            ended = self.run_job("--launch", launch, "--dry-run", "true", env=env)
            self.assertEqual((ended.err, ended.lines[:3]), ("", [f"allocation: {found}", "agents: over ssh", "3 ranks on 2 nodes"]))
        ended = self.run_job("--launch", "pmix", "-w", "un002,other", "--dry-run", "true", env=env)
        self.assert_ended(ended, 64, r"other: start an agent in a job of a PMIx server: it is not a host of the job .*")
        self.assertEqual(self.run_job("-w", "un002", "--dry-run", "true", env=env).lines[0],
                         f"allocation: {found}, of which the command line names hosts")

    def test_a_server_may_tell_names_only(self):
        env = self.manager("list", "un001", "un002")
        ended = self.run_on(env, "sh", "-c", SHOW)
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un001", "1 un002"]))
        self.assertIn("PMIX_ALLOCATED_NODELIST)", self.run_job("--dry-run", "true", env=env).lines[0])

    def test_the_loss_of_a_node_ends_the_job_with_the_host_named(self):
        for event, code in (("down", "PMIX_EVENT_NODE_DOWN"), ("offline", "PMIX_EVENT_NODE_OFFLINE")):
            for degree in (1, 16):
                env = self.manager("nodes", "un001:1", "un002:1", "un003:1")
                started = self.start_on(env, "--degree", degree, "-v", "sh", "-c", HOLD)
                started.ranks(3)
                self.listening(started)
                self.tell(f"{event} un002")
                self.assert_ended(started.wait(), 68, r"rank 1 on un002 \(sh\) lost with its node: the agent on un002 was lost: the resource "
                                  rf"manager says that its node is lost \({code}\)")
        self.assert_script_is_there()

    def test_the_loss_of_a_node_costs_its_own_ranks_only_if_the_user_wants_it(self):
        env = {**self.manager("nodes", "un001:1", "un002:1", "un003:1", "un004:1"), "GO": self.channel("go")}
        for degree in (2, 16):  # at 2, its parent is the agent of un001
            started = self.start_on(env, "--degree", degree, "-v", "--on-failure", "wait", "sh", "-c", WAIT)
            lost = started.ranks(4)[1]
            self.listening(started)
            self.tell("down un002")
            self.assertEqual(job.wait_gone([lost], job.time.monotonic() + DEADLINE_S), [])
            self.wait_standstill()
            release(env["GO"])
            ended = started.wait()
            self.assertEqual(sorted(ended.lines), ["0 ends", "2 ends", "3 ends"], ended.err)
            self.assert_ended(ended, 68, r"rank 1 on un002 \(sh\) lost with its node: .*PMIX_EVENT_NODE_DOWN\)")

    def test_a_restart_does_without_the_node_that_was_lost(self):
        env = self.manager("nodes", "un001:1", "un002:1", "un003:1")
        text = TELL + '[ "$SCELA_RESTART_COUNT" = 0 ] && exec sleep 1000; echo "$SCELA_RANK $SCELA_NODE"'
        started = self.start_on(env, "-v", "--restart", 1, "-n", 2, "sh", "-c", text)
        started.ranks(2)
        self.listening(started)
        self.tell("down un001")
        ended = started.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un002", "1 un003"]), ended.err)

    def test_events_that_name_no_node_of_the_job_change_nothing(self):
        env = {**self.manager("nodes", "un001:1", "un002:1"), "GO": self.channel("go")}
        started = self.start_on(env, "-v", "-n", 1, "sh", "-c", WAIT)
        started.ranks(1)
        self.listening(started)
        for line in ("nameless", "down un00", "down -x", "down un002 un001", "down other"):
            self.tell(line)
        self.wait_said(started, "the resource manager says that other is lost: PMIX_EVENT_NODE_DOWN\n")
        release(env["GO"])
        ended = started.wait()
        self.assertEqual((ended.status, ended.lines), (0, ["0 ends"]))

    def test_a_loss_that_is_older_than_the_allocation_is_not_believed(self):
        """libpmix repeats events to tools that come later; the node may be back."""
        env = {**self.manager("nodes", "un001:1", "un002:1"), "GO": self.channel("go")}
        first = self.start_on(env, "-v", "sh", "-c", HOLD)
        first.ranks(2)
        self.listening(first)
        self.tell("down un002")
        self.assertEqual(first.wait().status, 68)
        second = self.start_on(env, "-v", "sh", "-c", WAIT)
        second.ranks(2)
        self.listening(second)
        self.wait_standstill()
        release(env["GO"])
        ended = second.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 ends", "1 ends"]), ended.err)

    def test_a_loss_before_the_agents_are_started_is_heard(self):
        env = self.manager("nodes", "un001:1", "un002:1")
        records = self.channel("records")
        started = self.start_on(env, "-v", f"--json={records}", "sh", "-c", HOLD)
        self.wait_said(started, "has no reader yet; waiting for one")  # the allocation is known
        self.tell("down un002")
        self.assert_script_is_there()  # the manager has raised the event
        with open(records, encoding="utf-8") as f:
            self.assertIn("PMIX_EVENT_NODE_DOWN", f.read())
        ended = started.wait()
        self.assertIn("the resource manager says that un002 is lost: PMIX_EVENT_NODE_DOWN\n", ended.err)
        self.assertIn(ended.status, (68, 71))

    def test_a_server_that_goes_while_the_job_runs_ends_nothing(self):
        env = {**self.manager("nodes", "un001:1", "un002:1"), "GO": self.channel("go")}
        started = self.start_on(env, "-v", "-n", 1, "sh", "-c", WAIT)
        started.ranks(1)
        self.listening(started)
        self.server.kill()
        self.wait_said(started, "losses of nodes are not heard from a PMIx server (any more): the PMIx server has closed its connection\n")
        release(env["GO"])
        ended = started.wait()
        self.assertEqual((ended.status, ended.lines), (0, ["0 ends"]))

    def test_losses_are_heard_beside_another_scheduler(self):
        env = {**self.manager("none"), **starters.install(self, "qrsh"), "JOB_ID": "7",
               "PE_HOSTFILE": self.file("pe_hostfile", "un001 1 q UNDEFINED\nun002 1 q UNDEFINED\n")}
        started = self.start("-v", "sh", "-c", HOLD, env=env)
        started.ranks(2)
        self.listening(started)
        self.tell("down un002")
        self.assert_ended(started.wait(), 68, r"rank 1 on un002 \(sh\) lost with its node: .*PMIX_EVENT_NODE_DOWN\)")

    def assert_runs_here(self, env, why, *arguments):
        """The job runs on this machine, quietly, and -v says why no allocation is used. With --launch pmix that is an error."""
        ended = self.run_job(*arguments, "-n", 1, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, ended.err, ended.lines), (0, "", [f"0 {HERE}"]))
        ended = self.run_job(*arguments, "-v", "-n", 1, "sh", "-c", SHOW, env=env)
        self.assertRegex(ended.err.splitlines()[0], "^scela-run: set aside: .*" + why)
        refused = self.run_job(*arguments, "--launch", "pmix", "-n", 1, "true", env=env)
        self.assertEqual((refused.status, refused.out), (64, b""))
        self.assertRegex(refused.last, "^scela-run: .*read the allocation of a PMIx server: .*" + why)

    def test_a_server_that_takes_no_tools_is_left_alone(self):
        env = self.manager("closed", "un001:2")
        self.assert_runs_here(env, "it does not say in PMIX_SERVER_TMPDIR that it takes tools")
        self.assert_script_is_there()

    def test_a_server_that_tells_no_allocation(self):
        self.assert_runs_here(self.manager("none"), "it tells none: NOT-SUPPORTED")
        self.assert_script_is_there()
        self.assert_runs_here(self.manager("empty"), "it has no nodes")

    def test_a_server_that_hangs_costs_a_bounded_time(self):
        for how in ("mute", "deaf"):
            self.assert_runs_here(self.manager(how, "un001:2"), r"has not ended within 500 ms \(--connect-timeout\)", "--connect-timeout", "500ms")
            self.assert_script_is_there()

    def test_a_server_that_dies_when_it_is_asked(self):
        env = self.manager("die", "un001:2")
        ended = self.run_job("-v", "-n", 1, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, ended.lines), (0, [f"0 {HERE}"]))
        self.assertRegex(ended.err.splitlines()[0], "^scela-run: set aside: .*the PMIx server has closed its connection")
        self.server.wait(DEADLINE_S)
        gone = self.run_job("-v", "-n", 1, "sh", "-c", SHOW, env=env)
        self.assertEqual((gone.status, gone.lines), (0, [f"0 {HERE}"]))
        self.assertRegex(gone.err.splitlines()[0], "^scela-run: set aside: .*connect as a tool to the PMIx server")

    def test_damaged_answers_are_refused(self):
        for kind, why in DAMAGED.items():
            with self.subTest(kind=kind):
                env = self.manager("damaged", kind)
                self.assert_runs_here(env, why)
                self.assert_script_is_there()

    def test_one_of_several_processes_of_a_job_does_not_take_all_hosts(self):
        env = self.manager("many", "un001:2", "un002:2")
        ended = self.run_job("-v", "-n", 1, "sh", "-c", SHOW, env=env)
        self.assertEqual((ended.status, ended.lines), (0, [f"0 {HERE}"]))
        self.assertRegex(ended.err.splitlines()[0], "scela-run is one of 4 processes of the job batch")
        self.assertIn("2 hosts, 4 slots", self.run_job("--launch", "pmix", "--dry-run", "true", env=env).lines[0])

    def test_the_server_of_mpirun_of_open_mpi_4_is_not_asked(self):
        env = self.manager("nodes", "un001:2")
        self.assert_runs_here({**env, "OMPI_MCA_orte_hnp_uri": "1.0;tcp://10.0.0.1:1"}, "which crashes if a tool connects to it")

    def test_ranks_of_mpirun_may_be_scela_run(self):
        if shutil.which("mpirun.openmpi") is None:
            self.skipTest("Open MPI is not installed")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        command = ["mpirun.openmpi", *root, "--oversubscribe", "-n", "2", os.environ["SCELA_RUN"], "-v", "-n", "2", "echo", "here"]
        ended = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, "here\n" * 4), ended.stderr)
        self.assertEqual(ended.stderr.count("set aside: PMIX_SERVER_URI41="), 2)

    def test_nested_jobs_ask_no_server_of_scela_run(self):
        text = 'exec "$0" -v -n 1 sh -c true'
        ended = self.run_job("--pmi", "pmix", "-n", 1, "sh", "-c", text, os.environ["SCELA_RUN"])
        self.assertEqual(ended.status, 0)
        self.assertNotIn("PMIX", ended.err)

    def test_nothing_is_missed_without_scela_pmix(self):
        env = self.manager("nodes", "un001:2")
        copy = os.path.join(self.folder, "scela-run")
        shutil.copy(os.environ["SCELA_RUN"], copy)
        ended = self.run_job("-n", 1, "sh", "-c", SHOW, env=env, executable=copy)
        self.assertEqual((ended.status, ended.err, ended.lines), (0, "", [f"0 {HERE}"]))
        ended = self.run_job("-n", 1, "--launch", "pmix", "true", env=env, executable=copy)
        self.assert_ended(ended, 64, r".*'scela-pmix --allocation --asked' cannot be run: find 'scela-pmix': No such file or directory.*")


if __name__ == "__main__":
    job.main()
