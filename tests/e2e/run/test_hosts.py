"""Commands that run once on each host: labels, input, ends, and the summary."""
import os
import pty
import re
import resource
import signal

import job
from job import JobTest
from terminal import Terminal

LOCAL = ["--launch", "local"]
# Leaves a process running, and goes on when that process is what it will be.
LEAVE = "setsid sleep 1000 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done"


def screen(shown):
    """The lines that a terminal shows after this text; it knows what scela-run uses: ends of lines, up, erase to the end."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r\n|\r|[^\x1b\r]+", shown):
        if part == "\r\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.endswith("A") and part[0] == "\x1b":
            row -= int(part[2:-1])
        elif part == "\x1b[J":
            lines = lines[:row] + [""]
        elif part != "\r":
            lines[row] += part
    return [line for line in lines if line]


class HostsTest(JobTest):
    def input(self, data):
        """Standard input that is a file with these bytes."""
        path = os.path.join(self.folder, "input")
        with open(path, "wb") as f:
            f.write(data)
        handle = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, handle)
        return handle

    def test_a_command_runs_once_on_each_host_named(self):
        ended = self.run_job("-w", "node[01-05]", *LOCAL, "sh", "-c", 'echo "$SCELA_NODE of $SCELA_SIZE"')
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), [f"node0{i}: node0{i} of 5" for i in range(1, 6)])

    def test_one_word_that_is_no_program_goes_to_the_users_shell(self):
        for command, said in (("echo one; echo $SCELA_NODE", ["a: a", "a: one", "b: b", "b: one"]),
                              ("A=1 env | grep ^A=", ["a: A=1", "b: A=1"])):
            ended = self.run_job("-w", "a,b", *LOCAL, command)
            self.assertEqual((ended.status, sorted(ended.lines), ended.err), (0, said, ""))
        ended = self.run_job("-w", "a,b", *LOCAL, "echo x; exit 3")
        self.assertEqual((ended.status, ended.err), (3, "scela-run: exit 3: 2 (a,b)\n"))

    def test_the_shell_of_the_login_gets_the_text_as_it_was_typed(self):
        shell = self.file("shell", '#!/bin/sh\nprintf "%s|" "$@"\n')
        os.chmod(shell, 0o755)
        text = "echo 'a  b'\t\"$X\" \\* >&2"
        ended = self.run_job("-w", "a", "--label=no", "--env", "SHELL=/bin/false", *LOCAL, text, env={"SHELL": shell})
        self.assertEqual((ended.status, ended.out.decode()), (0, f"-c|{text}|"))

    def test_a_client_of_ssh_gets_the_port_apart_from_the_host(self):
        client = self.script("client", f"""
            echo "$1 $2 $3" >> {self.folder}/calls
            shift 3; exec sh -c "$*" """)
        ended = self.run_job("--launch", f"ssh-exec:{client}", "-w", "root@node1:2222,[fd00::101]:port=22", "echo $SCELA_NODE")
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), ["[fd00::101]:port=22: [fd00::101]:port=22", "root@node1:2222: root@node1:2222"])
        with open(f"{self.folder}/calls", encoding="utf-8") as calls:
            self.assertEqual(sorted(calls), ["-p 22 fd00::101\n", "-p 2222 root@node1\n"])

    def test_a_remote_shell_that_fails_is_named_without_its_script(self):
        ended = self.run_job("--launch", "rsh:sh -c exit\t$((1+2));:", "-w", "node1", "hostname")
        self.assertEqual(ended.status, 68)
        self.assertIn("node1 unreachable (start agent): 'sh -c' ended before an agent answered: exit status 3\n", ended.err)

    def test_a_remote_shell_that_takes_no_port_is_a_clear_error(self):
        ended = self.run_job("--launch", "rsh:true", "-w", "node1:2222", "hostname")
        self.assertEqual(ended.status, 64)
        self.assertIn("no port can be given to this program (leave the port out, or give --launch ssh-exec:COMMAND", ended.err)

    def test_two_dashes_or_several_words_are_exact(self):
        ended = self.run_job("-w", "a", *LOCAL, "--", "echo x")
        self.assertEqual(ended.status, 127)
        self.assertIn("find 'echo x'", ended.err)
        ended = self.run_job("-w", "a", "--label=no", *LOCAL, "echo", "$HOME; x", "a  b")
        self.assertEqual(ended.out, b"$HOME; x a  b\n")
        ended = self.run_job("-w", "a", "-n", 1, *LOCAL, "echo x")
        self.assertEqual(ended.status, 127)

    def test_a_host_in_the_place_of_the_program_is_told(self):
        ended = self.run_job("-w", "a", *LOCAL, "localhost", "uptime")
        self.assertEqual(ended.status, 127)
        self.assertIn("(if 'localhost' is a host, write -w a,localhost before the command)", ended.err)
        ended = self.run_job("n[1-4]", "uptime")
        self.assert_ended(ended, 127, r".*\(if 'n\[1-4\]' is a host, write -w n\[1-4\] before the command\)")
        ended = self.run_job("-w", "a", *LOCAL, "no-such-program.invalid")
        self.assertNotIn("is a host", ended.err)
        ended = self.run_job("-w", "a", *LOCAL, "cd", "/tmp")
        self.assertIn("give the whole command as one word", ended.err)

    def test_processes_that_a_command_leaves_are_named_when_they_are_ended(self):
        ended = self.run_job("-w", "n[1-3]", *LOCAL,
                             f"[ $SCELA_NODE = n3 ] || {{ {LEAVE}; }}; echo x")
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["n1: x", "n2: x", "n3: x"]))
        self.assertEqual(ended.err, "scela-run:   n[1-2] had processes left running, now ended: sleep "
                                    "(--keep leaves them)\n")
        self.assertEqual(self.processes(), [])

    def test_processes_that_a_command_leaves_stay_if_the_user_keeps_them(self):
        ended = self.run_job("-w", "n[1-3]", "--degree", 1, "--keep", *LOCAL,
                             f"{LEAVE}; echo x")
        self.assertEqual((ended.status, len(ended.lines), ended.err), (0, 3, ""))
        left = self.processes()
        self.assertEqual([one.name for one in left], ["sleep"] * 3)
        for one in left:
            os.kill(one.pid, signal.SIGKILL)

    def test_what_a_command_left_stays_if_its_job_is_ended_later(self):
        """A command starts on each host at once, or (--min-nodes) once all are there."""
        left_file = f"{self.folder}/left"
        script = (f"[ $SCELA_RANK = 1 ] || {{ {LEAVE}; : >{left_file}; exit; }}; "
                  f"until [ -e {left_file} ]; do :; done; {job.HOLD}")
        for words in ([], ["--min-nodes", 2], ["--grace", 0], ["--min-nodes", 2, "--grace", 0]):
            with self.subTest(words=words):
                running = self.start("-w", "n[0-1]", "--keep", *words, *LOCAL, script)
                running.ranks(1)
                while len(self.succeed("--attach", running.pid).splitlines()) != 1:  # until rank 0 has ended
                    pass
                running.signal(signal.SIGTERM)
                self.assertEqual(running.wait().status, 143)
                left = self.processes()
                self.assertEqual([one.name for one in left], ["sleep"])
                os.kill(left[0].pid, signal.SIGKILL)
                os.unlink(left_file)

    def test_nothing_is_kept_of_a_host_that_reaches_its_time_limit(self):
        ended = self.run_job("-w", "n1", "--keep", "--host-timeout", 1, *LOCAL, f"{LEAVE}; exec sleep 1000")
        self.assertEqual((ended.status, self.processes()), (124, []))

    def test_nothing_is_kept_of_a_job_that_is_ended(self):
        running = self.start("-w", "n[1-2]", "--keep", "--grace", "0.2", *LOCAL,
                             f"{LEAVE}; {job.HOLD}")
        running.ranks(2)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_hosts_come_from_files_standard_input_and_each_w(self):
        path = self.file("rack", "f1  # first\nf2\n")
        ended = self.run_job("-w", f"a,^{path}", "-w", "-", "-w", "z", "-x", "^" + self.file("down", "f1\n"), *LOCAL,
                             "cat; echo $SCELA_NODE_INDEX", stdin=self.input(b"n[1-2] m\n# none\n q\n"))
        self.assertEqual((ended.status, ended.err), (0, ""))
        names = ["a", "f2", "n1", "n2", "m", "q", "z"]
        self.assertEqual(sorted(ended.lines), sorted(f"{name}: {i}" for i, name in enumerate(names)))
        for words in (["-w", "^/nonexistent"], ["-w", "^"], ["-w", "-"], ["-w", "-", "-w", "-"],
                      ["-w", "-", "--stdin", "all"]):
            self.assert_refused(self.run_job(*words, *LOCAL, "true"), 64, "host")

    def test_node_sets_come_from_standard_input(self):
        ended = self.run_job("--nodeset", "fold", "-", stdin=self.input(b"n2\nn1 n[3-4]\n"))
        self.assertEqual((ended.status, ended.out), (0, b"n[1-4]\n"))

    def test_node_sets_of_files_have_no_slots(self):
        path = self.file("hosts", "a slots=4\nb port=22\n")
        self.assertEqual(self.succeed("--nodeset", "count", "^" + path, "a"), b"2\n")
        self.assertEqual(self.succeed("--nodeset", "expand", "^" + path + ",a:4"), b"a\nb:port=22\n")

    def test_hosts_that_files_with_slots_and_several_x_leave_out_run_nothing(self):
        path = self.file("hosts", "node1 slots=4\n")
        ended = self.run_job("-w", "node[1-3]", "-w", "node4:port=22", "-x", "^" + path, "-x", "node2:4", *LOCAL, "echo", "x")
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["node3: x", "node4:port=22: x"]))

    def test_an_error_of_a_host_list_has_no_control_characters(self):
        path = self.file("hosts\x1b[31m", "a\x1b[2Jb\n")
        for words, data in ((["-w", "a\x1b[2J;b"], b""), (["-f", path], b""), (["-w", "^" + path], b""),
                            (["-f", path + "-missing"], b""), (["-w", "-"], b"a\x1b]0;x\x07b\n")):
            ended = self.run_job(*words, *LOCAL, "true", stdin=self.input(data))
            self.assertEqual(ended.status, 64)
            self.assertTrue(ended.err.rstrip("\n").isprintable(), ended.err)

    def test_a_text_for_a_shell_that_no_shell_gets_is_told_of(self):
        for words, hint in ((["-w", "h", "kill -STOP $$", "--host-timeout", "1"], "options stand before it"),
                            (["--sim-nodes", "2", "echo a; echo b"], "sh -c 'TEXT'"), (["-w", "a:2", "a; b"], "sh -c 'TEXT'"),
                            (["-n", "2", "a; b"], "sh -c 'TEXT'"), (["-w", "h", "--", "a; b"], "leave -- out")):
            ended = self.run_job(*LOCAL, *words) if "-w" in words else self.run_job(*words)
            self.assertEqual(ended.status, 127)
            self.assertIn(hint, ended.err)

    def test_a_login_shell_that_is_missing_is_named(self):
        ended = self.run_job("-w", "h", *LOCAL, "A=1 echo x", env={"SHELL": "/nonexistent"})
        self.assertEqual(ended.status, 127)
        self.assertIn("the login shell '/nonexistent' (SHELL): No such file or directory", ended.err)
        self.assertNotIn("one word", ended.err)

    def test_a_host_file_and_a_variable_name_hosts_too(self):
        for words, env in ((["-f", self.file("hosts", "a\nb\n")], {}), ([], {"SCELA_HOSTS": "a,b"})):
            ended = self.run_job(*words, *LOCAL, "echo", "x", env=env)
            self.assertEqual(sorted(ended.lines), ["a: x", "b: x"])

    def test_labels_can_be_switched_off(self):
        ended = self.run_job("-w", "a,b", "--label=no", *LOCAL, "echo", "x")
        self.assertEqual(ended.out, b"x\nx\n")

    def test_the_others_go_on_when_one_fails(self):
        ended = self.run_job("-w", "n[1-4]", *LOCAL, "sh", "-c",
                             'case $SCELA_NODE in n2) exit 3;; n3) kill -KILL $$;; esac; echo done')
        self.assertEqual(sorted(ended.lines), ["n1: done", "n4: done"])
        self.assertEqual(ended.err,
                         "scela-run: ok 2 (n[1,4]) · exit 3: 1 (n2) · killed by SIGKILL: 1 (n3)\n")
        self.assertEqual(ended.status, 137)

    def test_on_failure_kill_ends_the_others(self):
        ended = self.run_job("-w", "n[1-3]", "--on-failure", "kill", *LOCAL, "sh", "-c",
                             '[ $SCELA_NODE = n2 ] && exit 3; exec sleep 1000')
        self.assertEqual((ended.status, ended.err),
                         (3, "scela-run: exit 3: 1 (n2) · ended with the job 2 (n[1,3])\n"))

    def test_success_is_silent_unless_the_user_asks(self):
        self.assertEqual(self.run_job("-w", "a,b", *LOCAL, "true"), (0, b"", ""))
        ended = self.run_job("-w", "a,b", "-v", *LOCAL, "true")
        self.assertEqual((ended.status, ended.last), (0, "scela-run: ok 2 (a,b)"))

    def test_the_host_time_limit_ends_a_host_and_no_other(self):
        ended = self.run_job("-w", "n[1-3]", "--host-timeout", "0.5", *LOCAL, "sh", "-c",
                             '[ $SCELA_NODE = n2 ] && exec sleep 1000; echo done')
        self.assertEqual(sorted(ended.lines), ["n1: done", "n3: done"])
        self.assertEqual((ended.status, ended.err), (124, "scela-run: ok 2 (n[1,3]) · timed out 1 (n2)\n"))

    def test_the_host_time_limit_kills_processes_that_ignore_sigterm(self):
        # JobTest sees to it that the daemon is gone too.
        ended = self.run_job("-w", "n[1-2]", "--host-timeout", "0.2", "--grace", "0.2", *LOCAL, "sh", "-c",
                             'trap "" TERM; [ $SCELA_NODE = n1 ] || { setsid sleep 1000 & sleep 1000; sleep 1000; }')
        self.assertEqual((ended.status, ended.err), (124, "scela-run: ok 1 (n1) · timed out 1 (n2)\n"))

    def test_a_host_time_limit_ends_a_job_of_ranks(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "--host-timeout", "0.3", "sh", "-c",
                             '[ $SCELA_RANK = 3 ] || [ $SCELA_RANK = 1 ] && exit 0; exec sleep 1000')
        self.assert_ended(ended, 124,
                          r"rank [02] on sim[01] \(sh\) reached the time limit of its host \(--host-timeout\)")

    def test_input_goes_to_every_host(self):
        data = os.urandom(300_000).hex().encode()
        ended = self.run_job("-w", "n[1-5]", "--degree", 2, *LOCAL, "wc", "-c", stdin=self.input(data))
        self.assertEqual(sorted(ended.lines), [f"n{i}: {len(data)}" for i in range(1, 6)])

    def test_a_host_that_does_not_read_does_not_keep_the_others_from_it(self):
        data = os.urandom(300_000).hex().encode()
        ended = self.run_job("-w", "n[1-3]", "--label=no", *LOCAL, "sh", "-c",
                             '[ $SCELA_NODE = n2 ] || exec wc -c; exit 5', stdin=self.input(data))
        self.assertEqual((ended.status, ended.lines), (5, [str(len(data))] * 2))

    def test_input_can_be_kept_from_the_hosts(self):
        self.assertEqual(self.run_job("-w", "a,b", "--stdin", "none", *LOCAL, "cat", stdin=self.input(b"x\n")).out, b"")

    def test_a_terminal_is_not_read(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        running = self.start("-w", "a,b", *LOCAL, "cat", stdin=theirs, before=["setsid", "--ctty", "--wait"])
        os.close(theirs)
        self.assertEqual(running.wait()[:2], (0, b""))

    def test_hosts_that_do_not_resolve_are_outcomes_like_others(self):
        ended = self.run_job("-w", "no[1-2].invalid,localhost", "echo", "here", env={"HOME": self.folder})
        self.assertEqual((ended.status, ended.lines), (68, ["localhost: here"]))
        first, last = ended.err.splitlines()
        self.assertRegex(first, r"^scela-run:   no\[1-2\]\.invalid unreachable \(resolve\): .+")
        self.assertEqual(last, "scela-run: ok 1 (localhost) · unreachable 2 (no[1-2].invalid)")

    def test_hosts_none_of_which_resolves(self):
        ended = self.run_job("-w", "no[1-2].invalid", "true", env={"HOME": self.folder})
        self.assertEqual((ended.status, ended.last), (68, "scela-run: unreachable 2 (no[1-2].invalid)"))

    def test_hosts_keep_their_numbers_if_others_do_not_resolve(self):
        hosts = ["-w", "no1.invalid,localhost,no2.invalid,127.0.0.1"]
        for words in ([], ["--degree", 1], ["--min-nodes", 2]):
            ended = self.run_job(*hosts, *words, "--expand", "echo", "%n", "%r", env={"HOME": self.folder})
            self.assertEqual((ended.status, sorted(ended.lines)), (68, ["127.0.0.1: 3 3", "localhost: 1 1"]))
            self.assertEqual(ended.last, "scela-run: ok 2 (127.0.0.1,localhost) · unreachable 2 (no[1-2].invalid)")
        ended = self.run_job(*hosts, "--stdin", 3, "cat", env={"HOME": self.folder}, stdin=self.input(b"x\n"))
        self.assertEqual((ended.status, ended.lines), (68, ["127.0.0.1: x"]))

    def test_a_host_that_does_not_resolve_ends_no_job_that_a_failure_ends(self):
        ended = self.run_job("-w", "no.invalid,localhost", "--on-failure", "kill", "--expand", "echo", "%n", env={"HOME": self.folder})
        self.assertEqual((ended.status, ended.lines), (68, ["localhost: 0"]))

    def test_ranks_that_meet_count_no_hosts_that_do_not_resolve(self):
        ended = self.run_job("-w", "no.invalid,localhost", "--env-style", "torch", "echo $RANK of $WORLD_SIZE",
                             env={"HOME": self.folder})
        self.assertEqual((ended.status, ended.lines), (68, ["localhost: 0 of 1"]))

    def test_a_job_starts_with_the_nodes_that_it_needs(self):
        ended = self.run_job("-w", "no.invalid,localhost", "--min-nodes", 1, "-n", 3, "-l", "echo", "x",
                             env={"HOME": self.folder})
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0: x", "1: x", "2: x"]))
        self.assertRegex(ended.err, r"^scela-run:   no\.invalid unreachable \(resolve\): .*\n$")

    def test_a_job_does_not_start_with_less_nodes_than_it_needs(self):
        ended = self.run_job("-w", "no.invalid,localhost", "--min-nodes", 2, "-n", 3, "true", env={"HOME": self.folder})
        self.assert_ended(ended, 68, r"no\.invalid: resolve the name .*")
        ended = self.run_job("-w", "no[1-2].invalid,localhost", "--min-nodes", 2, "-n", 3, "true",
                             env={"HOME": self.folder})
        self.assert_ended(ended, 68, r".*reach 2 hosts \(--min-nodes\): 1 are left.*resolve.*")

    def test_equal_output_is_shown_once_under_its_hosts(self):
        ended = self.run_job("-w", "n[1-4]", "-b", *LOCAL, "sh", "-c",
                             'echo first; case $SCELA_NODE in n3) echo odd; exit 2;; *) echo even;; esac')
        rule = "---------------"
        self.assertEqual(ended.lines, [rule, "n[1-2,4] (3)", rule, "first", "even", rule, "n3", rule, "first", "odd"])
        self.assertEqual((ended.status, ended.err), (2, "scela-run: ok 3 (n[1-2,4]) · exit 2: 1 (n3)\n"))

    def test_the_output_of_the_majority_and_what_deviates_from_it_are_shown(self):
        text = 'case $SCELA_NODE in n1) ;; n3) echo same; echo more ;; n5) printf same ;; *) echo same ;; esac'
        ended = self.run_job("-w", "n[1-5]", "--diff", *LOCAL, "sh", "-c", text)
        rule = "-" * 15
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(ended.lines, [rule, "n[2,4-5] (3)", rule, "same",
                                       "--- n[2,4-5] (3)", "+++ n1", "@@ -1 +0,0 @@", "-same",
                                       "--- n[2,4-5] (3)", "+++ n3", "@@ -1 +1,2 @@", " same", "+more"])
        self.assert_refused(self.run_job("--diff", "--output-dir", "out", "true"), 64, "--diff and --output-dir")

    def test_a_terminal_shows_what_is_gathered_while_hosts_still_run(self):
        terminal = Terminal(self)
        channel = self.channel("go")
        text = 'case $SCELA_NODE in n3) read -r x < "$0"; echo warned >&2; read -r x < "$0"; echo other ;; *) echo same ;; esac'
        running = self.start("-w", "n[1-3]", "-b", *LOCAL, "sh", "-c", text, channel, stderr=terminal.theirs,
                             env={"TERM": "vt220"})
        view = r"scela-run: 2 of 3 hosts done\r\n  n\[1-2\] \(2\): same\r\n"
        terminal.read(view)
        job.release(channel)
        terminal.read(r"n3: warned\r\n" + view)  # drawn again behind the line
        self.assertEqual(screen(terminal.shown), ["n3: warned", "scela-run: 2 of 3 hosts done", "  n[1-2] (2): same"])
        job.release(channel)
        terminal.read_to_end(running.process)
        ended = running.wait()
        self.assertEqual(screen(terminal.shown), ["n3: warned"])
        rule = "-" * 15
        self.assertEqual(ended.lines, [rule, "n[1-2] (2)", rule, "same", rule, "n3", rule, "other"])

    def test_nothing_is_drawn_on_a_terminal_that_cannot_erase(self):
        terminal = Terminal(self)
        ended = self.start("-w", "n[1-3]", "-b", *LOCAL, "sh", "-c", "echo x", stderr=terminal.theirs, env={"TERM": "dumb"})
        terminal.read_to_end(ended.process)
        self.assertEqual((ended.wait().status, terminal.shown), (0, ""))

    def test_gathering_lets_standard_error_pass_under_its_label(self):
        ended = self.run_job("-w", "n[1-2]", "-b", *LOCAL, "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(sorted(ended.err.splitlines()), ["n1: err", "n2: err"])
        self.assertEqual(ended.out, b"---------------\nn[1-2] (2)\n---------------\nout\n")

    def test_ranks_are_gathered_too(self):
        out = self.succeed("--sim-nodes", 2, "--ppn", 4, "-b", "sh", "-c", 'echo $((SCELA_RANK / 6))')
        rule = b"---------------\n"
        self.assertEqual(out, rule + b"0-5 (6)\n" + rule + b"0\n" + rule + b"6-7 (2)\n" + rule + b"1\n")

    def test_much_gathered_output_is_whole_and_leaves_no_file(self):
        # More than is kept in memory. JobTest sees to it that TMPDIR is empty then.
        text = 'i=0; while [ $i -lt 300000 ]; do echo "$i $((SCELA_RANK % 2)) and more"; i=$((i + 1)); done'
        lines = self.succeed("-w", "n[1-4]", "--degree", 2, "-b", *LOCAL, "sh", "-c", text).decode().splitlines()
        self.assertEqual(len(lines), 600_006)
        self.assertEqual([lines[1], lines[300_004]], ["n[1,3] (2)", "n[2,4] (2)"])
        for kind, at in ((0, 3), (1, 300_006)):
            self.assertTrue(lines[at:at + 300_000] == [f"{i} {kind} and more" for i in range(300_000)])

    def test_gathered_output_takes_little_memory(self):
        with open(os.devnull, "wb") as nowhere:
            ended = self.run_job("--sim-nodes", 8, "--ppn", 8, "-b", "sh", "-c",
                                 'yes "a line of rank $SCELA_RANK" | head -c 4000000', stdout=nowhere)
        self.assertEqual((ended.status, ended.err), (0, ""))
        # The largest process of the job, or of this one.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 32 * 1024)

    def test_gathered_output_is_shown_when_the_job_is_interrupted(self):
        running = self.start("-w", "n[1-2]", "-b", *LOCAL, "sh", "-c", "echo so far; " + job.HOLD)
        running.ranks(2)
        self.wait_standstill()
        running.signal(2)
        ended = running.wait()
        self.assertEqual((ended.status, ended.lines[1:]), (130, ["n[1-2] (2)", "---------------", "so far"]))

    def test_gathering_and_an_output_directory_are_one_too_many(self):
        ended = self.run_job("-w", "a", "-b", "--output-dir", "out", *LOCAL, "true")
        self.assert_refused(ended, 64, "both say where standard output goes")

    def test_ctrl_c_names_what_was_ended(self):
        running = self.start("-w", "n[1-2]", *LOCAL, "sh", "-c", job.HOLD)
        running.ranks(2)
        running.signal(2)
        ended = running.wait()
        self.assertEqual(ended.status, 130)
        self.assertIn("scela-run: ended with the job 2 (n[1-2])\n", ended.err)
        self.assertRegex(ended.last, "interrupted by signal 2")


if __name__ == "__main__":
    job.main()
