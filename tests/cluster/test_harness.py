"""Simulated hosts are what README.md says, and faults do what they say."""
import os
import select
import signal
import subprocess
import sys
import time

import case
import layout
from case import ClusterTest, DEADLINE_S

# On the head: prints how long a connection took, then what came over it until a line, the end, or a time-out.
CONNECT = """
import socket, sys, time
start = time.monotonic()
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]))
except OSError as error:
    sys.exit(type(error).__name__ + " " + str(error.errno))
print(time.monotonic() - start)
got = b""
try:
    while not got.endswith(b"\\n") and len(got) < int(sys.argv[4]):
        data = s.recv(1)
        if not data:
            break
        got += data
    print(got)
except TimeoutError:
    print("silent", got)
"""


class HarnessTest(ClusterTest):
    def connect(self, host, port=22, timeout=DEADLINE_S, most=100, source="head"):
        """Lines of what CONNECT prints, or its last words."""
        done = self.cluster.run(source, [sys.executable, "-S", "-E", "-c", CONNECT, host, port, timeout, most])
        return done.stdout.splitlines() or [done.stderr.strip()]

    def talk(self, host):
        """A session that sends back what it gets."""
        talking = self.cluster.popen("head", ["ssh", "-o", "BatchMode=yes", host, "cat"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(talking.wait)
        self.addCleanup(talking.kill)
        self.echo(talking)
        return talking

    def echo(self, talking, deadline=DEADLINE_S):
        """True if the session answered; a word that it did not answer may come later."""
        talking.stdin.write(b"word\n")
        talking.stdin.flush()
        if not select.select([talking.stdout], [], [], deadline)[0]:
            return False
        self.assertEqual(os.read(talking.stdout.fileno(), 5), b"word\n")
        return True

    def assert_ssh(self, host, **options):
        done = self.cluster.ssh(host, "hostname", **options)
        self.assertEqual((done.stdout, done.returncode), (f"{host.replace('-v6', '')}\n", 0), done.stderr)

    def assert_no_ssh(self, host, words, **options):
        done = self.cluster.ssh(host, "hostname", **options)
        self.assertEqual((done.stdout, done.returncode), ("", 255))
        self.assertRegex(done.stderr, words)


class HostsTest(HarnessTest):
    def test_the_head_reaches_every_host(self):
        for host in self.cluster.everyone + ["node003-v6"]:
            self.assert_ssh(host)

    def test_every_host_reaches_every_other(self):
        words = "for h in " + " ".join(self.cluster.everyone) + "; do ssh -o BatchMode=yes $h hostname; done"
        running = [self.cluster.popen(host, ["sh", "-c", words], stdout=subprocess.PIPE, text=True)
                   for host in self.cluster.hosts]
        for each in running:
            self.assertEqual(each.communicate(timeout=DEADLINE_S)[0].split(), self.cluster.everyone)

    def test_a_literal_address_is_a_known_host(self):
        for address in (self.cluster.address("node002"), self.cluster.address6("node002")):
            self.assertEqual(self.cluster.ssh(address, "hostname").stdout, "node002\n")

    def test_hosts_have_names_processes_files_and_interfaces_of_their_own(self):
        words = ("hostname; cat /etc/hostname; echo $HOME; ls -A /tmp /dev/shm /run ~; ls /sys/class/net;"
                 "echo x > /tmp/mine; pgrep -c -f 'sshd: .*[l]istener'")
        done = self.cluster.ssh("node002", words)
        lines = done.stdout.split()
        self.assertEqual(lines[:3], ["node002", "node002", layout.HOME], done.stderr)
        self.assertEqual(lines[-3:], ["eth0", "lo", "1"])
        self.assertEqual(self.cluster.files(), ["node002:/tmp/mine"])
        self.cluster.run("node002", ["rm", "/tmp/mine"])

    def test_the_hosts_share_one_folder(self):
        self.cluster.run("node001", ["sh", "-c", f"echo shared > {layout.SHARED}/word"], check=True)
        self.assertEqual(self.cluster.run("node002", ["cat", f"{layout.SHARED}/word"]).stdout, "shared\n")
        self.assertFalse(os.path.exists(f"{layout.SHARED}/word"))

    def test_a_name_that_is_not_and_a_host_that_is_not(self):
        self.assert_no_ssh("nonesuch", "Could not resolve hostname")
        self.assert_no_ssh("nobody", "No route to host")

    def test_a_command_ends_as_it_would_at_home(self):
        done = self.cluster.run("node001", ["sh", "-c", "cat; echo $WORD >&2; pwd; exit 7"], input="in\n",
                                env={"WORD": "err"})
        self.assertEqual((done.stdout, done.stderr, done.returncode), (f"in\n{layout.HOME}\n", "err\n", 7))
        with self.assertRaises(FileNotFoundError):
            self.cluster.run("node001", ["/no/such/program"])
        with self.assertRaises(subprocess.TimeoutExpired):
            self.cluster.run("node001", ["sh", "-c", "sleep 1000 & sleep 1000"], timeout=0.1)
        process = self.cluster.popen("node001", ["sleep", "1000"])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(DEADLINE_S), -signal.SIGINT)

    def test_a_command_may_have_a_terminal(self):
        ours, theirs = os.openpty()
        process = self.cluster.popen("head", ["sh", "-c", "tty -s && echo word > /dev/tty"], stdin=theirs,
                                     terminal=True)
        self.assertEqual(process.wait(DEADLINE_S), 0)
        self.assertEqual(os.read(ours, 100), b"word\r\n")
        os.close(ours)
        os.close(theirs)

    def test_leftovers_are_seen_and_removed(self):
        self.cluster.ssh("node004", "mkdir /dev/shm/d; touch /dev/shm/d/f ~/g; sleep 1000 > /dev/null 2>&1 &")
        with self.assertRaises(AssertionError) as raised:
            self.cluster.assert_empty(within=0.05)
        for words in (r"process \d+ \(sleep 1000\)", "node004:/dev/shm/d/f", f"node004:{layout.HOME}/g"):
            self.assertRegex(str(raised.exception), words)
        self.cluster.reset()
        self.assertEqual(self.cluster.left(), [])


class OptionsTest(HarnessTest):
    SIZE = 3
    OPTIONS = {"own_processes": False, "node_keys": False, "kex": "curve25519-sha256",
               "sshd": {"node002": ["RekeyLimit 1M"], "": ["ClientAliveInterval 77"]}}

    def test_without_keys_nodes_cannot_log_in(self):
        self.assert_ssh("node001")
        self.assert_no_ssh("node002", "Permission denied", source="node001")

    def test_the_key_exchange_is_forced(self):
        done = self.cluster.run("head", ["ssh", "-v", "node001", "true"])
        self.assertIn("kex: algorithm: curve25519-sha256\n", done.stderr.replace("\r", ""))
        done = self.cluster.run("head", ["ssh", "-o", "KexAlgorithms=ecdh-sha2-nistp256", "node001", "true"])
        self.assertIn("no matching key exchange method", done.stderr)

    def test_lines_of_configuration_reach_the_hosts_they_are_for(self):
        for host, limit in (("node001", "0 0"), ("node002", "1048576 0")):
            lines = self.cluster.run(host, [layout.SSHD, "-T"]).stdout.splitlines()
            self.assertIn(f"rekeylimit {limit}", lines)
            self.assertIn("clientaliveinterval 77", lines)

    def test_configuration_can_change(self):
        self.cluster.restart_sshd("node001", ["ForceCommand echo forced"])
        self.assertEqual(self.cluster.ssh("node001", "hostname").stdout, "forced\n")
        self.cluster.undo()
        self.assert_ssh("node001")

    def test_without_process_namespaces_faults_still_hit_one_host(self):
        first, second = self.talk("node001"), self.talk("node002")
        self.assertEqual(len([p for p in self.cluster.processes("node001") if p.words == "cat"]), 1)
        self.cluster.freeze("node001")
        self.assertTrue(self.echo(second))
        self.assertFalse(self.echo(first, 0.1))
        self.cluster.crash("node001")
        self.assertEqual(self.cluster.processes("node001"), [])
        self.assertTrue(self.echo(second))


class HiddenTest(HarnessTest):
    SIZE = 2
    SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    OPTIONS = {**HarnessTest.OPTIONS, "hidden": [layout.SHARED, SOURCES, os.path.join(SOURCES, "tests")]}

    def test_hidden_folders_are_each_nodes_own_and_the_heads_as_they_are(self):
        self.cluster.run("head", ["touch", f"{layout.SHARED}/heads"], check=True)
        self.cluster.run("node001", ["touch", f"{layout.SHARED}/nodes"], check=True)
        shared, sources = ({host: self.cluster.run(host, ["ls", "-A", folder]).stdout.split() for host in self.cluster.everyone}
                           for folder in (layout.SHARED, self.SOURCES))
        self.assertEqual((shared["node001"], sources["node001"]), (["nodes"], []))
        self.assertEqual((shared["node002"], sources["node002"]), ([], []))
        self.assertTrue("heads" in shared["head"] and "nodes" not in shared["head"], shared["head"])
        self.assertIn("tests", sources["head"])
        self.cluster.crash("node002")
        self.cluster.boot("node002")
        self.assert_ssh("node002")


class FaultsTest(HarnessTest):
    def assert_silent(self, talking):
        """Nothing comes, and the connection is not closed either."""
        self.assertFalse(self.echo(talking, 0.3))
        self.assertIsNone(talking.poll())

    def test_a_cut_link_is_silent_until_it_is_healed(self):
        talking, other = self.talk("node003"), self.talk("node004")
        self.cluster.cut("node003")
        self.assert_silent(talking)
        self.assertRegex(self.connect("node003", timeout=0.3)[0], "TimeoutError|OSError 113")
        self.assertTrue(self.echo(other))
        self.cluster.heal("node003")
        self.assertTrue(select.select([talking.stdout], [], [], DEADLINE_S)[0])
        self.assertEqual(os.read(talking.stdout.fileno(), 5), b"word\n")

    def test_a_crashed_host_is_silent_and_empty_until_it_boots(self):
        talking = self.talk("node003")
        self.cluster.crash("node003")
        self.assertEqual(self.cluster.processes("node003"), [])
        self.assert_silent(talking)
        self.assertRegex(self.connect("node003", timeout=0.3)[0], "TimeoutError|OSError 113")
        self.cluster.boot("node003")
        self.assert_ssh("node003")

    def test_killed_processes_close_their_connections(self):
        talking = self.talk("node003")
        self.cluster.kill_processes("node003")
        self.assertEqual(self.cluster.processes("node003"), [])
        self.assertEqual(talking.wait(DEADLINE_S), 255)
        self.assert_ssh("node003")

    def test_a_frozen_host_takes_connections_and_is_silent_until_thawed(self):
        talking = self.talk("node003")
        self.cluster.freeze("node003")
        self.assert_silent(talking)
        self.assertEqual(self.connect("node003", timeout=1)[1], "silent b''")
        self.cluster.thaw("node003")
        self.assertTrue(select.select([talking.stdout], [], [], DEADLINE_S)[0])
        self.assert_ssh("node003")

    def test_a_closed_port_refuses_and_sessions_go_on(self):
        talking = self.talk("node003")
        self.cluster.refuse("node003")
        self.assert_no_ssh("node003", "Connection refused")
        self.assertEqual(self.connect("node003"), ["ConnectionRefusedError 111"])
        self.assertTrue(self.echo(talking))
        self.cluster.restart_sshd("node003")
        self.assert_ssh("node003")

    def test_a_hanging_port_accepts_and_says_nothing(self):
        self.cluster.hang("node003")
        self.assertEqual(self.connect("node003", timeout=1)[1], "silent b''")
        done = self.cluster.run("head", ["ssh", "-o", "ConnectTimeout=1", "node003", "true"])
        self.assertRegex(done.stderr, "timed out during banner exchange")
        self.cluster.undo()
        self.assert_ssh("node003")

    def test_a_slow_loris_sends_a_byte_a_second(self):
        self.cluster.slow_loris("node003")
        start = time.monotonic()
        self.assertEqual(self.connect("node003", most=2)[1], "b'SS'")
        self.assertGreater(time.monotonic() - start, 0.9)
        self.cluster.undo()
        self.assert_ssh("node003")

    def test_a_changed_host_key_is_refused(self):
        self.cluster.change_host_key("node003")
        self.assert_no_ssh("node003", "REMOTE HOST IDENTIFICATION HAS CHANGED")
        self.assert_no_ssh("node003", "REMOTE HOST IDENTIFICATION HAS CHANGED", source="node001")
        self.cluster.undo()
        self.assert_ssh("node003")

    def test_a_host_that_takes_no_key(self):
        self.cluster.lock_out("node003")
        self.assert_no_ssh("node003", "Permission denied")
        self.cluster.let_in("node003")
        self.assert_ssh("node003")

    def test_a_firewall_lets_only_ssh_through(self):
        server = self.cluster.popen("node003", [sys.executable, "-c", (
            "import socket; s = socket.create_server(('', 7000)); print('up', flush=True)\n"
            "while True: s.accept()[0].send(b'hello\\n')")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual(server.stdout.readline(), "up\n")
        self.assertEqual(self.connect("node003", 7000)[1], "b'hello\\n'")
        self.cluster.firewall("node003")
        self.assertEqual(self.connect("node003", 7000, timeout=0.3), ["TimeoutError None"])
        self.assertEqual(self.connect("node001", 7000, timeout=0.3, source="node003"), ["TimeoutError None"])
        self.assert_ssh("node003")
        self.assert_ssh("node003-v6")
        self.assert_ssh("node001", source="node003")
        self.cluster.firewall("node003", False)
        self.assertEqual(self.connect("node003", 7000)[1], "b'hello\\n'")

    def test_a_full_disk_takes_no_byte(self):
        self.cluster.disk_full("node003")
        for folder in layout.WATCHED:
            done = self.cluster.ssh("node003", f"echo word > {folder}/f; rm -f {folder}/f")
            self.assertIn("No space left on device", done.stderr)
        self.assertEqual(self.cluster.files(), [])
        self.assertEqual(self.cluster.ssh("node004", "echo x > /tmp/f && rm /tmp/f").returncode, 0)
        self.cluster.disk_empty("node003")
        self.assertEqual(self.cluster.ssh("node003", "echo x > /tmp/f && rm /tmp/f").returncode, 0)

    def test_a_folder_without_execution(self):
        words = "for d in /tmp /var/tmp; do cp /bin/true $d/t; $d/t; echo $?; rm $d/t; done"
        self.cluster.noexec("node003", "/tmp")
        done = self.cluster.ssh("node003", words)
        self.assertEqual(done.stdout, "126\n0\n", done.stderr)
        self.cluster.undo()
        self.assertEqual(self.cluster.ssh("node003", words).stdout, "0\n0\n")


class ShellsTest(HarnessTest):
    def shell(self, kind, command):
        self.cluster.set_shell("node003", kind)
        return self.cluster.ssh("node003", command, timeout=DEADLINE_S)

    def test_a_noisy_bash(self):
        done = self.shell("noisy", "echo word")
        self.assertRegex(done.stdout, r"(?s)^Welcome to node003\nunterminated .*noiseword\n$")
        self.assertEqual(done.stderr, "a warning\n")
        self.cluster.undo()
        self.assertEqual(self.cluster.ssh("node003", "echo word").stdout, "word\n")

    def test_a_csh(self):
        done = self.shell("csh", "echo $version; echo $?word")
        self.assertRegex(done.stdout, "^tcsh .*\n0\n$")

    def test_a_shell_like_fish(self):
        self.assertEqual(self.shell("fish", "echo word; and echo two").returncode, 127)
        self.assertEqual(self.shell("fish", "echo word && exec echo two").stdout, "word\ntwo\n")
        done = self.shell("fish", "true; echo $?")
        self.assertEqual((done.stdout, done.returncode), ("", 127))
        self.assertIn("fish: unsupported", done.stderr)

    def test_a_missing_shell_refuses(self):
        self.assertEqual(self.shell("missing", "true").returncode, 255)
        self.assertIn("shell /bin/no-such-shell does not exist", self.cluster.log("node003"))

    def test_a_silent_shell_takes_the_command_and_sleeps(self):
        self.cluster.set_shell("node003", "silent")
        with self.assertRaises(subprocess.TimeoutExpired):
            self.cluster.ssh("node003", "echo word", timeout=0.5)
        self.cluster.kill_processes("node003")


class ShapeTest(HarnessTest):
    BYTES = 4_000_000

    def seconds_of_a_copy(self, host):
        """BYTES there and back, equal; the seconds of it."""
        start = time.monotonic()
        data = os.urandom(self.BYTES)
        done = self.cluster.ssh(host, "cat", input=data, text=False)
        self.assertEqual(done.stdout == data, True, done.stderr)
        return time.monotonic() - start

    def await_less(self, limit, measure):
        """True of one of many, as on a machine that does much else."""
        self.assertTrue(any(measure() < limit for _ in range(100)))

    def test_a_limited_rate_is_kept(self):
        self.cluster.rate("node003", 32)
        self.assertGreater(self.seconds_of_a_copy("node003"), 0.9 * self.BYTES * 8 / 32e6)
        self.cluster.rate("node003", None)
        self.assert_ssh("node003")

    def test_a_delay_holds_each_way_and_loses_nothing(self):
        def trip(*way):
            return min(float(self.connect(way[-1], source=way[0])[0]) for _ in range(3))
        # Long enough that a connection without one is faster on any machine: a busy one takes tens of milliseconds.
        self.cluster.delay(200, "node003", "node004")
        self.assertGreater(trip("head", "node003"), 0.400)
        self.assertGreater(trip("node003", "node004"), 0.800)
        self.await_less(0.400, lambda: trip("head", "node005"))
        self.cluster.delay(20, "node003")
        self.assertGreater(trip("head", "node003"), 0.040)
        self.seconds_of_a_copy("node003")
        self.cluster.delay(200, "node003")
        self.assertGreater(trip("head", "node003"), 0.400)
        self.cluster.delay(None)
        self.await_less(0.400, lambda: trip("head", "node003"))
        self.seconds_of_a_copy("node003")

    def test_a_delayed_host_can_be_cut(self):
        self.cluster.delay(1, "node003")
        talking = self.talk("node003")
        self.cluster.cut("node003")
        self.assertFalse(self.echo(talking, 0.3))
        self.cluster.heal("node003")
        self.assertTrue(select.select([talking.stdout], [], [], DEADLINE_S)[0])


if __name__ == "__main__":
    case.main()
