"""Starting agents on real hosts: the tree, shipping, shells, keys, configuration, names, other remote shells."""
import os
import re
import shutil
import signal
import subprocess
import time

import case
import layout
from case import DEADLINE_S
from jobs import JobTest, LAUNCH, NO_AGENT, NO_CACHE, SSH, STORE, UNREACHABLE

# Takes what is in single quotes for one word, as fish does; outside it knows as little of sh.
FISH = """#!/bin/sh
[ "$1" = -c ] || exit 127
case $(printf '%s' "$2" | sed "s/'[^']*'//g") in
  *[\\$\\`\\(\\)\\{\\}]*|*'<<'*|*'; then'*|*'; do'*) echo "fish: unsupported syntax" >&2; exit 127 ;;
esac
case $2 in *\\\\*) echo "fish: a backslash may mean something else here" >&2; exit 127 ;; esac
exec /bin/sh -c "$2"
"""
# fish before 3.0.
OLD_FISH = FISH.replace("*'<<'*", "*'<<'*|*'&&'*")
VERBOSE = {**JobTest.OPTIONS, "sshd": ["LogLevel VERBOSE"]}


def tree(shown):
    """By node: its parent, from what --show-map prints."""
    parents, above = {}, ["head"]
    for indent, name in re.findall(r"^((?:[|` ] {3})*)[|`]-- (\S+)", shown, re.M):
        depth = len(indent) // 4 + 1
        above[depth:] = [name]
        parents[name] = above[depth - 1]
    return parents


class TreeTest(JobTest):
    SIZE = 14
    ALL = ("-w", "node[001-014]", "--degree", "2")

    def test_every_agent_is_started_by_its_parent(self):
        done = self.run_job(*self.ALL, "-n", "14", "--degree", "2", "--show-map", "hostname")
        parents = tree(done.stderr)
        depth = lambda host: 0 if host == "head" else 1 + depth(parents[host])
        self.assertEqual(sorted(parents), self.cluster.hosts)
        self.assertEqual(max(map(depth, parents)), 3)
        self.assertEqual(sorted(done.stdout.split()), self.cluster.hosts)
        self.assertEqual(self.logins(), {host: [parent] for host, parent in parents.items()})

    def test_flat_starts_all_from_the_root(self):
        self.assert_hosts(self.cluster.hosts, *self.ALL, "--degree", "2", "--flat")
        self.assertEqual(self.logins(), {host: ["head"] for host in self.cluster.hosts})

    def test_fanout_bounds_sessions_under_way(self):
        # All names are one host, which drops the third connection that has not authenticated.
        self.configure("Host a*\n HostName node001\n HostKeyAlias node001\n")
        self.cluster.restart_sshd("node001", ["PerSourceMaxStartups 2"])
        self.assert_hosts(["node001"] * 12, "-w", "a[01-12]", "--flat", "--fanout", "2")
        done = self.run_job("-w", "a[01-12]", "-n", "12", "--flat", "true", status=UNREACHABLE)
        self.assertIn("closes the connection before a key is exchanged", done.stderr)

    def test_fanout_bounds_inner_nodes_too(self):
        self.cluster.restart_sshd("node002", ["PerSourceMaxStartups 1"])
        lines = "".join(f"Host b{i}\n HostName node002\n HostKeyAlias node002\n" for i in range(1, 8))
        self.configure(lines)
        names = ",".join(f"b{i}" for i in range(1, 8))
        # node001's agent starts the seven.
        self.assert_hosts(["node001"] + ["node002"] * 7, "-w", f"node001,{names}", "--degree", "1", "--fanout", "1")


class SlowTest(JobTest):
    SIZE = 6

    def test_hosts_below_a_slow_host_do_not_wait_for_it(self):
        """node001 is to start node002 and node003."""
        self.cluster.freeze("node001")
        job = self.start("-w", "node[001-006]", "--degree", "2", "--connect-timeout", str(DEADLINE_S), "--ppn", "1",
                         "hostname")
        deadline = time.monotonic() + DEADLINE_S
        while not all(self.logins("node002", "node003").values()):
            self.assertLess(time.monotonic(), deadline, self.log("node002"))
            time.sleep(0.01)
        self.cluster.thaw("node001")
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual((job.returncode, sorted(out.split()), err), (0, self.cluster.hosts, ""))
        self.assertEqual(self.logins(), {**{host: ["head"] for host in self.cluster.hosts[:4]},
                                         "node005": ["node004"], "node006": ["node004"]})


