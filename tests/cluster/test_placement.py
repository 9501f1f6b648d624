"""Where ranks run on hosts that differ: each says what it has room for, and binds within what it may use."""
import contextlib
import os

import case
from jobs import JobTest


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
