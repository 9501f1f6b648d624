"""Nothing of a job stays behind, whatever ends it. What is left is looked for after each test, by JobTest."""
import os
import signal
import time

import job
from job import JobTest

# On the plain job all ranks sleep. On the stubborn one each starts a daemon (forked twice, a session of its own)
# that ignores signals, ignores them too, and then rank 1 of each node stops itself.
SLEEPER = job.HOLD
STUBBORN = ("trap '' TERM INT HUP; setsid sh -c 'sleep 1000 & echo \"daemon $!\" > \"$E2E_READY\"; exit 0' & wait; " +
            job.TELL + '[ "$SCELA_LOCAL_RANK" = 0 ] || kill -STOP $$; while :; do sleep 1000; done')
DAEMON = ("(trap '' TERM INT HUP; setsid sh -c 'sleep 1000 & echo \"daemon $!\" > \"$E2E_READY\"; exit 0' & wait); ")
NODES, PPN = 7, 2  # of degree 2: sim0 (sim1 (sim2), sim3), sim4 (sim5, sim6)
LEAF, MIDDLE, INNER = "sim2", "sim1", "sim0"


class NothingLeftTest(JobTest):
    def hold(self, program, *options):
        """Starts a job on a tree of three levels, and waits until all of it is there."""
        running = self.start("--sim-nodes", NODES, "--degree", 2, "--ppn", PPN, "--grace", 1, *options,
                             "sh", "-c", program)
        expected = NODES * PPN * (2 if program == STUBBORN else 1)
        told = running.news(expected)
        self.assertEqual(len([one for one in told if one[0] != "daemon"]), NODES * PPN)
        return running

    def hold_for_hours(self, program):
        """Two nodes of two ranks, a daemon each; told_ranks are the ranks' processes."""
        running = self.start("--sim-nodes", 2, "--degree", 1, "--ppn", 2, "--grace", 10000, "sh", "-c", program)
        told = running.news(8)
        self.told_ranks = [int(pid) for rank, pid in told if rank != "daemon"]
        self.assertEqual(len(self.told_ranks), 4)
        return running

    def ended_by_signal(self, program, signo, status):
        running = self.hold(program)
        running.signal(signo)
        self.assertEqual(running.wait().status, status)

    def ended_by_loss(self, program, node, process, signo):
        running = self.hold(program)
        os.kill(getattr(running.nodes()[node], process), signo)
        ended = running.wait()
        self.assertEqual(ended.status, 68, ended.err)
        self.assertRegex(ended.last, rf"^scela-run: rank \d+ on sim\d \(sh\) lost with its node: .*{node}")

    def ended_by_rank(self, program, status):
        channel = self.channel("go")
        failing = f'if [ "$SCELA_RANK" = 5 ]; then {job.TELL} read -r x < "$0"; kill -SEGV $$; fi; '
        running = self.start("--sim-nodes", NODES, "--degree", 2, "--ppn", PPN, "--grace", 1, "sh", "-c",
                             failing + program, channel)
        running.news((NODES * PPN - 1) * (2 if program == STUBBORN else 1) + 1)
        job.release(channel)
        self.assertEqual(running.wait().status, status)

    def test_after_a_normal_end(self):
        self.succeed("--sim-nodes", NODES, "--degree", 2, "--ppn", PPN, "true")

    def test_after_a_normal_end_of_ranks_that_leave_daemons(self):
        program = "setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' & " + job.TELL
        ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "--grace", "0.2", "sh", "-c", program)
        self.assertEqual((ended.status, ended.err), (0, ""))

    def test_after_a_normal_end_of_ranks_that_leave_daemons_holding_their_output(self):
        program = "setsid sh -c 'trap \"\" TERM; while sleep 1000; do :; done' & echo rank"
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "--grace", "0.2", "sh", "-c", program)
        self.assertEqual((ended.status, ended.out, ended.err), (0, b"rank\nrank\n", ""))

    def test_after_a_normal_end_of_ranks_that_leave_daemons_without_their_environment(self):
        program = "env -i setsid sleep 1000 & echo \"$SCELA_RANK $!\" > \"$E2E_READY\"; exit 0"
        running = self.start("--sim-nodes", 2, "--ppn", 1, "sh", "-c", program)
        daemons = running.ranks(2).values()
        self.assertEqual(running.wait().status, 0)
        self.assertEqual([job.process(pid) for pid in daemons], [None, None])

    def test_after_ranks_fill_their_nodes_directory(self):
        program = 'cd "$SCELA_NODE_DIR" && mkdir -p a/b; echo x > "a/b/$SCELA_RANK"; chmod 500 a'
        self.succeed("--sim-nodes", 2, "--ppn", 2, "sh", "-c", program)

    def test_after_a_rank_runs_an_agent_of_its_own(self):
        # It leads a session and runs the agents' program, as other nodes' agents do.
        program = f'mkfifo "$E2E_READY.link"; setsid {os.environ["SCELA_AGENT"]} --link-fd 0 --name x 0<>"$E2E_READY.link" & '
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "--grace", "0.2", "sh", "-c",
                             'cd "$SCELA_NODE_DIR"; E2E_READY=$PWD/x; ' + program + "exit 0")
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(self.processes(), [])

    def test_keys_are_in_no_core_file(self):
        # A rank's own limit is what it was. The processes that hold keys leave no core file where a rank leaves one.
        running = self.start("--sim-nodes", 2, "--ppn", 1, "sh", "-c", 'echo "$(ulimit -c) $$" > "$E2E_READY"; exec sleep 1000', before=["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh"])
        limits, ranks = zip(*running.news(2))
        self.assertEqual(limits, ("unlimited",) * 2)
        node = running.nodes()["sim1"]
        # All three are stopped first: none of them may end, because another has, before its own signal comes.
        holders = (node.guardian, node.agent, running.pid)
        for signo in (signal.SIGSTOP, signal.SIGSEGV, signal.SIGCONT):
            for pid in holders:
                os.kill(pid, signo)
        self.assertEqual(job.wait_gone(map(int, ranks), time.monotonic() + job.DEADLINE_S), [])
        self.assertEqual(running.wait().status, -signal.SIGSEGV)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("core")], [])
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as f:
            leaves_files = f.read().strip() == "core"
        if leaves_files:
            ended = self.run_job("-n", 1, "sh", "-c", "kill -SEGV $$", before=["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh"])
            self.assertRegex(ended.err, "core dumped")

    def test_after_a_guardian_was_stopped_and_its_agent_killed(self):
        running = self.hold(SLEEPER)
        node = running.nodes()[MIDDLE]
        os.kill(node.guardian, signal.SIGSTOP)
        os.kill(node.agent, signal.SIGKILL)
        ended = running.wait()
        self.assertEqual(ended.status, 68, ended.err)

    def test_after_guardians_were_stopped(self):
        running = self.hold(SLEEPER)
        for node in running.nodes().values():
            os.kill(node.guardian, signal.SIGSTOP)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_after_a_ranks_segmentation_fault(self):
        self.ended_by_rank(SLEEPER, 139)

    def test_after_a_ranks_segmentation_fault_among_stubborn_ranks(self):
        self.ended_by_rank(STUBBORN, 139)

    def test_after_sigint(self):
        self.ended_by_signal(SLEEPER, signal.SIGINT, 130)

    def test_after_sigint_with_stubborn_ranks(self):
        self.ended_by_signal(STUBBORN, signal.SIGINT, 130)

    def test_after_a_second_sigint_at_once(self):
        # With a grace of hours, and with daemons that ignore everything. Rank 0 tells that the first signal came.
        trap = 'if [ "$SCELA_RANK" = 0 ]; then trap \'echo heard > "$E2E_READY"\' INT; else trap "" INT; fi; '
        text = DAEMON + "trap '' TERM; " + trap + job.TELL + "while :; do sleep 1000 & wait $!; done"
        running = self.hold_for_hours(text)
        running.signal(signal.SIGINT)
        running.news(1)
        running.signal(signal.SIGINT)
        self.assertEqual(running.wait().status, 130)
        self.assertEqual(self.processes(), [])

    def test_after_a_second_sigint_when_only_daemons_are_left(self):
        running = self.hold_for_hours(DAEMON + job.HOLD)
        ranks = self.told_ranks
        running.signal(signal.SIGINT)
        self.assertEqual(job.wait_gone(ranks, time.monotonic() + job.DEADLINE_S), [])
        self.wait_standstill()
        running.signal(signal.SIGINT)
        self.assertEqual(running.wait().status, 130)
        self.assertEqual(self.processes(), [])

    def test_after_sigterm(self):
        self.ended_by_signal(SLEEPER, signal.SIGTERM, 143)

    def test_after_sigterm_with_stubborn_ranks(self):
        self.ended_by_signal(STUBBORN, signal.SIGTERM, 143)

    def test_after_sigkill_to_scela_run(self):
        self.ended_by_signal(SLEEPER, signal.SIGKILL, -9)

    def test_after_sigkill_to_scela_run_with_stubborn_ranks(self):
        self.ended_by_signal(STUBBORN, signal.SIGKILL, -9)

    def test_after_sigkill_to_scela_run_while_it_starts(self):
        running = self.start("--sim-nodes", 32, "--degree", 2, "--ppn", 4, "sh", "-c", SLEEPER)
        running.news(1)
        running.signal(signal.SIGKILL)
        self.assertEqual(running.wait().status, -9)

    def test_after_sigkill_to_scela_run_with_a_start_command_that_goes_on_without_input(self):
        starter = self.script("starter", 'sh -c "$2"; exec sleep 1000')
        running = self.start("--launch", f"rsh:{starter}", "-w", "host1,host2", "--ppn", 1, "sh", "-c", SLEEPER)
        running.news(2)
        running.signal(signal.SIGKILL)
        self.assertEqual(running.wait().status, -9)

    def test_after_the_time_limit_with_stubborn_ranks(self):
        running = self.hold(STUBBORN, "--timeout", 2)
        self.assertEqual(running.wait().status, 124)

    def test_after_sigkill_to_a_leaf_agent(self):
        self.ended_by_loss(SLEEPER, LEAF, "agent", signal.SIGKILL)

    def test_after_sigkill_to_a_leaf_agent_with_stubborn_ranks(self):
        self.ended_by_loss(STUBBORN, LEAF, "agent", signal.SIGKILL)

    def test_after_sigkill_to_an_inner_agent(self):
        self.ended_by_loss(SLEEPER, INNER, "agent", signal.SIGKILL)

    def test_after_sigkill_to_an_inner_agent_with_stubborn_ranks(self):
        self.ended_by_loss(STUBBORN, INNER, "agent", signal.SIGKILL)

    def test_after_sigkill_to_a_leafs_guardian(self):
        self.ended_by_guardian(SLEEPER, LEAF)

    def test_after_sigkill_to_a_leafs_guardian_with_stubborn_ranks(self):
        self.ended_by_guardian(STUBBORN, LEAF)

    def test_after_sigkill_to_an_inner_guardian(self):
        self.ended_by_guardian(SLEEPER, INNER)

    def test_after_sigkill_to_an_inner_guardian_with_stubborn_ranks(self):
        self.ended_by_guardian(STUBBORN, INNER)

    def ended_by_guardian(self, program, node):
        running = self.hold(program)
        os.kill(running.nodes()[node].guardian, signal.SIGKILL)
        ended = running.wait()
        self.assertEqual(ended.status, 68, ended.err)
        self.assertRegex(ended.last, rf"^scela-run: .*{node}.*")

    def ended_by_both(self, program, node):
        """An agent and its guardian are killed together: whoever is above must end that node's ranks."""
        running = self.hold(program)
        lost = running.nodes()[node]
        job.kill_together(lost)
        ended = running.wait()
        self.assertEqual(ended.status, 68, ended.err)
        self.assertRegex(ended.last, rf"^scela-run: rank \d+ on sim\d \(sh\) lost with its node: .*{node}")
        self.assertRegex(ended.err, r"(?m)^scela-run:   failed nodes: sim")

    def test_after_sigkill_to_agent_and_guardian_of_a_leaf_with_stubborn_ranks(self):
        self.ended_by_both(STUBBORN, LEAF)

    def test_after_sigkill_to_agent_and_guardian_below_the_root_with_stubborn_ranks(self):
        self.ended_by_both(STUBBORN, INNER)

    def test_after_sigkill_to_agent_and_guardian_in_the_middle_with_stubborn_ranks(self):
        self.ended_by_both(STUBBORN, MIDDLE)

    def test_after_sigstop_of_a_leaf_agent(self):
        self.ended_by_loss(SLEEPER, LEAF, "agent", signal.SIGSTOP)

    def test_after_sigstop_of_a_leaf_agent_with_stubborn_ranks(self):
        self.ended_by_loss(STUBBORN, LEAF, "agent", signal.SIGSTOP)

    def test_after_sigstop_of_an_inner_agent(self):
        self.ended_by_loss(SLEEPER, INNER, "agent", signal.SIGSTOP)

    def test_after_sigstop_of_an_inner_agent_with_stubborn_ranks(self):
        self.ended_by_loss(STUBBORN, INNER, "agent", signal.SIGSTOP)

    def test_after_sigterm_to_a_guardian(self):
        running = self.hold(STUBBORN)
        os.kill(running.nodes()[LEAF].guardian, signal.SIGTERM)
        self.assertNotEqual(running.wait().status, 0)

    def test_after_sigkill_to_every_agent_at_once(self):
        running = self.hold(STUBBORN)
        for node in running.nodes().values():
            os.kill(node.agent, signal.SIGKILL)
        self.assertEqual(running.wait().status, 68)

    def test_after_sigkill_to_scela_run_and_every_agent(self):
        running = self.hold(STUBBORN)
        nodes = running.nodes()
        running.signal(signal.SIGKILL)
        for node in nodes.values():
            os.kill(node.agent, signal.SIGKILL)
        self.assertEqual(running.wait().status, -9)


if __name__ == "__main__":
    job.main()
