"""What a rank finds: variables, directory, search path, descriptors, processors."""
import os
import resource

import job
from job import JobTest, labelled

CPUS = "grep Cpus_allowed_list /proc/self/status"


def variables(lines):
    """Labelled output of env as {rank: {name: value}}."""
    return {rank: dict(line.split("=", 1) for line in texts) for rank, texts in labelled(lines).items()}


def cpu_list(text):
    """"0-2,5" as numbers."""
    parts = [part.split("-") for part in text.split(",")]
    return [cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)]


class EnvironmentTest(JobTest):
    def env_of(self, *arguments, **options):
        return variables(self.succeed("-l", *arguments, "env", **options).decode().splitlines())

    def cpus_of(self, *arguments, **options):
        out = self.succeed("-l", *arguments, *CPUS.split(), **options).decode().splitlines()
        return {rank: cpu_list(texts[0].split(":")[1].strip()) for rank, texts in labelled(out).items()}

    def test_ranks_know_rank_size_and_node(self):
        found = self.env_of("--sim-nodes", 2, "--ppn", 2)
        self.assertEqual(set(found), set(range(4)))
        for rank, env in found.items():
            node = str(rank // 2)
            expected = {"SCELA_RANK": str(rank), "SCELA_SIZE": "4", "SCELA_LOCAL_RANK": str(rank % 2),
                        "SCELA_LOCAL_SIZE": "2", "SCELA_NODE": "sim" + node, "SCELA_NODE_INDEX": node,
                        "PMI_RANK": str(rank), "PMI_SIZE": "4", "PMI_FD": "3",
                        "MPI_LOCALRANKID": str(rank % 2), "MPI_LOCALNRANKS": "2"}
            self.assertEqual({name: env.get(name) for name in expected}, expected)
        self.assertEqual(len({env["SCELA_JOB_ID"] for env in found.values()}), 1)

    def test_ranks_inherit_the_environment(self):
        env = self.env_of(env={"COLOUR": "dark blue", "EMPTY": ""})[0]
        self.assertEqual((env["COLOUR"], env["EMPTY"], env["HOME"]), ("dark blue", "", self.folder))

    def test_variables_of_an_outer_launcher_do_not_reach_the_ranks(self):
        env = self.env_of("-n", 2, env={"SCELA_RANK": "77", "PMI_RANK": "77", "PMI_PORT": "x:1", "PMIX_RANK": "7"})
        self.assertEqual([(env[rank]["SCELA_RANK"], env[rank]["PMI_RANK"]) for rank in (0, 1)],
                         [("0", "0"), ("1", "1")])
        self.assertEqual({name for name in env[0] if name in ("PMI_PORT", "PMIX_RANK")}, set())

    def test_env_sets_variables(self):
        env = self.env_of("--env", "A=1", "--env", "B=two words", "--env=C=x=y", "--env", "A=2", "--env", "E=",
                          env={"B": "old"})[0]
        self.assertEqual([env[name] for name in "ABCE"], ["2", "two words", "x=y", ""])

    def test_env_is_one_programs_and_genv_is_all_programs(self):
        found = variables(self.succeed("-l", "--genv", "G=g", "-n", 1, "--env", "A=a", "env", ":", "-n", 1, "--env",
                                       "G=own", "env").decode().splitlines())
        self.assertEqual([(found[rank].get("G"), found[rank].get("A")) for rank in (0, 1)],
                         [("g", "a"), ("own", None)])

    def test_env_pass_none_hands_on_nothing(self):
        env = self.env_of("--env-pass", "none", "--env", "A=1", env={"COLOUR": "blue"})[0]
        own = {name for name in env if not name.startswith(("SCELA_", "PMI_", "MPI_"))}
        self.assertEqual(own, {"A"})

    def test_env_pass_hands_on_the_names_given(self):
        env = self.env_of("--env-pass", "COLOUR,PATH", env={"COLOUR": "blue", "SHAPE": "round"})[0]
        own = {name for name in env if not name.startswith(("SCELA_", "PMI_", "MPI_"))}
        self.assertEqual(own, {"COLOUR", "PATH"})

    def test_ranks_run_in_the_launchers_directory(self):
        self.assertEqual(self.succeed("pwd", cwd="/usr").decode().strip(), "/usr")

    def test_wdir_is_each_programs_own(self):
        out = self.succeed("-l", "-n", 1, "--wdir", "/usr", "pwd", ":", "-n", 1, "--wdir", "/etc", "pwd")
        self.assertEqual(labelled(out.decode().splitlines()), {0: ["/usr"], 1: ["/etc"]})

    def test_a_relative_program_is_found_from_wdir(self):
        os.mkdir(os.path.join(self.folder, "sub"))
        self.script("sub/p", "echo below\n")
        self.assertEqual(self.succeed("--wdir", os.path.join(self.folder, "sub"), "./p"), b"below\n")

    def test_a_relative_wdir_is_meant_from_the_launchers_directory_on_every_node(self):
        os.makedirs(os.path.join(self.folder, "one", "two"))
        self.script("one/two/p", 'pwd; cat "$0"2\n')
        self.file("one/two/p2", "text\n")
        tree = ["--sim-nodes", 7, "--degree", 2, "--ppn", 2, "-l"]
        for wdir, cwd in (("one/two", self.folder), ("two", os.path.join(self.folder, "one")), ("../one/./two",
                          os.path.join(self.folder, "one"))):
            out = self.succeed(*tree, "--wdir", wdir, "./p", cwd=cwd)
            found = {rank: [os.path.realpath(lines[0]), *lines[1:]]
                     for rank, lines in labelled(out.decode().splitlines()).items()}
            here = os.path.realpath(os.path.join(self.folder, "one", "two"))
            self.assertEqual(found, {rank: [here, "text"] for rank in range(14)}, wdir)

    def test_path_is_searched_first(self):
        for folder in ("one", "two"):
            os.mkdir(os.path.join(self.folder, folder))
        self.script("two/ls", "echo mine\n")
        path = f"{self.folder}/one:{self.folder}/two"
        self.assertEqual(self.succeed("--path", path, "ls"), b"mine\n")

    def test_a_rank_has_four_descriptors_and_no_other(self):
        # With a descriptor of ours open in scela-run; ls itself opens one more, the listing's.
        extra = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, extra)
        out = self.succeed("--sim-nodes", 3, "--degree", 1, "--ppn", 2, "-l", "ls", "/proc/self/fd",
                           pass_fds=[extra, self.fifo])
        self.assertEqual(labelled(out.decode().splitlines()), {rank: list("01234") for rank in range(6)})

    def test_a_rank_reading_standard_input_has_the_same_descriptors(self):
        out = self.succeed("-n", 2, "--stdin", "all", "-l", "ls", "/proc/self/fd")
        self.assertEqual(labelled(out.decode().splitlines()), {rank: list("01234") for rank in range(2)})

    def test_a_low_soft_limit_of_open_files_does_not_stop_a_job(self):
        # 64 ranks on one node are some 200 descriptors of its agent; 64 nodes below scela-run are 64 of scela-run's.
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 1024:
            self.skipTest("the hard limit is low")
        for options in (["-n", 64], ["--sim-nodes", 64, "--degree", 64, "--ppn", 1]):
            out = self.succeed(*options, "--stdin", "all", "sh", "-c", 'cat; echo "$SCELA_RANK"',
                               before=["sh", "-c", 'ulimit -Sn 64 && exec "$@"', "sh"])
            self.assertEqual(sorted(map(int, out.split())), list(range(64)), options)

    def test_ranks_have_the_users_limit_of_open_files(self):
        for options in (["-n", 1], ["--sim-nodes", 2, "--degree", 1, "--ppn", 1], ["--pmi", "pmix", "-n", 1]):
            out = self.succeed(*options, "sh", "-c", "ulimit -Sn", before=["sh", "-c", 'ulimit -Sn 234 && exec "$@"', "sh"])
            self.assertEqual(set(out.decode().split()), {"234"}, options)

    def test_descriptors_are_input_pipes_and_the_pmi_socket(self):
        out = self.succeed("-n", 2, "-l", "sh", "-c", "for i in 0 1 2 3; do readlink /proc/$$/fd/$i; done")
        found = labelled(out.decode().splitlines())
        kinds = {rank: [text.split(":")[0] for text in texts] for rank, texts in found.items()}
        self.assertEqual(kinds, {0: ["pipe", "pipe", "pipe", "socket"], 1: ["/dev/null", "pipe", "pipe", "socket"]})

    def test_ranks_start_with_default_signals(self):
        out = self.succeed("-n", 1, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
        self.assertEqual([int(line.split()[1], 16) for line in out.splitlines()], [0, 0])

    def test_ranks_start_with_default_signals_whatever_scela_run_ignores(self):
        for before in (["nohup"], ["sh", "-c", "trap '' HUP INT QUIT TERM PIPE CHLD; exec \"$@\"", "sh"],
                       ["sh", "-c", '"$@" & wait $!', "sh"]):
            out = self.succeed("--sim-nodes", 2, "--degree", 1, "--ppn", 1, "-l", "grep", "-E", "^Sig(Blk|Ign)",
                               "/proc/self/status", before=before)
            found = labelled(out.decode().splitlines())
            self.assertEqual({rank: [int(line.split()[1], 16) for line in lines] for rank, lines in found.items()},
                             {0: [0, 0], 1: [0, 0]}, before)

    def test_each_rank_has_a_process_group_of_its_own(self):
        out = self.succeed("-n", 2, "-l", "sh", "-c", 'read -r pid name state parent group rest </proc/$$/stat; '
                           'echo $((pid - group))')
        self.assertEqual(labelled(out.decode().splitlines()), {0: ["0"], 1: ["0"]})

    def test_without_binding_ranks_have_all_processors(self):
        allowed = sorted(os.sched_getaffinity(0))
        self.assertEqual(self.cpus_of("--sim-nodes", 2, "--ppn", 1), {0: allowed, 1: allowed})

    def test_binding_gives_each_rank_one_processor_in_turn(self):
        allowed = sorted(os.sched_getaffinity(0))
        count = len(allowed) + 1
        self.assertEqual(self.cpus_of("--bind-to", "core", "--oversubscribe", "-n", count),
                         {rank: [allowed[rank % len(allowed)]] for rank in range(count)})

    def test_simulated_nodes_share_out_the_processors_before_binding(self):
        allowed = sorted(os.sched_getaffinity(0))
        have = len(allowed)
        found = self.cpus_of("--bind-to", "core", "--oversubscribe", "--sim-nodes", 2, "--ppn", 2)
        shares = [allowed[:have // 2], allowed[have // 2:]] if have > 1 else [allowed, allowed]
        self.assertEqual(found, {rank: [shares[rank // 2][rank % 2 % len(shares[rank // 2])]] for rank in range(4)})

    def test_binding_keeps_to_the_processors_of_scela_run(self):
        last = max(os.sched_getaffinity(0))
        self.assertEqual(self.cpus_of("--bind-to", "core", "--oversubscribe", "-n", 2,
                                      before=["taskset", "-c", str(last)]), {0: [last], 1: [last]})


if __name__ == "__main__":
    job.main()
