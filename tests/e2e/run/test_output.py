"""What ranks print: whole, line by line, wherever it goes, and what happens when it cannot go there."""
import contextlib
import hashlib
import os
import re
import resource
import signal
import subprocess
import time

import job
from job import JobTest, labelled

# 2 MiB a rank: numbered lines of 61 bytes, so that no buffer of a usual size ends where a line does.
LINES = 34380
FILLER = ("abcdefghijklmnopqrstuvwxyz" * 2)[:49]
PRINT_MUCH = ["awk", "-v", f"filler={FILLER}",
              f'BEGIN {{ for (i = 0; i < {LINES}; i++) printf "%02d %07d %s\\n", ENVIRON["SCELA_RANK"], i, filler }}']


# 20 MB a rank in numbered lines of 50 bytes. The last megabyte fits into the pipe, which is enlarged for it: a rank
# writes it when the fifo is opened, and can end although nobody reads.
BODY, TAIL = 380_000, 20_000  # lines
PRINT_AND_END = [job.PYTHON, "-c", f"""
import fcntl, os, sys
rank = os.environ["SCELA_RANK"]
lines = [f"{{rank}} {{i:047}}\\n" for i in range({BODY + TAIL})]
fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
with open(1, "w", closefd=False) as out:
    out.writelines(lines[:{BODY}])
with open(os.environ["E2E_READY"], "w") as ready:
    print(rank, os.getpid(), file=ready)
open(sys.argv[1]).close()
os.write(1, "".join(lines[{BODY}:]).encode())
"""]


def printed(rank):
    return "".join(f"{rank} {i:047}\n" for i in range(BODY + TAIL)).encode()


def much(rank):
    return [f"{rank:02} {i:07} {FILLER}" for i in range(LINES)]


