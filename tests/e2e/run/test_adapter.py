"""The adapter engine that each node's agent starts for programs on libscela-ibverbs: Debian's verbs programs,
unmodified, as ranks of simulated nodes."""
import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import job
from job import GONE_DEADLINE_S, JobTest, labelled, wait_gone

RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs_rank.py")
ADAPTER = os.environ.get("SCELA_ADAPTER", "")
ENDLESS = ("-n", 100000000)


def free_port():
    """One that nobody listens on, and that the system gives to nobody who connects."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        first = int(f.read().split()[0])
    while True:
        port = random.randrange(first - 12000, first)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port


@unittest.skipUnless(ADAPTER and shutil.which("ibv_xsrq_pingpong"), "the adapter or Debian's ibverbs-utils are not here")
class AdapterTest(JobTest):
    def setUp(self):
        super().setUp()
        self.environment.update(ADAPTER=ADAPTER, SCELA_HCA_STRICT="1")

    def words(self, *programs):
        """Of scela-run, for programs one after the other."""
        rest = []
        for program in programs:
            rest += ["---", *program]
        return ("--sim-nodes", 2, "--ppn", 1, "--pmi", "none", "-l", sys.executable, "-B", RANK, free_port(), *rest[1:])

    def said(self, ended):
        return {rank: "\n".join(lines) for rank, lines in labelled(ended.lines).items()}

    def engines(self):
        return {one.pid: one for one in self.processes() if one.name == "scela-hca"}

    def traces(self):
        """The environment and the files by which each engine tells of itself."""
        return sorted(name for name in os.listdir(self.folder) if name.startswith("trace."))

    def until(self, holds, run):
        """There are no events of engines."""
        deadline = time.monotonic() + job.DEADLINE_S
        while not holds():
            self.assertIsNone(run.process.poll(), run.err())
            self.assertLess(time.monotonic(), deadline, self.state_text())

    def ask_status(self, *options):
        """Of no engine in particular, as a user does who has not looked where they are."""
        engine = os.path.join(os.path.dirname(os.environ["SCELA_RUN"]), "scela-hca")
        return subprocess.run([engine, "--status", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={k: v for k, v in os.environ.items() if not k.startswith("SCELA_HCA")}, check=False,
                              timeout=job.DEADLINE_S)

    def are_connected(self, encrypted=False):
        """Whether each node has an engine that speaks with another, and so."""
        paths = glob.glob(os.path.join(self.temporary, "*", "scela-hca.agent"))
        if not len(self.engines()) == len(paths) == 2:
            return False
        engine = os.path.join(os.path.dirname(os.environ["SCELA_RUN"]), "scela-hca")
        for path in paths:
            asked = subprocess.run([engine, "--status", "--json", "--socket", path], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, check=False, timeout=job.DEADLINE_S)
            if asked.returncode != 0:
                return False
            fabric = json.loads(asked.stdout)["fabric"]
            if fabric["nodes connected"] != "1" or fabric["of these encrypted"] != str(int(encrypted)):
                return False
        return True

    def check_pair(self, program, *options, gid):
        out = self.succeed(*self.words((program, *options)),
                           env={"SCELA_HCA_TRACE": os.path.join(self.folder, "trace.%p")})
        # One of them prints GIDs as they are, the others leave out those that are longer than they expect.
        said = labelled(out.decode(errors="replace").replace("\ufffd", "?").split("\n")[:-1])
        for rank in (0, 1):
            text = "\n".join(said[rank])
            self.assertRegex(text, rf"remote( address)?: *LID (0x)?0*{2 * (1 - rank) + 1},")
            self.assertEqual("GID ::" in text, not gid, text)
        self.assertEqual(len(self.traces()), 2, "each node has an engine of its own, and one")

    def test_rc_between_nodes_by_gid(self):
        self.check_pair("ibv_rc_pingpong", "-g", 0, "-c", gid=True)

    def test_rc_between_nodes_by_lid_alone(self):
        self.check_pair("ibv_rc_pingpong", "-c", gid=False)

    def test_xsrq_between_nodes_by_gid(self):
        self.check_pair("ibv_xsrq_pingpong", "-g", 0, gid=True)

    def test_xsrq_between_nodes_by_lid_alone(self):
        self.check_pair("ibv_xsrq_pingpong", gid=False)

    def test_datagrams_between_nodes_by_lid_alone(self):
        self.check_pair("ibv_ud_pingpong", gid=False)

    def test_a_socket_with_a_long_name(self):
        # The node's directory would make it longer than a socket's name may be.
        self.temporary = os.path.join(self.temporary, "x" * 100)
        os.mkdir(self.temporary)
        self.environment["TMPDIR"] = self.temporary
        self.check_pair("ibv_rc_pingpong", gid=False)
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith(".scela-nla-") and
                          os.path.exists(f"/tmp/{name}/scela-hca.agent")], [])

    def test_programs_one_after_the_other(self):
        program = ("ibv_rc_pingpong", "-n", 10)
        out = self.succeed(*self.words(program, program, ("ibv_xsrq_pingpong", "-n", 10), program))
        said = labelled(out.decode().splitlines())
        for rank in (0, 1):
            self.assertEqual(sum("iters in" in line for line in said[rank]), 3)
            self.assertEqual(sum("remote" in line for line in said[rank]), 4)

    def test_a_killed_engine_has_a_successor(self):
        run = self.start(*self.words(("?ibv_rc_pingpong", *ENDLESS), ("ibv_rc_pingpong", "-n", 10)),
                         env={"TELL": "1"})
        run.news(2)
        self.until(self.are_connected, run)
        killed = list(self.engines())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        ended = run.wait()
        said = self.said(ended)
        self.assertEqual(ended.status, 0, ended.err)
        for rank in (0, 1):
            self.assertRegex(said[rank], r"(?s)failed.*10 iters in")
        for pid in killed:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(len(re.findall(r"scela-hca\) was killed by signal 9 \(SIGKILL\)", ended.err)), 2, ended.err)

    def test_encrypted_between_nodes_where_ranks_ask_for_it(self):
        run = self.start(*self.words(("ibv_rc_pingpong", *ENDLESS)), env={"TELL": "1", "SCELA_HCA_ENCRYPT": "yes"})
        run.news(2)
        self.until(lambda: self.are_connected(encrypted=True), run)
        run.process.terminate()
        self.assertEqual(run.wait().status, 143)

    def test_engines_of_agents_are_found_and_no_is_no(self):
        run = self.start(*self.words(("ibv_rc_pingpong", *ENDLESS)), env={"TELL": "1", "SCELA_HCA_ENCRYPT": "no"})
        run.news(2)
        self.until(lambda: self.are_connected(encrypted=False), run)
        asked = self.ask_status("--json")
        found = {one["socket"]: one for one in json.loads(asked.stdout)["engines"]}
        paths = sorted(glob.glob(os.path.join(self.temporary, "*", "scela-hca.agent")))
        self.assertEqual(len(paths), 2)
        self.assertEqual(sorted(found[path]["node"] for path in paths), ["0", "1"])
        jobs = {found[path]["job"] for path in paths}
        self.assertEqual(len(jobs), 1)
        self.assertNotIn("-", jobs)
        text = self.ask_status().stdout
        for path in paths:
            self.assertRegex(text, rf"process {found[path]['pid']} .*job {jobs.copy().pop()} .*{re.escape(path)}\n")
        run.process.terminate()
        self.assertEqual(run.wait().status, 143)

    def test_a_variable_with_an_unknown_value(self):
        ended = self.run_job(*self.words(("ibv_rc_pingpong", "-n", 10)), env={"SCELA_HCA_ENCRIPT": "yes"})
        self.assertEqual(ended.status, 0, ended.err)
        for node in ("sim0", "sim1"):
            self.assertRegex(ended.err, rf"{node}.*scela-hca: the variable SCELA_HCA_ENCRIPT means nothing")
        self.assertEqual(len(re.findall("libscela-ibverbs: the variable SCELA_HCA_ENCRIPT means nothing", ended.err)), 2)

    def test_no_engine_to_start(self):
        ended = self.run_job(*self.words(("?ibv_rc_pingpong",)), env={"SCELA_HCA": "/nowhere/scela-hca", "ROLE": "server"})
        self.assertEqual(self.said(ended), {0: "failed", 1: "failed"})
        for node in ("sim0", "sim1"):
            self.assertRegex(ended.err, rf"{node}.*start the adapter's engine of this node.*/nowhere/scela-hca")
        self.assertIn("cannot open scela_hca0", ended.err)

    def test_an_engine_that_cannot_begin(self):
        ended = self.run_job(*self.words(("?ibv_rc_pingpong",)), env={"SCELA_HCA_FAULTS": "nonsense", "ROLE": "server"})
        self.assertEqual(self.said(ended), {0: "failed", 1: "failed"})
        self.assertRegex(ended.err, "sim0.*start the adapter's engine of this node.*ended with code 64.*nonsense")

    def test_a_job_without_the_option_has_no_engine(self):
        self.environment["SCELA_HCA_TRACE"] = os.path.join(self.folder, "trace.%p")
        run = self.start("--sim-nodes", 3, "--ppn", 2, "--pmi", "none", "sh", "-c",
                         'echo "$SCELA_RANK $SCELA_NODE_DIR $SCELA_HCA_SOCKET" > "$E2E_READY"; exec sleep 1000')
        told = run.news(6)
        for _, directory, path in told:
            self.assertEqual(path, f"{directory}/scela-hca.agent")
            self.assertTrue(os.path.exists(path))
            asked = self.ask_status("--socket", path)
            self.assertEqual(asked.returncode, 71)
            self.assertIn("none runs there", asked.stderr)
        self.assertEqual(self.engines(), {})
        run.signal(signal.SIGTERM)
        run.wait()
        self.assertEqual(self.traces(), [])

    def test_two_jobs_do_not_meet(self):
        port = free_port()
        words = ("-n", 1, "--pmi", "none", sys.executable, "-B", RANK, port)
        # Their programs tell each other who they are; their engines listen at the same address.
        server = self.start(*words, "ibv_rc_pingpong", "-g", 0, env={"TELL": "1"})
        server.news(1)
        client = self.run_job(*words, "?ibv_rc_pingpong", "-g", 0, env={"ROLE": "client"})
        self.assertIn(b"remote address", client.out)
        self.assertTrue(client.out.endswith(b"failed\n"), client.out)
        self.assertIsNone(server.process.poll())
        server.signal(signal.SIGTERM)
        self.assertNotIn(b"iters in", server.wait().out)

    def test_an_outer_jobs_engine_is_not_for_an_inner_job(self):
        words = ("-n", 1, "--pmi", "none")
        out = self.succeed(*words, os.environ["SCELA_RUN"], *words, "sh", "-c",
                           'echo "$SCELA_HCA_SOCKET $SCELA_NODE_DIR"')
        path, directory = out.decode().split()
        self.assertEqual(path, f"{directory}/scela-hca.agent")

    def test_a_socket_that_the_user_names(self):
        out = self.succeed("-n", 1, "--pmi", "none", "sh", "-c", 'echo "$SCELA_HCA_SOCKET"', env={"SCELA_HCA_SOCKET": "/my/own"})
        self.assertEqual(out, b"/my/own\n")

    def kill_while_running(self, kill):
        """kill(): of a node, as Job.nodes() has it."""
        run = self.start(*self.words(("ibv_rc_pingpong", *ENDLESS)), env={"TELL": "1"})
        run.news(2)
        self.until(self.are_connected, run)
        engines = list(self.engines())
        kill(run.nodes()["sim1"])
        self.assertNotEqual(run.wait().status, 0)
        self.assertEqual([pid for pid in engines if os.path.exists(f"/proc/{pid}")], [])

    def test_the_engine_ends_with_its_agent(self):
        self.kill_while_running(lambda node: os.kill(node.agent, signal.SIGKILL))

    def test_the_engine_ends_with_its_agent_and_guardian(self):
        self.kill_while_running(job.kill_together)

    def test_the_engine_ends_with_the_job(self):
        run = self.start(*self.words(("ibv_rc_pingpong", *ENDLESS)), env={"TELL": "1"})
        run.news(2)
        self.until(self.are_connected, run)
        run.signal(signal.SIGKILL)
        run.process.wait()
        # The guardians see to it; tearDown that nothing else is left.
        self.assertEqual(wait_gone(list(self.engines()), time.monotonic() + GONE_DEADLINE_S), [])

    def test_the_key_is_nowhere_to_be_seen(self):
        record = f"{self.folder}/record"
        run = self.start("--record", record, *self.words(("ibv_rc_pingpong", *ENDLESS)), env={"TELL": "1"})
        run.news(2)
        self.until(self.are_connected, run)
        for pid in self.engines():
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", "rb") as f:
                    self.assertNotRegex(f.read(), rb"[0-9a-fA-F]{64}")
        for folder, _, names in os.walk(self.temporary):
            self.assertEqual([name for name in names if os.path.isfile(f"{folder}/{name}")], [])
        run.signal(signal.SIGTERM)
        run.wait()
        recorded = b""
        for path in glob.glob(record + "*"):
            with open(path, "rb") as f:
                recorded += f.read()
        self.assertRegex(recorded, rb"127\.0\.0\.1:[0-9]+ 0{64}")
        self.assertNotRegex(recorded, rb"127\.0\.0\.1:[0-9]+ (?!0{64})[0-9a-f]{64}")

    def test_the_key_is_in_no_core_file(self):
        """A core file of an engine has no memory in it."""
        cores = set(glob.glob("/core*"))  # engines run there
        run = self.start(*self.words(("?ibv_rc_pingpong", *ENDLESS)), env={"TELL": "1"},
                         before=["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh"])
        run.news(2)
        self.until(self.are_connected, run)
        engines = list(self.engines())
        for pid in engines:
            with open(f"/proc/{pid}/coredump_filter", encoding="ascii") as f:
                self.assertEqual(int(f.read(), 16), 0)
        # Only one, since an agent whose ranks have ended does not report how its engine ended.
        os.kill(engines[0], signal.SIGSEGV)
        self.until(lambda: re.search(r"scela-hca\) was killed by signal 11", run.err()), run)
        run.signal(signal.SIGTERM)
        run.wait()
        left = {path: os.path.getsize(path) for path in set(glob.glob("/core*")) - cores}
        for path in left:
            os.unlink(path)
        self.assertEqual([path for path, size in left.items() if size > 1 << 16], [])


if __name__ == "__main__":
    job.main()
