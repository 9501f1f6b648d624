"""The check after each test sees what a job leaves behind."""
import os
import select
import signal
import subprocess
import tempfile
import textwrap
import unittest
import unittest.mock

import job
from job import JobTest


class CheckTest(unittest.TestCase):
    def failure_of(self, leave):
        """What JobTest says after a test that leaves something."""
        class Leaving(JobTest):
            def runTest(self):  # pylint: disable=invalid-name
                leave(self)
        result = Leaving().run()
        self.assertEqual((len(result.failures), len(result.errors)), (1, 0), result.errors)
        return result.failures[0][1]

    def test_a_process_is_seen_and_ended(self):
        started = []

        def leave(test):
            started.append(subprocess.Popen(["sleep", "1000"], env=test.environment, start_new_session=True))
            self.addCleanup(started[0].kill)
            # Its environment is there a moment after it has begun.
            while not test.processes():
                pass
        with unittest.mock.patch("job.GONE_DEADLINE_S", 0.05):
            text = self.failure_of(leave)
        self.assertIn(f"process {started[0].pid} (sleep 1000)", text)
        self.assertEqual(started[0].wait(timeout=job.DEADLINE_S), -9)

    def test_a_file_is_seen(self):
        text = self.failure_of(lambda test: open(os.path.join(test.temporary, "left"), "wb").close())
        self.assertRegex(text, "file .*/tmp/left")

    def test_a_segment_is_seen(self):
        # In a folder of its own: in /dev/shm other tests that run now would see it too.
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("job.SEGMENTS", folder):
            text = self.failure_of(lambda test: open(f"{folder}/left", "wb").close())
        self.assertIn("segment left", text)

    def test_a_job_that_a_failed_test_forgets_is_ended(self):
        def leave(test):
            running = test.start("--sim-nodes", 2, "--ppn", 2, "sh", "-c", job.HOLD)
            running.ranks(4)
            test.fail("on purpose")
        text = self.failure_of(leave)
        self.assertIn("on purpose", text)
        self.assertNotIn("left behind", text)

    def test_a_signal_ends_the_test_with_its_job_and_files(self):
        program = textwrap.dedent("""
            import job
            class Held(job.JobTest):
                def test_hold(self):
                    self.start("--sim-nodes", 2, "--ppn", 2, "sh", "-c", job.HOLD).ranks(4)
                    print(self.mark, self.folder, flush=True)
                    self.wait_nothing_runs()
            job.GONE_DEADLINE_S = job.DEADLINE_S
            job.main()
            """)
        for signo in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signo.name), subprocess.Popen(
                    [job.PYTHON, "-B", "-c", program], cwd=os.path.dirname(os.path.abspath(__file__)), stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True) as held:
                self.addCleanup(held.kill)
                self.assertTrue(select.select([held.stdout], [], [], job.DEADLINE_S)[0], "the test did not begin")
                mark, folder = held.stdout.readline().split()
                held.send_signal(signo)
                _, said = held.communicate(timeout=job.DEADLINE_S)
                self.assertIn("KeyboardInterrupt", said)
                self.assertEqual(job.processes_with(f"{job.MARK}={mark}"), [])
                self.assertFalse(os.path.exists(folder), folder)


if __name__ == "__main__":
    job.main()
