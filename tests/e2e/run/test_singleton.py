"""A process that no launcher has started calls for one: scela-run -pmi_args. The test is that process."""
import os
import socket
import unittest

import job
from job import JobTest


class Client:
    """PMI-1 as MPICH's client speaks it from its listening on."""

    def __init__(self, test, *options, pid=None, **popen):
        self.test = test
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(job.DEADLINE_S)
            self.job = test.start(*options, "-pmi_args", listener.getsockname()[1], "default_interface", "default_key",
                                  pid or os.getpid(), **popen)
            self.socket = listener.accept()[0]
        self.socket.settimeout(job.DEADLINE_S)
        test.addCleanup(self.socket.close)
        self.stream = self.socket.makefile("rb")

    def say(self, *lines):
        self.socket.sendall("".join(f"{line}\n" for line in lines).encode())

    def hear(self):
        line = self.stream.readline().decode()
        words, _, value = line.rstrip("\n").partition(" value=")
        return dict([word.partition("=")[::2] for word in words.split()] + [("value", value)])

    def ask(self, *lines):
        self.say(*lines)
        return self.hear()

    def begin(self):
        """The handshake and what every rank begins with; the key-value space."""
        self.test.assertEqual(self.hear(), {"cmd": "singinit", "authtype": "none", "value": ""})
        info = self.ask("cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes authtype=none")
        self.test.assertEqual((info["cmd"], info["versionok"], info["stdio"]), ("singinit_info", "yes", "no"))
        self.test.assertEqual(self.ask("cmd=init pmi_version=1 pmi_subversion=1")["rc"], "0")
        self.test.assertEqual(self.ask("cmd=get_my_kvsname")["kvsname"], info["kvsname"])
        return info["kvsname"]

    def spawn(self, ranks, *words):
        return self.ask("mcmd=spawn", f"nprocs={ranks}", f"execname={words[0]}", "totspawns=1", "spawnssofar=1",
                        *(f"arg{i + 1}={word}" for i, word in enumerate(words[1:])), f"argcnt={len(words) - 1}",
                        "preput_num=1", "preput_key_0=PARENT_ROOT_PORT_NAME", "preput_val_0=my port", "info_num=0",
                        "endcmd")

    def leave(self):
        self.test.assertEqual(self.ask("cmd=finalize")["rc"], "0")
        self.socket.close()
        self.stream.close()
        return self.job.wait()


# A spawned rank: shows the pair that was put for it, and what it finds under a name.
CHILD = """
import os, socket
stream = socket.socket(fileno=int(os.environ["PMI_FD"])).makefile("rwb", buffering=0)
def ask(line):
    stream.write(line.encode() + b"\\n")
    return stream.readline().decode().strip()
ask("cmd=init pmi_version=1 pmi_subversion=1")
space = ask("cmd=get_my_kvsname").partition("kvsname=")[2]
print(os.environ["PMI_SPAWNED"], os.environ["PMI_RANK"], os.environ["PMI_SIZE"],
      ask(f"cmd=get kvsname={space} key=PARENT_ROOT_PORT_NAME").partition("value=")[2],
      ask("cmd=lookup_name service=parent").partition("port=")[2], flush=True)
ask("cmd=finalize")
"""


def stranger(user, told):
    """Another user's process: listens, writes its port, answers the first line, and writes all that it hears."""
    with open(told, "w", encoding="ascii") as out:
        os.setuid(user)  # which may be unable to read what Python would import now
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], file=out, flush=True)
        with listener.accept()[0] as accepted, accepted.makefile("rwb", buffering=0) as stream:
            heard = stream.readline()
            stream.write(b"cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes authtype=none\n")
            print((heard + stream.read()).decode(), end="", file=out)