class CommandForEachHostTest(JobTest):
    """A command that runs once on each host needs no other host than its own."""
    SIZE = 4

    def start_beside_silent(self, *words, host="node002"):
        """A job of which one host takes connections and says nothing, when all others have written a line."""
        self.cluster.freeze(host)
        job = self.start("-w", "node[001-004]", "--connect-timeout", str(DEADLINE_S), *words)
        others = [name for name in self.cluster.hosts if name != host]
        self.assertEqual(sorted(job.stdout.readline() for _ in others), [f"{name}: {name}\n" for name in others])
        return job

    def test_output_of_a_host_does_not_wait_for_a_silent_host(self):
        job = self.start_beside_silent("hostname")
        self.assertIsNone(job.poll())
        self.cluster.thaw("node002")
        self.assertEqual((*job.communicate(timeout=DEADLINE_S), job.returncode), ("node002: node002\n", "", 0))

    def test_an_agent_ends_with_its_command_though_a_host_is_silent(self):
        job = self.start_beside_silent("hostname")
        for host in ("node001", "node003", "node004"):
            self.cluster.assert_left(host, {"sshd: root@notty"})  # the session of scela-run
        self.cluster.thaw("node002")
        self.assertEqual((*job.communicate(timeout=DEADLINE_S), job.returncode), ("node002: node002\n", "", 0))

    def test_a_silent_host_is_named_when_the_job_is_ended(self):
        job = self.start_beside_silent("hostname && exec sleep 1000")
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual((out, job.returncode), ("", 130), err)
        self.assertRegex(err, r"ended with the job 3 \(node\[001,003-004\]\) · not run 1 \(node002\)")

    def test_a_host_that_is_lost_beside_a_silent_host_is_lost_alone(self):
        job = self.start_beside_silent("hostname && exec sleep 1000")
        _guardian, agent = self.agents("node003")
        os.kill(agent, signal.SIGKILL)
        self.cluster.thaw("node002")
        self.assertEqual(job.stdout.readline(), "node002: node002\n")
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual((out, job.returncode), ("", 130), err)
        self.assertRegex(err, r"lost 1 \(node003\) · ended with the job 3 \(node\[001-002,004\]\)")

    def test_a_host_that_is_down_costs_the_others_nothing(self):
        job = self.start("-w", "node[001-004]", "--connect-timeout", "1", "-b", "hostname")
        self.assertEqual(job.wait(DEADLINE_S), 0)
        self.cluster.freeze("node002")
        job = self.start("-w", "node[001-004]", "--connect-timeout", "1", "hostname")
        out, err = job.communicate(timeout=DEADLINE_S)
        self.assertEqual((sorted(out.split()[1::2]), job.returncode), (["node001", "node003", "node004"], UNREACHABLE))
        self.assertRegex(err, r"node002 unreachable \(.*\n.*ok 3 \(node\[001,003-004\]\) · unreachable 1 \(node002\)")

    def test_with_min_nodes_all_hosts_are_waited_for(self):
        self.cluster.freeze("node002")
        job = self.start("-w", "node[001-004]", "--min-nodes", "4", "--connect-timeout", "1", "hostname")
        out, _ = job.communicate(timeout=DEADLINE_S)
        self.assertEqual((out, job.returncode), ("", UNREACHABLE))


class KeylessTest(JobTest):
    """Nodes have keys that no other node takes."""
    SIZE = 14
    OPTIONS = {**VERBOSE, "node_keys": False}
    ALL = TreeTest.ALL

    def setUp(self):
        super().setUp()
        self.keygen("-t", "ed25519", "-N", "", "-f", "strange")
        key = self.read("head", f"{SSH}/strange")
        for host in self.cluster.hosts:
            self.put(host, f"{SSH}/id_ed25519", key)

    def check(self, *words):
        parents = tree(self.run_job(*self.ALL, "-n", "14", "--degree", "2", "--dry-run", "true").stdout)
        started = [host for host in self.cluster.hosts if parents[host] == "head"]
        self.assert_hosts(self.cluster.hosts, *self.ALL, "--degree", "2", *words)
        self.assertEqual(self.logins(), {host: ["head"] for host in self.cluster.hosts})
        self.assertEqual(sorted(self.refusals()), sorted(started))  # once each, not once per child

    def test_a_level_goes_back_to_the_root_after_one_refusal(self):
        self.check()

    def test_a_level_of_an_ssh_client_goes_back_after_one_refusal(self):
        self.check("--launch", "ssh-exec")

    def test_no_agent_is_refused_in_a_flat_start(self):
        self.assert_hosts(self.cluster.hosts, *self.ALL, "--flat")
        self.assertEqual(self.refusals(), [])


