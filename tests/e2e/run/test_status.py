"""The exit status and the line that names the cause: the table of the manual page."""
import os
import pty
import re
import signal

import job
from job import JobTest

RANK_1 = r"rank 1 on sim\d \(sh\) "
NOT_FOUND = "not started, program not found: "
NOT_EXECUTABLE = "not started, program cannot be executed: "


def one_of_four(text):
    """Rank 1 of four on two nodes does this; the others wait for the end of the job."""
    return ["--sim-nodes", 2, "--ppn", 2, "sh", "-c", f'if [ "$SCELA_RANK" = 1 ]; then {text}; fi; exec sleep 1000']


class StatusTest(JobTest):
    def hold(self, *options, count=4):
        running = self.start("--sim-nodes", 2, "--ppn", 2, *options, "sh", "-c", job.HOLD)
        running.ranks(count)
        return running

    def assert_summary(self, ended, *patterns):
        """The lines before the last one, in order."""
        lines = [line for line in ended.err.splitlines() if line.startswith("scela-run: ")][:-1]
        self.assertEqual(len(lines), len(patterns), ended.err)
        for line, pattern in zip(lines, patterns):
            self.assertRegex(line, f"^scela-run:   {pattern}$")

    def test_0_if_all_ranks_end_with_0(self):
        self.assertEqual(self.run_job("--sim-nodes", 2, "--ppn", 2, "true"), (0, b"", ""))

    def test_the_failing_ranks_code(self):
        ended = self.run_job(*one_of_four("exit 3"))
        self.assert_ended(ended, 3, RANK_1 + "exited with code 3")
        self.assert_summary(ended, "1 rank exited with code 3: 1", "3 ranks ended with the job: 0,2-3")

    def test_every_code_passes_through(self):
        for code in (1, 64, 124, 130, 255):
            ended = self.run_job("sh", "-c", f"exit {code}")
            self.assert_ended(ended, code, rf"rank 0 on \S+ \(sh\) exited with code {code}")

    def test_70_for_a_scela_run_that_may_not_open_its_own_files(self):
        ended = self.run_job("-n", 1, "true", before=["sh", "-c", 'ulimit -n 6; exec "$@"', "sh"])
        self.assert_ended(ended, 70, r"set the event loop up: .*Too many open files.* \(see whether the limit of open files \(ulimit -n\) is too low\)")

    def test_139_for_a_segmentation_fault_without_a_core(self):
        ended = self.run_job(*one_of_four("kill -SEGV $$"))
        self.assert_ended(ended, 139, RANK_1 + r"killed by signal 11 \(SIGSEGV, Segmentation fault\), no core dumped")
        self.assert_summary(ended, r"1 rank killed by signal 11 \(SIGSEGV, Segmentation fault\), no core dumped: 1",
                            "3 ranks ended with the job: 0,2-3")

    def test_139_for_a_segmentation_fault_with_a_core(self):
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
            if f.read().startswith("|"):
                self.skipTest("cores go to a program here")
        ended = self.run_job(*one_of_four("ulimit -c unlimited; kill -SEGV $$"))
        self.assert_ended(ended, 139, RANK_1 + r"killed by signal 11 \(SIGSEGV, Segmentation fault\), core dumped")

    def test_137_for_a_rank_that_was_killed(self):
        running = self.start("--sim-nodes", 2, "--ppn", 2, "sh", "-c", job.HOLD)
        os.kill(running.ranks(4)[1], signal.SIGKILL)
        self.assert_ended(running.wait(), 137,
                          r"rank 1 on sim0 \(sh\) killed by signal 9 \(SIGKILL, Killed\), no core dumped")

    def test_130_after_sigint(self):
        running = self.hold()
        running.signal(signal.SIGINT)
        self.assert_ended(running.wait(), 130, r"interrupted by signal 2 \(SIGINT, Interrupt\); the job was ended")

    def test_130_after_ctrl_c_on_a_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        running = self.start("--sim-nodes", 2, "--ppn", 2, "sh", "-c", job.HOLD, stdin=theirs,
                             before=["setsid", "--ctty", "--wait"])
        os.close(theirs)
        running.ranks(4)
        os.write(ours, b"\x03")
        self.assert_ended(running.wait(), 130, r"interrupted by signal 2 \(SIGINT, Interrupt\); the job was ended")

    def test_143_after_sigterm(self):
        running = self.hold()
        running.signal(signal.SIGTERM)
        self.assert_ended(running.wait(), 143, r"interrupted by signal 15 \(SIGTERM, Terminated\); the job was ended")

    def test_129_after_sighup(self):
        running = self.hold()
        running.signal(signal.SIGHUP)
        self.assert_ended(running.wait(), 129, r"interrupted by signal 1 \(SIGHUP, Hangup\); the job was ended")

    def ignored(self, signo, before):
        """A job of which scela-run ignores a signal from the start; it goes on until it is released."""
        channel = self.channel(f"go{len(self.jobs)}")
        text = job.TELL + 'read -r x < "$0"; echo end'
        running = self.start("-n", 1, "sh", "-c", text, channel, before=before)
        running.ranks(1)
        launcher, = [one.pid for one in self.processes() if one.name == "scela-run"]
        with open(f"/proc/{launcher}/status", encoding="ascii") as f:
            mask = int(re.search(r"(?m)^SigIgn:\s*(\S+)$", f.read())[1], 16)
        self.assertTrue(mask & 1 << (signo - 1), f"{before}: {mask:x}")
        os.kill(launcher, signo)
        return running, launcher, channel

    def test_a_signal_that_is_ignored_at_the_start_stays_ignored(self):
        for signo, before in ((signal.SIGHUP, ["nohup"]), (signal.SIGINT, ["sh", "-c", '"$@" & wait $!', "sh"])):
            running, _, channel = self.ignored(signo, before)
            job.release(channel)
            ended = running.wait()
            self.assertEqual((ended.status, ended.lines[-1], ended.err), (0, "end", ""), before)

    def test_sigterm_ends_a_job_that_ignores_the_other_signals(self):
        for signo, before in ((signal.SIGHUP, ["nohup"]), (signal.SIGINT, ["sh", "-c", '"$@" & wait $!', "sh"])):
            running, launcher, _ = self.ignored(signo, before)
            os.kill(launcher, signal.SIGTERM)
            self.assert_ended(running.wait(), 143, r"interrupted by signal 15 .*; the job was ended")

    def test_a_second_sigint_does_not_wait_for_the_grace(self):
        text = "trap 'echo \"$SCELA_RANK int\" > \"$E2E_READY\"' INT TERM; " + job.TELL + \
            "while :; do sleep 1000 & wait; done"
        running = self.start("--sim-nodes", 2, "--ppn", 1, "--grace", 10000, "sh", "-c", text)
        running.ranks(2)
        running.signal(signal.SIGINT)
        running.news(2)
        running.signal(signal.SIGINT)
        self.assert_ended(running.wait(), 130, r"interrupted by signal 2 .*")

    def test_ranks_get_the_signal_before_they_are_killed(self):
        text = "trap 'echo \"$SCELA_RANK cleans up\"; exit 0' INT; " + job.TELL + "while :; do sleep 1000 & wait; done"
        running = self.start("--sim-nodes", 2, "--ppn", 1, "sh", "-c", text)
        running.ranks(2)
        running.signal(signal.SIGINT)
        ended = running.wait()
        self.assertEqual((ended.status, sorted(ended.lines)), (130, ["0 cleans up", "1 cleans up"]))

    def test_124_at_the_time_limit(self):
        ended = self.run_job("--timeout", "1", "--sim-nodes", 2, "--ppn", 2, "sleep", 1000)
        self.assert_ended(ended, 124, r"the job reached its time limit of 1 s \(--timeout\) and was ended")
        self.assert_summary(ended, "4 ranks ended with the job: 0-3")

    def test_a_job_within_its_time_limit_is_not_disturbed(self):
        self.assertEqual(self.run_job("--timeout", "1h", "-n", 2, "true"), (0, b"", ""))

    def test_127_for_a_missing_program(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "no-such-program")
        self.assert_ended(ended, 127, r"rank \d on sim\d \(no-such-program\) not started, program not found: find "
                          r"'no-such-program': No such file or directory \(ENOENT\) \(searched: the working directory "
                          r"\S+, PATH=\S+\)")

    def test_127_says_its_cause_before_a_long_path(self):
        path = ":".join(f"/nowhere/{i:04}" for i in range(2000))
        ended = self.run_job("-n", 1, "no-such-program", env={"PATH": path})
        self.assert_ended(ended, 127, r"rank 0 on \S+ \(no-such-program\) not started, program not found: find "
                          r"'no-such-program': No such file or directory \(ENOENT\) .*, PATH=/nowhere/0000:.*:\.\.\.\)")
        self.assertLess(len(ended.last), 600)

    def test_a_bare_name_is_found_in_path_then_in_the_working_directory(self):
        folder = os.path.join(self.folder, "work")
        os.mkdir(folder)
        for name in ("solver_of_mine", "true"):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho here\n")
            os.chmod(path, 0o755)
        self.assertEqual(self.run_job("-n", 1, "--wdir", folder, "solver_of_mine"), (0, b"here\n", ""))
        self.assertEqual(self.run_job("-n", 1, "--wdir", folder, "true"), (0, b"", ""))
        ended = self.run_job("-w", "a", "--launch", "local", "--wdir", folder, "solver_of_mine")
        self.assertEqual(ended.status, 127)
        self.assertIn("(searched: PATH=", ended.err)

    def test_127_for_a_missing_path(self):
        ended = self.run_job("./missing", "x")
        self.assert_ended(ended, 127, r"rank 0 on \S+ \(./missing\) " + NOT_FOUND + "execute './missing': No such.*")

    def test_127_for_a_script_without_its_interpreter(self):
        path = self.file("script", "#!/nowhere/interpreter\n", 0o755)
        self.assert_ended(self.run_job(path), 127, "rank 0 .* " + NOT_FOUND + r".*\(its interpreter is missing\)")

    def test_126_without_execute_permission(self):
        path = self.file("data", "echo x\n", 0o644)
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, path)
        self.assert_ended(ended, 126, r"rank \d on sim\d \(.*/data\) " + NOT_EXECUTABLE + ".*Permission denied.*")

    def test_126_for_a_directory(self):
        self.assert_ended(self.run_job("/tmp"), 126, r"rank 0 on \S+ \(/tmp\) " + NOT_EXECUTABLE + ".*")

    def test_64_for_a_wrong_command_line(self):
        for words, text in ((["--bogus", "x"], "unknown option --bogus"),
                            (["-n"], "its value is missing"),
                            (["-n", "many", "x"], "'many' is not a number"),
                            (["-n", "4"], "no program is named"),
                            (["--stats=xml", "x"], "'xml' is not known.*text or json"),
                            (["--timeout", "soon", "x"], "'soon' is not a time"),
                            (["-n", "1", "x", ":", "--label", "y"], "it is for the whole job"),
                            ([], "no program is named")):
            self.assert_refused(self.run_job(*words), 64, text)

    def test_64_names_the_option_that_was_meant(self):
        self.assert_refused(self.run_job("--sim-node", 3, "x"), 64, r"did you mean --sim-nodes\?")

    def test_68_for_a_lost_node(self):
        running = self.hold()
        os.kill(running.nodes()["sim1"].agent, signal.SIGKILL)
        ended = running.wait()
        self.assert_ended(ended, 68, r"rank 2 on sim1 \(sh\) lost with its node: .*")
        self.assertRegex(ended.err, r"(?m)^scela-run:   failed nodes: sim1$")

    def test_71_without_an_agent(self):
        ended = self.run_job("true", env={"SCELA_AGENT": "/nowhere/scela-nla"})
        self.assert_refused(ended, 71, "find the agent scela-nla: not at /nowhere/scela-nla.*SCELA_AGENT")

    def test_71_for_an_agent_that_cannot_start(self):
        agent = self.file("agent", "#!/nowhere/interpreter\n", 0o755)
        ended = self.run_job("--sim-nodes", 3, "--ppn", 1, "true", env={"SCELA_AGENT": agent})
        self.assert_ended(ended, 71, r"sim\d: start its agent .*No such file or directory.*")

    def test_71_for_an_agent_that_ends_at_once(self):
        ended = self.run_job("--sim-nodes", 3, "--ppn", 1, "true", env={"SCELA_AGENT": "/bin/false"})
        self.assert_ended(ended, 71, r"sim\d: start its agent .*")

    def test_71_for_a_working_directory_that_cannot_be_entered(self):
        for path, why in (("/nowhere", "No such file or directory"), ("/etc/passwd", "Not a directory")):
            ended = self.run_job("--wdir", path, "true")
            self.assert_ended(ended, 71, r"rank 0 on \S+ \(true\) not started: "
                              rf"enter the working directory '{path}': {why}.*")

    def test_the_first_failure_in_time_decides(self):
        channel = self.channel("go")
        text = 'case $SCELA_RANK in 2) echo "2 $$" > "$E2E_READY"; exit 7;; 0) read -r x < "$0"; exit 5;; esac'
        running = self.start("--on-failure", "wait", "-n", 3, "sh", "-c", text, channel)
        for pid in running.ranks(1).values():
            job.wait_reaped(pid)
        job.release(channel)
        ended = running.wait()
        self.assert_ended(ended, 7, r"rank 2 on \S+ \(sh\) exited with code 7")
        self.assert_summary(ended, "1 rank exited with code 5: 0", "1 rank exited with code 7: 2",
                            "1 rank exited with code 0: 1")

    def test_wait_lets_the_others_end_by_themselves(self):
        channel = self.channel("go")
        text = 'if [ $SCELA_RANK = 1 ]; then echo "1 $$" > "$E2E_READY"; exit 3; fi; read -r x < "$0"; echo done'
        running = self.start("--on-failure", "wait", "-n", 2, "sh", "-c", text, channel)
        for pid in running.ranks(1).values():
            job.wait_reaped(pid)
        job.release(channel)
        ended = running.wait()
        self.assertEqual(ended.out, b"done\n")
        self.assert_ended(ended, 3, r"rank 1 on \S+ \(sh\) exited with code 3")

    def test_kill_ends_the_others(self):
        ended = self.run_job("--on-failure", "kill", *one_of_four("exit 3"))
        self.assert_ended(ended, 3, RANK_1 + "exited with code 3")

    def test_many_ways_to_end_do_not_scroll_the_cause_away(self):
        ended = self.run_job("--on-failure", "wait", "--sim-nodes", 4, "--ppn", 16, "sh", "-c",
                             "exit $((SCELA_RANK + 1))")
        lines = ended.err.splitlines()
        self.assertLessEqual(len(lines), 8, ended.err)
        self.assertTrue(all(line.startswith("scela-run: ") for line in lines))
        match = re.fullmatch(r"scela-run: rank (\d+) on sim\d \(sh\) exited with code (\d+)", ended.last)
        self.assertEqual(int(match[1]) + 1, int(match[2]))
        self.assertEqual(ended.status, int(match[2]))

    def test_the_table_of_the_manual_page_has_every_status_tested_here(self):
        path = os.path.join(os.path.dirname(os.environ["SCELA_RUN"]), "..", "man", "scela-run.1")
        if not os.path.exists(path):
            self.skipTest("the manual page is not built")
        with open(path, encoding="utf-8") as f:
            table = f.read().split("EXIT STATUS", 1)[1]
        found = re.findall(r"^\\fB(\S+)\\fR$", table, re.M)
        known = {"0", "1", "64", "68", "70", "71", "74", "124", "126", "127", "128+N", "other"}
        self.assertLessEqual(known, set(found))

    def test_a_rule_decides_how_failures_become_the_exit_status(self):
        text = 'case $SCELA_NODE_INDEX in 0) exit 0 ;; 1) exit 7 ;; 2) read -r x < "$0"; exit 9 ;; esac'
        for rule, status in (("first", 7), ("max", 9), ("count", 2), ("ignore", 0)):
            for where in (["-w", "n[0-2]", "--launch", "local"], ["--sim-nodes", 3, "--ppn", 1, "--on-failure", "wait"]):
                channel = self.channel(f"{rule}{len(where)}")
                running = self.start(*where, "--exit-status", rule, "sh", "-c", job.TELL + text, channel)
                ranks = running.ranks(3)
                job.wait_reaped(ranks[1])
                self.wait_standstill()  # the news of it are with scela-run
                job.release(channel)
                self.assertEqual(running.wait().status, status, (rule, where))
        ended = self.run_job("--exit-status", "ignore", "--timeout", "0.1", "sleep", 1000)
        self.assertEqual(ended.status, 124)
        self.assert_refused(self.run_job("--exit-status", "least", "true"), 64, "'least' is not known.*first or max")


if __name__ == "__main__":
    job.main()
