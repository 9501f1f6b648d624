"""Jobs of training frameworks on simulated nodes: variables, where ranks meet, GPUs, words, further starts."""
import json
import os
import re
import shlex
import shutil
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "run"))
import job  # noqa: E402  (its folder is known only now)

RANK = os.path.join(HERE, "..", "..", "support", "rendezvous_rank.py")
GUIDE = os.path.join(HERE, "..", "..", "..", "docs", "guide", "train.md")
MET = re.compile(r"rank (\d+) of (\d+) local (\d+) of (\d+) node (\d+) (\S+) at (\S+):(\d+) start (\d+) sum (\d+)")
TWO_BY_FOUR = ("--sim-nodes", 2, "--ppn", 4)
SHELL = ("sh", "-c")
RESTART = r"scela-run: restart 1 of \d+"


def environments(text):
    """The environments that ranks printed, by rank."""
    found = {}
    for line in text.decode().splitlines():
        rank, _, variable = line.partition(": ")
        name, _, value = variable.partition("=")
        found.setdefault(int(rank), {})[name] = value
    return found


class TrainingTest(job.JobTest):

    def met(self, text):
        """What each rank printed, by rank and start; all of one start met at one place."""
        lines = [MET.fullmatch(line) for line in text.decode().splitlines()]
        self.assertNotIn(None, lines, text)
        return {(int(line[1]), int(line[9])): line for line in lines}

    def env_of(self, *options, **more):
        """The environments of two ranks on each of two nodes."""
        return environments(self.succeed("-l", "--sim-nodes", 2, "--ppn", 2, *options, "env", **more))


