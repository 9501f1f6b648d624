"""What users and ranks get wrong: one clear error each."""
import os

import job
from job import JobTest

INIT = "printf 'cmd=init pmi_version=1 pmi_subversion=1\\n' >&3; read -r answer <&3; "


class BadInputTest(JobTest):
    def test_unknown_host_syntax(self):
        for spec in ("a:x", "a:0", "node[1-", "node[4-2]", "a:1:2", "node]1[", "a,b:-1"):
            ended = self.run_job("--hosts", spec, "--launch", "local", "true")
            self.assert_refused(ended, 64, r"read host list '.*'.*\(.*\)")

    def test_a_host_that_has_no_address(self):
        ended = self.run_job("-w", "far-away.invalid", "-n", 1, "true", env={"HOME": self.folder})
        self.assert_refused(ended, 68, "^scela-run: far-away.invalid: .*")

    def test_zero_ranks(self):
        for words in (["-n", 0], ["--ppn", 0], ["-n", -1], ["--sim-nodes", 0]):
            self.assert_refused(self.run_job(*words, "true"), 64, "out of range.*give a number from 1")

    def test_zero_slots_left_for_a_program(self):
        ended = self.run_job("-w", "a:2", "--launch", "local", "-n", 2, "true", ":", "true")
        self.assert_refused(ended, 64, "no slot is left for program 2.*--oversubscribe")

    def test_more_ranks_than_slots_say_how_to_allow_it(self):
        ended = self.run_job("-w", "a:2,b:2", "--launch", "local", "-n", 5, "true")
        self.assert_refused(ended, 64, "the program has 5 ranks, but its hosts have 4 slots.*--oversubscribe")

    def test_more_ranks_than_ppn_say_how_to_allow_it(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "-n", 5, "true")
        self.assert_refused(ended, 64, "2 nodes at 2 ranks a node.*hold 4.*--oversubscribe")

    def test_hosts_and_host_file_are_one_too_many(self):
        path = self.file("hosts", "a\n")
        self.assert_refused(self.run_job("-w", "a", "-f", path, "true"), 64, "both name the job's hosts")

    def test_a_missing_host_file(self):
        ended = self.run_job("-f", "/nowhere/hosts", "true")
        self.assert_refused(ended, 64, r"read the host file '/nowhere/hosts': No such file or directory \(ENOENT\)")

    def test_a_host_file_that_is_a_directory(self):
        ended = self.run_job("-f", self.folder, "true")
        self.assert_refused(ended, 64, r"read the host file '.*': Is a directory \(EISDIR\)")

    def test_a_host_file_without_permission(self):
        if os.getuid() == 0:
            # root reads everything but what another user's process keeps from it: run as nobody.
            path = self.file("hosts", "a\n", 0o600)
            os.chmod(self.folder, 0o755)
            os.chmod(self.temporary, 0o777)
            ended = self.run_job("-f", path, "true", before=["setpriv", "--reuid=65534", "--regid=65534",
                                                             "--clear-groups"])
        else:
            ended = self.run_job("-f", self.file("hosts", "a\n", 0o000), "true")
        self.assert_refused(ended, 64, r"read the host file '.*/hosts': Permission denied \(EACCES\)")

    def test_a_host_file_that_never_ends(self):
        ended = self.run_job("-f", "/dev/zero", "true")
        self.assert_refused(ended, 64, r"read the host file '/dev/zero': it is larger than 64 MiB")

    def test_a_host_that_would_be_an_option_of_ssh(self):
        self.assert_refused(self.run_job("-w", "-oProxyCommand=x", "true"), 64, "cannot be the name of a host")

    def test_an_empty_host_file(self):
        self.assert_refused(self.run_job("-f", self.file("hosts", "# nobody\n"), "true"), 64, "it names no host")

    def test_a_wrong_line_in_a_host_file_is_named(self):
        path = self.file("hosts", "a\nb slots=many\n")
        self.assert_refused(self.run_job("-f", path, "true"), 64, rf"{path}:2: .*'many' is not a number")

    def test_excluding_every_host(self):
        ended = self.run_job("-w", "a,b", "-x", "a,b", "--launch", "local", "true")
        self.assert_refused(ended, 64, "no host is left.*exclude fewer hosts")

    def test_a_missing_program_names_rank_host_and_program(self):
        ended = self.run_job("-w", "a:1,b:1", "--launch", "local", "-n", 1, "true", ":", "-n", 1, "./missing")
        self.assert_ended(ended, 127, r"rank 1 on b \(\./missing\) not started, program not found: .*")

    def test_no_rank_outlives_a_program_that_is_missing_elsewhere(self):
        ended = self.run_job("-w", "a:2,b:1", "--launch", "local", "-n", 2, "sleep", 1000, ":", "-n", 1,
                             "./missing")
        self.assert_ended(ended, 127, r"rank 2 on b .*")

    def test_a_program_without_execute_permission(self):
        path = self.file("data", "x", 0o644)
        self.assert_ended(self.run_job(path), 126, r"rank 0 on \S+ \(.*\) not started, program cannot be executed: .*")

    def test_a_program_that_is_no_program(self):
        # An ELF header and nothing else.
        path = os.path.join(self.folder, "broken")
        with open(path, "wb") as f:
            f.write(b"\x7fELF" + bytes(60))
        os.chmod(path, 0o755)
        ended = self.run_job(path)
        self.assertNotEqual(ended.status, 0)
        self.assertRegex(ended.last, r"^scela-run: rank 0 on \S+ \(.*/broken\) ")

    def break_protocol(self, text):
        """Rank 1 of four says this to its PMI server; the others wait. What the end looks like."""
        return self.run_job("--sim-nodes", 2, "--ppn", 2, "sh", "-c",
                            f'if [ "$SCELA_RANK" = 1 ]; then {text}; fi; exec sleep 1000')

    def test_garbage_instead_of_pmi_ends_the_job_with_that_rank_named(self):
        for text in ("printf 'garbage\\n' >&3", "head -c 1000000 /dev/zero >&3", "head -c 100000 /dev/urandom >&3",
                     INIT + INIT + "read -r x <&3", "printf 'cmd=barrier_in\\n' >&3",
                     "printf 'cmd=init pmi_version=x\\n' >&3", "printf 'x=y\\n' >&3"):
            ended = self.break_protocol(text)
            self.assert_ended(ended, 1, r"rank 1 on sim0 \(sh\) broke the PMI protocol: .*")
            # Its neighbours were told to end: the agent was there to do so.
            self.assertRegex(ended.err, r"(?m)^scela-run:   3 ranks ended with the job: 0,2-3$")

    def test_a_rank_that_ends_between_init_and_finalize(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "sh", "-c",
                             INIT + 'if [ "$SCELA_RANK" = 1 ]; then exit 0; fi; '
                             "printf 'cmd=barrier_in\\n' >&3; read -r answer <&3; exit 0")
        self.assert_ended(ended, 1, r"rank 1 on sim1 \(sh\) ended without finalizing.*")

    def test_a_rank_that_aborts(self):
        for code, status in ((9, 9), (256, 1)):
            ended = self.break_protocol(INIT + f"printf 'cmd=abort exitcode={code}\\n' >&3; read -r x <&3")
            self.assert_ended(ended, status, rf"rank 1 on sim0 \(sh\) aborted the job with code {code}.*")

    def test_a_message_of_a_rank_cannot_forge_lines_or_colours(self):
        ended = self.break_protocol("printf 'cmd=\\033[31mred\\033[0m\\rscela-run: all is well\\n' >&3")
        self.assertEqual(ended.status, 1)
        self.assertNotIn("\033", ended.err)
        self.assertTrue(all(line.startswith("scela-run: ") for line in ended.err.splitlines()), ended.err)
        self.assertRegex(ended.last, r"^scela-run: rank 1 on sim0 ")

    def test_ranks_that_close_everything_end_well(self):
        self.succeed("--sim-nodes", 2, "--ppn", 2, "sh", "-c", "exec <&- >&- 2>&- 3>&-; exit 0")


if __name__ == "__main__":
    job.main()
