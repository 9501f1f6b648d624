"""Hosts that come up late (--wait-hosts), and what the MPI Operator of Kubernetes gives a launcher."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import case  # noqa: E402
from case import DEADLINE_S  # noqa: E402
from jobs import JobTest, SSH, STORE, UNREACHABLE  # noqa: E402

USER = 1234
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
SHOW = 'echo "$SCELA_RANK $SCELA_NODE $(id -u)"'


class LateTest(JobTest):
    def waiting(self, job, *texts):
        """Reads the line of progress, which has these texts."""
        line = job.stderr.readline()
        for text in texts:
            self.assertIn(text, line)
        return line

    def rest(self, job, status=0):
        """The output and the further lines of a job that ends."""
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, status, err)
        return sorted(out.split()), err

    def without_name(self, name):
        """Takes a name out of the head's hosts file; returns the file as it was."""
        before = self.read("head", "/etc/hosts")
        self.addCleanup(self.put, "head", "/etc/hosts", before, 0o644)
        self.put("head", "/etc/hosts", "".join(line for line in before.splitlines(True) if line.split()[-1] != name), 0o644)
        return before


class WaitTest(LateTest):
    SIZE = 4
    ALL = ("-w", "node[001-004]", "--degree", "1", "--ppn", "1")

    def test_an_sshd_and_a_name_that_come_late_are_waited_for(self):
        before = self.without_name("node003")
        self.cluster.refuse("node002")
        job = self.start(*self.ALL, "--wait-hosts", "1h", "hostname")
        line = self.waiting(job, "waiting for 2 of 4 hosts: ", "node002 (connection refused)", "node003 (name not known)", "3600 s more (--wait-hosts)")
        self.assertTrue(line.startswith("scela-run: "))
        self.cluster.restart_sshd("node002", [])
        self.put("head", "/etc/hosts", before, 0o644)
        out, err = self.rest(job)
        self.assertEqual(out, self.cluster.hosts)
        self.assertRegex(err.splitlines()[-1], r"^scela-run: all 4 hosts are there after \d+ s$")

    def test_an_sshd_that_says_nothing_is_waited_for(self):
        self.cluster.hang("node004")
        job = self.start(*self.ALL, "--wait-hosts", "1h", "hostname")
        self.waiting(job, "waiting for 1 of 4 hosts: node004 (accepts, and says nothing)")
        self.cluster.restart_sshd("node004", [])
        self.assertEqual(self.rest(job)[0], self.cluster.hosts)

    def test_an_sshd_that_answers_and_ends_the_connection_is_waited_for(self):
        self.cluster.answer_and_end("node003")
        job = self.start(*self.ALL, "--wait-hosts", "1h", "hostname")
        self.waiting(job, "waiting for 1 of 4 hosts: node003 (answers, and then: ")
        self.cluster.restart_sshd("node003", [])
        self.assertEqual(self.rest(job)[0], self.cluster.hosts)

    def test_a_host_behind_a_proxy_is_waited_for(self):
        self.configure("Host node003 node004\n ProxyJump node001\n")
        self.cluster.refuse("node003")
        job = self.start(*self.ALL, "--wait-hosts", "1h", "hostname")
        self.waiting(job, "waiting for 1 of 4 hosts: node003 (its proxy says: ", "Connection refused); up to ")
        self.cluster.restart_sshd("node003", [])
        self.assertEqual(self.rest(job)[0], self.cluster.hosts)

    def test_a_proxy_that_cannot_work_is_not_waited_for(self):
        self.cluster.lock_out("node001")
        for line in ("ProxyJump node001", "ProxyCommand /no/such/program"):
            self.configure(f"Host node003\n {line}\n")
            done = self.run_job("-w", "node003", "--ppn", "1", "--wait-hosts", "1h", "hostname", status=UNREACHABLE)
            self.assertNotIn("waiting for", done.stderr)

    def test_hosts_that_are_there_are_not_waited_for(self):
        self.assert_hosts(self.cluster.hosts, "-w", "node[001-004]", "--wait-hosts", "1h")

    def test_after_the_time_the_usual_rules_hold(self):
        self.without_name("node003")
        self.cluster.refuse("node002")
        words = (*self.ALL, "--wait-hosts", "200ms")
        done = self.run_job(*words, "--min-nodes", "2", "hostname")
        self.assertEqual(sorted(done.stdout.split()), ["node001", "node004"])
        self.assertEqual(done.stderr.count("waiting for"), 1)
        self.assertIn("go on without 2 of 4 hosts: node002 (connection refused), node003 (name not known)", done.stderr)
        done = self.run_job(*words, "hostname", status=UNREACHABLE)
        self.assertIn("node003: resolve the name 'node003'", done.stderr)
        done = self.run_job("-w", "node[001-002]", "--ppn", "1", "--wait-hosts", "200ms", "hostname", status=UNREACHABLE)
        self.assertIn("connect to 10.99.1.2 port 22: Connection refused", done.stderr)

    def test_what_cannot_become_right_is_not_waited_for(self):
        self.cluster.change_host_key("node001")
        self.cluster.lock_out("node002")
        for host, words in (("node001", "host key"), ("node002", "node002")):
            done = self.run_job("-w", host, "--ppn", "1", "--wait-hosts", "1h", "hostname", status=UNREACHABLE)
            self.assertNotIn("waiting for", done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_signal_or_the_time_limit_ends_the_wait(self):
        self.cluster.refuse("node001")
        waiting = "while waiting for 1 of 4 hosts: node001 (connection refused); the start was given up"
        job = self.start(*self.ALL, "--wait-hosts", "1h", "--json=-", "hostname")
        self.waiting(job, "node001 (connection refused)")
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual((job.returncode, err), (130, f"scela-run: interrupted by signal 2 (SIGINT, Interrupt) {waiting}\n"))
        records = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([record["type"] for record in records], ["job", *["host"] * 4, "end"])
        self.assertEqual({(record["status"], record["phase"]) for record in records[1:-1]}, {("missing", "wait for hosts")})
        self.assertEqual((records[0]["hosts"], records[-1]["exit_status"]), (self.cluster.hosts, 130))
        done = self.run_job(*self.ALL, "--wait-hosts", "1h", "--timeout", "300ms", "hostname", status=124)
        self.assertEqual(done.stderr.splitlines()[-1], f"scela-run: the job reached its time limit of 300 ms (--timeout) {waiting}")


class OperatorTest(LateTest):
    """Pods as the MPI Operator makes them: full names, a user without privileges, a home that cannot be written, sshd at port 2222."""
    SIZE = 2
    HOME = f"{STORE}/home"

    def setUp(self):
        super().setUp()
        self.names = {host: f"{host}.job.ns.svc" for host in self.cluster.everyone}
        hosts = self.read("head", "/etc/hosts")
        lines = "".join(f"{self.cluster.address(host)} {name}\n" for host, name in self.names.items())
        for host in self.cluster.everyone:
            self.addCleanup(self.put, host, "/etc/hosts", hosts, 0o644)
            self.put(host, "/etc/hosts", hosts + lines, 0o644)
            self.add_user(host)
        self.environment = {"K_MPI_JOB_ROLE": "launcher", "HOME": self.HOME, "USER": "mpiuser", "LOGNAME": "mpiuser"}

    def add_user(self, host):
        """Files of the secret belong to root or to the user, and nothing can be written."""
        users = self.read(host, "/etc/passwd")
        self.addCleanup(self.put, host, "/etc/passwd", users, 0o644)
        self.put(host, "/etc/passwd", users + f"mpiuser:x:{USER}:{USER}::{self.HOME}:/bin/sh\n", 0o644)
        key = self.read("head", f"{SSH}/id_ed25519")
        for name, text, mode in (("authorized_keys", self.read("head", f"{SSH}/id_ed25519.pub"), 0o644), ("id_ed25519", key, 0o400),
                                 ("host_key", key, 0o400),
                                 ("config", "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nPort 2222\n", 0o644),
                                 ("sshd_config", f"Port 2222\nHostKey {self.HOME}/.ssh/host_key\nPidFile none\nStrictModes no\nUsePAM no\n"
                                  f"AuthorizedKeysFile {self.HOME}/.ssh/authorized_keys\n", 0o644)):
            self.put(host, f"{self.HOME}/.ssh/{name}", text, mode)
            if mode == 0o400:
                os.chown(self.cluster.path(host, f"{self.HOME}/.ssh/{name}"), USER, USER)
        for path in ("/etc/ssh", STORE, self.HOME, f"{self.HOME}/.ssh"):
            os.chmod(self.cluster.path(host, path), 0o555)

    def start_pod(self, host):
        """Starts the sshd of a host, and returns once it listens."""
        sshd = self.cluster.popen(host, [*AS_USER, "/usr/sbin/sshd", "-De", "-f", f"{self.HOME}/.ssh/sshd_config"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(sshd.communicate)
        self.addCleanup(sshd.kill)
        said = []
        while not said or not said[-1].startswith("Server listening on 0.0.0.0 port 2222"):
            said.append(sshd.stderr.readline())
            self.assertTrue(said[-1], f"the sshd of {host} ended: {''.join(said)}")

    def launch(self, *words, **environment):
        job = self.cluster.popen("head", [*AS_USER, self.scela_run(), *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**self.environment, **environment}, cwd="/tmp")
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def lines(self, job):
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual(job.returncode, 0, err)
        return sorted(out.splitlines())

    def test_pods_that_start_late_run_the_ranks_of_the_host_file(self):
        pods = [self.names[host] for host in self.cluster.hosts]
        path = self.put("head", "hostfile", f"{pods[0]} slots=2\n{pods[1]} slots=1\n", 0o644)
        self.start_pod("node001")
        job = self.launch("sh", "-c", SHOW, OMPI_MCA_orte_default_hostfile=path)
        self.waiting(job, f"waiting for 1 of 2 hosts: {pods[1]} (connection refused)", "120 s more")
        self.start_pod("node002")
        self.assertEqual(self.lines(job), [f"0 {pods[0]} {USER}", f"1 {pods[0]} {USER}", f"2 {pods[1]} {USER}"])

    def test_a_launcher_that_is_a_worker_too_needs_no_sshd(self):
        for host in self.cluster.hosts:
            self.start_pod(host)
        own, first, second = (self.names[host] for host in self.cluster.everyone)
        path = self.put("head", "hostfile", f"{own}:1\n{first}:1\n{second}:1\n", 0o644)
        expected = [f"1 {first} {USER}", f"2 {second} {USER}"]
        self.assertEqual(self.lines(self.launch("sh", "-c", SHOW, HYDRA_HOST_FILE=path)), [f"0 head {USER}", *expected])
        self.assertEqual(self.lines(self.launch("-f", path, "sh", "-c", SHOW)), [f"0 {own} {USER}", *expected])

    def test_a_script_that_names_the_running_pods_is_asked_again(self):
        pods = [self.names[host] for host in self.cluster.hosts]
        running = self.put("head", "running", f"{pods[0]}:1\n", 0o644)
        script = self.put("head", "discover_hosts.sh", f"#!/bin/sh\ncat {running}\n", 0o755)
        for host in self.cluster.hosts:
            self.start_pod(host)
        job = self.launch("--host-discovery-script", script, "-n", "2", "sh", "-c", SHOW)
        self.waiting(job, f"waiting for hosts of '{script}': it names 1 host with 1 slot for 2 ranks; up to 120 s more")
        self.put("head", "running", f"{pods[0]}:1\n{pods[1]}:1\n", 0o644)
        self.assertEqual(self.lines(job), [f"0 {pods[0]} {USER}", f"1 {pods[1]} {USER}"])


if __name__ == "__main__":
    case.main()