class SingletonTest(JobTest):
    def test_a_singleton_in_a_schedulers_job_runs_where_it_is(self):
        """Its launcher takes no other host of the job for its own."""
        client = Client(self, env={"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "un[001-002]", "PE_HOSTFILE": "/nonexistent"})
        client.begin()
        self.assertEqual(client.leave().status, 0)

    def test_a_singleton_puts_gets_publishes_and_spawns(self):
        client = Client(self)
        space = client.begin()
        self.assertEqual(client.ask(f"cmd=put kvsname={space} key=k value=two words")["rc"], "0")
        self.assertEqual(client.ask("cmd=barrier_in")["cmd"], "barrier_out")
        self.assertEqual(client.ask(f"cmd=get kvsname={space} key=k")["value"], "two words")
        self.assertEqual(client.ask("cmd=get_universe_size")["size"], "-1")
        self.assertEqual(client.ask(f"cmd=get kvsname={space} key=PMI_process_mapping")["value"], "(vector,(0,1,1))")
        self.assertEqual(client.ask("cmd=publish_name service=parent port=here")["rc"], "0")
        answer = client.spawn(2, job.PYTHON, self.file("child.py", CHILD))
        self.assertEqual((answer["rc"], answer["errcodes"]), ("0", "0,0"))
        ended = client.leave()
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), ["1 0 2 my port here", "1 1 2 my port here"])

    def test_a_singleton_is_here_whatever_options_name_hosts(self):
        # As MPICH's calls where PMI_DEBUG is set, with its own process number.
        client = Client(self, "--verbose=launch", pid=1, env={"SCELA_HOSTS": "nowhere.invalid:3", "SCELA_WDIR": "/nonexistent"})
        client.begin()
        self.assertEqual(client.spawn(1, "sh", "-c", "echo $SCELA_NODE")["rc"], "0")
        ended = client.leave()
        self.assertEqual((ended.status, ended.lines), (0, [os.uname().nodename]), ended.err)

    def test_a_singletons_job_lasts_as_long_as_its_spawned_ranks(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        client = Client(self)
        client.begin()
        self.assertEqual(client.spawn(1, "sh", "-c", f"read line < {fifo}; echo $line")["rc"], "0")
        self.assertEqual(client.ask("cmd=finalize")["rc"], "0")
        client.socket.close()
        client.stream.close()
        with open(fifo, "w", encoding="ascii") as f:
            f.write("late\n")
        ended = client.job.wait()
        self.assertEqual((ended.status, ended.err, ended.lines), (0, "", ["late"]))

    def test_a_singletons_end_without_finalize_ends_its_spawned_ranks(self):
        client = Client(self)
        client.begin()
        self.assertEqual(client.spawn(2, "sleep", "1000")["rc"], "0")
        client.socket.close()
        client.stream.close()
        self.assert_ended(client.job.wait(), 1, r"rank 0 on \S+ \(\S*python\S*\) ended without finalizing.*")

    def test_a_singletons_abort_ends_its_spawned_ranks_and_closes_its_connection(self):
        client = Client(self)
        client.begin()
        self.assertEqual(client.spawn(2, "sleep", "1000")["rc"], "0")
        client.say("cmd=abort exitcode=7 message=no more")
        self.assertEqual(client.stream.read(), b"")
        self.assert_ended(client.job.wait(), 7, r"rank 0 on \S+ \(.*\) aborted the job with code 7: no more")

    def test_a_spawned_rank_that_fails_closes_its_connection(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        client = Client(self)
        client.begin()
        self.assertEqual(client.spawn(1, "sh", "-c", f"read line < {fifo}; exit 3")["rc"], "0")
        with open(fifo, "w", encoding="ascii") as f:
            f.write("\n")
        self.assertEqual(client.stream.read(), b"")
        self.assert_ended(client.job.wait(), 3, r"rank 1 on \S+ \(sh\) exited with code 3")

    def test_another_protocol_is_refused(self):
        client = Client(self)
        client.hear()
        client.say("cmd=init pmi_version=1 pmi_subversion=1")
        self.assertEqual(client.stream.read(), b"")
        ended = client.job.wait()
        self.assertEqual(ended.status, 1)
        self.assertIn("'cmd=init pmi_version=1 pmi_subversion=1' is no singinit", ended.err)

    @unittest.skipUnless(os.geteuid() == 0, "only root can act as another user")
    def test_a_process_of_another_user_is_not_served(self):
        """It could have programs run as this one."""
        told, write = os.pipe()
        other = os.fork()
        if other == 0:
            try:
                stranger(65534, write)
            finally:
                os._exit(0)
        os.close(write)
        with open(told, encoding="ascii") as said:
            ended = self.run_job("-pmi_args", int(said.readline()), "i", "k", other)
            self.assertEqual(said.read(), "cmd=singinit authtype=none\n")
        os.waitpid(other, 0)
        self.assertEqual(ended.status, 1)
        self.assertIn("it is not this user's", ended.err)

    def test_a_port_without_a_listener(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        ended = self.run_job("-pmi_args", port, "default_interface", "default_key", 1)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"connect to port {port}: Connection refused", ended.err)

    def test_malformed_calls_are_refused(self):
        for words in ((), ("1", "i", "k"), ("0", "i", "k", "1"), ("65536", "i", "k", "1"), ("1", "i", "k", "x"), ("1", "i", "k", "1", "x")):
            self.assert_refused(self.run_job("-pmi_args", *words), 64, "option -pmi_args: ")


if __name__ == "__main__":
    job.main()
