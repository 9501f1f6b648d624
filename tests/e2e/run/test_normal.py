"""Jobs that end well: where ranks run, what they are told, what they print."""
import os

import job
from job import JobTest, labelled

ARGUMENTS = 'for word; do echo "[$word]"; done\n'


def numbers(text):
    return sorted(int(word) for word in text.split())


class NormalTest(JobTest):
    def test_without_hosts_eight_ranks_run_on_this_machine(self):
        out = self.succeed("-n", 8, "sh", "-c", "echo $SCELA_RANK")
        self.assertEqual(numbers(out), list(range(8)))

    def test_without_a_number_one_rank_runs(self):
        self.assertEqual(self.succeed("echo", "here"), b"here\n")

    def test_four_nodes_of_four_are_labelled_and_in_order(self):
        ended = self.run_job("--sim-nodes", 4, "--ppn", 4, "-l", "sh", "-c",
                             'for i in 1 2 3 4 5; do echo "$SCELA_NODE line $i"; done')
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(labelled(ended.lines), {rank: [f"sim{rank // 4} line {i}" for i in range(1, 6)]
                                                 for rank in range(16)})
        self.assertTrue(all(line[2] == ":" for line in ended.lines), "labels of one width")

    def test_a_tree_of_several_levels_runs_every_rank_once(self):
        out = self.succeed("--sim-nodes", 13, "--degree", 2, "--ppn", 2, "sh", "-c", "echo $SCELA_RANK")
        self.assertEqual(numbers(out), list(range(26)))

    def test_ranks_run_on_the_nodes_that_the_map_says(self):
        out = self.succeed("-w", "a:1,b:3,c", "--launch", "local", "-n", 5, "-l", "sh", "-c",
                           "echo $SCELA_NODE $SCELA_NODE_INDEX")
        self.assertEqual(labelled(out.decode().splitlines()),
                         {0: ["a 0"], 1: ["b 1"], 2: ["b 1"], 3: ["b 1"], 4: ["c 2"]})

    def test_a_host_file_names_nodes_and_slots(self):
        path = self.file("hosts", "# two machines\nnode[1-2] slots=2\nnode9:1  # the third\n\n")
        out = self.succeed("-f", path, "--launch", "local", "-l", "sh", "-c", "echo $SCELA_NODE")
        self.assertEqual(labelled(out.decode().splitlines()),
                         {0: ["node1"], 1: ["node1"], 2: ["node2"], 3: ["node2"], 4: ["node9"]})

    def test_excluded_hosts_run_nothing(self):
        out = self.succeed("-w", "node[1-4]", "-x", "node[2-3]", "--launch", "local", "--ppn", 1, "sh", "-c",
                           "echo $SCELA_NODE")
        self.assertEqual(sorted(out.split()), [b"node1", b"node4"])

    def test_hosts_without_ranks_get_no_agent(self):
        running = self.start("-w", "node[1-4]", "--launch", "local", "-n", 2, "sh", "-c", job.HOLD)
        running.ranks(2)
        self.assertEqual(set(running.nodes()), {"node1", "node2"})

    def test_every_node_has_its_own_agent_directory_and_name(self):
        running = self.start("--sim-nodes", 4, "--ppn", 1, "sh", "-c",
                             'test -d "$SCELA_NODE_DIR" && ' + job.HOLD)
        pids = running.ranks(4)
        self.assertEqual(set(running.nodes()), {f"sim{i}" for i in range(4)})
        directories = set()
        for pid in pids.values():
            with open(f"/proc/{pid}/environ", "rb") as f:
                directories |= {word for word in f.read().split(b"\0") if word.startswith(b"SCELA_NODE_DIR=")}
        self.assertEqual(len(directories), 4)
        self.assertTrue(all(d.startswith(f"SCELA_NODE_DIR={self.temporary}/".encode()) for d in directories))

    def test_directories_of_simulated_nodes_are_in_memory_unless_the_user_names_a_place(self):
        del self.environment["TMPDIR"]
        facts = os.statvfs("/dev/shm")
        memory = "/dev/shm" if facts.f_bavail * facts.f_bsize >= 2 ** 30 else "/tmp"
        for nodes, base in ((2, memory), (1, "/tmp")):
            out = self.succeed("--sim-nodes", nodes, "--ppn", 1, "sh", "-c", 'test -d "$SCELA_NODE_DIR" && echo "$SCELA_NODE_DIR"')
            directories = out.decode().split()
            self.assertEqual([os.path.dirname(one) for one in directories], [base] * nodes)
            self.assertEqual([one for one in directories if os.path.exists(one)], [])

    def test_agents_are_children_of_their_tree_parents(self):
        running = self.start("--sim-nodes", 7, "--degree", 2, "--ppn", 1, "sh", "-c", job.HOLD)
        running.ranks(7)
        nodes = running.nodes()
        below_root = {name for name, node in nodes.items()
                      if job.process(node.guardian).parent == running.pid}
        self.assertEqual(below_root, {"sim0", "sim4"})
        self.assertEqual({name: set(node.children) for name, node in nodes.items()},
                         {"sim0": {"sim1", "sim3"}, "sim1": {"sim2"}, "sim2": set(), "sim3": set(),
                          "sim4": {"sim5", "sim6"}, "sim5": set(), "sim6": set()})

    def test_programs_of_several_segments_share_one_numbering(self):
        out = self.succeed("-l", "-n", 2, "sh", "-c", "echo first of $SCELA_SIZE", ":",
                           "-n", 3, "sh", "-c", "echo second of $PMI_SIZE")
        self.assertEqual(labelled(out.decode().splitlines()),
                         {0: ["first of 5"], 1: ["first of 5"], 2: ["second of 5"], 3: ["second of 5"],
                          4: ["second of 5"]})

    def test_words_after_the_program_are_the_programs(self):
        program = self.script("p", ARGUMENTS)
        out = self.succeed("-n", 2, program, "-n", 5, "--label", "two words", "$HOME", "", "a*")
        self.assertEqual(sorted(out.decode().splitlines()),
                         sorted(2 * ["[-n]", "[5]", "[--label]", "[two words]", "[$HOME]", "[]", "[a*]"]))

    def test_words_after_each_program_of_several_are_its_own(self):
        program = self.script("p", ARGUMENTS)
        out = self.succeed("-l", "-n", 1, program, "-n", 5, ":", "-n", 2, program, "--degree", "1")
        self.assertEqual(labelled(out.decode().splitlines()),
                         {0: ["[-n]", "[5]"], 1: ["[--degree]", "[1]"], 2: ["[--degree]", "[1]"]})

    def test_two_dashes_end_the_options(self):
        self.assertEqual(self.succeed("-n", 1, "--", "echo", "-n", "word"), b"word")

    def test_a_script_without_an_interpreter_line_runs_in_the_shell(self):
        program = self.file("plain", "echo plain\n", 0o755)
        self.assertEqual(self.succeed(program), b"plain\n")

    def test_a_program_in_the_working_directory_is_run_by_its_path(self):
        self.script("here", "echo here\n")
        self.assertEqual(self.succeed("./here"), b"here\n")

    def test_more_ranks_than_slots_run_if_allowed(self):
        out = self.succeed("-w", "a:1,b:1", "--launch", "local", "-n", 5, "--oversubscribe", "sh", "-c",
                           "echo $SCELA_RANK")
        self.assertEqual(numbers(out), list(range(5)))

    def test_ranks_are_told_a_user_signal(self):
        text = "trap 'echo \"heard $SCELA_RANK\"; exit 0' USR1; " + job.TELL + "while :; do sleep 1000 & wait; done"
        running = self.start("--sim-nodes", 2, "--ppn", 2, "sh", "-c", text)
        running.ranks(4)
        running.signal(job.signal.SIGUSR1)
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), [f"heard {rank}" for rank in range(4)])


if __name__ == "__main__":
    job.main()