class ShippingTest(JobTest):
    SIZE = 3
    ALL = ("-w", "node003")

    def where(self, *words):
        """Where node003's agent was executed from: its package, if that was sent, else its own file."""
        job = self.sleepers(*(() if "-w" in words else self.ALL), *words, count=3 if "-w" in words else 1)
        found, packages = self.executables("node003"), self.packages("node003")
        files = self.cluster.files(*self.cluster.everyone)
        self.end(job)
        self.assertEqual([path for path in files if "/scela-0-" not in path], [])
        self.assertEqual(len(found), 1)
        if not packages:
            return found.pop()
        self.assertEqual(found, {"/memfd:scela-nla (deleted)"})
        self.assertEqual(len(packages), 1)
        return re.sub(r"-nla-[0-9a-f]{16}\b", "-nla-TOKEN", packages.pop())

    def test_an_agent_that_is_nowhere_is_shipped_and_unlinked(self):
        # From head to node001, from there to node002, from there to node003.
        self.assertEqual(self.where("-w", "node[001-003]", "--degree", "1", *NO_CACHE),
                         "/tmp/.scela-nla-TOKEN (deleted)")

    def test_an_installed_agent_is_not_shipped(self):
        path = self.put_everywhere("agent", self.program(), 0o755)
        self.assertEqual(self.where("--agent", path), path)

    def test_an_installed_agent_needs_no_second_shell(self):
        path = self.put_everywhere("agent", self.program(), 0o755)
        self.cluster.noexec("node003", os.path.realpath("/bin/sh"))
        self.assert_hosts(["node003"], *self.ALL, "--agent", path)

    def test_a_folder_that_takes_no_program_is_passed_over(self):
        self.cluster.noexec("node003", "/tmp")
        self.assertEqual(self.where(*NO_CACHE), "/dev/shm/.scela-nla-TOKEN (deleted)")

    def test_a_full_folder_is_passed_over(self):
        self.cluster.disk_full("node003", "/tmp", "/dev/shm")
        self.assertEqual(self.where(*NO_CACHE), "/var/tmp/.scela-nla-TOKEN (deleted)")

    def test_the_folder_for_temporary_files_comes_first(self):
        self.cluster.restart_sshd("node003", ["SetEnv TMPDIR=/var/tmp"])
        self.assertEqual(self.where(*NO_CACHE), "/var/tmp/.scela-nla-TOKEN (deleted)")

    def test_a_limit_of_file_sizes_is_met_before_anything_is_sent(self):
        self.fake("node003", head='ulimit -f 100; exec /usr/bin/head "$@"\n')
        done = self.run_job(*self.ALL, *NO_CACHE, "-n", "1", "true", status=LAUNCH)
        self.assertRegex(done.stderr, r"node003: .*no directory takes .*/tmp \(full\), ")

    def test_no_folder_at_all_is_a_clear_error(self):
        self.cluster.disk_full("node003", "/tmp", "/dev/shm", "/var/tmp")
        self.cluster.noexec("node003", layout.HOME)
        done = self.run_job(*self.ALL, *NO_CACHE, "-n", "1", "true", status=LAUNCH)
        self.assertRegex(done.stderr, r"node003: start its agent .*no directory takes an executable file of \d+ bytes: "
                         r"/tmp \(full\), /dev/shm \(full\), /var/tmp \(full\), /root \(noexec\), "
                         r"/run/user/0 \(not writable\) - make room, or install scela-nla and name it with --agent")

    def program(self):
        with open(self.scela_agent(), "rb") as f:
            return f.read()

    def other_build(self):
        """The agent, but for one bit of its build's name."""
        program = bytearray(self.program())
        at = program.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
        program[at + 16] ^= 1
        return program

    def test_our_agent_is_shipped_if_another_build_is_installed(self):
        path = self.put_everywhere("agent", self.other_build(), 0o755)
        self.assertEqual(self.where("--agent", path, "--no-agent-cache"), "/tmp/.scela-nla-TOKEN (deleted)")

    def test_our_agent_is_shipped_if_the_installed_one_does_not_run(self):
        for text in ("#!/bin/sh\nprintf '\\nSCELA-NLA other 0.0.1 abcdef\\n'; exit 69\n", "#!/bin/sh\nexit 9\n",
                     "#!/bin/sh\nkill -SEGV $$\n", "#!/no/such/interpreter\n", "\x7fELF and not a program\n", ""):
            with self.subTest(text):
                path = self.put("node003", "agent", text, 0o755)
                self.assertEqual(self.where("--agent", path, "--no-agent-cache"), "/tmp/.scela-nla-TOKEN (deleted)")

    def test_an_agent_that_was_damaged_on_its_way_does_not_run(self):
        # A byte in the middle is another one, or the end is missing.
        for change in ("dd of=\"$f\" bs=1 seek=2000000 conv=notrunc", "cat > /dev/null; truncate -s -1 \"$f\""):
            with self.subTest(change):
                self.fake("node003", wc=f'/usr/bin/wc "$@"; f=$(echo /tmp/.scela-nla-*); printf damage | {change} 2> /dev/null\n')
                done = self.run_job(*self.ALL, *NO_CACHE, "-n", "1", "true", status=LAUNCH)
                self.assertRegex(done.stderr, "node003: start its agent .*the agent cannot be unpacked: (it was damaged on its way"
                                 "|the package is not whole)")

    def test_another_architecture_is_a_clear_error(self):
        self.fake("node003", uname="echo aarch64\n")
        done = self.run_job(*self.ALL, *NO_CACHE, "-n", "1", "true", status=LAUNCH)
        self.assertRegex(done.stderr, r"node003: .*its processor is aarch64, but this ScELA is built for \S+ and")

    def test_an_agent_is_shipped_by_an_ssh_client(self):
        self.assertEqual(self.where(*NO_CACHE, "--launch", "ssh-exec"), "/tmp/.scela-nla-TOKEN (deleted)")


