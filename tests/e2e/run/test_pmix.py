"""Jobs whose ranks speak PMIx, as far as that needs no client of it: what ranks find, the node's server, and its end."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import job
from job import JobTest

TOOL = os.path.join(os.environ.get("SCELA_PROGRAMS", ""), "pmix_tool")
# As PMIx numbers them.
RUNNING, KILLED_BY_SIGNAL = 5, 54
SERVER = os.path.join(os.path.dirname(os.environ.get("SCELA_AGENT", "")), "scela-pmix")
# Kills the server of the rank's own node.
KILL = 'for p in /proc/[0-9]*; do s="$(cat $p/stat 2>/dev/null)" || continue; set -- ${s#*) }; ' \
       'case "$s" in *"(scela-pmix)"*) [ "$2" = "$PPID" ] && kill -9 ${p#/proc/};; esac; done; '


class Pmix(JobTest):
    def setUp(self):
        super().setUp()
        if not os.path.exists(SERVER):
            self.skipTest("scela-pmix was not built: there is no libpmix")

    def installed(self, server=None):
        """What makes a job use a copy of scela-nla that has no scela-pmix beside it, or this script as that."""
        folder = os.path.join(self.folder, "installed")
        os.mkdir(folder)
        agent = shutil.copy(os.environ["SCELA_AGENT"], folder)
        if server is not None:
            shutil.move(self.script("server", server + "\n"), os.path.join(folder, "scela-pmix"))
        return {"SCELA_AGENT": agent}

    def test_ranks_find_their_server_and_nothing_of_others(self):
        ended = self.run_job("--pmi", "pmix", "--sim-nodes", "2", "--ppn", "2", "sh", "-c",
                             'echo "$PMIX_RANK $JSM_JSRUN_PORT ${PMI_FD-none} $PMIX_NAMESPACE"; [ -d "$PMIX_SERVER_TMPDIR" ]',
                             env={"PMI_FD": "7", "PMIX_NAMESPACE": "other", "PMIX_RANK": "9"})
        self.assertEqual(ended.status, 0, ended.err)
        lines = sorted(ended.lines)
        self.assertEqual([line.split()[:3] for line in lines], [[str(rank), "1", "none"] for rank in range(4)])
        self.assertEqual(len({line.split()[3] for line in lines}), 1)
        self.assertNotIn("other", lines[0])

    def test_a_program_that_knows_no_pmix_runs(self):
        ended = self.run_job("--pmi", "pmix", "-n", "2", "true")
        self.assertEqual((ended.status, ended.err), (0, ""))

    def test_pmi_none_gives_ranks_no_server(self):
        ended = self.run_job("--pmi", "none", "-n", "2", "sh", "-c", "env | grep -c ^PMI; true", env={"PMI_RANK": "0"})
        self.assertEqual(ended.lines, ["0", "0"])

    def test_a_script_finds_pmi_and_pmix_but_not_once_on_each_host(self):
        program = self.script("program", "env")
        said = "shows no MPI, and may be, or start, any MPI's program"
        auto = {"SCELA_PMI": ""}
        ended = self.run_job("-v", "-n", "2", program, env=auto)
        self.assertEqual(ended.status, 0, ended.err)
        self.assertIn(f"--pmi pmix and fd: '{program}' {said}", ended.err)
        for words, pmix, pmi in ((["-n", "1"], True, True), (["-w", "a", "--launch", "local"], False, True),
                                 (["--pmi", "fd", "-n", "1"], False, True), (["--pmi", "pmix", "-n", "1"], True, False)):
            with self.subTest(words=words):
                ended = self.run_job(*words, program, env=auto)
                self.assertEqual(ended.status, 0, ended.err)
                self.assertEqual(b"PMIX_RANK=" in ended.out, pmix)
                self.assertEqual(b"PMI_FD=" in ended.out, pmi)
                self.assertEqual(b"MPIR_CVAR_PMI_VERSION=1" in ended.out, pmix and pmi)
        ended = self.run_job("--dry-run", "-n", "1", program, env=auto)
        self.assertRegex(ended.out.decode(), rf"(?m)^pmi: pmix and fd \(.*\); auto: '.*' {said}$")

    def test_a_command_that_is_no_mpi_program_needs_no_server(self):
        ended = self.run_job("-v", "-n", "2", "hostname", env={"SCELA_PMI": "", **self.installed()})
        self.assertEqual(ended.status, 0, ended.err)
        self.assertIn("--pmi fd: 'hostname' shows no MPI, and loads no libraries and starts no programs", ended.err)
        self.assertNotIn("scela-pmix", ended.err)

    def useless(self):
        """The folder of a libpmix that cannot be loaded."""
        libraries = os.path.join(self.folder, "libraries")
        os.mkdir(libraries)
        with open(os.path.join(libraries, "libpmix.so.2"), "w", encoding="utf-8"):
            pass
        return libraries

    def test_the_agent_brings_its_own_server(self):
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        shutil.move(self.script("server", "exit 5\n"), os.path.join(other, "scela-pmix"))
        env = {"SCELA_PMI": "", "PATH": f"{other}:{os.environ['PATH']}", **self.installed()}
        for words in (("--pmi", "pmix"), ()):
            with self.subTest(words=words):
                ended = self.run_job(*words, "--sim-nodes", "2", "--ppn", "2", self.script(
                    "program", f'for p in /proc/[0-9]*; do s="$(cat $p/stat 2>/dev/null)" || continue; case "$s" in '
                    '*"(scela-pmix) "?" $PPID "*) readlink $p/exe;; esac; done; [ -n "$PMIX_RANK" ]'),
                                     env=env)
                self.assertEqual((ended.status, ended.err), (0, ""))
                self.assertEqual(ended.lines, ["/memfd:scela-pmix (deleted)"] * 4)

    def test_a_node_that_can_serve_no_pmix_is_told_of_when_a_rank_of_a_script_fails(self):
        env = {"SCELA_PMI": "", "LD_LIBRARY_PATH": self.useless(), **self.installed()}
        words = ("--sim-nodes", "3", "--ppn", "2", self.script("program", 'env; [ "$SCELA_RANK" != "$FAILS" ]'))
        ended = self.run_job(*words, env=env)
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(ended.out.count(b"PMI_FD="), 6)
        # Open MPI's processes end instead of being worlds of one.
        self.assertEqual(ended.out.count(b"OMPI_MCA_ess=^singleton"), 6)
        self.assertNotIn(b"PMIX_RANK=", ended.out)
        ended = self.run_job("--on-failure", "wait", *words, env={**env, "FAILS": "3"})
        self.assertEqual(ended.status, 1)
        self.assertRegex(ended.err, r"(?m)^scela-run: .*pmi sim1: this node has no PMIx server that can be executed, .*libpmix2.*--pmi fd")
        self.assertEqual(ended.err.count("this node has no PMIx server"), 1)
        # A named --pmi is not given up.
        ended = self.run_job("--pmi", "pmix", *words, env=env)
        self.assertEqual(ended.status, 71)
        self.assertIn("scela-pmix) ended with code 127", ended.err)

    def test_a_server_that_is_killed_takes_its_node_with_it_and_is_named(self):
        ended = self.run_job("--pmi", "pmix", "--sim-nodes", "2", "--ppn", "2", "sh", "-c",
                             f'if [ $SCELA_RANK = 3 ]; then {KILL} fi; exec sleep 1000')
        self.assertEqual(ended.status, 68)
        self.assertRegex(ended.last, r"^scela-run: rank [23] on sim1 .*the node's PMIx server \(scela-pmix\) was killed by "
                                     r"signal 9 \(SIGKILL\)")

    @unittest.skipUnless(os.geteuid() == 0, "only root can act as another user")
    def test_another_user_is_not_heard_by_the_server(self):
        """libpmix believes the user that a client claims to be, and waits for who says nothing."""
        one = self.start("--pmi", "pmix", "-n", "1", "sh", "-c",
                         f'echo "$PMIX_SERVER_URI41" > {self.folder}/uri; ' + job.HOLD)
        one.ranks(1)
        with open(f"{self.folder}/uri", encoding="ascii") as f:
            port = int(f.read().rsplit(":", 1)[1])
        knock = ("import os, socket, sys\nos.setgid(65534)\nos.setuid(65534)\n"
                 f"knocked = socket.socket()\nknocked.settimeout(30)\nknocked.connect(('127.0.0.1', {port}))\n"
                 "print(knocked.recv(1))")
        done = subprocess.run([sys.executable, "-c", knock], capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)
        self.assertEqual((done.stdout, done.returncode), ("b''\n", 0), done.stderr)

    def server_of(self, one, node):
        """The process of a node's server."""
        agent = one.nodes()[node].agent
        return next(found.pid for found in self.processes() if found.name == "scela-pmix" and found.parent == agent)

    def tool(self, *words, directory=None):
        """Runs a tool as its user would, with nothing of a job in its environment."""
        env = {"PATH": os.environ["PATH"], "TMPDIR": directory or self.temporary}
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)

    def table(self, server):
        """The table of the job's processes by rank, as a tool is told: host, process, state, exit code, program."""
        done = self.tool(TOOL, str(server), "table")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.split() for line in done.stdout.splitlines()]
        return {int(rank): (host, int(pid), int(state), int(code), program) for rank, host, pid, state, code, program in lines}

    @unittest.skipUnless(shutil.which("pps") and shutil.which("pevent"), "libpmix-bin is not here")
    def test_tools_of_libpmix_find_the_server(self):
        one = self.start("--pmi", "pmix", "--sim-nodes", "2", "--ppn", "1", "sh", "-c", job.HOLD)
        one.ranks(2)
        for node in ("sim0", "sim1"):
            with open(f"/proc/{self.server_of(one, node)}/environ", encoding="utf-8") as f:
                directory = next(word for word in f.read().split("\0") if word.startswith("TMPDIR=")).partition("=")[2]
            done = self.tool("pps", directory=directory)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"Active nspaces: [0-9a-f]+\n")
            done = self.tool("pevent", "--event", "-3000", "--range", "5", directory=directory)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(os.path.exists(TOOL), "tools for the tests were not built")
    def test_a_tool_sees_and_signals_processes_of_all_nodes(self):
        one = self.start("--pmi", "pmix", "--on-failure", "wait", "--sim-nodes", "3", "--ppn", "2", "sh", "-c", job.HOLD)
        pids = one.ranks(6)
        server = self.server_of(one, "sim1")
        self.assertEqual(self.table(server), {rank: (f"sim{rank // 2}", pids[rank], RUNNING, 0, "sh") for rank in range(6)})
        done = self.tool(TOOL, str(server), "control", "5", str(int(signal.SIGKILL)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        job.wait_reaped(pids[5])
        self.assertEqual(self.table(server)[5], ("sim2", 0, KILLED_BY_SIGNAL, 137, "sh"))
        done = self.tool(TOOL, str(server), "lookup", "nobody has published it")
        self.assertEqual((done.returncode, done.stderr), (1, "look up: NOT-FOUND\n"))

    @unittest.skipUnless(os.path.exists(TOOL), "tools for the tests were not built")
    def test_a_table_does_not_wait_for_a_node_that_is_gone(self):
        one = self.start("--pmi", "pmix", "--on-failure", "wait", "--sim-nodes", "2", "--ppn", "1", "sh", "-c", job.HOLD)
        one.ranks(2)
        server = self.server_of(one, "sim0")
        os.kill(one.nodes()["sim1"].agent, signal.SIGKILL)
        table = self.table(server)
        self.assertEqual((table[0][2], table[0][0]), (RUNNING, "sim0"))

    def pulling(self, server, *words):
        """A tool that pulls, once it does."""
        env = {"PATH": os.environ["PATH"], "TMPDIR": self.temporary}
        tool = subprocess.Popen((TOOL, str(server), "pull") + words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(tool.wait)
        self.addCleanup(tool.kill)
        self.addCleanup(tool.stderr.close)
        self.addCleanup(tool.stdout.close)
        self.assertEqual(tool.stdout.readline(), "pulled\n")
        return tool

    def writers(self, nodes, program):
        """A job whose ranks, two to a node, do this once the first call says so, and end with the second; and the calls."""
        steps = [[f"{self.folder}/{name}{rank}" for rank in range(2 * nodes)] for name in ("go", "end")]
        for fifo in steps[0] + steps[1]:
            os.mkfifo(fifo)

        def step(number):
            for fifo in steps[number]:
                os.close(os.open(fifo, os.O_WRONLY))
        one = self.start("--pmi", "pmix", "--sim-nodes", str(nodes), "--ppn", "2", "sh", "-c",
                         f"{job.TELL} cat {self.folder}/go$SCELA_RANK; {program}; {job.TELL} cat {self.folder}/end$SCELA_RANK")
        one.ranks(2 * nodes)
        return one, lambda: step(0), lambda: step(1)

    @unittest.skipUnless(os.path.exists(TOOL), "tools for the tests were not built")
    def test_tools_have_copies_of_what_ranks_of_all_nodes_write(self):
        one, go, end = self.writers(2, "echo out; echo error $SCELA_RANK >&2")
        tools = [self.pulling(self.server_of(one, node), str(4 * (4 + 8))) for node in ("sim0", "sim1")]
        killed = self.pulling(self.server_of(one, "sim0"), "1000")
        killed.kill()
        for node in ("sim0", "sim1"):  # each asks the other's agent, which has then heard of the copies before
            self.assertEqual(self.tool(TOOL, str(self.server_of(one, node)), "table").returncode, 0)
        go()
        for tool in tools:
            out, err = tool.communicate(timeout=job.DEADLINE_S)
            self.assertEqual((out, err), ("".join(f"{rank}: 4 8\n" for rank in range(4)) + "left out: 0\n", ""))
        done = self.tool(TOOL, str(self.server_of(one, "sim0")), "push")
        self.assertEqual((done.returncode, done.stderr), (1, "push: NOT-SUPPORTED\n"))
        end()
        ended = one.wait()
        self.assertEqual((ended.status, ended.lines), (0, ["out"] * 4))

    @unittest.skipUnless(os.path.exists(TOOL), "tools for the tests were not built")
    def test_a_tool_that_does_not_read_its_copies_delays_no_other(self):
        """Neither the ranks, nor memory: what it has missed is left out, and it is told how much."""
        size = 64 << 20
        one, go, end = self.writers(2, f"[ $SCELA_RANK != 3 ] || head -c {size} /dev/zero; echo done >&2")
        server = self.server_of(one, "sim0")
        tool = self.pulling(server, str(size + 4 * 5), "stop")
        go()
        one.ranks(4)
        with open(f"/proc/{server}/status", encoding="ascii") as f:
            max_kib = next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))
        self.assertLess(max_kib << 10, 48 << 20)
        tool.send_signal(signal.SIGCONT)
        out, err = tool.communicate(timeout=job.DEADLINE_S)
        self.assertEqual(err, "")
        counts = [int(number) for line in out.splitlines() for number in line.partition(":")[2].split()]
        self.assertEqual(sum(counts), size + 4 * 5)
        self.assertGreater(counts[-1], size // 4)
        end()
        ended = one.wait()
        self.assertEqual((ended.status, len(ended.out)), (0, size))

    def test_a_server_ends_with_its_agent(self):
        one = self.start("--pmi", "pmix", "--sim-nodes", "2", "--ppn", "1", "sh", "-c", job.HOLD)
        one.ranks(2)
        os.kill(one.nodes()["sim1"].agent, signal.SIGKILL)
        self.assertEqual(one.wait().status, 68)

    def hold_with_shared_memory(self):
        """A job of two nodes whose ranks have left something where Open MPI keeps its shared memory; and the servers."""
        one = self.start("--pmi", "pmix", "--sim-nodes", "2", "--ppn", "1", "--grace", "0.2", "sh", "-c",
                         'echo x > "$OMPI_MCA_btl_vader_backing_directory/segment" && ' + job.HOLD)
        ranks = one.ranks(2)
        servers = {process.parent: process.pid for process in self.processes() if process.name == "scela-pmix"}
        directories = [name for name in set(os.listdir(job.SEGMENTS)) - self.segments
                       if os.path.exists(f"{job.SEGMENTS}/{name}/segment")]
        self.assertGreaterEqual(len(directories), 2)
        return one, ranks, servers

    def test_shared_memory_goes_with_a_rank_that_is_killed(self):
        one, ranks, _ = self.hold_with_shared_memory()
        os.kill(ranks[1], signal.SIGKILL)
        self.assertEqual(one.wait().status, 137)

    def test_shared_memory_ends_with_a_job_that_loses_its_scela_run(self):
        one, _, _ = self.hold_with_shared_memory()
        one.signal(signal.SIGKILL)
        self.assertEqual(one.wait().status, -signal.SIGKILL)

    def test_shared_memory_goes_with_an_agent_that_is_killed(self):
        one, _, _ = self.hold_with_shared_memory()
        os.kill(one.nodes()["sim1"].agent, signal.SIGKILL)
        self.assertEqual(one.wait().status, 68)

    def test_shared_memory_goes_with_an_agent_and_a_server_that_are_killed_at_once(self):
        """The agent is stopped while its server ends, which it then sees nothing of; and so is the guardian, or it would kill
        the agent for that too early."""
        one, _, servers = self.hold_with_shared_memory()
        node = one.nodes()["sim1"]
        for pid in (node.guardian, node.agent):
            os.kill(pid, signal.SIGSTOP)
        os.kill(servers[node.agent], signal.SIGKILL)
        self.assertEqual(job.wait_gone([servers[node.agent]], time.monotonic() + job.DEADLINE_S), [])
        os.kill(node.agent, signal.SIGKILL)
        os.kill(node.guardian, signal.SIGCONT)
        self.assertEqual(one.wait().status, 68)

    def test_other_nodes_go_on_without_a_lost_server_under_wait(self):
        ended = self.run_job("--pmi", "pmix", "--on-failure", "wait", "--sim-nodes", "2", "--ppn", "1", "sh", "-c",
                             f'if [ $SCELA_RANK = 1 ]; then {KILL} sleep 1000; fi')
        self.assertEqual(ended.status, 68)
        self.assertIn("1 rank exited with code 0: 0", ended.err)

    def test_a_missing_libpmix_is_named_with_what_to_do(self):
        ended = self.run_job("--pmi", "pmix", "-n", "1", "true", env={"LD_LIBRARY_PATH": self.useless()})
        self.assertEqual(ended.status, 71)
        self.assertRegex(ended.last, r"scela-pmix\) ended with code 127: .*libpmix.so.2.*install it on this node \(package libpmix2\)")

    def test_a_server_that_ends_at_once_is_named_with_its_last_words(self):
        ended = self.run_job("--pmi", "pmix", "--sim-nodes", "2", "--ppn", "1", "true",
                             env=self.installed("echo first >&2; echo the last words >&2; exit 5"))
        self.assertEqual(ended.status, 71)
        self.assertIn("(scela-pmix) ended with code 5: the last words", ended.last)

    def test_a_server_that_closes_its_link_is_ended(self):
        ended = self.run_job("--pmi", "pmix", "-n", "1", "true", env=self.installed("exec 3>&-; exec sleep 1000"))
        self.assertEqual(ended.status, 71)
        self.assertIn("(scela-pmix) was killed by signal 9 (SIGKILL)", ended.last)

    def test_a_stand_in_that_hangs_does_not_outlive_job_or_agent(self):
        """It is sent for a rank that ended before it spoke PMIx, once another one does."""
        init = "import ctypes, time; ctypes.CDLL('libpmix.so.2').PMIx_Init(None, None, 0); time.sleep(1000)"
        env = self.installed(f'[ "$1" != --stand-in ] && exec {SERVER} "$@"; {job.HOLD.replace("$SCELA_RANK", "0")}')
        for end, status in (("job", 143), ("agent", 68)):
            with self.subTest(end=end):
                one = self.start("--pmi", "pmix", "-n", "1", "true", ":", "-n", "1", sys.executable, "-c", init, env=env)
                stand_in = one.ranks(1)[0]
                if end == "job":
                    one.signal(signal.SIGTERM)
                else:
                    os.kill(job.process(stand_in).parent, signal.SIGKILL)
                self.assertEqual(one.wait().status, status)
                self.assertEqual(self.wait_nothing_runs(), [])

    def test_a_server_that_talks_nonsense_is_ended(self):
        ended = self.run_job("--pmi", "pmix", "-n", "1", "true",
                             env=self.installed("echo nonsense and more of it >&3; exec sleep 1000"))
        self.assertEqual(ended.status, 71)
        self.assertIn("(scela-pmix) gave up: frame version", ended.last)


if __name__ == "__main__":
    job.main()
