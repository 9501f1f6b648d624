"""Agents that hosts keep in the user's cache (nla/pack/agent_cache.h), on real hosts."""
import os
import shutil

import case
import layout
from jobs import JobTest, NO_AGENT


class CacheTest(JobTest):
    """Agents that hosts keep in the user's cache."""

    SIZE = 3
    ALL = ("-w", "node[001-003]")
    FOLDER = layout.CACHE + "/scela"

    def kept(self, host):
        """The packages that the host keeps."""
        folder = self.cluster.path(host, self.FOLDER)
        return sorted(f"{self.FOLDER}/{name}" for name in os.listdir(folder)) if os.path.isdir(folder) else []

    def used(self, *words, host="node003"):
        """Where the package of the host's agent came from: "sent", or the file in the cache."""
        job = self.sleepers(*self.ALL, *NO_AGENT, *words, count=3)
        found, packages = self.executables(host), self.packages(host)
        cached = [" --cached " in process.words for process in self.cluster.processes(host) if " --stdio " in process.words]
        self.said = self.end(job)
        self.assertEqual(self.cluster.files(), [])
        self.assertEqual(found, {"/memfd:scela-nla (deleted)"})
        self.assertEqual(len(packages), 1)
        return packages.pop() if all(cached) else "sent"

    def change(self, host, path, function):
        real = self.cluster.path(host, path)
        with open(real, "rb") as f:
            content = function(f.read())
        os.chmod(real, 0o700)
        with open(real, "wb") as f:
            f.write(content)

    def test_a_later_run_sends_nothing(self):
        self.assertEqual(self.used(), "sent")
        kept = self.kept("node003")
        self.assertEqual(len(kept), 1)
        self.assertRegex(kept[0], r"/scela-nla-[0-9a-f]{64}$")
        self.assertEqual(self.used(), kept[0])
        self.assertEqual(self.kept("node003"), kept)
        for path in (self.FOLDER, kept[0]):
            self.assertEqual(os.stat(self.cluster.path("node003", path)).st_mode & 0o777, 0o700, path)

    def test_inner_agents_of_a_chain_send_and_find_it_too(self):
        words = ("--degree", "1")
        self.assertEqual(self.used(*words), "sent")
        shutil.rmtree(self.cluster.path("node003", layout.CACHE))
        # node002 runs from its cache and sends what it keeps.
        self.assertEqual(self.used(*words), "sent")
        self.assertEqual(self.used(*words), self.kept("node003")[0])

    def commands(self, *words):
        """A job of a command once on each host, which runs on all."""
        job = self.start(*self.ALL, *NO_AGENT, *words, "sh", "-c", "echo up; exec sleep 1000")
        for _ in self.cluster.hosts:
            self.assertIn("up", job.stdout.readline())
        return job

    def sizes(self, *words):
        """The size of the program that each host's agent is."""
        job = self.commands(*words)
        found = {host: os.stat(f"/proc/{self.agents(host)[0]}/exe").st_size for host in self.cluster.hosts}
        self.end(job)
        return found

    def test_hosts_that_start_no_others_get_the_small_agent_for_a_command(self):
        whole = os.stat(self.scela_agent()).st_size
        for words, small in (((), {"node001", "node002", "node003"}), (("--link", "ssh", "--ppn", "1"), {"node001", "node002", "node003"}),
                             (("--ppn", "1"), set()), (("--link", "tcp"), set()), (("--degree", "1"), {"node003"})):
            for state in ("sent", "kept"):
                with self.subTest(words=words, state=state):
                    sizes = self.sizes(*words)
                    self.assertEqual({host for host, size in sizes.items() if size < whole / 2}, small)

    def test_without_cache_nothing_is_kept_or_used(self):
        self.used()
        self.assertEqual(self.used("--no-agent-cache"), "sent")
        shutil.rmtree(self.cluster.path("node003", layout.CACHE))
        self.used("--no-agent-cache")
        self.assertEqual(self.kept("node003"), [])

    def test_an_agent_with_other_bytes_is_not_run(self):
        self.used()
        kept = self.kept("node003")[0]
        bad = "#!/bin/sh\ntouch /tmp/was-run\nprintf '\\nSCELA-NLA ready 1 0\\n'\n"
        for name, function in (("replaced", lambda program: bad.encode()), ("cut", lambda program: program[:-1]),
                               ("empty", lambda program: b""),
                               ("one bit", lambda program: program[:1000] + bytes([program[1000] ^ 1]) + program[1001:])):
            with self.subTest(name):
                self.change("node003", kept, function)
                self.assertEqual(self.used(), "sent")
                self.assertIn(f"node003: the agent in the cache, {kept}, had other bytes than it was sent with; it was replaced", self.said)
                self.assertEqual(self.used(), kept)
                self.assertNotIn("had other bytes", self.said)

    def test_a_package_with_other_bytes_is_not_sent_on(self):
        self.end(self.commands("--degree", "1"))
        kept = self.kept("node002")[0]
        shutil.rmtree(self.cluster.path("node003", layout.CACHE))
        # The package of the small agent in it, which node002 does not unpack, changes after its digest was computed.
        at = os.path.getsize(self.cluster.path("node002", kept)) - 200000
        self.fake("node002", b2sum=f"/usr/bin/b2sum; printf damage | dd of={kept} bs=1 seek={at} conv=notrunc 2> /dev/null\n")
        # node002 hands node003 back, and scela-run sends its own.
        self.end(self.commands("--degree", "1"))
        self.assertEqual(self.logins("node003")["node003"][-1], "head")

    def test_a_folder_of_another_user_is_not_used(self):
        self.used()
        kept = self.kept("node003")[0]
        for path in (self.FOLDER, kept):
            with self.subTest(path):
                os.chown(self.cluster.path("node003", path), 1234, 1234)
                self.assertEqual(self.used(), "sent")
                os.chown(self.cluster.path("node003", path), 0, 0)

    def test_a_home_that_takes_no_program_is_passed_over(self):
        self.cluster.noexec("node003", layout.HOME)
        for _ in range(2):
            self.assertEqual(self.used(), "sent")
            self.assertEqual(self.kept("node003"), [])

    def test_a_kept_agent_that_is_not_executed_is_sent_again(self):
        self.used()
        self.cluster.noexec("node003", layout.HOME)
        self.assertEqual(self.used(), "sent")

    def test_a_full_home_is_passed_over(self):
        self.cluster.disk_full("node003", layout.HOME)
        self.assertEqual(self.used(), "sent")
        self.assertEqual(self.kept("node003"), [])

    def test_old_agents_are_removed(self):
        self.used()
        kept = self.kept("node003")[0]
        others = [f"{self.FOLDER}/scela-nla-{number:064x}" for number in range(8)]
        left = f"{self.FOLDER}/.scela-nla-0123456789abcdef"
        for number, path in enumerate([left] + others):
            self.put("node003", path, "")
            os.utime(self.cluster.path("node003", path), (number, number))
        self.change("node003", kept, lambda package: b"")
        self.assertEqual(self.used(), "sent")
        self.assertEqual(self.kept("node003"), sorted([kept] + others[3:]))

    def test_hosts_without_b2sum_verify_by_sha256sum(self):
        self.fake("node003", b2sum="exit 127\n")
        self.assertEqual(self.used(), "sent")
        kept = self.kept("node003")[0]
        self.assertEqual(self.used(), kept)
        self.change("node003", kept, lambda program: program + b"x")
        self.assertEqual(self.used(), "sent")

    def test_a_digest_that_cannot_be_computed_removes_nothing(self):
        self.used()
        kept = self.kept("node003")
        self.fake("node003", b2sum="echo 00 -\n", sha256sum="exit 127\n")
        self.assertEqual(self.used(), "sent")
        self.assertEqual(self.kept("node003"), kept)
        # What another tool prints does not matter if one knows the digest.
        self.fake("node003", b2sum="echo 00 -\n", sha256sum='exec /usr/bin/sha256sum "$@"\n')
        self.assertEqual(self.used(), kept[0])

    def test_a_host_with_an_agent_of_another_build_uses_its_cache(self):
        path = self.put_everywhere("agent", "#!/bin/sh\nprintf '\\nSCELA-NLA other 0.0.1 abcdef\\n'; exit 69\n", 0o755)
        self.assertEqual(self.used("--agent", path), "sent")
        self.assertEqual(self.used("--agent", path), self.kept("node003")[0])

    def test_a_cache_at_a_relative_path_is_not_used(self):
        self.cluster.restart_sshd("node003", ["SetEnv XDG_CACHE_HOME=relative"])
        self.assertEqual(self.used(), "sent")
        self.assertEqual(self.kept("node003"), [])

    def test_a_directory_in_the_place_of_a_package_hinders_no_job(self):
        self.used()
        kept = self.kept("node003")[0]
        os.unlink(self.cluster.path("node003", kept))
        self.put("node003", kept + "/file", "")
        for _ in range(2):
            self.assertEqual(self.used(), "sent")
        self.assertEqual(self.kept("node003"), [kept])

    def test_runs_at_the_same_time_store_one_agent(self):
        jobs = [self.sleepers(*self.ALL, *NO_AGENT, count=3) for _ in range(3)]
        for job in jobs:
            self.end(job)
        self.assertEqual(len(self.kept("node003")), 1)
        self.assertEqual(self.used(), self.kept("node003")[0])


if __name__ == "__main__":
    case.main()