class ShellsTest(JobTest):
    SIZE = 6
    ALL = ("-w", "node[001-006]", "--degree", "2")

    def setUp(self):
        super().setUp()
        self.cluster.set_shell("node002", "noisy")
        self.cluster.set_shell("node003", "csh")
        self.cluster.set_shell("node004", shutil.which("fish"))
        # fish keeps files of its own.
        self.addCleanup(self.cluster.run, "node004", ["rm", "-rf", "/root/.config", "/root/.local"], check=True)
        self.cluster.set_shell("node005", shutil.which("dash") or "/bin/sh")
        self.cluster.set_shell("node006", self.put("node006", "fish", OLD_FISH, 0o755))

    def test_login_shells_of_all_kinds(self):
        self.assert_hosts(self.cluster.hosts, *self.ALL)
        self.assert_hosts(self.cluster.hosts, *self.ALL, *NO_AGENT)

    def test_a_text_goes_to_the_login_shell_of_each_host(self):
        done = self.run_job(*self.ALL, "-b", "echo one; echo 'a  b'")
        self.assertIn("\none\na  b\n", done.stdout)
        self.assertEqual(done.stdout.count("one\n"), 1, done.stdout)
        self.assertEqual(self.run_job("-w", "node003", "set a = (x y); echo $a[2]").stdout, "node003: y\n")

    def test_login_shells_of_all_kinds_by_an_ssh_client(self):
        self.assert_hosts(self.cluster.hosts, *self.ALL, "--launch", "ssh-exec")
        self.assert_hosts(self.cluster.hosts, *self.ALL, *NO_AGENT, "--launch", "ssh-exec")


