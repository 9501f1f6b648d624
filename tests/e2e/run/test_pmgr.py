"""Jobs whose ranks connect to their agent's port: PMGR flat and with trees, MVAPICH 1, PMI by PMI_PORT; and visitors."""
import contextlib
import os
import re
import socket
import subprocess
import sys

import job
from job import JobTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from pmgr import ints  # noqa: E402 (the path above)

RANK = [job.PYTHON, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support", "pmgr_rank.py")]
TWO_NODES = ("--sim-nodes", 2, "--ppn", 2)
NOBODY = 65534
# 1 to 4 agents with 1 to 8 ranks each: in one node, in a row, in a tree with an inner agent.
SHAPES = (("-n", 1), ("-n", 8), ("--sim-nodes", 2, "--ppn", 1), ("--sim-nodes", 3, "--degree", 1, "--ppn", 2),
          ("--sim-nodes", 4, "--degree", 2, "--ppn", 3), ("--sim-nodes", 4, "--degree", 1, "-n", 6))


class PmgrTest(JobTest):
    def check(self, kind, what, shapes=SHAPES, **options):
        for shape in shapes:
            with self.subTest(shape=shape):
                out = self.succeed("--pmi", kind, *shape, *RANK, *what, **options)
                self.assertEqual(set(out.decode().split()), {"fine"})

    def ends(self, status, last, *what, options=()):
        self.assert_ended(self.run_job("--pmi", "pmgr", *options, *TWO_NODES, *RANK, *what), status, last)

    def rank_1(self, text):
        return r"rank 1 on sim0 \(\S+\) " + text

    def test_every_operation_gives_every_rank_what_belongs_to_it(self):
        self.check("pmgr", ["all"])

    def test_ranks_build_a_tree_of_their_own(self):
        self.check("pmgr", ["tree"])

    def test_the_dialect_of_mvapich_1(self):
        self.check("pmgr-mvapich1", ["mvapich1"], SHAPES[1:])

    def test_one_operation_as_large_as_allowed(self):
        self.check("pmgr", ["largest", 16 * 1024 * 1024], [TWO_NODES])

    def test_a_rank_that_dies_inside_an_operation_is_named(self):
        for when in ("half", "before"):
            self.ends(137, self.rank_1(r"killed by signal 9 \(SIGKILL, Killed\).*"), "die", when)

    def test_ranks_that_wait_for_a_dead_rank_are_released(self):
        running = self.start("--pmi", "pmgr", "--on-failure", "wait", "--sim-nodes", 2, "--ppn", 2, *RANK, "die", "half")
        # The others live on; who waits for an answer sees the connection end.
        self.assertEqual(sorted(running.news(3)), [["ended", "0"], ["ended", "2"], ["ended", "3"]])
        self.assertEqual(running.wait().status, 137)

    def test_an_abort_in_the_stream_ends_the_job_with_its_code(self):
        self.ends(7, self.rank_1("aborted the job with code 7"), "abort", "stream", 7)

    def test_an_abort_on_a_connection_of_its_own_ends_the_job_with_its_code_and_message(self):
        for how in ("new", "exit"):
            self.ends(7, self.rank_1(r"aborted the job with code 7: (\(unverified\) )?no more sorry"), "abort", how, 7)

    def test_ranks_that_disagree_end_the_job_with_what_they_asked_for(self):
        anybody = r"rank \d on sim\d \(\S+\) broke the PMI protocol: PMGR: the rank "
        about = anybody + "took part in an operation that the ranks disagree about: "
        self.ends(1, about + ".*(called allgather, others barrier|called barrier, others allgather)", "disagree", "kind")
        self.ends(1, about + ".* called broadcast with root [01], others broadcast with root [01]", "disagree", "root")
        self.ends(1, about + ".*(called close, others barrier|called barrier, others close)", "disagree", "close")
        self.ends(1, anybody + r"asked for ALLGATHER of (1 bytes, rank 1 for one of 2|2 bytes, rank \d for one of 1)",
                  "disagree", "size")

    def test_a_violation_of_the_protocol_ends_the_job_with_that_rank_named(self):
        for how, why in (("opcode", "PMGR: the rank sent the opcode 77"),
                         ("huge", "PMGR: the rank sent ALLGATHER of 2147483647 bytes, at most 4194304 .*"),
                         ("negative", "PMGR: the rank sent GATHER of -1 bytes, at most .*"),
                         ("twice", "the rank checked in a second time"),
                         ("another", "the rank (checked in as|spoke for).*"),
                         ("number", "the rank sent the number 4, there are 4 ranks"),
                         ("leave", "the rank closed its connection too early and runs on")):
            self.ends(1, self.rank_1("broke the PMI protocol: " + why), "misbehave", how)

    def test_a_rank_that_does_not_wait_for_answers_is_made_to(self):
        running = self.start("--pmi", "pmgr", *TWO_NODES, *RANK, "flood")
        (word, _), = running.news(1)
        self.assertEqual(word, "stopped")
        self.wait_standstill()
        agent = running.nodes()["sim0"].agent
        with open(f"/proc/{agent}/status", encoding="ascii") as f:
            peak_kib = int(re.search(r"(?m)^VmHWM:\s*(\d+) kB$", f.read())[1])
        self.assertLess(peak_kib, 16 * 1024)
        running.signal(15)
        running.wait()

    def expect_visitors(self):
        """A job whose ranks wait; its ports by rank, and where each rank, with its number behind it, waits."""
        channels = [self.channel(f"go.{rank}") for rank in range(4)]
        go = channels[0][:-2]
        running = self.start("--pmi", "pmgr", *TWO_NODES, *RANK, "visitors", env={"GO": go})
        ports = {int(rank): int(port) for rank, port in running.news(4)}
        self.assertEqual(len(set(ports.values())), 2, ports)
        return running, ports, go

    def knock(self, port, words):
        """Connects, says that, and waits until the other side ends."""
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(words)
            with contextlib.suppress(ConnectionResetError):  # with words unread
                self.assertEqual(line.recv(100), b"")

    def test_strangers_at_the_port_are_refused_and_told_of_once(self):
        running, ports, go = self.expect_visitors()
        for words in (ints(8, 0), ints(8, 1), ints(8, 99), ints(7, 0, 6) + b"sorry\0", b"x" * 100000):
            self.knock(ports[0], words)
        silent = [socket.create_connection(("127.0.0.1", ports[0])) for _ in range(8)]
        for rank in range(4):
            job.release(f"{go}.{rank}")
        ended = running.wait()
        for line in silent:
            line.close()
        self.assertEqual(ended.status, 0, ended.err)
        self.assertEqual(ended.out.split(), [b"fine"] * 4)
        self.assertEqual(ended.err.count("was refused"), 1, ended.err)
        self.assertRegex(ended.err, "a connection of a process that is not of this job to the port of this node's ranks")

    def test_another_user_at_the_port_is_refused_and_told_of_once(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        running, ports, go = self.expect_visitors()
        visit = ("import socket, sys\n"
                 "for _ in range(3):\n"
                 "    line = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                 "    try:\n"
                 "        assert line.recv(1) == b''\n"
                 "    except ConnectionResetError:\n"
                 "        pass\n")
        subprocess.run(["/usr/bin/python3", "-c", visit, str(ports[0])], user=NOBODY, group=NOBODY, extra_groups=[],
                       cwd="/", env={}, check=True, timeout=60)
        for rank in range(4):
            job.release(f"{go}.{rank}")
        ended = running.wait()
        self.assertEqual((ended.status, ended.out.split()), (0, [b"fine"] * 4), ended.err)
        self.assertEqual(ended.err.count("was refused"), 1, ended.err)
        self.assertRegex(ended.err, f"a connection of user {NOBODY} to the port")

    def test_ranks_know_the_port_and_nothing_of_other_servers(self):
        shown = "env | grep -E '^(PMI|MPIRUN)' | sort; ls /proc/self/fd | sort -n | tr '\\n' ' '"
        around = {"PMI_FD": "9", "PMI_RANK": "8", "MPIRUN_PORT": "1", "MPIRUN_ID": "0", "MPIRUN_USE_TREES": "0"}
        expected = {
            "port": ["PMI_ID=0", r"PMI_PORT=127\.0\.0\.1:\d+"],
            "pmgr": ["MPIRUN_HOST=127\\.0\\.0\\.1", r"MPIRUN_ID=[1-9]\d*", "MPIRUN_NPROCS=1", r"MPIRUN_PORT=\d\d+",
                     "MPIRUN_RANK=0"],
            "pmgr-mvapich1": ["MPIRUN_HOST=127\\.0\\.0\\.1", r"MPIRUN_ID=[1-9]\d*", "MPIRUN_MPD=0", "MPIRUN_NPROCS=1",
                              r"MPIRUN_PORT=\d\d+", "MPIRUN_RANK=0"]}
        for kind, variables in expected.items():
            out = self.succeed("--pmi", kind, "sh", "-c", shown, env=around).decode().splitlines()
            lines = [line for line in out[:-1] if line != "MPIRUN_USE_TREES=0"]
            self.assertEqual(len(lines), len(variables), out)
            for line, pattern in zip(lines, variables):
                self.assertRegex(line, f"^{pattern}$")
            self.assertIn("MPIRUN_USE_TREES=0", out, "a setting of the client's is the user's")
            self.assertNotIn(" 4 ", f" {out[-1]} ")

    def test_a_client_of_pmi_port(self):
        client = """
import os, socket
host, port = os.environ["PMI_PORT"].rsplit(":", 1)
line = socket.create_connection((host, int(port))).makefile("rwb", 0)
me = os.environ["PMI_ID"]
def say(text):
    line.write(text.encode() + b"\\n")
say(f"cmd=initack pmiid={me}")
told = [line.readline().decode().split()[:2] for _ in range(4)]
assert told[0][0] == "cmd=initack", told
assert told[1:] == [["cmd=set", "size=4"], ["cmd=set", f"rank={me}"], ["cmd=set", "debug=0"]], told
say("cmd=init pmi_version=1 pmi_subversion=1")
assert b"rc=0" in line.readline()
say("cmd=get_my_kvsname")
space = line.readline().split(b"kvsname=")[1].decode().strip()
say(f"cmd=put kvsname={space} key=k{me} value=v{me}")
line.readline()
say("cmd=barrier_in")
line.readline()
for other in range(4):
    say(f"cmd=get kvsname={space} key=k{other}")
    assert f"value=v{other}".encode() in line.readline()
say("cmd=finalize")
line.readline()
print("fine")
"""
        self.assertEqual(self.succeed("--pmi", "port", *TWO_NODES, job.PYTHON, "-c", client).split(), [b"fine"] * 4)


if __name__ == "__main__":
    job.main()
