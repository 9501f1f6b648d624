"""Debuggers and stacks: the MPIR interface under a real gdb, --attach, SIGQUIT and --stack-traces."""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
import job

GDB = shutil.which("gdb")
# The place where rank 2 waits is another one than that of the others.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void tell(void) {
  FILE* ready = fopen(getenv("E2E_READY"), "w");
  fprintf(ready, "%s %d\\n", getenv("SCELA_RANK"), (int)getpid());
  fclose(ready);
}
__attribute__((noinline)) void waits_for_others(void) { for (;;) pause(); }
__attribute__((noinline)) void computes_alone(void) { for (;;) pause(); }
int main(void) {
  tell();
  if (atoi(getenv("SCELA_RANK")) == 2) computes_alone();
  waits_for_others();
}
"""
# Reads the entry with this number.
ENTRY = 'printf "entry %s %s %d\\n", MPIR_proctable[{0}].host_name, MPIR_proctable[{0}].executable_name, MPIR_proctable[{0}].pid'


@unittest.skipUnless(GDB, "no gdb here (package gdb)")
class DebuggersTest(job.JobTest):
    def program(self):
        """A program whose ranks tell that they run, and wait."""
        path = os.path.join(self.folder, "waits")
        with open(path + ".c", "w", encoding="ascii") as f:
            f.write(PROGRAM)
        subprocess.run(["cc", "-g", "-O1", "-o", path, path + ".c"], check=True)
        return path

    def gdb(self, arguments, *commands):
        """What gdb and scela-run write, if gdb starts scela-run with these arguments and does these commands."""
        words = [GDB, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off"]
        for command in ("handle SIGUSR1 SIGUSR2 SIGCHLD SIGCONT nostop noprint pass", "break main",
                        "run", "set var MPIR_being_debugged = 1", "break MPIR_Breakpoint", *commands):
            words += ["-ex", command]
        words += ["--args", os.environ["SCELA_RUN"], *map(str, arguments)]
        return subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=self.folder, text=True, timeout=job.DEADLINE_S,
                              check=True).stdout

    def test_a_debugger_finds_held_ranks_and_the_job_goes_on(self):
        mark = os.path.join(self.folder, "ran")
        script = f"touch {mark}.$SCELA_RANK; exit $((SCELA_RANK * 3))"
        out = self.gdb(["--sim-nodes", 2, "--ppn", 2, "--on-failure", "wait", "sh", "-c", script],
                       "continue", "print MPIR_proctable_size", "print MPIR_debug_state", "print totalview_jobid",
                       *(ENTRY.format(i) for i in range(4)),
                       # The ranks have not run an instruction: they stop, and their files do not exist. The SIGSTOP that
                       # the agent leaves them acts when the kernel runs them next.
                       *(f"eval \"shell until grep 'State:.*stopped' /proc/%d/status; do "
                         f"[ -e /proc/%d ] || {{ echo rank {i} is gone; break; }}; done\", MPIR_proctable[{i}].pid, MPIR_proctable[{i}].pid"
                         for i in range(4)),
                       f"shell echo files $(ls {self.folder} | grep -c ran)",
                       "continue", "continue")
        self.assertIn("$1 = 4\n", out)
        self.assertIn("$2 = 1\n", out)
        self.assertRegex(out, r'"[0-9a-f]{12}"')
        entries = re.findall(r"^entry (\S+) (\S+) (\d+)$", out, re.M)
        self.assertEqual([entry[0] for entry in entries], ["sim0", "sim0", "sim1", "sim1"], out)
        shell = os.path.realpath(shutil.which("sh"))
        self.assertEqual({os.path.realpath(entry[1]) for entry in entries}, {shell}, out)
        self.assertEqual(len({entry[2] for entry in entries}), 4, out)
        self.assertNotIn("is gone", out)
        self.assertEqual(out.count("State:\tT (stopped)"), 4, out)
        self.assertIn("files 0\n", out)
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if name.startswith("ran")),
                         [f"ran.{rank}" for rank in range(4)])
        # The first failure stops scela-run once more. Then it ends with the status of a rank that failed.
        self.assertRegex(out, r"exited with code 0(3|6|11)\]")

    def test_a_debugger_is_told_of_a_failure(self):
        out = self.gdb(["-n", 1, "sh", "-c", "exit 7"], "continue", "continue", "print MPIR_debug_state",
                       "print MPIR_debug_abort_string", "continue")
        self.assertIn("$1 = 2\n", out)
        self.assertRegex(out, r'\$2 = 0x[0-9a-f]+ "rank 0 on \S+ failed"')
        self.assertIn("exited with code 07]", out)

    def test_a_debugger_that_ends_scela_run_leaves_no_held_rank(self):
        running = self.gdb(["-n", 2, "sleep", "1000"], "continue", "print MPIR_proctable_size", "kill")
        self.assertIn("$1 = 2\n", running)

    def test_another_process_lists_the_processes_of_a_job(self):
        running = self.start("--sim-nodes", 2, "--ppn", 2, self.program())
        pids = running.ranks(4)
        listed = self.run_job("--attach", running.pid)
        self.assertEqual(listed.status, 0, listed.err)
        rows = [line.split() for line in listed.lines]
        self.assertEqual([(int(rank), int(pid)) for rank, _, pid, _ in rows], sorted(pids.items()))
        self.assertEqual([row[1] for row in rows], ["sim0", "sim0", "sim1", "sim1"])
        self.assertTrue(all(row[3].endswith("/waits") for row in rows), rows)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_a_debugger_attaches_to_a_running_job(self):
        running = self.start("--sim-nodes", 2, "--ppn", 2, self.program())
        pids = running.ranks(4)
        out = self.gdb(["--attach", running.pid], "continue", "print MPIR_proctable_size",
                       "print *MPIR_proctable@MPIR_proctable_size",
                       *(ENTRY.format(i) for i in range(4)), f"shell kill -TERM {running.pid}", "continue")
        self.assertIn("$1 = 4\n", out)
        self.assertEqual([int(pid) for pid in re.findall(r"^entry sim\d \S+/waits (\d+)$", out, re.M)],
                         [pids[rank] for rank in range(4)], out)
        self.assertEqual(len(re.findall(r'host_name = 0x[0-9a-f]+ "sim', out)), 4, out)
        self.assertIn("exited normally", out)  # when the job ends
        self.assertEqual(running.wait().status, 143)

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_another_user_is_not_told_of_a_job_of_root(self):
        running = self.start("-n", 1, self.program())
        running.ranks(1)
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        request = ("import socket, sys\nwith socket.socket(socket.AF_UNIX) as s:\n"
                   f"    s.connect('\\0scela-run.{running.pid}')\n    s.sendall(b'processes\\n')\n    sys.stdout.write(s.recv(100).decode())")
        done = subprocess.run([*other, sys.executable, "-c", request], capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)
        self.assertEqual(done.stdout, "", done)
        own = subprocess.run([sys.executable, "-c", request], capture_output=True, text=True, timeout=job.DEADLINE_S, check=False)
        self.assertNotEqual(own.stdout, "", own)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def tool(self):
        """A program that tells where it runs, as whose child and how it was called, and waits to be ended."""
        return self.script("tool", 'trap "exit 0" TERM\necho "$SCELA_NODE $(cat /proc/$PPID/comm) ${SCELA_RANK-none} '
                                   f'$# $1 $2" > "$E2E_READY"\n: > "{self.folder}/told.$SCELA_NODE"\n'
                                   "while :; do sleep 1000 & wait; done\n")

    @staticmethod
    def wants_tool(path):
        """Commands of gdb that ask for this program with two arguments."""
        return [f"set var {variable}[{i}] = {code}"
                for variable, text in (("MPIR_executable_path", path), ("MPIR_server_arguments", "a b\0--two"))
                for i, code in enumerate(text.encode() + bytes(2))]

    def test_a_debuggers_program_runs_once_on_each_node_until_the_job_ends(self):
        # A rank ends once the tool of its node has told.
        script = f'until [ -e "{self.folder}/told.$SCELA_NODE" ]; do sleep 0.01; done'
        out = self.gdb(["--sim-nodes", 2, "--ppn", 2, "sh", "-c", script], *self.wants_tool(self.tool()),
                       "continue", "print MPIR_proctable_size", "continue")
        self.assertIn("$1 = 4\n", out)
        self.assertIn("exited normally", out)
        self.read_fifo()
        self.assertEqual(sorted(self.news), ["sim0 scela-nla none 2 a b --two", "sim1 scela-nla none 2 a b --two"])

    def test_a_debuggers_program_runs_on_the_nodes_of_a_job_that_runs(self):
        running = self.start("--sim-nodes", 2, "--ppn", 2, self.program())
        running.ranks(4)
        out = self.gdb(["--attach", running.pid], *self.wants_tool(self.tool()), "continue",
                       "print MPIR_proctable_size")
        self.assertIn("$1 = 4\n", out)
        self.assertEqual(sorted(words[0] for words in running.news(2)), ["sim0", "sim1"])
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_a_debuggers_program_that_is_missing_is_told_and_the_job_goes_on(self):
        out = self.gdb(["--sim-nodes", 2, "--ppn", 1, "true"], *self.wants_tool("/no/tool"), "continue", "continue")
        for node in ("sim0", "sim1"):
            self.assertIn(f"scela-run: start the debugger's program '/no/tool' on {node}: find '/no/tool': No such file",
                          out)
        self.assertIn("exited normally", out)

    def test_launchmon_finds_what_its_configuration_names(self):
        """Not LaunchMON itself, but what it would look for, and what it would run."""
        here = os.path.dirname(os.path.abspath(__file__))
        with open(f"{here}/../../../packaging/launchmon/rm_scela.conf", encoding="ascii") as f:
            says = dict(line.rstrip("\n").split("=", 1) for line in f if not line.startswith("#"))
        self.assertEqual(says["RM_launcher"], os.path.basename(os.environ["SCELA_RUN"]))
        symbol = says["RM_launcher_id"].split("|")[2]
        exported = subprocess.run(["nm", "-D", "--defined-only", os.environ["SCELA_RUN"]], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout
        self.assertRegex(exported, rf" {symbol}\n")
        values = {"%l": self.file("hosts", "one\ntwo\n"), "%d": self.script("daemon", 'echo "$SCELA_NODE $*"\n'),
                  "%o": "first second", "%s": "secret", "%c": "7"}
        words = [re.sub("%[a-z]", lambda found: values[found.group()], word) for word in says["RM_launch_str"].split(" ")]
        at = words.index(values["%o"])
        words[at:at + 1] = words[at].split()
        out = self.succeed("--launch", "local", *words).decode()
        self.assertEqual(sorted(out.splitlines()),
                         [f"{host}: {host} first second --lmonsharedsec=secret --lmonsecchk=7" for host in ("one", "two")])

    def test_nothing_is_attached_to_a_process_without_a_job(self):
        with open("/proc/self/comm", encoding="ascii") as f:
            own = f.read().strip()
        for process, why in ((os.getpid(), f"that is '{own}', which has no job"), (2**31 - 1, "there is no such process")):
            ended = self.run_job("--attach", process)
            self.assert_refused(ended, 64, f"attach to the scela-run with the process number {process}: {why} \\(give the number of a scela-run ")

    def folded(self, text):
        """The function that waits, by the heading of its ranks."""
        return {heading: re.search(r"(waits_for_others|computes_alone)", frames)[0]
                for heading, frames in re.findall(r"^(ranks? [0-9,-]+):\n((?:  .*\n)+)", text, re.M)}

    def test_equal_stacks_of_all_ranks_are_shown_once_on_request(self):
        running = self.start("--sim-nodes", 2, "--ppn", 2, "--timeout", 60, self.program())
        running.ranks(4)
        shown = self.run_job("--attach", running.pid, "--stack-traces")
        self.assertEqual(shown.status, 0, shown.err)
        self.assertEqual(self.folded(shown.out.decode()), {"ranks 0-1,3": "waits_for_others", "rank 2": "computes_alone"})
        # The ranks run on, and SIGQUIT asks for the same.
        running.signal(signal.SIGQUIT)
        shown = self.run_job("--attach", running.pid, "--stack-traces")
        if not self.folded(running.err()):  # this question was the first: the next one waits for that of the signal
            shown = self.run_job("--attach", running.pid, "--stack-traces")
        self.assertEqual(self.folded(running.err()), self.folded(shown.out.decode()), running.err())
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_ranks_that_run_are_shown_while_another_host_is_being_started(self):
        self.script("rsh", f'[ "$1" != hslow ] || read -r line < {self.channel("go")}\nshift; exec sh -c "$*"\n')
        running = self.start("--launch", f"rsh:{self.folder}/rsh", "--connect-timeout", 1000, "-w", "hfast,hslow", "--", self.program())
        pid = running.ranks(1)[0]
        listed = self.succeed("--attach", running.pid).decode().split()
        self.assertEqual(listed[:3], ["0", "hfast", str(pid)])
        running.signal(signal.SIGQUIT)
        for _ in range(2):  # if the first question comes before that of the signal, the second waits for it
            shown = self.succeed("--attach", running.pid, "--stack-traces").decode()
            self.assertEqual(self.folded(shown), {"rank 0": "waits_for_others"})
        self.assertEqual(self.folded(running.err()), {"rank 0": "waits_for_others"})
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().status, 143)

    def test_stacks_are_shown_when_the_time_is_over(self):
        ended = self.run_job("-n", 3, "--timeout", 2, "--stack-traces", self.program())
        self.assertEqual(ended.status, 124)
        self.assertIn("scela-run: the stacks of 3 ranks:\n", ended.err)
        self.assertEqual(self.folded(ended.err), {"ranks 0-1": "waits_for_others", "rank 2": "computes_alone"})
        self.assertIn("time limit of 2 s", ended.last)

    def test_a_node_without_gdb_is_named(self):
        program = self.program()
        ended = self.run_job("-n", 2, "--timeout", 1, "--stack-traces", program, env={"PATH": self.folder})
        self.assertEqual(ended.status, 124)
        self.assertRegex(ended.err, r"ranks 0-1:\n  no stack: there is no gdb on node \S+ \(install it there\)\n")

    def test_a_gdb_that_hangs_does_not_keep_the_job(self):
        slow = os.path.join(self.folder, "gdb")
        with open(slow, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(slow, 0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        ended = self.run_job("-n", 2, "--timeout", 1, "--stack-traces=0.5", self.program(), env={"PATH": path})
        self.assertEqual(ended.status, 124)
        self.assertRegex(ended.err, r"ranks 0-1:\n  no stack: gdb on node \S+ took too long\n")


if __name__ == "__main__":
    job.main()