class OtherProgramsTest(JobTest):
    SIZE = 6
    ALL = ("-w", "node[001-006]", "--degree", "2")

    def check(self, *words):
        parents = tree(self.run_job(*self.ALL, "-n", "6", "--degree", "2", "--dry-run", "true").stdout)
        self.assert_hosts(self.cluster.hosts, *self.ALL, "--degree", "2", *words)
        self.assertEqual(self.logins(), {host: [parent] for host, parent in parents.items()})

    def test_ssh_exec_starts_a_tree(self):
        self.check("--launch", "ssh-exec")

    def test_any_remote_shell_starts_a_tree(self):
        self.check("--launch", "rsh:ssh -x")

    def test_the_program_finds_hosts_by_its_own_configuration(self):
        # Neither this name nor this key is known to anybody but the user's ssh.
        self.configure("Host far\n HostName node003\n UserKnownHostsFile ~/.ssh/known_elsewhere\n")
        self.put("head", f"{SSH}/known_elsewhere", self.read("head", f"{SSH}/known_hosts"))
        self.put("head", f"{SSH}/known_hosts", "".join(
            line + "\n" for line in self.read("head", f"{SSH}/known_hosts").splitlines() if "node003" not in line))
        self.assert_hosts(["node001", "node003"], "-w", "far,node001", "--launch", "ssh-exec")

    def test_the_root_starts_hosts_that_an_inner_node_does_not_find(self):
        self.configure("Host far\n HostName node003\n")
        self.assert_hosts(["node001", "node003"], "-w", "node001,far", "--degree", "1", "--launch", "ssh-exec")
        self.assertEqual(self.logins("node003"), {"node003": ["head"]})

    def test_a_program_that_is_not_there_is_a_clear_error(self):
        done = self.run_job(*self.ALL, "-n", "6", "--launch", "rsh:no-such-rsh -x", "true", status=LAUNCH)
        self.assertIn("find 'no-such-rsh': No such file or directory (ENOENT) (install it, or choose another --launch)",
                      done.stderr)

    def test_the_output_of_the_remote_shell_is_the_error(self):
        self.cluster.refuse("node004")
        for words in (["--flat"], ["--degree", "2"]):
            done = self.run_job(*self.ALL, "-n", "6", *words, "--launch", "ssh-exec", "true", status=UNREACHABLE)
            self.assertRegex(done.stderr, r"node004: start its agent \(connect\): 'ssh -x .*' ended before an agent "
                             r"answered: exit status 255; it said: ssh: connect to host node004 .*refused")


class KeysTest(JobTest):
    SIZE = 3
    OPTIONS = VERBOSE
    ALL = ("-w", "node[001-003]", "--flat")

    def test_a_key_that_only_an_ssh_agent_can_use(self):
        self.keygen("-t", "ed25519", "-N", "secret", "-f", "locked")
        self.authorize(self.read("head", f"{SSH}/locked.pub"))
        self.remove_key()
        self.configure("IdentityFile ~/.ssh/locked\n")
        done = self.run_job(*self.ALL, "-n", "3", "true", status=UNREACHABLE)
        self.assertIn("/root/.ssh/locked: has a passphrase", done.stderr)
        ask = self.put("head", "ask", "#!/bin/sh\necho secret\n", 0o755)
        with self.ssh_agent() as (_, socket):
            env = {"SSH_AUTH_SOCK": socket, "SSH_ASKPASS": ask, "SSH_ASKPASS_REQUIRE": "force"}
            self.cluster.run("head", ["ssh-add", f"{SSH}/locked"], env=env, check=True)
            self.assert_hosts(self.cluster.hosts, *self.ALL, env=env)
            # Without the name of the file too, and by the configuration's name of the socket.
            self.configure(f"IdentityAgent {socket}\n")
            self.assert_hosts(self.cluster.hosts, *self.ALL)

    def certify(self, name, kind):
        self.keygen("-t", kind, "-N", "", "-f", name)
        self.keygen("-s", "authority", "-I", "test", "-n", "root", f"{name}.pub")

    def check_certificates(self, kind):
        self.keygen("-t", "ed25519", "-N", "", "-f", "authority")
        self.authorize("cert-authority " + self.read("head", f"{SSH}/authority.pub"))
        self.certify("mine", kind)
        self.certify("other", kind)
        self.configure("IdentityFile ~/.ssh/mine\n")
        self.assert_hosts(self.cluster.hosts, *self.ALL)
        # By another name, beside the certificate of another key, which is not tried.
        for name in ("mine", "other"):
            os.rename(self.cluster.path("head", f"{SSH}/{name}-cert.pub"),
                      self.cluster.path("head", f"{SSH}/{name}.certificate"))
        self.configure("IdentityFile ~/.ssh/mine\nCertificateFile ~/.ssh/other.certificate\n"
                       "CertificateFile ~/.ssh/mine.certificate\n")
        self.forget_logins()
        self.assert_hosts(self.cluster.hosts, *self.ALL)
        self.assertEqual(self.refusals(), [])
        self.configure("IdentityFile ~/.ssh/mine\n")
        self.run_job(*self.ALL, "-n", "3", "true", status=UNREACHABLE)

    def test_certificates_of_ed25519_keys(self):
        self.check_certificates("ed25519")

    def test_certificates_of_ecdsa_keys(self):
        self.check_certificates("ecdsa")

    def test_certificates_of_rsa_keys(self):
        self.check_certificates("rsa")

    def test_keys_of_the_usual_types(self):
        """PEM and PKCS8 are the forms that OpenSSL reads."""
        self.remove_key()
        for kind, form in (("rsa", "RFC4716"), ("ecdsa", "RFC4716"), ("ed25519", "RFC4716"), ("rsa", "PEM"), ("ecdsa", "PEM"),
                           ("rsa", "PKCS8")):
            with self.subTest(kind, form=form):
                self.keygen("-t", kind, "-m", form, "-N", "", "-f", f"id_{kind}")
                self.authorize(self.read("head", f"{SSH}/id_{kind}.pub"))
                self.assert_hosts(self.cluster.hosts, *self.ALL)
                for name in (f"id_{kind}", f"id_{kind}.pub"):
                    os.unlink(self.cluster.path("head", f"{SSH}/{name}"))


