"""How scela-run is told what to do: spellings, variables, configuration file, and what it shows instead of a job."""
import os
import re

import job
from job import JobTest, labelled

RANKS = ["sh", "-c", "echo $SCELA_RANK"]


def tree_of(text):
    """The tree that --dry-run and --show-map draw: {node: (parent or None, ranks as text)}."""
    found, path = {}, []
    for line in text.splitlines():
        match = re.fullmatch(r"((?:\|   |    )*)(?:\|-- |`-- )(\S+)  (?:ranks? (\S+)|no ranks)", line)
        if match:
            indent, name, ranks = match.groups()
            path = path[:len(indent) // 4]
            found[name] = (path[-1] if path else None, ranks)
            path.append(name)
    return found


def widths(tree):
    """Children per parent, the root's under None."""
    found = {}
    for parent, _ in tree.values():
        found[parent] = found.get(parent, 0) + 1
    return found


def depth(tree):
    def level(name):
        return 0 if name is None else 1 + level(tree[name][0])
    return max(level(name) for name in tree)


CHOICES = "pmi: fd (PMI-1 and PMI-2, PMI_FD)\ncache: hcmab\n"


class OptionsTest(JobTest):
    def ranks_of(self, *arguments, **options):
        return sorted(int(word) for word in self.succeed(*arguments, *RANKS, **options).split())

    def config(self, text):
        return self.file("scela-run.conf", text)

    def dry_run(self, *arguments):
        return self.succeed("--dry-run", *arguments).decode()

    def test_the_tree_in_the_readme_is_that_of_its_command(self):
        readme = os.path.join(os.path.dirname(__file__), "..", "..", "..", "README.md")
        with open(readme, encoding="utf-8") as f:
            words, picture = re.search(r"\(`(--sim-nodes 13 --degree 3)`\):\n\n(.*?)\n\n", f.read(), re.DOTALL).groups()
        shown = self.succeed(*words.split(), "--dry-run", "true").decode()
        # Each row of the picture is a level, and nodes of a level stand from left to right.
        tree, levels = tree_of(shown), {}
        for name in tree:
            level, parent = 0, tree[name][0]
            while parent is not None:
                level, parent = level + 1, tree[parent][0]
            levels.setdefault(level, []).append(name)
        rows = [re.findall(r"\bsim\d+\b", line) for line in picture.splitlines()]
        self.assertEqual([row for row in rows if row], list(levels.values()))

    def test_a_variable_is_not_taken_for_a_host_to_leave_out(self):
        ended = self.run_job("-x", "FOO_OF_MINE", "-n", 1, "true", env={"FOO_OF_MINE": "1"})
        self.assertEqual((ended.status, ended.err), (64, "scela-run: option --exclude: 'FOO_OF_MINE' is a variable, and no host of "
                                                     "the job (ranks inherit all variables: leave it out)\n"))
        self.assertEqual(self.run_job("-x", "down7", "-n", 1, "true", env={"FOO_OF_MINE": "1"}), (0, b"", ""))
        ended = self.run_job("-w", "a,b", "-x", "b", "--launch", "local", "echo", "x", env={"b": "1"})
        self.assertEqual((ended.status, ended.out), (0, b"a: x\n"))

    def test_all_hosts_of_a_job_of_ranks_that_fail_are_named(self):
        ended = self.run_job("-w", "no-such-host[1-3]", "-n", 3, "true")
        self.assert_ended(ended, 68, r"no-such-host1: .*; 2 more hosts have failed too: no-such-host\[2-3\].*")
        ended = self.run_job("-w", "no-such-host[1-2]", "-n", 2, "true")
        self.assert_ended(ended, 68, r"no-such-host1: .*; another host has failed too: no-such-host2.*")

    def test_mpiexec_spellings_are_understood(self):
        out = self.succeed("-np", 4, "-ppn", 2, "-hosts", "a,b", "-genv", "G", "g", "-env", "A", "a", "-wdir", "/usr",
                           "--launch", "local", "-l", "sh", "-c", "echo $SCELA_NODE $G $A $PWD")
        self.assertEqual(labelled(out.decode().splitlines()),
                         {rank: [f"{'ab'[rank // 2]} g a /usr"] for rank in range(4)})

    def test_long_and_short_options_take_values_in_each_usual_way(self):
        for words in (["-n", "3"], ["-n3"], ["--np", "3"], ["--np=3"], ["-np", "3"]):
            self.assertEqual(self.ranks_of(*words), [0, 1, 2], words)

    def test_a_variable_sets_an_option(self):
        self.assertEqual(self.ranks_of(env={"SCELA_NP": "3"}), [0, 1, 2])

    def test_the_command_line_wins_over_a_variable(self):
        self.assertEqual(self.ranks_of("-n", 2, env={"SCELA_NP": "3"}), [0, 1])

    def test_a_configuration_file_sets_options(self):
        path = self.config("# my defaults\nnp = 3\nlabel = yes  # always\nenv = A=x\n")
        out = self.succeed("--config", path, "sh", "-c", "echo $A")
        self.assertEqual(labelled(out.decode().splitlines()), {0: ["x"], 1: ["x"], 2: ["x"]})

    def test_a_variable_wins_over_the_configuration_file(self):
        path = self.config("np = 5\n")
        self.assertEqual(self.ranks_of(env={"SCELA_NP": "3", "SCELA_CONFIG": path}), [0, 1, 2])

    def test_the_command_line_wins_over_variable_and_configuration_file(self):
        path = self.config("np = 5\nlabel = yes\n")
        self.assertEqual(self.ranks_of("-n", 2, "--label=no", env={"SCELA_NP": "3", "SCELA_CONFIG": path}), [0, 1])

    def test_the_users_configuration_file_is_found(self):
        for base, env in ((".config", {}), ("xdg", {"XDG_CONFIG_HOME": os.path.join(self.folder, "xdg")})):
            os.makedirs(os.path.join(self.folder, base, "scela"))
            self.file(f"{base}/scela/scela-run.conf", "np = 2\n")
            self.assertEqual(self.ranks_of(env=env), [0, 1], base)

    def test_a_missing_configuration_file_that_is_named_is_an_error(self):
        ended = self.run_job("--config", "/nowhere/x.conf", "true")
        self.assert_refused(ended, 64, "configuration file '/nowhere/x.conf'.*No such file")

    def test_an_error_in_the_configuration_file_names_the_line(self):
        path = self.config("np = 2\ndegre = 3\n")
        ended = self.run_job("--config", path, "true")
        self.assert_refused(ended, 64, re.escape(path) + ":2: .*did you mean degree")

    def test_show_config_says_where_values_came_from(self):
        path = self.config("np = 5\ngrace = 7\n")
        out = self.succeed("--show-config", "-l", "--degree", 4, env={"SCELA_NP": "3", "SCELA_CONFIG": path}).decode()
        shown = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
        self.assertEqual(shown["np"], ["3", "SCELA_NP"])
        self.assertEqual(shown["grace"], ["7", path + ":2"])
        self.assertEqual(shown["degree"], ["4", "command", "line"])
        self.assertEqual(shown["label"], ["yes", "command", "line"])
        self.assertEqual(shown["fanout"], ["128", "default"])

    def test_dry_run_shows_tree_map_and_commands_and_starts_nothing(self):
        witness = os.path.join(self.folder, "witness")
        out = self.dry_run("--pmi", "fd", "--sim-nodes", 3, "--degree", 1, "-n", 6, "touch", witness, "two words")
        self.assertEqual(out, "6 ranks on 3 nodes\nscela-run\n`-- sim0  ranks 0-1\n    `-- sim1  ranks 2-3\n"
                              f"        `-- sim2  ranks 4-5\nranks 0-5: touch {witness} 'two words'\n{CHOICES}")
        self.assertFalse(os.path.exists(witness))

    def test_dry_run_shows_what_ranks_speak_and_what_agents_keep(self):
        out = self.dry_run("--pmi", "pmgr", "--cache-limit", 5000, "true")
        self.assertEqual(out.splitlines()[-2:], ["pmi: pmgr (PMGR 8; nothing of PMI)",
                                                 "cache: hcmab-lru, at most 5000 bytes an agent"])
        for words, limit in ((), "copies of at most 262144 bytes an agent"), (("--cache-limit", "9K"), "at most 9216 bytes an agent"):
            out = self.dry_run("--cache", "dht", *words, "-n", 2, "true")
            self.assertEqual(out.splitlines()[-1], f"cache: dht, {limit}")

    def test_a_cache_by_default_gives_way_where_a_command_runs_once_on_each_host(self):
        for options in ({"env": {"SCELA_CACHE": "dht"}}, {"env": {"SCELA_CONFIG": self.config("cache = dht\n")}}):
            ended = self.run_job("--launch", "local", "-w", "a,b", "true", **options)
            self.assertEqual((ended.status, ended.err), (0, ""))
            ended = self.run_job("--launch", "local", "-w", "a,b", "--cache", "dht", "true", **options)
            self.assert_refused(ended, 64, r"^scela-run: choose what agents keep \(--cache dht\): ")
        ended = self.run_job("-n", 2, "--on-failure", "wait", "true", env={"SCELA_CACHE": "dht"})
        self.assert_refused(ended, 64, r"^scela-run: SCELA_CACHE: choose what agents keep")

    def test_a_mistyped_variable_is_told_of_and_those_of_ranks_are_not(self):
        """scela-run may run inside of a rank."""
        ended = self.run_job("-n", 2, "sh", "-c", 'test $SCELA_RANK = 1 || env -u SCELA_DEGRE "$0" -n 2 echo inner',
                             os.environ["SCELA_RUN"], env={"SCELA_DEGRE": "2", "SCELA_HOME": "/opt/scela"})
        self.assertEqual((ended.status, ended.lines), (0, ["inner"] * 2))
        self.assertEqual(ended.err, "scela-run: the variable SCELA_DEGRE means nothing here (did you mean SCELA_DEGREE?)\n")

    def test_dry_run_needs_no_agent(self):
        ended = self.run_job("--dry-run", "-n", 2, "./missing", env={"SCELA_AGENT": "/nowhere/scela-nla"})
        self.assertEqual((ended.status, ended.err), (0, ""))

    def test_dry_run_of_hosts_elsewhere_needs_no_way_to_reach_them(self):
        witness = os.path.join(self.folder, "witness")
        hosts = self.file("hosts", "far[1-3] slots=2\n")
        for words in (["-w", "far[1-3]:2"], ["-f", hosts]):
            ended = self.run_job("--dry-run", "--pmi", "fd", *words, "--degree", 1, "touch", witness,
                                 env={"SCELA_AGENT": "/nowhere/scela-nla"})
            self.assertEqual(ended, (0, b"6 ranks on 3 nodes\nscela-run\n`-- far1  ranks 0-1\n    `-- far2  ranks 2-3\n"
                                     b"        `-- far3  ranks 4-5\n" + f"ranks 0-5: touch {witness}\n{CHOICES}".encode(), ""))
        self.assertFalse(os.path.exists(witness))

    def test_dry_run_shows_every_program(self):
        out = self.dry_run("--pmi", "fd", "-w", "a:2,b:2", "--launch", "local", "-n", 1, "./p", ":", "-n", 3, "./q", "x y")
        self.assertEqual({name: ranks for name, (_, ranks) in tree_of(out).items()}, {"a": "0-1", "b": "2-3"})
        self.assertTrue(out.endswith("rank 0: ./p\nranks 1-3: ./q 'x y'\n" + CHOICES), out)

    def test_show_map_shows_the_map_and_runs(self):
        ended = self.run_job("--show-map", "--sim-nodes", 2, "--ppn", 1, *RANKS)
        self.assertEqual(ended.status, 0)
        self.assertEqual(sorted(ended.lines), ["0", "1"])
        self.assertEqual(ended.err, self.dry_run("--sim-nodes", 2, "--ppn", 1, *RANKS))

    def test_degree_shapes_the_tree(self):
        tree = tree_of(self.dry_run("--sim-nodes", 13, "--degree", 3, "--ppn", 1, "./p"))
        self.assertEqual(len(tree), 13)
        self.assertEqual((widths(tree)[None], max(widths(tree).values())), (3, 3))

    def test_the_degree_is_the_smallest_that_reaches_the_depth(self):
        # 2 + 4 + 8 nodes in three levels; one more needs degree 3.
        for nodes, degree in ((14, 2), (15, 3), (39, 3), (40, 4)):
            tree = tree_of(self.dry_run("--sim-nodes", nodes, "--ppn", 1, "./p"))
            self.assertEqual((widths(tree)[None], depth(tree)), (degree, 3), nodes)

    def test_max_depth_shapes_the_tree(self):
        for levels, degree in ((1, 20), (2, 4), (3, 3), (4, 2)):
            tree = tree_of(self.dry_run("--sim-nodes", 20, "--max-depth", levels, "--ppn", 1, "./p"))
            self.assertEqual((widths(tree)[None], depth(tree)), (degree, levels), levels)

    def test_max_conn_bounds_the_degree(self):
        # A parent, one rank and two children are four connections.
        tree = tree_of(self.dry_run("--sim-nodes", 20, "--max-depth", 1, "--max-conn", 4, "--ppn", 1, "./p"))
        self.assertEqual(max(widths(tree).values()), 2)

    def test_the_tree_drawn_is_the_tree_built(self):
        arguments = ["--sim-nodes", 9, "--degree", 2, "--ppn", 1, "sh", "-c", job.HOLD]
        drawn = tree_of(self.dry_run(*arguments))
        running = self.start(*arguments)
        running.ranks(9)
        built = {child: name for name, node in running.nodes().items() for child in node.children}
        self.assertEqual({name: built.get(name) for name in drawn}, {name: up for name, (up, _) in drawn.items()})

    def test_nodeset_folds(self):
        out = self.succeed("--nodeset", "fold", "node1", "node2", "node3,node7")
        self.assertEqual(out, b"node[1-3,7]\n")

    def test_nodeset_expands(self):
        out = self.succeed("--nodeset", "expand", "node[08-10/2],a[1-2]b[3-4]")
        self.assertEqual(sorted(out.decode().split()), ["a1b3", "a1b4", "a2b3", "a2b4", "node08", "node10"])

    def test_nodeset_counts(self):
        self.assertEqual(self.succeed("--nodeset", "count", "node[001-128]!node[010-019]"), b"118\n")

    def test_a_wrong_node_set_is_an_error(self):
        self.assert_refused(self.run_job("--nodeset", "count", "node[1-"), 64, r"node\[1-")

    def test_version_is_one_line(self):
        for word in ("--version", "-V"):
            self.assertRegex(self.succeed(word).decode(), r"^scela-run \d+\.\d+\.\d+\n$")

    def test_help_is_in_groups(self):
        text = self.succeed("--help").decode()
        for group in ("Programs:", "Hosts and mapping:", "Tree of agents:", "Reaching the hosts:", "Input and output:", "End of the job:",
                      "Inspection:", "Other:"):
            self.assertIn(f"\n{group}\n", text)
        self.assertEqual(self.succeed("-h").decode(), text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


if __name__ == "__main__":
    job.main()
