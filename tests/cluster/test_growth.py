"""Ranks spawned on hosts that had no agent when the job began."""
import os
import signal
import sys
import time

import case
from case import DEADLINE_S
from jobs import JobTest, UNREACHABLE

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawning_rank.py")
ALL = ("-w", "node[001-008]", "-n", "1", "--degree", "2")


class GrowthTest(JobTest):
    def words(self, *spawns, options=()):
        return (*ALL, *options, sys.executable, PROGRAM, *spawns)

    def grow(self, *spawns, options=(), **more):
        done = self.run_job(*self.words(*spawns, options=options), **more)
        where = sorted(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("up"))
        return [line.split(" ", 2)[2] for line in done.stdout.splitlines() if line.startswith("spawn")], where, done.stderr

    def test_agents_start_by_ssh_when_ranks_are_spawned_there(self):
        for options in ((), ("--link", "tcp"), ("--link", "ssh"), ("--heartbeat", "1"), ("--launch", "ssh-exec")):
            self.forget_logins()
            said, where, err = self.grow("6 node[003-008] end", "1 node002 end", "1 node005 end", options=options)
            self.assertEqual((said, err), (["0 "] * 3, ""), options)
            self.assertEqual(where, [["0", host] for host in self.cluster.hosts[2:]] + [["1", "node002"], ["2", "node005"]])
            # Two below scela-run, the others below those; the next one is scela-run's again.
            sources = self.logins()
            self.assertEqual([sources[host] for host in ("node003", "node006", "node002")], [["head"]] * 3)
            self.assertEqual([sources[host] for host in ("node004", "node008")], [["node003"], ["node006"]])

    def test_hosts_without_a_login_start_none_and_the_job_goes_on(self):
        self.cluster.refuse("node003")
        self.cluster.lock_out("node004")
        said, where, err = self.grow("1 node003 end", "2 node004,node005 end", "1 node005 end")
        self.assertRegex(said[0], "^1 node003:_start_its_agent_.connect.:_connect_to_10.99.1.3_port_22:_Connection_refused")
        self.assertRegex(said[1], "^1 node004:_start_its_agent_.authenticate.:")
        self.assertEqual((said[2], where), ("0 ", [["2", "node005"]]))
        self.assertEqual(err.count("could not spawn: node00"), 2)

    def test_a_spawn_is_answered_with_the_name_that_does_not_resolve(self):
        done = self.run_job("-w", "node001,ghost,node002", "-n", "1", sys.executable, PROGRAM, "1 ghost end", "1 node002 end",
                            "1 node007 end")
        said = [line for line in done.stdout.splitlines() if line.startswith("spawn")]
        self.assertRegex(said[0], "^spawn 0 1 ghost:_resolve_the_name_'ghost'")
        self.assertEqual(said[1], "spawn 1 0 ")
        self.assertRegex(said[2], "^spawn 2 1 host_'node007'_is_not_among_the_job's_hosts")

    def staying(self, *options):
        job = self.start(*self.words("3 node[002-004] stay", options=("--heartbeat", "1", *options)))
        lines = [job.stdout.readline().split()[0] for _ in range(4)]
        self.assertEqual(sorted(lines), ["spawn", "up", "up", "up"])
        return job

    def test_a_late_host_that_vanishes_is_noticed_and_ends_the_job(self):
        job = self.staying()
        self.cluster.crash("node002")
        _, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, UNREACHABLE, err)
        self.assertRegex(err, "rank 1 on node002")
        self.cluster.reset("node002")  # without power nobody removes the job's directory

    def test_agents_below_a_late_agent_that_is_lost_are_adopted(self):
        job = self.staying("--on-failure", "wait")
        self.forget_logins()
        os.kill(self.agents("node002")[-1], signal.SIGKILL)
        deadline = time.monotonic() + DEADLINE_S
        while self.logins("node003") != {"node003": ["head"]} and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.logins("node003"), {"node003": ["head"]})
        job.send_signal(signal.SIGTERM)
        _, err = job.communicate(timeout=DEADLINE_S)
        self.assertIn("scela-run:   1 rank lost with its node: 1\n", err)
        self.assertIn("scela-run:   2 ranks ended with the job: 2-3\n", err)

    def test_nothing_is_left_when_scela_run_is_killed(self):
        job = self.staying()
        job.kill()
        job.communicate(timeout=DEADLINE_S)

    def test_a_job_that_ends_leaves_no_start_behind(self):
        self.cluster.hang("node003")
        job = self.start(*self.words("1 node003 end", options=("-v", "--connect-timeout", "300")))
        while "starting 1 agent more" not in job.stderr.readline():
            pass
        self.end(job)
        self.assertEqual(job.returncode, 128 + signal.SIGTERM)


if __name__ == "__main__":
    case.main()
