"""A program that names the hosts of a job (--host-discovery-script)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402
import starters  # noqa: E402
from job import JobTest  # noqa: E402

SHOW = 'echo "$SCELA_RANK $SCELA_NODE"'


class HostDiscoveryTest(JobTest):
    def setUp(self):
        super().setUp()
        self.env = starters.install(self, "podman")
        self.list = self.file("list")

    def run_found(self, text, *words, name="discover_hosts.sh"):
        """A job on the hosts that a script of this text names."""
        self.scripted = self.script(name, text)
        return self.run_job("--launch", "podman", "--host-discovery-script", self.scripted, *words, env=self.env)

    def test_a_program_names_the_hosts_and_their_slots(self):
        ended = self.run_found("echo worker-0:2; echo worker-1", "-n", 3, "--oversubscribe", "sh", "-c", SHOW)
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), ["0 worker-0", "1 worker-0", "2 worker-1"])
        ended = self.run_job("--host-discovery-script", "discover_hosts.sh", "--dry-run", "-n", 2, "true", env={"PATH": f"{self.folder}:/bin:/usr/bin"})
        self.assertEqual(ended.status, 0, ended.err)

    def test_it_is_run_again_while_it_names_too_few(self):
        script = f'echo worker-$(wc -c < {self.list}):1 >> {self.list}.hosts; printf x >> {self.list}; cat {self.list}.hosts'
        ended = self.run_found(script, "--wait-hosts", "1h", "-n", 3, "sh", "-c", SHOW)
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["0 worker-0", "1 worker-1", "2 worker-2"]))
        self.assertRegex(ended.err, r"^scela-run: waiting for hosts of '.*': it names 1 host with 1 slot for 3 ranks; up to 3600 s more \(--wait-hosts\)\n$")
        self.assertEqual(os.path.getsize(self.list), 3)

    def test_no_host_is_no_host_here(self):
        ended = self.run_found("true", "-n", 1, "sh", "-c", SHOW)
        self.assertEqual(ended.lines, [])
        self.assert_ended(ended, 64, rf"{self.scripted}: ask for the hosts \(--host-discovery-script\): it names no host .*--wait-hosts TIME\)")
        ended = self.run_found("true", "--wait-hosts", "200ms", "-n", 1, "true")
        self.assertEqual(ended.status, 64)
        self.assertIn("it names no host; up to 1 s more", ended.err)

    def test_it_is_run_again_for_each_restart(self):
        with open(self.list, "w", encoding="utf-8") as f:
            f.write("worker-0:2\n")
        rank = f'{SHOW}; [ -e {self.list}.second ] && exit 0; [ $SCELA_RANK = 1 ] || exec sleep 1000; echo worker-2:2 > {self.list}; : > {self.list}.second; exit 3'
        ended = self.run_found(f"cat {self.list}", "--restart", 1, "-n", 2, "sh", "-c", rank)
        self.assertEqual(ended.status, 0, ended.err)
        self.assertEqual(sorted(line for line in ended.lines if "worker-2" in line), ["0 worker-2", "1 worker-2"])

    def test_the_words_of_a_program_that_fails_are_shown(self):
        ended = self.run_found("echo no access >&2; exit 3", "true")
        self.assert_ended(ended, 64, r".*discover_hosts.sh: ask for the hosts \(--host-discovery-script\): it ended with code 3; it said: no access.*")
        ended = self.run_found("echo no access >&2; exit 3", "--wait-hosts", "200ms", "true")
        self.assertRegex(ended.err, r"^scela-run: waiting for hosts of '.*discover_hosts.sh': it ended with code 3; it said: no access; up to 1 s more")
        ended = self.run_found("echo 'a b c d ['", "true")
        self.assertEqual(ended.status, 64)
        ended = self.run_job("--host-discovery-script", "/nonexistent", "true")
        self.assert_ended(ended, 64, r"/nonexistent: ask for the hosts .*No such file or directory.*")
        ended = self.run_job("--host-discovery-script", self.scripted, "-w", "a", "true")
        self.assert_ended(ended, 64, r"options --hosts and --host-discovery-script: both name the job's hosts.*")


if __name__ == "__main__":
    job.main()
