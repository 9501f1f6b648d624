"""Agents that have joined a job: those that lose their parent, come again for the next start, or come late."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
from joining import AGENT, KEY, SHOW, JoiningTest  # noqa: E402
from test_spawn import CLIENT  # noqa: E402

# Ranks of the first start wait for a word and fail or hold; those of the next starts show where they are.
RESTARTED = f'[ $SCELA_RESTART_COUNT = 0 ] || {{ {SHOW}; exit; }}; {job.TELL}read -r x < "$0"; [ "$SCELA_RANK" != "$1" ] || exit 3; exec sleep 1000'
# Rank 0 waits for a word, and then has a rank spawned on the named host.
SPAWN = CLIENT + """
if spawned:
    show("spawned on", os.environ["SCELA_NODE"])
else:
    open(os.environ["E2E_READY"], "w").write(f"{rank} {os.getpid()}\\n")
    open(sys.argv[1]).readline()
    show(spawn([(1, [sys.executable, sys.argv[0]], {"host": sys.argv[2]})], {})["rc"])
finalize()
"""


class RejoinTest(JoiningTest):
    def setUp(self):
        super().setUp()
        self.go = os.path.join(self.folder, "go")
        os.mkfifo(self.go)
        self.going = os.open(self.go, os.O_RDWR)
        self.addCleanup(os.close, self.going)

    def release(self):
        os.write(self.going, b"word\n" * 20)

    def begin_tree(self, *options):
        """Seven nodes of degree 2, whose ranks wait for a word: un001 (un002 (un003), un004), un005 (un006, un007)."""
        agents = {f"un{number:03}": self.agent(f"un{number:03}") for number in range(1, 8)}
        run = self.listen("--min-nodes", 7, "--degree", 2, "--ppn", 1, *options, "sh", "-c", f'{job.TELL}read -r x < "$0"; {SHOW}', self.go)
        run.ranks(7)
        return agents, run

    def test_children_of_a_lost_agent_go_on_below_another_one(self):
        agents, run = self.begin_tree("--on-failure", "wait")
        nodes = run.nodes()
        os.kill(nodes["un001"].agent, signal.SIGKILL)  # scela-run adopts
        self.end_of(agents["un001"])
        os.kill(nodes["un005"].agent, signal.SIGSTOP)
        self.end_of(agents["un005"])
        self.release()
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (68, [f"{rank} un{rank + 1:03}" for rank in (1, 2, 3, 5, 6)]), ended.err)
        self.assertIn("5 ranks exited with code 0", ended.err)

    def test_scela_run_is_killed_after_an_adoption_of_joined_agents(self):
        agents, run = self.begin_tree("--on-failure", "wait")
        os.kill(run.nodes()["un001"].agent, signal.SIGKILL)
        self.end_of(agents["un001"])
        run.signal(signal.SIGKILL)
        run.process.wait()
        for agent in agents.values():
            self.end_of(agent)

    def test_without_time_for_an_adoption_ranks_below_a_lost_agent_are_lost(self):
        agents, run = self.begin_tree("--on-failure", "wait", "--adopt-timeout", 0)
        os.kill(run.nodes()["un001"].agent, signal.SIGKILL)
        self.end_of(agents["un001"])
        self.release()
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (68, ["4 un005", "5 un006", "6 un007"]), ended.err)
        self.assertRegex(ended.err, "4 ranks lost with (its|their) nodes?: 0-3")

    def other_build(self):
        """An agent with another build id."""
        with open(AGENT, "rb") as f:
            program = bytearray(f.read())
        at = program.index(b"\x03\0\0\0GNU\0") + 8
        program[at] ^= 1
        path = os.path.join(self.folder, "scela-nla")
        with open(path, "wb") as f:
            f.write(program)
        os.chmod(path, 0o755)
        return path

    def begin_restarted(self, names, *options, failing=""):
        agents = {name: self.agent(name, "--slots", "1") for name in names}
        run = self.listen("-n", len(names), "--restart", 2, *options, "sh", "-c", RESTARTED, self.go, failing)
        run.ranks(len(names))
        self.begun = len(run.err())
        return agents, run

    def test_agents_come_again_for_the_next_start(self):
        names = ["un001", "un002", "un003"]
        agents, run = self.begin_restarted(names, "--degree", 2, failing="1")
        self.release()
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un001", "1 un002", "2 un003"]), ended.err)
        self.assertIn("scela-run: restart 1 of 2: rank 1 on un002 (sh) exited with code 3", ended.err)
        self.assertEqual([self.end_of(agent) for agent in agents.values()], [(0, "")] * 3)

    def test_a_late_agent_is_a_spare_for_the_next_start(self):
        agents, run = self.begin_restarted(["un002", "un003"], "--verbose=launch")
        late = self.agent("un001", "--slots", "1")
        self.wait_for(run, "the agent of un001 has joined late: it waits for the next start of the job, or for ranks that are spawned")
        os.kill(run.nodes()["un002"].agent, signal.SIGKILL)
        self.assertEqual(self.end_of(agents["un002"]), (1, ""))
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un003", "1 un001"]), ended.err)
        self.assertIn("restart 1 of 2 without un002: ", ended.err)
        self.assertEqual([self.end_of(agent) for agent in (late, agents["un003"])], [(0, "")] * 2)

    def test_a_restart_waits_for_an_agent_in_the_place_of_a_lost_one(self):
        agents, run = self.begin_restarted(["un001", "un002"])
        agents["un001"].kill()
        self.wait_for(run, "waiting for agents at ", self.begun)
        self.agent("un001", "--slots", "1")  # the machine was started again
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un002", "1 un001"]), ended.err)

    def test_ranks_are_spawned_on_the_host_of_a_late_agent(self):
        self.agent("un001")
        script = self.file("spawn.py", SPAWN)
        run = self.listen("-n", 1, "--verbose=launch", job.PYTHON, script, self.go, "un002")
        run.ranks(1)
        self.agent("un002")
        self.wait_for(run, "the agent of un002 has joined late: it waits for ranks that are spawned")
        self.release()
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0", "spawned on un002"]), ended.err)

    def test_a_late_agent_that_no_part_of_the_job_needs_is_told_so(self):
        self.agent("un001")
        run = self.listen("-n", 1, "--no-spawn", "sh", "-c", job.HOLD)
        run.ranks(1)
        status, err = self.end_of(self.agent("un002"))
        self.assertEqual((status, err), (75, f"scela-nla: 127.0.0.1:{self.port}: join the job (--join): the job has begun, and needs no more hosts "
                                             "(join again for the next job)\n"))
        run.signal(signal.SIGTERM)
        run.wait()

    def test_a_late_agent_with_another_key_or_build_or_a_name_that_is_taken_is_refused(self):
        wrong = self.file("wrong", KEY.replace("0", "1"))
        os.chmod(wrong, 0o600)
        _, run = self.begin_restarted(["un001"], failing="0")
        for name, key, why in (("un002", wrong, "its key is another one"), ("un001", self.key, "another agent has joined with the name un001")):
            status, err = self.end_of(self.agent(name, key=key))
            self.assertEqual(status, 69)
            self.assertIn(f"scela-run refuses: {why}", err)
        status, err = self.end_of(self.agent("un002", program=self.other_build()))
        self.assertEqual(status, 69)
        self.assertRegex(err, r"scela-run refuses: it is of build \w+, and scela-run of build \w+: install one version on all machines")
        self.release()
        ended = run.wait()
        self.assertEqual((ended.status, ended.lines), (0, ["0 un001"]), ended.err)
        self.assertIn("scela-run: refused an agent from 127.0.0.1: its key is another one (compare the files of --key-file)\n", ended.err)

    def test_a_late_agent_that_goes_is_no_spare(self):
        _, run = self.begin_restarted(["un002"], "--verbose=launch", failing="0")
        late = self.agent("un001", "--slots", "1")
        self.wait_for(run, "the agent of un001 has joined late")
        late.kill()
        self.wait_for(run, "the agent of un001, which was not used, has gone")
        self.release()
        ended = run.wait()
        self.assertEqual((ended.status, ended.lines), (0, ["0 un002"]), ended.err)

    def test_a_killed_scela_run_leaves_no_agent_that_waits_for_the_next_start(self):
        agents, run = self.begin_restarted(["un001", "un002"], failing="0")
        agents["un002"].kill()
        self.release()
        self.wait_for(run, "waiting for agents at ", self.begun)  # un001 has come again
        run.signal(signal.SIGKILL)
        run.process.wait()
        self.assertEqual(self.end_of(agents["un001"]), (69, f"scela-nla: 127.0.0.1:{self.port}: scela-run has ended while this agent waited for the start\n"))

    def test_an_agent_that_is_told_to_end_does_not_come_again(self):
        agents, run = self.begin_restarted(["un001", "un002"])
        agents["un001"].terminate()
        self.end_of(agents["un001"])
        self.wait_for(run, "waiting for agents at ", self.begun)
        agents["un002"].terminate()  # while it waits for the next start
        self.end_of(agents["un002"])
        self.wait_for(run, "the agent of un002 has gone before the job began")
        run.signal(signal.SIGTERM)
        run.wait()


if __name__ == "__main__":
    job.main()