class OutputTest(JobTest):
    def read(self, *names):
        with open(os.path.join(self.folder, *names), "rb") as f:
            return f.read()

    def test_sixteen_ranks_of_two_megabytes_arrive_whole_line_by_line(self):
        lines = self.succeed("--sim-nodes", 4, "--degree", 1, "--ppn", 4, *PRINT_MUCH).decode().splitlines()
        found = {}
        for line in lines:
            found.setdefault(line[:2], []).append(line)
        self.assertEqual(set(found), {f"{rank:02}" for rank in range(16)})
        for rank in range(16):
            self.assertTrue(found[f"{rank:02}"] == much(rank), f"output of rank {rank}")

    def test_sixteen_ranks_of_two_megabytes_are_labelled_line_by_line(self):
        lines = self.succeed("-l", "--sim-nodes", 4, "--degree", 2, "--ppn", 4, *PRINT_MUCH).decode().splitlines()
        self.assertEqual(len(lines), 16 * LINES)
        found = {}
        for line in lines:
            found.setdefault(line[:4], []).append(line[4:])
        self.assertEqual(set(found), {f"{rank:02}: " for rank in range(16)})
        for rank in range(16):
            self.assertTrue(found[f"{rank:02}: "] == much(rank), f"output of rank {rank}")

    def test_bytes_that_are_no_text_stay_as_they_are(self):
        data = bytes(range(256)) * 300  # with carriage returns, zeros, and no newline at the end
        path = os.path.join(self.folder, "data")
        with open(path, "wb") as f:
            f.write(data)
        self.assertEqual(self.succeed("cat", path), data)
        self.assertEqual(self.succeed("--sim-nodes", 2, "--ppn", 1, "-n", 1, "cat", path), data)

    def test_standard_error_is_kept_apart(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "-l", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(ended.status, 0)
        self.assertEqual(labelled(ended.lines), {0: ["out"], 1: ["out"]})
        self.assertEqual(labelled(ended.err.splitlines()), {0: ["err"], 1: ["err"]})

    def test_a_prompt_is_shown_before_its_line_ends(self):
        read, write = os.pipe()
        program = '[ "$SCELA_RANK" = 1 ] || { printf "name? "; read -r n; echo "hi $n"; }'
        running = self.start("-n", 2, "sh", "-c", program, stdin=subprocess.PIPE, stdout=write)
        os.close(write)
        with os.fdopen(read, "rb") as out:
            self.assertEqual(out.read(6), b"name? ")
            running.process.stdin.write(b"you\n")
            running.process.stdin.close()
            self.assertEqual(out.read(), b"hi you\n")
        self.assertEqual(running.wait().status, 0)

    def test_every_line_has_the_time_at_which_it_was_read(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "--timestamp", "-l", "sh", "-c", "echo a; echo; echo e >&2")
        self.assertEqual(ended.status, 0)
        time = r"[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}"
        lines = ended.out.decode().splitlines()
        for line in lines:
            self.assertRegex(line, f"^[01]: {time} a?$")
        # The times of one rank's lines may differ.
        self.assertEqual(sorted((line[0], line[16:]) for line in lines), [("0", ""), ("0", "a"), ("1", ""), ("1", "a")])
        self.assertRegex(ended.err, f"^(?:[01]: {time} e\n){{2}}$")
        self.assertRegex(self.succeed("-n", 1, "--timestamp", "echo", "a").decode(), f"^{time} a\n$")

    def test_a_label_has_the_form_that_the_user_chooses(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "--label=[%r@%h %n std%s] ", "sh", "-c", "echo a; echo e >&2")
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["[0@sim0 0 stdout] a", "[1@sim1 1 stdout] a"]))
        self.assertEqual(sorted(ended.err.splitlines()), ["[0@sim0 0 stderr] e", "[1@sim1 1 stderr] e"])
        ended = self.run_job("-n", 11, "--timestamp", "--label=%r|", "printf", "a\\n%s", "b")
        self.assertEqual(ended.status, 0)
        for line in ended.lines:
            self.assertRegex(line, r"^(0\d|10)\|[0-2]\d:[0-5]\d:[0-5]\d\.\d{3} [ab]$")
        self.assertEqual(len(ended.lines), 22)
        ended = self.run_job("-w", "a,b", "--launch", "local", "echo", "x", env={"SCELA_LABEL": "<%h> "})
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["<a> x", "<b> x"]))
        # With -b only standard error is labelled.
        ended = self.run_job("-b", "-n", 2, "--label=%r> ", "sh", "-c", "echo a; echo e >&2")
        self.assertEqual(sorted(ended.err.splitlines()), ["0> e", "1> e"])
        ended = self.run_job("--label=%q", "true")
        self.assertEqual(ended.status, 64)
        self.assertIn("'%q' means nothing", ended.err)

    def test_timestamps_are_in_the_launchers_zone(self):
        ended = self.run_job("-n", 1, "--timestamp", "--env", "TZ=UTC", "date", "+%H:%M", env={"TZ": "XXX-5:30"})
        stamp, utc = ended.lines[0].split()
        ahead = (int(stamp[:2]) * 60 + int(stamp[3:5]) - int(utc[:2]) * 60 - int(utc[3:])) % (24 * 60)
        self.assertIn(ahead, (5 * 60 + 29, 5 * 60 + 30))

    def test_files_have_times_but_no_labels(self):
        self.succeed("-n", 1, "-l", "--timestamp", "--output-dir", "out", "echo", "a")
        with open(os.path.join(self.folder, "out", "rank.0.out"), encoding="ascii") as f:
            self.assertRegex(f.read(), r"^\d\d:\d\d:\d\d\.\d{3} a\n$")

    def test_a_prompt_is_shown_under_its_label(self):
        read, write = os.pipe()
        running = self.start("-w", "n[1-2]", "--launch", "local", "--stdin", "all", "sh", "-c",
                             '[ "$SCELA_NODE" = n2 ] || { printf "name? "; read -r n; echo "hi $n"; }',
                             stdin=subprocess.PIPE, stdout=write)
        os.close(write)
        with os.fdopen(read, "rb") as out:
            self.assertEqual(out.read(10), b"n1: name? ")
            running.process.stdin.write(b"you\n")
            running.process.stdin.close()
            self.assertEqual(out.read(), b"hi you\n")
        self.assertEqual(running.wait().status, 0)

    def test_a_labelled_line_without_end_is_passed_on_in_pieces_and_labelled_once(self):
        out = self.succeed("--sim-nodes", 2, "--ppn", 1, "-l", "sh", "-c",
                           '[ "$SCELA_RANK" = 1 ] || head -c 1000000 /dev/zero')
        self.assertEqual(out, b"0: " + bytes(1000000) + b"\n")

    def test_many_short_lines_under_long_labels_are_all_there(self):
        name = "n" * 200
        out = self.succeed("-w", f"{name}1,{name}2", "--launch", "local", "sh", "-c", "yes '' | head -n 20000")
        self.assertEqual(sorted(out.split(b"\n")), [b""] + [f"{name}{i}: ".encode() for i in (1, 2) for _ in range(20000)])

    def test_a_last_line_without_end_gets_one_if_labelled(self):
        self.assertEqual(self.succeed("-n", 1, "-l", "printf", "no end"), b"0: no end\n")
        self.assertEqual(self.succeed("-n", 1, "printf", "no end"), b"no end")

    def test_a_line_longer_than_a_piece_is_whole(self):
        out = self.succeed("-n", 1, "awk", 'BEGIN { for (i = 0; i < 300000; i++) printf "x"; print "" }')
        self.assertTrue(out == b"x" * 300000 + b"\n")

    def test_output_dir_gets_one_file_per_rank_and_stream(self):
        ended = self.run_job("--output-dir", "out", "--sim-nodes", 4, "--ppn", 3, "sh", "-c",
                             'echo "out $SCELA_RANK"; [ "$SCELA_RANK" = 5 ] || echo "err $SCELA_RANK" >&2')
        self.assertEqual(ended, (0, b"", ""))
        names = {f"rank.{rank:02}.{stream}" for rank in range(12) for stream in ("out", "err")}
        self.assertEqual(set(os.listdir(os.path.join(self.folder, "out"))), names)
        for rank in range(12):
            self.assertEqual(self.read("out", f"rank.{rank:02}.out"), f"out {rank}\n".encode())
            self.assertEqual(self.read("out", f"rank.{rank:02}.err"), b"" if rank == 5 else f"err {rank}\n".encode())

    def test_output_dir_names_files_by_host_where_a_command_runs_once_on_each(self):
        self.succeed("--output-dir", "out", "-w", "un[1-2]", "--launch", "local", "sh", "-c", 'echo "$SCELA_NODE"')
        self.assertEqual(set(os.listdir(os.path.join(self.folder, "out"))), {"un1.out", "un1.err", "un2.out", "un2.err"})
        self.assertEqual(self.read("out", "un2.out"), b"un2\n")

    def test_files_of_an_output_dir_are_named_by_a_pattern(self):
        self.succeed("--output-dir", "out", "--output-name", "%h-%n-%r.%s.log", "--sim-nodes", 2, "--ppn", 1,
                     "sh", "-c", 'echo "$SCELA_JOB_ID"')
        self.assertEqual(set(os.listdir(os.path.join(self.folder, "out"))),
                         {f"sim{i}-{i}-{i}.{stream}.log" for i in (0, 1) for stream in ("out", "err")})
        name = self.read("out", "sim0-0-0.out.log").decode().strip()
        self.assertEqual(self.read("out", "sim1-1-1.out.log").decode().strip(), name)
        self.succeed("--output-dir", "out2", "--output-name", "%j.%h", "-w", "a,b", "--launch", "local", "true")
        self.assertRegex(" ".join(sorted(os.listdir(os.path.join(self.folder, "out2")))),
                         r"^(\w+).a.err \1.a.out \1.b.err \1.b.out$")

    def test_a_pattern_with_which_ranks_would_share_a_file_is_refused(self):
        for pattern, why in (("%h", "share a file"), ("../%r", "no '/'"), ("%r%q", "'%q' means nothing")):
            ended = self.run_job("--output-dir", "out", "--output-name", pattern, "-n", 2, "echo", "x")
            self.assert_refused(ended, 64, f"option --output-name '{pattern}': .*{why}")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))
        self.assert_refused(self.run_job("--output-name", "%r", "echo", "x"), 64, "--output-name: .*--output-dir")

    def test_output_dir_follows_no_links_and_waits_for_no_fifo(self):
        os.mkdir(os.path.join(self.folder, "out"))
        precious = self.file("precious", "precious\n")
        place = os.path.join(self.folder, "out", "rank.0.out")
        for make, why in ((lambda: os.symlink(precious, place), "it is a link, and links are not followed"),
                          (lambda: os.mkfifo(place), "it is no regular file")):
            make()
            ended = self.run_job("--output-dir", "out", "-n", 1, "echo", "overwritten")
            self.assert_ended(ended, 74, rf"open 'out/rank.0.out': {why} \(.*\)")
            self.assertEqual(self.read("precious"), b"precious\n")
            os.remove(place)

    def test_output_dir_files_are_written_anew(self):
        for word in ("a longer text", "short"):
            self.succeed("--output-dir", "out", "echo", word)
        self.assertEqual(self.read("out", "rank.0.out"), b"short\n")

    def test_output_dir_takes_much(self):
        self.succeed("--output-dir", "out", "--sim-nodes", 2, "--ppn", 2, *PRINT_MUCH)
        for rank in range(4):
            self.assertTrue(self.read("out", f"rank.{rank}.out").decode().splitlines() == much(rank), rank)

    def test_an_output_dir_is_made_with_its_parents(self):
        self.succeed("--output-dir", "a/b/c", "echo", "x")
        self.assertEqual(self.read("a", "b", "c", "rank.0.out"), b"x\n")
        self.succeed("--output-dir", "a/b/../d/", "echo", "x")
        self.assertEqual(self.read("a", "d", "rank.0.out"), b"x\n")

    def test_an_output_dir_that_cannot_be_used_is_an_error_before_anything_runs(self):
        taken, ran = self.file("taken"), os.path.join(self.folder, "ran")
        long = 300 * "x"
        os.symlink("nowhere", os.path.join(self.folder, "dangling"))
        for options, why in (([taken], f"use the output directory '{taken}': it is no directory"),
                             ([f"{taken}/a/b"], f"create the output directory '{taken}/a/b': Not a directory"),
                             (["/proc/nowhere/out"], "create the output directory '/proc/nowhere/out': No such file"),
                             (["dangling"], "use the output directory 'dangling': it is a link to nothing"),
                             ([long], "create the output directory 'x*': File name too long"),
                             (["out", "--output-name", long + "%r"], "write files in the output directory 'out': .*305 bytes, .*255")):
            ended = self.run_job("--output-dir", *options, "-n", 1, "touch", ran)
            self.assert_refused(ended, 74, why + r".*\(.*--output-(dir|name).*\)$")
            self.assertFalse(os.path.exists(ran), options)

    def test_an_output_dir_that_this_user_may_not_write_is_an_error_before_anything_runs(self):
        closed, ran = os.path.join(self.folder, "closed"), os.path.join(self.folder, "ran")
        os.mkdir(closed, 0o555)
        # Root may write everywhere, unless it lacks this right.
        before = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
        self.assert_refused(self.run_job("--output-dir", closed, "touch", ran, before=before), 74, f"'{closed}': Permission denied")
        self.assertFalse(os.path.exists(ran))

    def test_a_full_disk_behind_standard_output_ends_the_job(self):
        with open("/dev/full", "wb") as full:
            ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "yes", stdout=full)
        self.assert_ended(ended, 74,
                          r"write standard output: No space left on device \(ENOSPC\) \(free some space.*\)")

    def test_a_full_disk_is_an_error_even_if_all_ranks_end_well(self):
        with open("/dev/full", "wb") as full:
            ended = self.run_job("echo", "x", stdout=full)
        self.assert_ended(ended, 74, r"write standard output: No space left on device.*")

    def test_a_full_file_system_behind_output_files_ends_the_job(self):
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        ended = self.run_job("--output-dir", disk, "--sim-nodes", 2, "--ppn", 2, "yes")
        self.assert_ended(ended, 74, r"write '.*/disk/rank.\d.out': No space left on device.*")

    def test_a_closed_standard_output_is_an_error(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "yes", before=["sh", "-c", 'exec "$@" >&-', "sh"])
        self.assert_ended(ended, 74, r"write standard output: Bad file descriptor.*")

    def test_a_closed_standard_output_without_output_is_no_error(self):
        ended = self.run_job("-n", 2, "true", before=["sh", "-c", 'exec "$@" >&-', "sh"])
        self.assertEqual((ended.status, ended.err), (0, ""))

    def test_all_standard_descriptors_closed_do_no_harm(self):
        program = self.script("p", 'cat; echo "$SCELA_RANK $$" > "$E2E_READY"\n')
        running = self.start("-n", 2, program, before=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
        self.assertEqual(running.wait().status, 0)
        self.read_fifo()
        self.assertEqual(len(self.news), 2)

    def test_a_reader_that_leaves_ends_the_job_quietly(self):
        read, write = os.pipe()
        running = self.start("--sim-nodes", 2, "--ppn", 2, "yes", stdout=write)
        os.close(write)
        self.assertEqual(os.read(read, 2), b"y\n")
        os.close(read)
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (141, ""))  # 128 + SIGPIPE

    def test_a_reader_that_leaves_gathered_output_ends_the_job_quietly(self):
        for option in ("-b", "--diff"):
            read, write = os.pipe()
            running = self.start(option, "-n", 2, "seq", "100000", stdout=write)
            os.close(write)
            self.assertEqual(os.read(read, 1), b"-")
            os.close(read)
            ended = running.wait()
            self.assertEqual((ended.status, ended.err), (141, ""), option)

    def test_head_ends_a_job_that_never_would(self):
        command = '"$SCELA_RUN" --sim-nodes 2 --ppn 2 yes | head -n 1'
        shell = subprocess.run(["sh", "-c", command], env={**self.environment, "SCELA_RUN": os.environ["SCELA_RUN"]},
                               capture_output=True, timeout=job.DEADLINE_S, check=False)
        self.assertEqual((shell.stdout, shell.stderr), (b"y\n", b""))

    def test_a_slow_reader_loses_nothing_and_slows_the_ranks(self):
        # 48 MiB against a pipe that nobody reads at first.
        read, write = os.pipe()
        with os.fdopen(read, "rb", buffering=0) as out:
            running = self.start("--sim-nodes", 2, "--ppn", 3, "sh", "-c",
                                 job.TELL + "dd if=/dev/zero bs=1M count=8 status=none", stdout=write)
            os.close(write)
            ranks = running.ranks(6).values()
            self.wait_standstill()
            self.assertEqual([pid for pid in ranks if not job.process(pid)], [], "ranks that ended unread")
            got, empty = 0, bytes(1000)
            for _ in range(2000):
                piece = out.read(1000)
                got += len(piece)
                self.assertTrue(piece == empty[:len(piece)])
            while piece := out.read(1 << 20):
                got += len(piece)
        self.assertEqual(got, 6 * 8 << 20)
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (0, ""))
        # The largest of the processes waited for: scela-run, and its children with it.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 40 * 1024)

    def test_a_slow_reader_loses_nothing_of_ranks_that_have_ended(self):
        channel = self.channel("go")
        read, write = os.pipe()
        hashes = {b"%d" % rank: hashlib.sha256() for rank in range(4)}
        with os.fdopen(read, "rb") as out:
            running = self.start("--sim-nodes", 2, "--degree", 2, "--ppn", 2, "--grace", "0.1", *PRINT_AND_END,
                                 channel, stdout=write)
            os.close(write)
            for _ in range(4 * BODY):
                line = out.readline()
                hashes[line[:1]].update(line)
            ranks = running.ranks(4).values()
            with open(channel, "wb"):
                self.assertEqual(job.wait_gone(ranks, time.monotonic() + job.DEADLINE_S), [])
            # Most of what they wrote last waits in their pipes now. For longer than agents give a pipe that a
            # stranger holds, or a node that does not end.
            for _ in range(60):
                self.wait_standstill()
            for line in out:
                hashes[line[:1]].update(line)
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual([hashes[b"%d" % rank].hexdigest() for rank in range(4)],
                         [hashlib.sha256(printed(rank)).hexdigest() for rank in range(4)])

    def stall(self, *options):
        """A job that prints for ever to a pipe that nobody reads."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        running = self.start("--sim-nodes", 2, "--degree", 1, "--ppn", 2, "--grace", "0.2", *options, "sh", "-c",
                             job.TELL + "exec yes", stdout=write)
        os.close(write)
        running.ranks(4)
        return running

    def test_a_reader_that_stalls_does_not_outlast_the_time_limit(self):
        ended = self.stall("--timeout", 2).wait()
        self.assert_ended(ended, 124, r"the job reached its time limit of 2 s \(--timeout\) and was ended")

    def test_a_reader_that_stalls_does_not_outlast_sigint(self):
        for options in ([], ["-l"]):
            running = self.stall(*options)
            self.wait_standstill()
            running.signal(signal.SIGINT)
            self.assert_ended(running.wait(), 130, r"interrupted by signal 2 .*; the job was ended")

    def test_a_reader_that_stalls_does_not_outlast_a_second_sigint(self):
        running = self.stall("--grace", 10000)
        self.wait_standstill()
        running.signal(signal.SIGINT)
        self.wait_standstill()
        running.signal(signal.SIGINT)
        self.assert_ended(running.wait(), 130, r"interrupted by signal 2 .*; the job was ended")

    def test_a_reader_that_stalls_does_not_outlast_a_failure(self):
        text = '[ "$SCELA_RANK" != 1 ] || { read -r x < "$0"; exit 3; }; ' + job.TELL + "exec yes"
        for options in ([], ["-l"]):
            channel = self.channel(f"go{len(options)}")
            read, write = os.pipe()
            with open(read, "rb"):
                running = self.start("--grace", 0.2, "--sim-nodes", 3, "--degree", 1, "--ppn", 1, *options,
                                     "sh", "-c", text, channel, stdout=write)
                os.close(write)
                running.ranks(2)
                self.wait_standstill()
                job.release(channel)
                ended = running.wait()
            self.assert_ended(ended, 3, r"rank 1 on sim1 \(sh\) exited with code 3")
            self.assertNotIn("failed nodes", ended.err)

    def test_a_reader_that_stalls_does_not_keep_what_is_left_of_a_job_that_failed(self):
        # The ranks have ended when the reader is waited for: scela-run holds the rest of their output.
        read, write = os.pipe()
        with open(read, "rb"):
            running = self.start("--grace", 0.2, "-n", 1, "sh", "-c", "head -c 300000 /dev/zero; exit 3", stdout=write)
            os.close(write)
            ended = running.wait()
        self.assert_ended(ended, 3, r"rank 0 on .* \(sh\) exited with code 3")

    def full_pipe(self):
        """Both ends of a pipe that takes no more, and the number of its bytes (all zero)."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        size = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                size += os.write(write, bytes(4096))
        os.set_blocking(write, True)
        return open(read, "rb"), write, size

    def test_a_stalled_reader_of_the_report_does_not_keep_scela_run(self):
        for options in ([], ["-v", "--stats"]):
            read, write, _ = self.full_pipe()
            with read:
                running = self.start("--grace", 0.2, *options, "-n", 2, "sh", "-c", "exit 3",
                                     stdout=write, stderr=write)
                os.close(write)
                self.assertEqual(running.wait().status, 3)

    def test_a_slow_reader_of_the_report_misses_nothing(self):
        for options, last in ([], 1), (["-v"], 4):
            read, write, size = self.full_pipe()
            with read:
                running = self.start("--grace", 600, *options, "-n", 1, "sh", "-c", "exit 3", stderr=write)
                os.close(write)
                self.wait_standstill()
                self.assertEqual(read.read(size), bytes(size))
                lines = read.read().decode().splitlines()
            self.assertEqual(running.wait().status, 3)
            self.assertEqual(len(lines), last, lines)
            self.assertEqual(lines[-1], f"scela-run: rank 0 on {os.uname().nodename} (sh) exited with code 3")

    def test_output_of_a_failing_rank_is_shown_before_the_cause(self):
        ended = self.run_job("--sim-nodes", 2, "--ppn", 1, "sh", "-c", 'echo "so far"; echo "oh no" >&2; exit 3')
        self.assert_ended(ended, 3, r"rank \d on sim\d \(sh\) exited with code 3")
        self.assertIn(b"so far\n", ended.out)
        self.assertTrue(re.match("oh no\n", ended.err), ended.err)


if __name__ == "__main__":
    job.main()
