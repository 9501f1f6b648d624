"""The adapter between real hosts: Debian's verbs programs as ranks, unmodified, each host with an engine of its own."""
import json
import os
import shutil
import unittest

import case
from jobs import JobTest

ADAPTER = os.environ.get("SCELA_ADAPTER", "")
PORT = 18515
# A client comes before its server perhaps, and comes again.
PAIR = ('if [ "$SCELA_RANK" = 0 ]; then exec {command}; fi; '
        'until {command} {server} 2>/dev/null; do :; done')


@unittest.skipUnless(ADAPTER and shutil.which("ibv_xsrq_pingpong"), "the adapter or Debian's ibverbs-utils are not here")
class AdapterTest(JobTest):
    SIZE = 2
    OPTIONS = {**JobTest.OPTIONS, "own_processes": False}

    def check(self, hosts, command):
        command = f"env LD_PRELOAD={ADAPTER} {command} -p {PORT}"
        pair = PAIR.format(command=command, server=self.cluster.address(hosts[0]))
        done = self.run_job("-w", ",".join(hosts), "--ppn", "1", "--pmi", "none", "-l", "sh", "-c", pair)
        for rank in (0, 1):
            self.assertRegex(done.stdout, rf"(?m)^{rank}:   remote address: *LID 0x{2 * (1 - rank) + 1:04x},")
            self.assertRegex(done.stdout, rf"(?m)^{rank}: .*iters in")
        self.assertEqual(done.stderr, "")
        self.cluster.assert_empty(*self.cluster.everyone)

    def test_hosts_find_each_other_by_gid_and_by_lid(self):
        self.check(("node001", "node002"), "ibv_rc_pingpong -g 0 -c")
        self.check(("node001", "node002"), "ibv_rc_pingpong -c")

    def test_the_machine_of_scela_run_is_one_of_them(self):
        self.check(("head", "node001"), "ibv_rc_pingpong -g 0")
        self.check(("node001", "head"), "ibv_rc_pingpong")

    def encrypted(self, *options, **env):
        """Whether the engine of rank 1, whose program speaks with that of rank 0, encrypts what it sends."""
        engine = os.path.join(os.path.dirname(os.environ["SCELA_RUN"]), "scela-hca")
        command = f"env LD_PRELOAD={ADAPTER} ibv_rc_pingpong -g 0 -n 1000000000 -p {PORT}"
        done = self.run_job(*options, "--ppn", "1", "--pmi", "none", "sh", "-c", f"""
            cd "$SCELA_NODE_DIR"
            if [ "$SCELA_RANK" = 0 ]; then {command} >/dev/null 2>&1; exit 0; fi
            (until {command} {self.server} >/dev/null 2>&1; do :; done) &
            until {engine} --status --json --socket "$SCELA_HCA_SOCKET" > said 2>/dev/null && grep -q '"nodes connected": "1"' said; do :; done
            cat said; exit 3 """, env=env, status=3)
        return json.loads(done.stdout)["fabric"]["of these encrypted"] == "1"

    def test_traffic_between_hosts_is_encrypted_unless_the_user_says_no(self):
        self.server = self.cluster.address("node001")
        self.assertTrue(self.encrypted("-w", "node001,node002"))
        self.assertFalse(self.encrypted("-w", "node001,node002", SCELA_HCA_ENCRYPT="no"))
        self.server = self.cluster.address("head")
        self.assertTrue(self.encrypted("-w", "head,node001"))
        self.server = "127.0.0.1"
        self.assertFalse(self.encrypted("--sim-nodes", "2"))


if __name__ == "__main__":
    case.main()
