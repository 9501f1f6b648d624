"""Standard input: to whom it goes, whole and in order, and that nobody waits for it in vain."""
import hashlib
import os
import pty
import random
import subprocess

import job
from job import JobTest, labelled

DATA = random.Random(1).randbytes(1_000_000)
SUM = hashlib.sha256(DATA).hexdigest()
EMPTY = hashlib.sha256(b"").hexdigest()
MANY = 50  # times DATA
READ_AHEAD = 16 << 20  # bytes; what scela-run may take that no rank has asked for, generously
HASH = ["sh", "-c", "sha256sum | cut -c1-64"]


class StdinTest(JobTest):
    def hashes(self, *arguments, **options):
        """What each rank of four on two nodes read, its input coming through a pipe."""
        read, write = os.pipe()
        running = self.start("--sim-nodes", 2, "--degree", 1, "--ppn", 2, "-l", *arguments, *HASH, stdin=read,
                             **options)
        os.close(read)
        with open(write, "wb") as pipe:
            try:
                pipe.write(DATA)
            except BrokenPipeError:
                pass
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (0, ""))
        return {rank: texts[0] for rank, texts in labelled(ended.lines).items()}

    def input_file(self):
        path = os.path.join(self.folder, "input")
        with open(path, "wb") as f:
            f.write(DATA)
        file = open(path, "rb")
        self.addCleanup(file.close)
        return file

    def test_input_goes_to_rank_0(self):
        self.assertEqual(self.hashes(), {0: SUM, 1: EMPTY, 2: EMPTY, 3: EMPTY})

    def test_input_goes_to_all_ranks(self):
        self.assertEqual(self.hashes("--stdin", "all"), {rank: SUM for rank in range(4)})

    def test_input_goes_to_the_rank_named(self):
        self.assertEqual(self.hashes("--stdin", "3"), {0: EMPTY, 1: EMPTY, 2: EMPTY, 3: SUM})

    def test_input_goes_to_no_rank(self):
        out = self.succeed("-n", 2, "--stdin", "none", "-l", *HASH, stdin=self.input_file())
        self.assertEqual(labelled(out.decode().splitlines()), {0: [EMPTY], 1: [EMPTY]})

    def test_input_from_a_file_is_whole(self):
        out = self.succeed("-n", 2, "wc", "-c", stdin=self.input_file())
        self.assertEqual(sorted(out.split()), [b"0", b"1000000"])

    def test_unread_input_stays_for_the_next_program(self):
        file = self.input_file()
        self.succeed("-n", 2, "--stdin", "none", "true", stdin=file)
        self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_CUR), 0)

    def test_empty_input_ends_at_once(self):
        self.assertEqual(self.succeed("--stdin", "all", "-n", 2, "wc", "-c"), b"0\n0\n")

    def test_closed_input_is_empty_input(self):
        out = self.succeed("wc", "-c", before=["sh", "-c", 'exec "$@" <&-', "sh"])
        self.assertEqual(out, b"0\n")

    def test_input_arrives_while_it_is_written(self):
        running = self.start("-n", 2, "sh", "-c", 'while read -r line; do echo "$line" > "$E2E_READY"; done',
                             stdin=subprocess.PIPE)
        for word in (b"one", b"two"):
            running.process.stdin.write(word + b"\n")
            running.process.stdin.flush()
            self.assertEqual(running.news(1), [[word.decode()]])
        running.process.stdin.close()
        self.assertEqual(running.wait().status, 0)

    def test_a_rank_that_never_reads_does_not_hang_the_job(self):
        ended = self.run_job("-n", 2, "true", stdin=self.input_file())
        self.assertEqual((ended.status, ended.err), (0, ""))

    def test_input_that_never_ends_does_not_hang_the_job(self):
        running = self.start("-n", 2, "true", stdin=subprocess.PIPE)
        ended = running.wait()
        running.process.stdin.close()
        self.assertEqual((ended.status, ended.err), (0, ""))

    def zeros(self):
        zero = open("/dev/zero", "rb")
        self.addCleanup(zero.close)
        return zero

    def big_file(self):
        path = os.path.join(self.folder, "big")
        with open(path, "wb") as f:
            f.write(DATA * MANY)
        file = open(path, "rb")
        self.addCleanup(file.close)
        return file

    def test_input_without_end_does_not_keep_ranks_that_end_early(self):
        for options in ([], ["--stdin", "all"], ["--stdin", "3"]):
            for program in (["true"], ["sh", "-c", "head -c 100000 >/dev/null"]):
                ended = self.run_job("--sim-nodes", 2, "--ppn", 2, *options, *program, stdin=self.zeros())
                self.assertEqual((ended.status, ended.out), (0, b""), ended.err)

    def test_a_big_file_does_not_keep_ranks_that_end_early(self):
        file = self.big_file()
        for options in ([], ["--stdin", "all"]):
            self.succeed("--sim-nodes", 2, "--ppn", 2, *options, "true", stdin=file)

    def test_input_is_not_read_on_when_its_ranks_have_ended(self):
        # The others go on, also those of the same node; rank 0 takes a part of the input.
        channel = self.channel("go")
        wait = job.TELL + ': < "$0"; '
        takes = f'if [ "$SCELA_RANK" = 0 ]; then head -c 100000 | wc -c; else {wait}fi'
        closes = f'if [ "$SCELA_RANK" = 0 ]; then head -c 100000 | wc -c; exec <&-; fi; {wait}'
        for text, going_on in ((takes, 3), (closes, 4)):
            for stdin in (self.big_file(), self.zeros()):
                running = self.start("--sim-nodes", 2, "--ppn", 2, "sh", "-c", text, channel, stdin=stdin)
                running.ranks(going_on)
                self.wait_standstill()
                self.assertLess(job.moved(running.pid)[0], READ_AHEAD)
                with open(channel, "wb"):
                    ended = running.wait()
                self.assertEqual((ended.status, ended.out, ended.err), (0, b"100000\n", ""))

    def test_ranks_that_end_early_do_not_cut_the_others_input(self):
        digest = hashlib.sha256(DATA * MANY).hexdigest()
        text = 'case "$SCELA_RANK" in 1) exit 0;; 2) exec head -c 100000 >/dev/null;; esac; sha256sum | cut -c1-64'
        ended = self.run_job("--sim-nodes", 2, "--degree", 1, "--ppn", 2, "--stdin", "all", "-l",
                             "sh", "-c", text, stdin=self.big_file())
        self.assertEqual(labelled(ended.lines), {0: [digest], 3: [digest]}, ended.err)

    def test_a_rank_that_stops_reading_does_not_hang_the_others(self):
        program = 'if [ "$SCELA_RANK" = 1 ]; then exec <&-; fi; sha256sum 2>/dev/null | cut -c1-64'
        out = self.succeed("--sim-nodes", 3, "--ppn", 1, "--stdin", "all", "-l", "sh", "-c", program,
                           stdin=self.input_file())
        found = labelled(out.decode().splitlines())
        self.assertEqual((found[0], found[2]), ([SUM], [SUM]))

    def test_a_rank_that_reads_a_part_and_ends_is_no_failure(self):
        out = self.succeed("--sim-nodes", 2, "--ppn", 1, "head", "-c", "5", stdin=self.input_file())
        self.assertEqual(out, DATA[:5])

    def terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        return ours, theirs

    def test_input_comes_from_a_terminal(self):
        ours, theirs = self.terminal()
        for before in ([], ["setsid", "--ctty", "--wait"]):
            running = self.start("-n", 2, "cat", stdin=theirs, before=before)
            os.write(ours, b"typed\n\x04")
            ended = running.wait()
            self.assertEqual((ended.status, ended.out), (0, b"typed\n"), before)

    def test_a_job_in_the_background_leaves_the_terminal_alone(self):
        # Reading there would stop scela-run with SIGTTIN.
        ours, theirs = self.terminal()
        channel = self.channel("go")
        running = self.start("-n", 1, "sh", "-c", job.TELL + 'read -r x < "$0"; echo end', channel, stdin=theirs,
                             before=["setsid", "--ctty", "--wait", "sh", "-mc", '"$@" & wait $!', "sh"])
        running.ranks(1)
        os.write(ours, b"for the shell\n")
        job.release(channel)
        ended = running.wait()
        self.assertEqual((ended.status, ended.out), (0, b"end\n"))

    def test_a_rank_that_does_not_exist_is_an_error(self):
        self.assert_refused(self.run_job("-n", 2, "--stdin", "2", "cat"), 64, "--stdin names rank 2, the job has 2")


if __name__ == "__main__":
    job.main()