class ConfigurationTest(JobTest):
    SIZE = 4

    def test_host_host_name_user_port_and_identity(self):
        self.cluster.restart_sshd("node002", ["Port 2222"])
        os.rename(self.cluster.path("head", f"{SSH}/id_ed25519"), self.cluster.path("head", f"{SSH}/elsewhere"))
        text = ("Host one two\n User root\n IdentityFile ~/.ssh/elsewhere\n"
                "Host one\n HostName node001\nHost two\n HostName 10.99.1.2\n Port 2222\n HostKeyAlias node002\n")
        self.configure(text)
        self.assert_hosts(["node001", "node002"], "-w", "one,two", "--flat")
        named = self.put("head", "config", text)
        self.configure("")
        self.assert_hosts(["node001", "node002"], "-w", "one,two", "--flat", "-F", named)
        done = self.run_job("-w", "one,two", "-n", "2", "true", status=UNREACHABLE)
        self.assertRegex(done.stderr, "one: resolve the name 'one': .*check the spelling")

    def test_a_user_and_a_port_with_the_host(self):
        self.cluster.restart_sshd("node002", ["Port 2222"])
        self.add_worker("node001")
        done = self.run_job("-w", "worker@node001,root@node002:2222", "--ssh-host-keys", "accept-new", "id -un; hostname")
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["root@node002:2222: node002", "root@node002:2222: root",
                          "worker@node001: node001", "worker@node001: worker"])

    def test_another_user_without_privileges(self):
        self.add_worker("node001", "node002")
        self.configure("Host node*\n User worker\n")
        # node002 is node001's child, and the worker has no key there: the root starts both.
        done = self.run_job("-w", "node[001-002]", "-n", "2", "--degree", "1", *NO_AGENT, "--wdir", "/", "sh", "-c",
                            "echo $(id -u) $HOME")
        self.assertEqual(done.stdout, f"1234 {STORE}/home\n" * 2)

    def test_hosts_behind_another(self):
        self.configure("Host node003 node004\n ProxyJump node001\n")
        self.assert_hosts(self.cluster.hosts, "-w", "node[001-004]", "--degree", "1")
        self.assertEqual(self.logins("node002", "node003", "node004"),
                         {"node002": ["node001"], "node003": ["node001"], "node004": ["node001"]})

    def test_hosts_behind_a_command(self):
        self.configure("Host far\n HostName node003\n ProxyCommand ssh -W %h:%p node001\n")
        self.assert_hosts(["node003"], "-w", "far")
        self.assertEqual(self.logins("node003"), {"node003": ["node001"]})

    def test_malformed_configurations_are_clear_errors(self):
        for text, words in (("Host node001\n HostName\n", "config:2: .*nothing follows 'hostname'"),
                            ("Port 99999\n", "config:1: .*'99999' is out of range"),
                            ("ProxyJump -oX=y\n", "node001: .*no host to jump through")):
            with self.subTest(text):
                self.configure(text)
                done = self.run_job("-w", "node001", "-n", "1", "true", status=64)
                self.assertRegex(done.stderr, words)


