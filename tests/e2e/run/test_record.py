"""A real run's record: the cores alone answer its events as they did in the run."""
import contextlib
import glob
import os
import signal
import subprocess

import job
from job import JobTest

INIT = "printf 'cmd=init pmi_version=1 pmi_subversion=1\\n' >&3; read -r answer <&3; "
# What MPI programs ask: put, fence, get of the neighbour's value, finalize.
EXCHANGE = INIT + """printf 'cmd=get_my_kvsname\\n' >&3; read -r answer <&3; space=${answer##*kvsname=}
printf "cmd=put kvsname=$space key=k$PMI_RANK value=v$PMI_RANK\\n" >&3; read -r answer <&3
printf 'cmd=barrier_in\\n' >&3; read -r answer <&3
printf "cmd=get kvsname=$space key=k$(((PMI_RANK + 1) % PMI_SIZE))\\n" >&3; read -r answer <&3
echo "$answer"
printf 'cmd=finalize\\n' >&3; read -r answer <&3
"""


class RecordTest(JobTest):
    def record(self, *arguments):
        self.path = os.path.join(self.folder, "record")
        return self.start("--record", self.path, "--sim-nodes", 5, "--degree", 2, "--ppn", 2, *arguments)

    def replay(self, *paths):
        return subprocess.run([os.environ["REPLAY_RECORD"], *paths], capture_output=True, text=True, check=False,
                              timeout=job.DEADLINE_S)

    def assert_replays(self, files=6):
        paths = sorted(glob.glob(self.path + "*"))
        self.assertEqual(len(paths), files)
        replayed = self.replay(*paths)
        self.assertEqual(replayed.returncode, 0, replayed.stdout)

    def test_a_run_with_pmi_replays_to_the_same_actions(self):
        ended = self.record("sh", "-c", EXCHANGE).wait()
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(line.split("value=")[1] for line in ended.lines), [f"v{rank}" for rank in range(10)])
        self.assert_replays()

    def test_a_run_with_a_failing_rank_replays_to_the_same_actions(self):
        ended = self.record("sh", "-c", '[ "$SCELA_RANK" = 7 ] && exit 3; exec sleep 1000').wait()
        self.assertEqual(ended.status, 3)
        self.assert_replays()

    def test_a_run_that_loses_a_node_replays_to_the_same_actions(self):
        running = self.record("sh", "-c", job.HOLD)
        running.ranks(10)
        os.kill(running.nodes()["sim1"].agent, signal.SIGKILL)
        self.assertEqual(running.wait().status, 68)
        self.assert_replays(len(glob.glob(self.path + "*")))

    def test_a_record_that_was_changed_is_told_apart(self):
        self.assertEqual(self.record("true").wait().status, 0)
        with open(self.path, "r+b") as f:
            f.seek(-1, os.SEEK_END)
            last = f.read(1)[0]
            f.seek(-1, os.SEEK_END)
            f.write(bytes([last ^ 1]))  # of the digest of the last actions
        replayed = self.replay(self.path)
        self.assertEqual(replayed.returncode, 1, replayed.stdout)

    def test_a_record_on_a_full_disk_is_an_error(self):
        # Of scela-run itself, and of an agent; the job itself goes on to its end.
        for part, where in (("record", ""), ("record.1", r"sim1: ")):
            with self.subTest(part=part):
                path = os.path.join(self.folder, part)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                os.symlink("/dev/full", path)
                ended = self.record("sh", "-c", "echo ran").wait()
                self.assertEqual(ended.lines, ["ran"] * 10)
                self.assert_ended(ended, 74, rf"{where}write the record '.*/{part}': No space left on device \(ENOSPC\)")
                os.unlink(path)

    def test_a_record_on_a_full_disk_does_not_hide_how_the_ranks_ended(self):
        os.symlink("/dev/full", os.path.join(self.folder, "record"))
        ended = self.record("sh", "-c", "exit 3").wait()
        self.assertEqual(ended.status, 3)
        self.assertRegex(ended.err, "write the record '.*': No space left on device")


if __name__ == "__main__":
    job.main()
