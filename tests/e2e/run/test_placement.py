"""Where ranks run: bound as they say they are, within what they may use, or refused with a reason."""
import os
import re

import job
from job import JobTest, labelled
from test_spawn import CLIENT

CPUS = "grep Cpus_allowed_list /proc/self/status"
BOUND = re.compile(r"scela-run: (\S+): rank (\d+) is bound to (socket .*), cpus ([\d,-]+), mask (0x[0-9a-f]+)")
MANY = 10000  # more cores than any machine has


def cores():
    """The processors this process may use, by core, in the order of their lowest ones."""
    found = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        text = str(cpu)
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                text = f.read().strip()
        found.setdefault(text, []).append(cpu)
    return list(found.values())


def cpu_list(text):
    """"0-2,5" as numbers."""
    parts = [part.split("-") for part in text.split(",")]
    return [cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)]


class PlacementTest(JobTest):
    def cpus_of(self, *arguments, **options):
        out = self.succeed("-l", *arguments, *CPUS.split(), **options).decode().splitlines()
        return {rank: cpu_list(texts[0].split(":")[1].strip()) for rank, texts in labelled(out).items()}

    def test_the_reported_binding_is_the_one_that_a_rank_finds(self):
        ended = self.run_job("--bind-to", "core", "--report-bindings", "-n", len(cores()), "-l", *CPUS.split())
        self.assertEqual(ended.status, 0, ended.err)
        found = {rank: cpu_list(texts[0].split(":")[1].strip()) for rank, texts in labelled(ended.lines).items()}
        told = {int(match[2]): match for match in map(BOUND.fullmatch, ended.err.splitlines()) if match}
        self.assertEqual({rank: cpu_list(match[4]) for rank, match in told.items()}, found)
        self.assertEqual({rank: sum(1 << cpu for cpu in cpus) for rank, cpus in found.items()},
                         {rank: int(match[5], 16) for rank, match in told.items()})
        self.assertEqual(sorted(found.values()), sorted(cores()))

    def policies(self, *arguments):
        """The memory policy of each rank, as the kernel shows it of the first mapping."""
        out = self.succeed("-l", *arguments, "head", "-n", 1, "/proc/self/numa_maps").decode().splitlines()
        return {rank: texts[0].split()[1].rstrip("0123456789,-") for rank, texts in labelled(out).items()}

    def test_the_memory_of_ranks_is_bound(self):
        if not os.path.exists("/proc/self/numa_maps") or not os.path.exists("/sys/devices/system/node/has_memory"):
            self.skipTest("the kernel has no NUMA domains")
        self.assertEqual(self.policies("-n", 1), {0: "default"})
        for what, policy in (("local", "bind:"), ("prefer", "prefer:"), ("interleave", "interleave:"), ("none", "default")):
            self.assertEqual(self.policies("--mem-bind", what, "--bind-to", "core", "-n", 1), {0: policy})
        self.assertEqual(self.policies("--mem-bind", "local", "--sim-nodes", 2, "--ppn", 2), dict.fromkeys(range(4), "bind:"))
        ended = self.run_job("--mem-bind", "local", "--report-bindings", "-n", 2, "true")
        self.assertEqual(len(re.findall(r"rank [01] has memory of NUMA domains [\d,-]+ \(local\)", ended.err)), 2, ended.err)
        shown = self.succeed("--mem-bind", "local", "--dry-run", "-n", 2, "true").decode()
        self.assertIn("\nmemory: local to the processors of each rank\n", shown)

    def test_show_map_shows_where_ranks_will_be_bound(self):
        for words in (("--map-by", "core"), ("--map-by", "socket", "--sim-nodes", 3, "--bind-to", "hwthread"),
                      ("--cpus-per-rank", 1, "-n", 1, "--rank-by", "core")):
            ended = self.run_job("--show-map", "--report-bindings", *words, "true")
            self.assertEqual(ended.status, 0, ended.err)
            told = {(match[2], f"{match[3]}, cpus {match[4]}") for match in BOUND.finditer(ended.err)}
            shown = ended.err.split("\nbindings:\n")[1].split("scela-run:")[0]
            places = re.findall(r"^  ranks? ([\d,-]+): (.*)$", shown, re.M)
            self.assertEqual({(str(rank), place) for ranks, place in places for rank in cpu_list(ranks)}, told)
            self.assertTrue(told)

    def test_dry_run_knows_this_machine(self):
        count = len(cores())
        out = self.succeed("--dry-run", "--map-by", "core", "true").decode()
        self.assertNotIn("guess", out)
        self.assertEqual([cpu_list(cpus) for cpus in re.findall(r"^  rank \d+: socket .*, cpus (\S+)$", out, re.M)],
                         cores())
        ended = self.run_job("--dry-run", "--map-by", "core", "-n", count + 1, "true")
        self.assertEqual((ended.status, ended.out), (64, b""))
        out = self.succeed("--dry-run", "-w", "elsewhere", "--map-by", "core", "true").decode()
        self.assertIn("the map below is a guess", out)
        self.assertIn("bindings: not known, as --dry-run asks no other machine", out)

    def test_dry_run_returns_what_the_run_would(self):
        words = ("--bind-to", "core", "-n", len(cores()) + 1, "echo", "x")
        dry, run = self.run_job("--dry-run", *words), self.run_job(*words)
        self.assertEqual((dry.status, run.status), (71, 71), dry.err)
        self.assertIn(b"bindings:\n", dry.out)
        self.assertRegex(dry.err, "cores of their own: the node has room for")

    def test_dry_run_judges_by_the_nodes_that_have_ranks(self):
        out = self.succeed("--dry-run", "-w", "localhost:1,elsewhere:1", "-n", 1, "--bind-to", "core", "true").decode()
        self.assertRegex(out, r"\n  rank 0: socket ")
        out = self.succeed("--dry-run", "-w", "localhost:1,elsewhere:1", "-n", 2, "--bind-to", "core", "true").decode()
        self.assertIn("bindings: not known", out)

    def test_the_map_of_this_machine_is_no_guess(self):
        ended = self.run_job("--show-map", "--map-by", "core", "true")
        self.assertEqual(ended.status, 0, ended.err)
        self.assertNotIn("guess", ended.err)
        self.assertEqual(len(re.findall(r"\d+ ranks? on 1 node", ended.err)), 1, ended.err)

    def test_the_plan_says_how_ranks_are_placed_where_it_was_asked_for(self):
        def placement(*words):
            out = self.succeed("--dry-run", *words, "true").decode()
            return re.findall(r"^placement: (.*)$", out, re.M)
        self.assertEqual(placement("-n", 1, "--report-bindings", "--oversubscribe"), [])
        self.assertEqual(placement("--map-by", "node", "-n", 1), ["by node, bound to none"])
        self.assertEqual(placement("--map-by", "core", "--rank-by", "fill"), ["by core, numbered by fill, bound to core"])
        names = self.file("ranks", "rank 0=localhost slot=0\n")
        self.assertEqual(placement("--rankfile", names), ["by the rankfile"])

    def test_ranks_that_are_not_bound_are_told_of_too(self):
        ended = self.run_job("--report-bindings", "-n", 1, "true")
        self.assertRegex(ended.err, r"scela-run: \S+: the node has \d+ cores?.*\n"
                                    r"scela-run: \S+: rank 0 is not bound: it may use cpus [\d,-]+\n")

    def test_a_restricted_machine_is_used_as_far_as_it_may_be_and_the_reason_is_told(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("there is one processor only")
        last = max(os.sched_getaffinity(0))
        ended = self.run_job("--bind-to", "socket", "--report-bindings", "-n", 1, *CPUS.split(),
                             before=["taskset", "-c", str(last)])
        self.assertEqual((ended.status, ended.lines), (0, [f"Cpus_allowed_list:\t{last}"]))
        self.assertRegex(ended.err, rf"the node has 1 core, cpus {last} of \d+: the affinity .* allows no more")

    def test_more_ranks_than_cores_are_refused_with_the_ways_out(self):
        count = len(cores())
        ended = self.run_job("--bind-to", "core", "-n", count + 1, "echo", "x")
        self.assertEqual(ended.out, b"")
        self.assertEqual(ended.status, 71, ended.err)
        self.assertRegex(ended.err, rf"bind {count + 1} ranks to cores of their own: the node has room for {count}: "
                                    rf"it has {count} cores?.*--oversubscribe.*--bind-to none")
        self.assertEqual(len(self.cpus_of("--bind-to", "core", "--oversubscribe", "-n", count + 1)), count + 1)

    def test_more_cores_for_a_rank_than_the_node_has_are_refused(self):
        ended = self.run_job("--cpus-per-rank", MANY, "-n", 1, "-w", "localhost:1", "echo", "x")
        self.assertEqual((ended.status, ended.out), (71, b""))
        self.assertRegex(ended.err, rf"bind ranks to {MANY} cores each: the node has {len(cores())} core")
        ended = self.run_job("--map-by", f"pe={MANY}", "-n", 1, "echo", "x")
        self.assertEqual((ended.status, ended.out), (64, b""))
        self.assertRegex(ended.err, rf"a rank needs {MANY} cores; the largest host \(\S+\) has {len(cores())} "
                                    r"\(lower --cpus-per-rank .*larger hosts")
        ended = self.run_job("--map-by", f"pe={MANY}", "--sim-nodes", 2, "echo", "x")
        self.assertRegex(ended.err, r"the largest host \(sim0\) has \d+ of this machine's, which simulated nodes share")

    def test_mapped_by_core_there_is_a_rank_for_each_core_of_each_node(self):
        count = len(cores())
        self.assertEqual(sorted(self.cpus_of("--map-by", "core").values()), sorted(cores()))
        found = self.cpus_of("--map-by", "core", "--sim-nodes", 2)
        self.assertEqual(len(found), max(count, 2))
        ended = self.run_job("--map-by", "core", "-n", count + 1, "echo", "x")
        self.assertEqual((ended.status, ended.out), (64, b""))
        self.assertRegex(ended.err, rf"the program has {count + 1} ranks, but the processors of its hosts make {count} slots? ")

    def test_mapped_by_node_ranks_go_round_the_nodes(self):
        def nodes(*options):
            out = self.succeed("-l", "--sim-nodes", 3, *options, "sh", "-c", 'echo "$SCELA_NODE_INDEX"').decode()
            return [int(texts[0]) for _, texts in sorted(labelled(out.splitlines()).items())]
        self.assertEqual(nodes("-n", 5), [0, 0, 1, 1, 2])
        self.assertEqual(nodes("-n", 5, "--map-by", "node"), [0, 1, 2, 0, 1])
        self.assertEqual(nodes("-n", 5, "--map-by", "node", "--rank-by", "slot"), [0, 0, 1, 1, 2])
        self.assertEqual(nodes("-n", 5, "--rank-by", "node"), [0, 1, 2, 0, 1])

    def test_a_rankfile_says_host_and_cores_of_each_rank(self):
        names = self.file("ranks", "# the last first\nrank 1=sim0 slot=0\nrank 0=sim1\n")
        out = self.succeed("-l", "--sim-nodes", 2, "--rankfile", names, "sh", "-c", 'echo "$SCELA_NODE"').decode()
        self.assertEqual(labelled(out.splitlines()), {0: ["sim1"], 1: ["sim0"]})
        here = self.file("here", f"rank 0=localhost slot=0\nrank 1=localhost slot=0:{len(cores()) - 1}\n")
        found = self.cpus_of("--rankfile", here)
        self.assertEqual(found[0], cores()[0])
        wrong = self.file("wrong", f"rank 0=localhost slot={MANY}\n")
        ended = self.run_job("--rankfile", wrong, "echo", "x")
        self.assertEqual((ended.status, ended.out), (71, b""))
        self.assertRegex(ended.err, rf"bind to core {MANY}, as chosen for rank 0: the node has core 0")

    def test_ranks_that_are_spawned_take_what_is_left_and_then_share(self):
        count = len(cores())
        path = self.file("spawn.py", CLIENT + f"""
assert spawn([({count}, {CPUS.split()!r}, {{}})], {{}})["rc"] == "0"
ask("cmd=finalize")
""")
        out = self.succeed("-n", 1, "--bind-to", "core", job.PYTHON, "-B", path).decode()
        self.assertEqual(sorted(cpu_list(line.split(":")[1].strip()) for line in out.splitlines()), sorted(cores()))


if __name__ == "__main__":
    job.main()
