"""A wait before the job begins that a signal or --timeout ends: for agents that join, and for a program that names hosts."""
import json
import os
import select
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
import starters  # noqa: E402
from joining import SHOW, JoiningTest  # noqa: E402

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def cause(signo, waiting):
    """The last line of a wait that this signal has ended, as a pattern."""
    return rf"interrupted by signal {int(signo)} \({signo.name}, [A-Za-z ]+\) while {waiting}; the start was given up"


class GivenUpTest(JoiningTest):
    def setUp(self):
        super().setUp()
        self.env = starters.install(self, "podman")

    def joined(self, name):
        """Starts an agent, and returns it once scela-run has it: then a second one of the name is refused."""
        both = [self.agent(name), self.agent(name)]
        ready, _, _ = select.select([agent.stderr for agent in both], [], [], job.DEADLINE_S)
        self.assertEqual(len(ready), 1)
        refused = both[both[0].stderr not in ready]
        self.assertIn("another agent has joined", self.end_of(refused)[1])
        return both[refused is both[0]]

    def await_in_vain(self, agent):
        self.assertEqual(self.end_of(agent), (69, f"scela-nla: 127.0.0.1:{self.port}: scela-run has ended while this agent waited for the start\n"))

    def records(self, path):
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def asked(self, text, *words, name="discover_hosts.sh"):
        """A scela-run that asks a script of this text, which tells $E2E_READY that it runs."""
        return self.start("--launch", "podman", "--host-discovery-script", self.script(name, text), *words, env=self.env)

    def test_a_signal_ends_the_wait_for_agents_which_are_told(self):
        for signo in ENDING:
            records = self.file(f"records-{signo.name}")
            run = self.listen("--min-nodes", 2, "--ppn", 1, f"--json={records}", "true")
            agent = self.joined("un001")
            run.signal(signo)
            ended = run.wait()
            # An agent that has its name does not count yet until it has said what its host has.
            words = cause(signo, rf"waiting for agents at 127.0.0.1:{self.port}: (0 hosts|1 host) of 2")
            self.assert_ended(ended, 128 + signo, words)
            self.await_in_vain(agent)
            first, last = self.records(records)
            self.assertEqual((first["type"], first["commands"], first["ranks"]), ("job", [["true"]], 0))
            self.assertEqual((last["type"], last["exit_status"]), ("end", 128 + signo))
            self.assertRegex(last["cause"], words)

    def test_agents_are_told_if_too_few_have_come_or_scela_run_is_killed(self):
        run = self.listen("--min-nodes", 2, "--wait-hosts", "1h", "--ppn", 1, "true")
        agent = self.joined("un001")
        run.signal(signal.SIGKILL)
        run.process.wait()
        self.await_in_vain(agent)
        agent = self.agent("un001")
        records = self.file("records")
        ended = self.listen("--min-nodes", 2, "--wait-hosts", "1s", "--ppn", 1, f"--json={records}", "true").wait()
        self.assertEqual(ended.status, 71)
        self.await_in_vain(agent)
        first, last = self.records(records)
        self.assertEqual((first["type"], first["commands"], first["ranks"]), ("job", [["true"]], 0))
        self.assertEqual((last["type"], last["exit_status"], last["hosts"], last["ranks"]), ("end", 71, {}, {}))
        self.assertIn(f"scela-run: {last['cause']}\n", ended.err)

    def test_a_spare_that_the_job_did_not_need_ends_well(self):
        go = os.path.join(self.folder, "go")
        os.mkfifo(go)
        agents = [self.agent("un001")]
        run = self.listen("-n", 1, "--restart", 1, "--verbose=launch", "sh", "-c", f'{job.TELL}read -r x < "$0"', go)
        run.ranks(1)
        agents.append(self.agent("un002"))
        self.wait_for(run, "the agent of un002 has joined late")
        with open(go, "w", encoding="ascii") as f:
            f.write("go\n")
        self.assertEqual(run.wait().status, 0)
        self.assertEqual([self.end_of(agent) for agent in agents], [(0, "")] * 2)

    def test_signals_for_ranks_and_stacks_do_nothing_while_agents_are_awaited(self):
        for signo in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
            run = self.listen("--min-nodes", 2, "--ppn", 1, "echo", "ran")
            self.wait_for(run, "waiting for agents")
            run.signal(signo)
            agents = [self.agent("un001"), self.agent("un002")]
            ended = run.wait()
            self.assertEqual((ended.status, ended.lines), (0, ["ran", "ran"]), ended.err)
            self.assertEqual([self.end_of(agent)[0] for agent in agents], [0, 0])

    def test_a_hangup_that_nohup_ignores_ends_no_wait(self):
        run = self.listen("--min-nodes", 2, "--ppn", 1, "true", before=["nohup"])
        self.wait_for(run, "waiting for agents")
        run.signal(signal.SIGHUP)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait().status, 128 + signal.SIGTERM)

    def test_the_time_limit_covers_the_wait(self):
        ended = self.listen("--timeout", "300ms", "--min-nodes", 2, "--ppn", 1, "true").wait()
        self.assert_ended(ended, 124, rf"the job reached its time limit of 300 ms \(--timeout\) while waiting for agents at 127.0.0.1:{self.port}: "
                          r"0 hosts of 2; the start was given up")
        run = self.asked("echo worker-0:1", "--timeout", "300ms", "--wait-hosts", "1h", "-n", 2, "true")
        self.assert_ended(run.wait(), 124, r"the job reached its time limit of 300 ms \(--timeout\) while waiting for hosts of '.*': it names 1 host with "
                          r"1 slot for 2 ranks; the start was given up")

    def test_a_signal_ends_a_program_that_names_hosts_with_all_that_it_has_started(self):
        text = f'trap "" TERM; {{ setsid sleep 1000 & sleep 1000 & }}; echo "0 $$" > "${job.READY}"; wait; sleep 1000'
        for signo in (*ENDING, signal.SIGKILL):
            run = self.asked(text, "-n", 2, "true")
            run.news(1)
            run.signal(signo)
            ended = run.wait()
            if signo != signal.SIGKILL:
                self.assert_ended(ended, 128 + signo, cause(signo, r"waiting for hosts of '.*discover_hosts.sh'"))
            self.wait_nothing_runs()

    def test_what_a_program_that_ends_by_itself_has_started_stays(self):
        held = self.file("held")
        ended = self.asked(f'sleep 1000 > /dev/null 2>&1 & echo $! > {held}; echo worker-0:1', "-n", 1, "sh", "-c", SHOW).wait()
        self.assertEqual((ended.status, ended.lines), (0, ["0 worker-0"]), ended.err)
        with open(held, encoding="ascii") as f:
            os.kill(int(f.read()), signal.SIGKILL)

    def test_a_signal_ends_the_wait_for_the_next_start(self):
        names = self.file("names", "worker-0:1\n")
        run = self.asked(f"cat {names}", "--wait-hosts", "1h", "--restart", 1, "-n", 1, "sh", "-c", f": > {names}; exit 3")
        self.wait_for(run, "it names no host")
        run.signal(signal.SIGTERM)
        self.assert_ended(run.wait(), 128 + signal.SIGTERM, cause(signal.SIGTERM, "waiting for hosts of '.*': it names no host"))

    def with_config(self, *words):
        """A scela-run that looks for two hosts and waits for none. A command of its ssh configuration hangs until go_on()."""
        path = os.path.join(self.folder, "go")
        os.mkfifo(path)
        self.go = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.addCleanup(os.close, self.go)
        hangs = self.script("hangs", f'echo 0 $$ > "${job.READY}"; read -r line < "{path}"')
        return self.start("-w", "n[1-2].invalid", "--ssh-config", self.file("config", f'Match exec "{hangs}"\n  User them\n'), *words, "true")

    def go_on(self):
        os.write(self.go, b"go\n")

    def test_a_signal_ends_a_search_for_hosts_that_are_not_waited_for(self):
        records = self.file("records")
        run = self.with_config(f"--json={records}")
        run.news(1)
        run.signal(signal.SIGUSR1)
        run.signal(signal.SIGTERM)
        self.assert_ended(run.wait(), 128 + signal.SIGTERM, cause(signal.SIGTERM, "waiting for 2 hosts"))
        self.assertEqual(self.records(records)[-1]["exit_status"], 128 + signal.SIGTERM)
        self.go_on()

    def test_a_signal_ends_the_reading_of_a_configuration_that_has_no_end(self):
        path = os.path.join(self.folder, "fifo")
        os.mkfifo(path)
        run = self.start("-w", "n1.invalid", "--ssh-config", path, "true")
        with open(path, "wb"):  # scela-run has it open then
            run.signal(signal.SIGTERM)
            self.assert_ended(run.wait(), 128 + signal.SIGTERM, cause(signal.SIGTERM, "waiting for 1 host"))

    def test_the_time_limit_covers_a_search_for_hosts_that_are_not_waited_for(self):
        ended = self.with_config("--timeout", "300ms").wait()
        self.assert_ended(ended, 124, r"the job reached its time limit of 300 ms \(--timeout\) while waiting for 2 hosts; the start was given up")
        self.go_on()


if __name__ == "__main__":
    job.main()