class HostKeysTest(JobTest):
    SIZE = 3
    ALL = ("-w", "node[001-003]", "--degree", "1")  # node003 is started by an agent
    KNOWN = f"{SSH}/known_hosts"

    def forget(self, host):
        kept = [line + "\n" for line in self.read("head", self.KNOWN).splitlines() if host not in line]
        self.put("head", self.KNOWN, "".join(kept))

    def key(self, host):
        return " ".join(self.read(host, layout.HOST_KEY + ".pub").split()[:2])

    def test_an_unknown_key_is_refused(self):
        self.forget("node003")
        done = self.run_job(*self.ALL, "-n", "3", "hostname", status=UNREACHABLE)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, "node003: check the host key: no key of node003 is known .connect once with 'ssh "
                         "node003', or compare .*ssh-keyscan 10.99.1.3.*, or give --ssh-host-keys accept-new")
        self.assertEqual(self.logins(), {host: [] for host in self.cluster.hosts})

    def test_an_unknown_key_is_recorded_if_new_ones_are_accepted(self):
        self.forget("node003")
        self.assert_hosts(self.cluster.hosts, *self.ALL, "--ssh-host-keys", "accept-new")
        self.assertIn(f"\nnode003 {self.key('node003')}\n", self.read("head", self.KNOWN))
        self.assert_hosts(self.cluster.hosts, *self.ALL)

    def test_the_configuration_says_where_unknown_keys_are_recorded(self):
        self.forget("node003")
        self.configure("Host node003\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n")
        self.assert_hosts(self.cluster.hosts, *self.ALL)
        self.assertNotIn("node003", self.read("head", self.KNOWN))
        self.configure("Host node003\n StrictHostKeyChecking accept-new\n"
                       " UserKnownHostsFile ~/.ssh/first ~/.ssh/known_hosts\n")
        self.assert_hosts(self.cluster.hosts, *self.ALL)
        self.assertEqual(self.read("head", f"{SSH}/first"), f"node003 {self.key('node003')}\n")
        done = self.run_job(*self.ALL, "--ssh-host-keys", "strict", "-F", "none", "true", status=UNREACHABLE)
        self.assertIn("no key of node003 is known", done.stderr)

    def test_hosts_of_one_cause_share_a_line(self):
        self.put("head", self.KNOWN, "")
        done = self.run_job(*self.ALL, "true", status=UNREACHABLE)
        first, last = done.stderr.splitlines()
        self.assertRegex(first, r"^scela-run:   node\[001-003\] unreachable \(host key\): no key of HOST is known \(connect "
                                r"once with 'ssh HOST', or compare what 'ssh-keyscan ADDRESS' shows")
        self.assertEqual(last, "scela-run: unreachable 3 (node[001-003])")

    def test_a_changed_key_is_refused_though_new_ones_are_accepted(self):
        self.cluster.change_host_key("node003")
        done = self.run_job(*self.ALL, "-n", "3", "--ssh-host-keys", "accept-new", "true", status=UNREACHABLE)
        self.assertIn("node003: start its agent (check the host key)", done.stderr)

    def test_a_changed_key_is_taken_with_a_warning_if_the_configuration_says_no(self):
        self.cluster.change_host_key("node003")
        before = self.read("head", self.KNOWN)
        self.configure("Host node*\n StrictHostKeyChecking no\n")
        done = self.run_job("-w", "node[001-003]", "-n", "3", "hostname")
        self.assertEqual(sorted(done.stdout.split()), self.cluster.hosts)
        self.assertRegex(done.stderr, "^scela-run: warning: node003 shows another host key than known_hosts has, .*\n$")
        self.assertEqual(self.read("head", self.KNOWN), before)
        done = self.run_job(*self.ALL, "-n", "3", "hostname")
        self.assertEqual((sorted(done.stdout.split()), done.stderr), (self.cluster.hosts, ""))
        self.configure("Host node*\n StrictHostKeyChecking accept-new\n")
        done = self.run_job(*self.ALL, "-n", "3", "hostname", status=UNREACHABLE)
        self.assertIn("node003: start its agent (check the host key)", done.stderr)

    def test_a_revoked_key_is_refused_though_new_ones_are_accepted(self):
        self.forget("node003")
        with open(self.cluster.path("head", self.KNOWN), "a", encoding="utf-8") as f:
            f.write(f"@revoked * {self.key('node003')}\n")
        done = self.run_job(*self.ALL, "-n", "3", "--ssh-host-keys", "accept-new", "true", status=UNREACHABLE)
        self.assertRegex(done.stderr, "node003: .*SHA256:.* is marked @revoked in known_hosts")

    def test_a_host_without_a_key_of_the_known_type_is_refused(self):
        self.forget("node003")
        other = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBDxpT4WWBvUO7eCcMWaNWyPVqKJqmU" \
                "XfZkPpsHkxRCWyM5lVFO8RTZr3SvmkZ4xQHgjXr8vVxwYlJz3ZqO7r0qc="
        with open(self.cluster.path("head", self.KNOWN), "a", encoding="utf-8") as f:
            f.write(f"node003 {other}\n")
        done = self.run_job(*self.ALL, "-n", "3", "true", status=UNREACHABLE)
        self.assertRegex(done.stderr, r"node003: start its agent \(check the host key\): .*no host key of the types that "
                         r"are known of it \(ecdsa-sha2-nistp256\)")
        before = self.read("head", self.KNOWN)
        self.configure("StrictHostKeyChecking no\n")
        done = self.run_job("-w", "node[001-003]", "-n", "3", "true")
        self.assertRegex(done.stderr, "^scela-run: warning: node003 shows another host key than known_hosts has, .*\n$")
        self.assertEqual(self.read("head", self.KNOWN), before)

    def test_lines_that_cannot_be_read_are_skipped(self):
        text = self.read("head", self.KNOWN)
        self.put("head", self.KNOWN, "a line\nnode003 ssh-ed25519 !!!!\n" + text)
        done = self.run_job(*self.ALL, "-n", "3", "-v", "hostname")
        self.assertIn("2 lines of known_hosts files cannot be read", done.stderr)


