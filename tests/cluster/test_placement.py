"""Where ranks run: spare hosts for those that are dead before the ranks start, and hosts with different processors."""
import contextlib
import os

import case
from jobs import JobTest


class SparesTest(case.ClusterTest):
    SIZE = 7

    def launch(self, *options, status=0):
        ended = self.cluster.run("head", [self.scela_run(), "--degree", "2", *options, "hostname"], timeout=case.DEADLINE_S)
        self.assertEqual(ended.returncode, status, ended.stderr)
        return sorted(ended.stdout.split()), ended.stderr

    def test_spares_are_not_used_without_need(self):
        ran, _ = self.launch("-w", "node[001-007]", "--spares", "2", "--ppn", "1")
        self.assertEqual(ran, self.cluster.hosts[:5])

    def test_a_spare_replaces_a_dead_leaf(self):
        self.cluster.refuse("node003")
        ran, _ = self.launch("-w", "node[001-007]", "--spares", "2", "--ppn", "1")
        self.assertEqual(ran, ["node001", "node002", "node004", "node005", "node006"])

    def test_spares_replace_an_inner_node_and_a_name_that_does_not_exist(self):
        self.cluster.refuse("node001")
        ran, _ = self.launch("-w", "node001,ghost,node[002-007]", "--spares", "3", "--ppn", "1")
        self.assertEqual(ran, ["node002", "node003", "node004", "node005", "node006"])

    def test_too_few_spares_start_nothing(self):
        for host in ("node002", "node004"):
            self.cluster.refuse(host)
        ran, said = self.launch("-w", "node[001-004]", "--spares", "1", "--ppn", "1", status=68)
        self.assertEqual(ran, [])
        self.assertRegex(said, "node00[24]: .*Connection refused")

    def test_min_nodes_go_on_without_a_dead_inner_node(self):
        self.cluster.refuse("node001")
        ran, _ = self.launch("-w", "node[001-007]", "--min-nodes", "6", "--ppn", "1")
        self.assertEqual(ran, self.cluster.hosts[1:])


class HostsThatDifferTest(JobTest):
    SIZE = 3

    def restrict(self, host, cpus):
        """What runs on the host, and whatever it starts, may use these processors only."""
        network = os.stat(f"/proc/{self.cluster.first_process(host)}/ns/net").st_ino
        for word in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if os.stat(f"/proc/{word}/ns/net").st_ino == network:
                    os.sched_setaffinity(int(word), cpus)

    def test_a_restricted_host_gets_fewer_ranks_and_binds_them_to_what_it_may_use(self):
        allowed = os.sched_getaffinity(0)
        if len(allowed) < 2:
            self.skipTest("there is one processor only")
        last = max(allowed)
        self.restrict("node002", {last})
        done = self.run_job("-w", "node[001-003]", "--map-by", "core", "--bind-to", "hwthread", "--report-bindings", "--show-map",
                            "--rank-by", "slot", "sh", "-c",
                            'echo "$SCELA_NODE $(grep Cpus_allowed_list /proc/self/status)"')
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([cpus for host, _, cpus in lines if host == "node002"], [str(last)])
        for host in ("node001", "node003"):
            self.assertEqual(sorted(int(cpus) for name, _, cpus in lines if name == host), sorted(allowed))
        self.assertRegex(done.stderr, rf"node002: the node has 1 core, cpus {last} of \d+: the affinity .* no more\n")
        shown = done.stderr.split("\nbindings:\n")[1]
        self.assertRegex(shown, r"(?m)^node\[001,003\]: ")
        self.assertRegex(shown, rf"(?m)^node002: 1 core, cpus {last} of \d+: .*\n  rank {len(allowed)}: .*, cpus {last}$")
        self.assertRegex(done.stderr, rf"node002: rank {len(allowed)} is bound to .*, cpus {last}, mask")


if __name__ == "__main__":
    case.main()
