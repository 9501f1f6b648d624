"""Agents that join a job by themselves (scela-nla --join, scela-run --listen): in any order, with a key that both sides prove."""
import os
import re
import select
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
from joining import AGENT, KEY, SHOW, JoiningTest  # noqa: E402

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../docs/guide/in-kubernetes.md")


class JoinTest(JoiningTest):
    def test_agents_form_a_tree_in_any_order(self):
        names = [f"un{number:03}" for number in range(1, 8)]
        early = [self.agent(name, "--slots", "2") for name in reversed(names[:4])]
        for degree in (1, 2):
            run = self.listen("-n", 14, "--degree", degree, "sh", "-c", SHOW)
            agents = early + [self.agent(name, "--slots", "2") for name in names[4:]]
            ended = run.wait()
            self.assertEqual(ended.status, 0, ended.err)
            self.assertEqual(sorted(ended.lines), sorted(f"{rank} {names[rank // 2]}" for rank in range(14)))
            self.assertEqual([self.end_of(agent) for agent in agents], [(0, "")] * 7)
            early = [self.agent(name, "--slots", "2") for name in names[:4]]
        for agent in early:
            agent.kill()

    def test_the_commands_of_the_guide(self):
        with open(PAGE, encoding="utf-8") as f:
            blocks = re.findall(r"^```sh\n(.*?)^```$", f.read(), re.M | re.S)
        key, run, agents = (block.replace("7000", str(self.port)).replace("launcher", "localhost") for block in blocks)
        names = {"PATH": f"{os.path.dirname(AGENT)}:{self.environment['PATH']}"}
        text = f"set -e\n{key}\n{agents.strip().replace(chr(10), ' &' + chr(10))} &\n{run}wait\n"
        done = subprocess.run(["sh", "-c", text], cwd=self.folder, env={**self.environment, **names}, capture_output=True, text=True,
                              timeout=job.DEADLINE_S, check=False)
        self.assertEqual((done.returncode, sorted(done.stdout.split())), (0, ["worker-1", "worker-2"]), done.stderr)

    def test_late_comers_are_waited_for_until_there_are_enough(self):
        run = self.listen("--min-nodes", 2, "--ppn", 1, "sh", "-c", SHOW)
        self.wait_for(run, "0 hosts of 2")
        self.agent("un001")
        self.agent("un002")
        ended = run.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 un001", "1 un002"]))
        self.assertRegex(ended.err, rf"^scela-run: waiting for agents at 127.0.0.1:{self.port}: 0 hosts of 2; up to 120 s more \(--wait-hosts\)\n")

    def test_a_host_is_called_by_its_name_and_has_slots_for_its_processors(self):
        self.agent("")
        ended = self.listen("-n", 1, "sh", "-c", SHOW).wait()
        self.assertEqual((ended.status, ended.lines), (0, [f"0 {socket.gethostname()}"]))

    def test_a_name_is_looked_up_and_input_and_the_status_pass(self):
        self.agent("un001", host="localhost")
        data = os.urandom(100_000)
        path = self.file("input", "")
        with open(path, "wb") as f:
            f.write(data)
        with open(path, "rb") as f:
            ended = self.listen("-n", 1, "sh", "-c", "cat; exit 5", stdin=f).wait()
        self.assertEqual((ended.status, ended.out), (5, data))

    def test_a_wrong_key_is_refused_at_both_ends(self):
        wrong = self.file("wrong", KEY.replace("0", "1"))
        os.chmod(wrong, 0o600)
        run = self.listen("-n", 1, "sh", "-c", SHOW)
        status, err = self.end_of(self.agent("un009", key=wrong))
        self.assertEqual(status, 69)
        self.assertRegex(err, rf"^scela-nla: 127.0.0.1:{self.port}: join the job \(--join\): scela-run refuses: its key is another one \(compare the "
                         r"files of --key-file\) \(give both sides the same --key-file.*\)\n$")
        self.agent("un001")
        ended = run.wait()
        self.assertEqual((ended.status, ended.lines), (0, ["0 un001"]))
        self.assertIn("scela-run: refused an agent from 127.0.0.1: its key is another one (compare the files of --key-file)\n", ended.err)

    def test_a_scela_run_without_the_key_is_refused_by_the_agent(self):
        with socket.create_server(("127.0.0.1", self.port)) as listener:
            agent = self.agent("un001")
            connection, _ = listener.accept()
            with connection:
                connection.sendall(f"scela-join 1 {'a' * 64} {'b' * 64}\n".encode())
                self.assertTrue(connection.recv(1000).startswith(b"join "))
                connection.sendall(f"welcome {'c' * 64}\n".encode())
                status, err = self.end_of(agent)
        self.assertEqual(status, 69)
        self.assertIn("scela-run has another key", err)

    def test_refusals_and_strangers_are_bounded(self):
        run = self.listen("-n", 1, "sh", "-c", SHOW)
        self.wait_for(run, "waiting for agents")
        silent = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(300)]
        for connection in silent[-20:]:
            connection.recv(1000)
            connection.sendall(b"join nonsense\n")
            self.assertTrue(connection.recv(1000).startswith(b"refused "))
        self.agent("un001")
        ended = run.wait()
        for connection in silent:
            connection.close()
        self.assertEqual((ended.status, ended.lines), (0, ["0 un001"]))
        lines = [line for line in ended.err.splitlines() if "refused an agent" in line]
        self.assertEqual(len(lines), 10)
        self.assertTrue(lines[-1].endswith("further refusals are not shown"))

    def test_a_second_agent_of_a_name_is_refused(self):
        run = self.listen("--min-nodes", 2, "--ppn", 1, "sh", "-c", SHOW)
        first = self.agent("un001")
        second = self.agent("un001")
        ready, _, _ = select.select([first.stderr, second.stderr], [], [], job.DEADLINE_S)
        refused = first if first.stderr in ready else second
        status, err = self.end_of(refused)
        self.assertEqual(status, 69)
        self.assertIn("another agent has joined with the name un001", err)
        self.agent("un002")
        self.assertEqual(sorted(run.wait().lines), ["0 un001", "1 un002"])

    def test_too_few_agents_end_the_wait(self):
        agent = self.agent("un001")
        ended = self.listen("--min-nodes", 2, "--wait-hosts", "1s", "--ppn", 1, "true").wait()
        self.assert_ended(ended, 71, rf"127.0.0.1:{self.port}: wait for agents that join \(--listen\): 1 host of 2 \(start scela-nla --join on more "
                          r"hosts, or wait longer \(--wait-hosts\)\)")
        self.end_of(agent)

    def test_an_agent_that_finds_no_scela_run_ends(self):
        status, err = self.end_of(self.agent("un001", "--join-timeout", "1"))
        self.assertEqual(status, 69)
        self.assertRegex(err, rf"port {self.port}: Connection refused.*no scela-run --listen took this agent within 1 s \(--join-timeout\)")
        status, err = self.end_of(self.agent("un001", "--join-timeout", "0", host="no-such-name.invalid"))
        self.assertEqual(status, 69)
        self.assertIn("the name 'no-such-name.invalid' is not known", err)

    def test_a_killed_agent_ends_the_job_and_a_killed_scela_run_the_agents(self):
        agents = [self.agent(name) for name in ("un001", "un002")]
        run = self.listen("--min-nodes", 2, "--ppn", 1, "sh", "-c", job.HOLD)
        run.ranks(2)
        run.signal(9)
        run.process.wait()
        for agent in agents:
            self.end_of(agent)
        agents = [self.agent(name) for name in ("un001", "un002")]
        run = self.listen("--min-nodes", 2, "--ppn", 1, "sh", "-c", job.HOLD)
        run.ranks(2)
        agents[1].kill()
        self.assertNotEqual(run.wait().status, 0)

    def job_of_two(self):
        """Two agents, and a job whose two ranks run until they are ended."""
        agents = [self.agent(name) for name in ("un001", "un002")]
        run = self.listen("--min-nodes", 2, "--ppn", 1, "sh", "-c", job.HOLD)
        run.ranks(2)
        return agents, run

    def test_the_status_of_an_agent_does_not_tell_how_the_job_ended(self):
        for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            agents, run = self.job_of_two()
            run.signal(signo)
            self.assertEqual(run.wait().status, 128 + signo)
            self.assertEqual([self.end_of(agent) for agent in agents], [(0, "")] * 2)
            agents, run = self.job_of_two()
            agents[1].send_signal(signo)
            self.assertEqual(run.wait().status, 128 + signal.SIGTERM)
            self.assertEqual([self.end_of(agent) for agent in agents], [(0, "")] * 2)
        agents = [self.agent("un001")]
        self.assertEqual(self.listen("--ppn", 1, "sh", "-c", "exit 3").wait().status, 3)
        self.assertEqual(self.end_of(agents[0]), (0, ""))

    def test_keys_and_options_that_cannot_be_used_are_refused(self):
        os.chmod(self.key, 0o644)
        self.assert_ended(self.listen("true").wait(), 64, rf"{self.key}: read the key \(--key-file\): others may read or change it \(chmod 600 {self.key}\)")
        status, err = self.end_of(self.agent("un001"))
        self.assertEqual(status, 64)
        self.assertIn("others may read or change it", err)
        os.chmod(self.key, 0o600)
        self.assert_ended(self.run_job("--listen", "7000", "true"), 64, r"option --listen: agents must prove a key \(name its file with --key-file FILE\)")
        self.assert_ended(self.run_job("--listen", "x", "--key-file", self.key, "true"), 64, r"x: listen for agents .*it is no PORT.*")
        self.assert_ended(self.listen("-w", "a", "true").wait(), 64, r"option --listen and options that name hosts.*")
        for words, said in ((["--slots", "-3"], "option --slots: '-3' is no number"), (["--slots", "0"], "option --slots: give a number from 1 to"),
                            (["--join-timeout", "2m"], "option --join-timeout: '2m' is no number"), (["--colour", "red"], "option --colour is not known"),
                            (["--name"], "option --name has no value"),
                            *((["--name", name], "option --name: the name of a host has 1 to 253 letters, digits") for name in
                              ("", "a b", "a\nb", "a,b", "un[1-2]", "-a", "a" * 300)), ([], r"name its file with --key-file FILE")):
            key = ["--key-file", self.key] if words else []
            done = subprocess.run([AGENT, "--join", "127.0.0.1:1", *key, *words], capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)
            self.assertEqual((done.returncode, done.stdout), (64, ""), words)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    job.main()
