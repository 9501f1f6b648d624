"""Nodes that have started others by a program, such as ssh: what ranks leave there is ended, that program is not."""
import os
import signal
import unittest

import case
from jobs import JobTest, STORE

PROGRAMS = os.environ.get("SCELA_PROGRAMS", "")
BYTES = 20_000_000  # that each rank writes
# The last ignores SIGTERM, and is killed after the grace.
LEFTOVERS = (
    "",
    "sleep 1000 &",
    "(setsid sleep 1000 >/dev/null 2>&1 </dev/null &)",
    "(setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' >/dev/null 2>&1 </dev/null &)",
)
SHARED = f"-o ControlMaster=auto -o ControlPersist=60 -o ControlPath={STORE}/%C"


class LeftoversTest(JobTest):
    """Every job is a chain of agents: the one on node001 has started that on node002, and so on."""
    SIZE = 3
    ALL = ("-w", "node[001-003]", "--degree", "1", "--ppn", "1")

    def check(self, client, *words, launch="ssh-exec", leftovers=LEFTOVERS):
        """The ranks exchange values, leave something running, and write: all succeed, and every byte arrives."""
        for leftover in leftovers:
            for host in self.cluster.everyone:
                self.put(host, "here", "")
            script = f"{client} >&2 || exit 9\n{leftover}\nexec head -c {BYTES} /dev/zero"
            done = self.run_job(*self.ALL, "--launch", launch, *words, "--output-dir", STORE, "sh", "-c", script)
            self.cluster.assert_empty(*self.cluster.everyone)
            folder = self.cluster.path("head", STORE)
            sizes = {name: os.stat(f"{folder}/{name}").st_size for name in os.listdir(folder) if name.endswith("out")}
            self.assertEqual(sizes, {f"rank.{rank}.out": BYTES for rank in range(self.SIZE)}, (leftover, done.stderr))
            self._clear_store()

    @staticmethod
    def program(name, what):
        return f"{os.path.join(PROGRAMS, name)} {what}"

    def test_of_pmi1(self):
        self.check(self.program("pmi_library", "names"), "--pmi", "fd")

    def test_of_pmi2(self):
        self.check(self.program("pmi2_client", "exchange"), "--pmi", "fd")

    def test_of_pmi_by_a_port(self):
        self.check(self.program("pmi_library", "plain"), "--pmi", "port")

    @unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, "pmix_client")), "libpmix is not here")
    def test_of_pmix(self):
        self.check(self.program("pmix_client", "exchange"), "--pmi", "pmix")

    def test_without_pmi(self):
        self.check(":", "--pmi", "none")

    def test_of_any_remote_shell(self):
        self.check(":", launch="rsh:ssh -x")

    def test_of_clients_that_leave_their_connection_to_another_process(self):
        self.check(":", launch=f"ssh-exec:ssh {SHARED}")

    def test_of_clients_that_end_their_first_process_before_their_link(self):
        script = self.put("head", "/etc/ssh/rsh", '#!/bin/sh\nexec 3<&0\nssh -x -T "$@" <&3 3<&- &\n', 0o755)
        for host in self.cluster.hosts:
            self.put(host, script, self.read("head", script), 0o755)
        # Who waited for that process would be given up after twice the grace.
        self.check(":", "--grace", "60", launch=f"rsh:{script}", leftovers=LEFTOVERS[:-1])

    def test_of_an_agent_that_is_shipped(self):
        self.check(":", "--agent", "/nonexistent")

    def test_of_a_command_that_the_user_keeps(self):
        """What it left running is there when the job is over, and is ended and named without --keep."""
        text = "setsid sleep 1000 >/dev/null 2>&1 </dev/null & until grep -q sleep /proc/$!/comm; do :; done; echo up"
        words = ("-w", "node[001-003]", "--degree", "1")
        for keep, told in (((), ".*node\\[001-003\\] had processes left running, now ended: sleep .*\n"),
                           (("--keep",), "")):
            done = self.run_job(*words, *keep, text)
            self.assertEqual(sorted(done.stdout.split()), sorted(["node001:", "node002:", "node003:"] + 3 * ["up"]))
            self.assertRegex(done.stderr, rf"\A{told}\Z")
            left = [process for host in self.cluster.hosts for process in self.cluster.processes(host)
                    if process.words.startswith("sleep 1000")]
            for process in left:
                os.kill(process.pid, signal.SIGKILL)
            self.assertEqual(len(left), 3 if keep else 0)
            self.cluster.assert_empty(*self.cluster.everyone)

    def test_of_a_node_that_is_emptied_by_force(self):
        """Each is, when its time and the grace are over: what the nodes below have to say still arrives."""
        script = "trap '' TERM; while :; do sleep 1000; done"
        done = self.run_job(*self.ALL, "--launch", "ssh-exec", "--host-timeout", "1", "sh", "-c", script, status=124)
        limit = r"reached the time limit of its host \(--host-timeout\)"
        first = r"rank (0 on node001|1 on node002|2 on node003) \(sh\)"
        self.assertRegex(done.stderr, rf"\A.*: *3 ranks {limit}: 0-2\n.*: {first} {limit}\n\Z")


if __name__ == "__main__":
    case.main()