class NamesTest(JobTest):
    SIZE = 4

    def test_addresses_of_both_kinds_and_names_of_both(self):
        self.assert_hosts(self.cluster.hosts, "-w", "10.99.1.1,fd00::102,node003-v6,[fd00::104]", "--degree", "1")
        self.assertIn("from fd00::101 port", self.log("node002"))
        self.assertIn("from fd00::102 port", self.log("node003"))
        self.assertIn("from fd00::103 port", self.log("node004"))

    def test_the_launchers_own_host_at_any_place(self):
        for hosts in ("head,node[001-002]", "node001,head-v6,node002", "node[001-002],10.99.0.1",
                      "node001,localhost,node002"):
            with self.subTest(hosts):
                self.assert_hosts(["head", "node001", "node002"], "-w", hosts, "--degree", "1")
        self.assert_hosts(["head"], "-w", "head")
        self.assertEqual(self.logins("head"), {"head": []})

    def test_the_launchers_own_host_by_an_ssh_client(self):
        self.assert_hosts(["head", "node001", "node002"], "-w", "node001,head,node002", "--degree", "1", "--launch",
                          "ssh-exec")

    def test_hosts_named_twice_are_one(self):
        done = self.run_job("-w", "node001,node002,node001,node[001-002]", "-n", "4", "hostname")
        self.assertEqual(sorted(done.stdout.split()), ["node001", "node001", "node002", "node002"])
        self.assertEqual(sum(map(len, self.logins("node001", "node002").values())), 2)


class RanksTest(JobTest):
    SIZE = 2
    ALL = ("-w", "node[001-002]", "-n", "2")

    def test_ranks_have_the_nodes_home_and_the_launchers_variables(self):
        self.cluster.restart_sshd("node002", ["SetEnv HOME=/var/tmp WORD=node"])
        done = self.run_job(*self.ALL, "-l", "sh", "-c", "echo $HOME $WORD; env | grep -c ^SSH_; true",
                            env={"WORD": "launcher", "SSH_AUTH_SOCK": ""})
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["0: /root launcher", "0: 0", "1: /var/tmp launcher", "1: 0"])

    def test_exit_statuses(self):
        for command, status in (("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", 139)):
            self.run_job(*self.ALL, "sh", "-c", command, status=status)
        self.run_job(*self.ALL, "no-such-program", status=127)
        self.run_job(*self.ALL, "/etc/hosts", status=126)


class MpiTest(JobTest):
    SIZE = 32
    OPTIONS = {**JobTest.OPTIONS, "own_processes": False}

    def test_an_mpi_program_on_32_hosts_with_4_ranks_each(self):  # alone
        """The ranks enter one namespace for shared memory, where UCX takes all hosts for one: over TCP, ranks of
        MPICH 4.0.2 wait for each other in MPI_Finalize in every other run, whichever launcher started them."""
        source = os.path.join(os.path.dirname(case.__file__), "..", "..", "examples", "hello_mpi.c")
        program = f"{layout.SHARED}/hello"
        subprocess.run(["mpicc.mpich", "-o", self.cluster.path("head", program), source], check=True,
                       timeout=DEADLINE_S)
        done = self.run_job("-w", "node[001-032]", "--ppn", "4", "--degree", "4", "nsenter", "--ipc",
                            "--target", "1", program)
        expected = [f"hello from rank {rank} of 128 on node{rank // 4 + 1:03}" for rank in range(128)]
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(expected))
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    case.main()