class VariablesTest(TrainingTest):

    def test_ranks_meet_as_torch_does(self):
        ranks = self.met(self.succeed(*TWO_BY_FOUR, "--env-style", "torch", job.PYTHON, RANK))
        self.assertEqual(sorted(ranks), [(rank, 0) for rank in range(8)])
        for (rank, _), line in ranks.items():
            self.assertEqual(line.group(2, 3, 4, 5, 6, 10), ("8", str(rank % 4), "4", str(rank // 4), f"sim{rank // 4}", "36"))
        places = {line.group(7, 8) for line in ranks.values()}
        self.assertEqual(len(places), 1)
        address, port = places.pop()
        self.assertEqual(address, "127.0.0.1")
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            first, last = map(int, file.read().split())
        if last < 65535:
            self.assertFalse(first <= int(port) <= last, port)

    def test_each_style_has_its_names(self):
        told = self.env_of("--env-style", "torch,ompi,mpich,slurm")[3]
        for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"):
            self.assertEqual(told[name], "3", name)
        for name in ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"):
            self.assertEqual(told[name], "4", name)
        for name in ("LOCAL_RANK", "GROUP_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "SLURM_NODEID"):
            self.assertEqual(told[name], "1", name)
        self.assertEqual(told["SLURM_STEP_NODELIST"], "127.0.0.1,sim1")
        self.assertEqual(told["TORCHELASTIC_RUN_ID"], told["SCELA_JOB_ID"])

    def test_without_the_option_nothing_is_added_or_removed(self):
        inherited = {"RANK": "77", "SLURM_CPUS_ON_NODE": "7", "MASTER_ADDR": "other", "CUDA_VISIBLE_DEVICES": "0,1"}
        for told in self.env_of(env=inherited).values():
            for name, value in inherited.items():
                self.assertEqual(told[name], value)
            for name in ("WORLD_SIZE", "MASTER_PORT", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK", "SCELA_RESTART_COUNT"):
                self.assertNotIn(name, told)

    def test_variables_of_an_outer_launcher_are_replaced_or_removed(self):
        outer = {"RANK": "77", "TORCHELASTIC_USE_AGENT_STORE": "True", "SLURM_PROCID": "7", "SLURM_NTASKS": "100",
                 "OMPI_COMM_WORLD_RANK": "9", "SLURM_JOB_NODELIST": "real[1-3]"}
        for rank, told in self.env_of("--env-style", "torch", env=outer).items():
            self.assertEqual((told["RANK"], told["TORCHELASTIC_USE_AGENT_STORE"]), (str(rank), "False"))
            for name in ("SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK"):
                self.assertNotIn(name, told)
            self.assertEqual(told["SLURM_JOB_NODELIST"], "real[1-3]")

    def test_the_meeting_point_is_in_the_network_that_the_user_chooses(self):
        told = self.env_of("--env-style", "torch", "--network", "198.51.100.0/24,lo")
        self.assertEqual({variables["MASTER_ADDR"] for variables in told.values()}, {"127.0.0.1"})
        ended = self.run_job("-n", 1, "--network", "198.51.100.0/24", "true")
        self.assertEqual(ended.status, 71)
        self.assertRegex(ended.err, r"use the network 198\.51\.100\.0/24 \(--network\): the machine has no address there, but .*\(lo\)")
        self.assertIn("\nnetwork: lo\n", self.succeed("--network", "lo", "--dry-run", "-n", 1, "true").decode())

    def test_a_place_that_the_user_gives_stays(self):
        given = self.env_of("--env-style", "torch", "--env", "MASTER_PORT=29500", env={"MASTER_ADDR": "head.example"})
        for told in given.values():
            self.assertEqual((told["MASTER_ADDR"], told["MASTER_PORT"]), ("head.example", "29500"))

    def test_rank_0_is_on_the_first_host_of_the_list(self):
        told = environments(self.succeed("-l", "--launch", "local", "-w", "zeta,alpha", "--ppn", 1, "--env-style", "torch", "env"))
        self.assertEqual([(told[rank]["SCELA_NODE"], told[rank]["NODE_RANK"]) for rank in (0, 1)], [("zeta", "0"), ("alpha", "1")])

    def test_an_unknown_style_is_refused(self):
        self.assert_refused(self.run_job("--env-style", "torch,pytorch", "true"), 64, "give torch or ompi or mpich or slurm")
        self.assert_refused(self.run_job("--env-style", "none,torch", "true"), 64, "'none' stands beside others")


class GpusTest(TrainingTest):

    def test_gpus_of_the_node_are_subdivided(self):
        told = self.env_of("--gpus-per-rank", 2, env={"CUDA_VISIBLE_DEVICES": "7,6,5,4,3,2,1,0"})
        self.assertEqual([told[rank]["CUDA_VISIBLE_DEVICES"] for rank in range(4)], ["7,6", "5,4", "3,2", "1,0"])

    def test_more_gpus_than_there_are_is_an_error(self):
        ended = self.run_job("-n", 3, "--gpus-per-rank", 2, "true", env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
        self.assert_ended(ended, 71, r"rank 2 on \S+ \(true\) not started: give each rank 2 GPUs: rank 2 of the node would need "
                                     r"6 GPUs, the node has 4 \(CUDA_VISIBLE_DEVICES=0,1,2,3\) \(start fewer ranks .*\)")


class WordsTest(TrainingTest):

    def test_parts_of_words_are_replaced_if_it_is_asked_for(self):
        self.assertEqual(self.succeed("-n", 1, "echo", "%r-%n-%h"), b"%r-%n-%h\n")
        out = self.succeed("--sim-nodes", 2, "--ppn", 1, "--expand", "echo", "%r-%n-%h", "+%Y", "100%%")
        self.assertEqual(sorted(out.splitlines()), [b"0-0-sim0 +%Y 100%", b"1-1-sim1 +%Y 100%"])

    def test_pdsh_replaces_them_as_deepspeed_asks(self):
        out = self.succeed("--as", "pdsh", "-S", "-f", 1024, "-N", "-w", "h[1-2]", "echo --node_rank=%n of %h 100%%",
                           env={"SCELA_LAUNCH": "local"})
        self.assertEqual(sorted(out.splitlines()), [b"--node_rank=0 of h1 100%", b"--node_rank=1 of h2 100%"])


class RestartTest(TrainingTest):
    HOLD = ("--env-style", "torch", job.PYTHON, RANK, "--hold-until", 1)

    def test_a_killed_rank_starts_the_job_again(self):
        run = self.start(*TWO_BY_FOUR, "--restart", 2, *self.HOLD)
        os.kill(run.ranks(8)[5], signal.SIGKILL)
        ended = run.wait()
        self.assertEqual(ended.status, 0, ended.err)
        self.assertRegex(ended.err, rf"^{RESTART}: rank 5 on sim1 \(\S+\) killed by signal 9 \(.*\), no core dumped\n$")
        ranks = self.met(ended.out)
        self.assertEqual(sorted(ranks), [(rank, start) for rank in range(8) for start in (0, 1)])
        self.assertEqual({line[10] for line in ranks.values()}, {"36"})

    def test_a_lost_node_is_replaced_by_a_host_without_ranks(self):
        run = self.start("--sim-nodes", 3, "--ppn", 4, "-n", 8, "--restart", 1, *self.HOLD)
        run.ranks(8)
        job.kill_together(run.nodes()["sim0"])
        ended = run.wait()
        self.assertEqual(ended.status, 0, ended.err)
        self.assertRegex(ended.err, rf"(?m)^{RESTART} without sim0: ")
        ranks = self.met(ended.out)
        self.assertEqual({ranks[rank, 1][6] for rank in range(4)}, {"sim1"})
        self.assertEqual({ranks[rank, 1][6] for rank in range(4, 8)}, {"sim2"})
        self.assertEqual({ranks[rank, 1].group(5, 10) for rank in range(8)}, {("0", "36"), ("1", "36")})

    def test_too_few_hosts_are_left_for_another_start(self):
        run = self.start("--sim-nodes", 2, "--ppn", 4, "--restart", 1, *self.HOLD)
        run.ranks(8)
        job.kill_together(run.nodes()["sim1"])
        ended = run.wait()
        self.assertEqual(ended.status, 68, ended.err)
        self.assertRegex(ended.err, r"(?m)^scela-run: no further start: place the ranks: ")

    def test_each_start_is_counted_and_the_last_one_counts(self):
        ended = self.run_job("-n", 2, "--restart", 2, *SHELL, 'echo "$SCELA_RANK $SCELA_RESTART_COUNT"; exit $((4 + SCELA_RESTART_COUNT))')
        self.assertEqual(ended.status, 6, ended.err)
        self.assertEqual(len(re.findall(r"(?m)^scela-run: restart [12] of 2: rank \d on \S+ \(sh\) exited with code [45]$", ended.err)), 2)
        self.assertRegex(ended.last, r"^scela-run: rank \d on \S+ \(sh\) exited with code 6$")
        self.assertLessEqual({line.split()[1] for line in ended.lines}, {"0", "1", "2"})

    def test_a_failure_that_would_repeat_is_not_tried_again(self):
        ended = self.run_job("-n", 2, "--restart", 5, "./no-such-program")
        self.assertEqual(ended.status, 127)
        self.assertNotIn("restart", ended.err)

    def test_a_signal_of_the_user_ends_everything(self):
        run = self.start(*TWO_BY_FOUR, "--restart", 5, *self.HOLD)
        run.ranks(8)
        run.signal(signal.SIGINT)
        ended = run.wait()
        self.assertEqual(ended.status, 130, ended.err)
        self.assertNotIn("restart", ended.err)

    def test_the_time_limit_is_of_all_starts_together(self):
        ended = self.run_job("-n", 1, "--restart", 100000, "--timeout", 1, "false")
        self.assert_ended(ended, 124, r"the job reached its time limit of 1 s \(--timeout\) and was ended")

    def test_no_output_of_an_earlier_start_is_lost(self):
        script = 'echo "start $SCELA_RESTART_COUNT"; exit $((SCELA_RESTART_COUNT < 1))'
        ended = self.run_job("-n", 1, "--restart", 1, "--output-dir", "out", "--json=records", *SHELL, script)
        self.assertEqual(ended.status, 0, ended.err)
        with open(os.path.join(self.folder, "out", "rank.0.out"), encoding="ascii") as file:
            self.assertEqual(file.read(), "start 0\nstart 1\n")
        with open(os.path.join(self.folder, "records"), encoding="utf-8") as file:
            jobs = [one["job"] for one in map(json.loads, file) if one.get("type") == "job"]
        self.assertEqual(len(jobs), 2)
        self.assertEqual(jobs[1], f"{jobs[0]}-1")

    def test_options_that_cannot_be_repeated_are_refused(self):
        for option, word in ((("--pty",), "pty"), (("--stdin", "0"), "stdin"), (("--on-failure", "wait"), "on-failure")):
            self.assert_refused(self.run_job("-n", 1, "--restart", 1, *option, "true"), 64, f"options --restart and --{word}")
        self.assert_refused(self.run_job("--launch", "local", "-w", "a,b", "--restart", 1, "true"), 64, "give the number of ranks with -n or --ppn")


class GuideTest(TrainingTest):

    def test_commands_of_the_guide_do_what_it_says(self):
        """Each command of the page, on hosts that are this machine."""
        with open(GUIDE, encoding="utf-8") as file:
            commands = re.findall(r"(?m)^    \$ (scela-run .*)$", file.read())
        self.assertGreater(len(commands), 6)
        shutil.copy(RANK, os.path.join(self.folder, "train.py"))
        env = {"SCELA_LAUNCH": "local", "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(16)))}
        said = {command: self.succeed(*shlex.split(command)[1:], env=env).decode() for command in commands}

        def of(word):
            found = [out for command, out in said.items() if word in command]
            self.assertTrue(found, word)
            return sorted(found[0].splitlines())
        self.assertEqual(len(of("--ppn 4 --env-style torch python3")), 8)
        self.assertEqual(of("$SLURM_PROCID"), [f"{rank} {rank} 127.0.0.1" for rank in range(8)])
        self.assertEqual(of("MASTER_PORT=29500"), ["29500", "29500"])
        self.assertEqual(of("--gpus-per-rank"), [f"{rank} {2 * rank},{2 * rank + 1}" for rank in range(8)])
        self.assertEqual(len(of("--restart 3")), 8)
        self.assertEqual(of("--expand"), ["--node_rank=0 --log=node1.log", "--node_rank=1 --log=node2.log"])
        self.assertEqual(of("--as pdsh"), ["node1: --node_rank=0", "node2: --node_rank=1"])
        self.assertRegex(of("torchrun")[0], r"^torchrun --nnodes 2 --node_rank 0 --master_addr 127.0.0.1 --master_port \d+ train.py$")

    def test_the_guide_names_each_variable_of_each_style(self):
        with open(GUIDE, encoding="utf-8") as file:
            text = file.read()
        before = set(self.env_of()[0])
        for style in ("torch", "ompi", "mpich", "slurm"):
            for name in set(self.env_of("--env-style", style)[0]) - before:
                if not name.startswith(("SLURM_STEP", "TORCHELASTIC_USE", "SLURM_JOB")) and name != "SLURM_NTASKS_PER_NODE":
                    self.assertIn(f"`{name}", text)


if __name__ == "__main__":
    job.main()
