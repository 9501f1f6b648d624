"""scela-run called as mpiexec, mpirun, srun, pdsh, clush, dshbak and pdcp: by a link of that name, or by --as."""
import os

import job
from job import JobTest

LOCAL = {"SCELA_LAUNCH": "local"}
NODE = ["sh", "-c", "echo $SCELA_NODE"]


class AsToolsTest(JobTest):
    def run_as(self, name, *words, env=None, **options):
        return self.run_job("--as", name, *words, env={**LOCAL, **(env or {})}, **options)

    def run_link(self, name, *words, **options):
        """Runs scela-run by a link of this name."""
        folder = os.path.join(self.folder, "links")
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, name)
        if not os.path.lexists(link):
            os.symlink(os.path.abspath(os.environ["SCELA_RUN"]), link)
        return self.run_job(*words, before=["sh", "-c", f'exec {link} "$@"'], **options)

    def well(self, ended):
        self.assertEqual((ended.status, ended.err), (0, ""))
        return sorted(ended.lines)

    def test_mpiruns_x_is_a_variable_and_no_host(self):
        said = self.well(self.run_as("mpirun", "-np", 4, "-x", "FOO", "-x", "BAR=2 3", "sh", "-c", 'echo "$FOO $BAR"', env={"FOO": "1"}))
        self.assertEqual(said, ["1 2 3"] * 4)
        ended = self.run_as("mpirun", "-np", 1, "-x", "NOT_SET_HERE", "echo", "x")
        self.assertEqual((ended.status, ended.out), (0, b"x\n"))
        self.assertIn("the variable NOT_SET_HERE of -x is not set here", ended.err)

    def test_a_link_has_the_options_of_the_tool_of_its_name(self):
        self.assertEqual(self.well(self.run_link("mpirun", "-np", 2, "--tag-output", "echo", "a")),
                         ["[1,0]<stdout>:a", "[1,1]<stdout>:a"])
        self.assertEqual(self.well(self.run_link("mpiexec", "-l", "-n", 2, "echo", "a")), ["[0] a", "[1] a"])
        self.assertEqual(self.well(self.run_link("mpiexec", "-prepend-pattern", "<%p.%r> ", "-n", 2, "echo", "a")),
                         ["<0.0> a", "<0.1> a"])
        self.assertEqual(self.well(self.run_link("mpiexec", "-n", 1, "-genv", "A", "1", "sh", "-c", "echo $A")), ["1"])
        self.assertEqual(self.well(self.run_link("srun", "-ln2", "echo", "a")), ["0: a", "1: a"])
        for name in ("pdsh", "clush"):
            self.assertEqual(self.well(self.run_link(name, "-w", "n[1-2]", "echo $SCELA_NODE", env=LOCAL)), ["n1: n1", "n2: n2"])
        self.assertIn("Usage: dshbak", "\n".join(self.well(self.run_link("dshbak", "-h"))))
        self.assert_refused(self.run_link("pdcp", "-w", "a", "x", "/tmp"), 64, "scela-run copies no files yet .use scp or rsync")

    def test_mpiexec_fills_the_slots_of_its_hosts_in_turn(self):
        self.assertEqual(self.well(self.run_as("mpiexec", "-l", "-hosts", "a,b", "-n", 4, *NODE)),
                         ["[0] a", "[1] b", "[2] a", "[3] b"])
        self.assertEqual(self.well(self.run_as("mpiexec", "-l", "-hosts", "a,b", "-ppn", 2, *NODE)),
                         ["[0] a", "[1] a", "[2] b", "[3] b"])
        hosts = self.file("hosts", "a:1\nb:2 # two\n")
        self.assertEqual(self.well(self.run_as("mpiexec", "-f", hosts, *NODE)), ["a", "b", "b"])
        self.assertEqual(self.well(self.run_as("mpiexec", *NODE)), self.well(self.run_as("mpiexec", "-n", 1, *NODE)))

    def test_mpiruns_hosts_have_slots_which_are_limits(self):
        self.assertEqual(self.well(self.run_as("mpirun", "--host", "a,b:2", *NODE)), ["a", "b", "b"])
        self.assertEqual(self.well(self.run_as("mpirun", "-N", 2, "-H", "a,b", *NODE)), ["a", "a", "b", "b"])
        ended = self.run_as("mpirun", "--host", "a,b", "-np", 3, *NODE)
        self.assert_refused(ended, 64, "3 ranks, but its hosts have 2 slots")
        self.assertEqual(len(self.well(self.run_as("mpirun", "--oversubscribe", "--host", "a,b", "-np", 3, *NODE))), 3)

    def test_programs_of_one_mpiexec_have_their_own_options(self):
        said = self.well(self.run_as("mpiexec", "-n", 1, "-env", "A", "1", "sh", "-c", "echo a$A", ":",
                                     "-n", 2, "-wdir", "/", "sh", "-c", "echo b$A; pwd"))
        self.assertEqual(said, ["/", "/", "a1", "b", "b"])

    def test_srun_gives_input_to_all_tasks_and_returns_the_largest_status(self):
        said = self.file("input", "x\n")
        with open(said, "rb") as data:
            ended = self.run_as("srun", "-w", "n[1-3]", "-N", 2, "-l", "cat", stdin=data)
        self.assertEqual(self.well(ended), ["0: x", "1: x"])
        ended = self.run_as("srun", "-n", 3, "sh", "-c", "exit $SCELA_RANK")
        self.assertEqual(ended.status, 2)
        ended = self.run_as("srun", "-n", 1, "-K", "sh", "-c", "exit 3")
        self.assertEqual(ended.status, 3)

    def test_pdsh_gives_a_text_to_the_shell_at_home_and_returns_0(self):
        home = os.path.realpath(self.folder)
        ended = self.run_as("pdsh", "-w", "n[1-3],-n2", "-x", "n3", "pwd; cat;", "exit", 3, env={"HOME": home})
        self.assertEqual((ended.status, ended.lines), (0, [f"n1: {home}"]))
        self.assertEqual(ended.err, "scela-run: exit 3: 1 (n1)\n")
        ended = self.run_as("pdsh", "-S", "-N", "-w", "n1,n2", "echo $SCELA_NODE; test $SCELA_NODE = n1 || exit 5")
        self.assertEqual((ended.status, sorted(ended.lines)), (5, ["n1", "n2"]))
        hosts = self.file("hosts", "n4\n")
        self.assertEqual(self.well(self.run_as("pdsh", "umask >/dev/null && echo a", env={"WCOLL": hosts})), ["n4: a"])

    def test_clush_gathers_what_hosts_say_and_gives_them_its_input(self):
        with open(self.file("input", "x\n"), "rb") as data:
            ended = self.run_as("clush", "-bw", "n[1-4]", "-x", "n3", "cat", stdin=data)
        self.assertEqual((ended.status, ended.out.decode()), (0, f"{'-' * 15}\nn[1-2,4] (3)\n{'-' * 15}\nx\n"))
        self.assertEqual(self.run_as("clush", "-w", "n1", "exit 4").status, 0)
        self.assertEqual(self.run_as("clush", "-Sw", "n1", "exit 4").status, 4)

    def test_dshbak_shows_lines_by_host(self):
        with open(self.file("lines", "n1: a\nn3: b\nn2: a\nn3: c: d\n"), "rb") as lines:
            ended = self.run_as("dshbak", "-c", stdin=lines)
        rule = "-" * 16
        self.assertEqual(ended.out.decode(), f"{rule}\nn[1-2]\n{rule}\na\n{rule}\nn3\n{rule}\nb\nc: d\n")

    def test_shells_under_mpirun_find_their_ranks_as_under_open_mpi(self):
        names = ("COMM_WORLD_RANK", "COMM_WORLD_SIZE", "COMM_WORLD_LOCAL_RANK", "COMM_WORLD_LOCAL_SIZE", "COMM_WORLD_NODE_RANK",
                 "UNIVERSE_SIZE")
        text = "echo " + " ".join(f"${{OMPI_{name}}}" for name in names) + " $(env | grep -c ^OMPI_COMM_WORLD_RANK=)"
        # What an mpirun around this one has set is not this job's.
        outer = {f"OMPI_{name}": "77" for name in names}
        said = self.well(self.run_as("mpirun", "--host", "a:2,b:2", "-np", 3, "sh", "-c", text, env=outer))
        self.assertEqual(said, ["0 3 0 2 0 4 1", "1 3 1 2 1 4 1", "2 3 0 1 0 4 1"])
        self.assertEqual(self.well(self.run_as("mpiexec.hydra", "-n", 1, "sh", "-c", "echo ${OMPI_COMM_WORLD_RANK-none}")), ["none"])

    def test_the_time_limit_of_mpiexec_is_a_variable(self):
        ended = self.run_as("mpiexec", "-n", 2, "sleep", 1000, env={"MPIEXEC_TIMEOUT": "1"})
        self.assert_ended(ended, 124, r"the job reached its time limit of 1 s .*")
        ended = self.run_as("mpiexec", "-n", 1, "echo", "x", env={"MPIEXEC_TIMEOUT": "soon"})
        self.assertEqual((ended.status, ended.out), (0, b"x\n"))
        self.assertRegex(ended.err, "^scela-run: warning: the variable MPIEXEC_TIMEOUT .*'soon'.*\n$")

    def test_programs_and_output_files_are_named_as_by_the_tool(self):
        programs = self.file("programs", "# two programs\n-n 1 echo a\n-n 2 echo b\n")
        self.assertEqual(self.well(self.run_as("mpiexec", "-configfile", programs)), ["a", "b", "b"])
        self.assertEqual(self.well(self.run_as("mpirun", "--oversubscribe", "--app", programs)), ["a", "b", "b"])
        self.assertEqual(self.well(self.run_as("srun", "-n", 2, "-o", "s/%t.out", "-e", "s/%t.err", "sh", "-c", "echo $SCELA_RANK")), [])
        self.assertEqual(self.well(self.run_as("mpiexec", "-n", 2, "-outfile-pattern", "m/%r", "true")), [])
        found = sorted(f"{top}/{name}" for top in "sm" for name in os.listdir(os.path.join(self.folder, top)))
        self.assertEqual(found, ["m/0.err", "m/0.out", "m/1.err", "m/1.out", "s/0.err", "s/0.out", "s/1.err", "s/1.out"])
        with open(os.path.join(self.folder, "s", "1.out"), encoding="ascii") as f:
            self.assertEqual(f.read(), "1\n")

    def test_clush_shows_how_outputs_differ(self):
        ended = self.run_as("clush", "--diff", "-w", "n[1-3]", "[ $SCELA_NODE != n3 ] && echo a || echo b")
        self.assertEqual((ended.status, ended.out.decode().splitlines()[-2:]), (0, ["-a", "+b"]))

    def test_a_refused_or_unknown_option_says_what_instead_and_nothing_runs(self):
        self.assert_refused(self.run_as("srun", "--gres=gpu:1", "touch", f"{self.folder}/x"), 64,
                            r"option --gres of srun: scela-run does not share out this resource \(ask for it in the allocation")
        self.assert_refused(self.run_as("mpiexec", "--nonsense", "true"), 64, "unknown option --nonsense of mpiexec")
        self.assert_refused(self.run_as("mpirun", "-np", "two", "true"), 64, "option -np of mpirun: 'two' is not a number")
        self.assert_refused(self.run_job("--as", "ssh", "true"), 64, "option --as: 'ssh' is no tool")
        self.assert_refused(self.run_job("-n", 1, "--as", "pdsh", "true"), 64, "option --as: it is not the first word")
        self.assertFalse(os.path.exists(f"{self.folder}/x"))

    def test_the_status_is_the_first_the_largest_or_zero(self):
        words = ["sh", "-c", "exit $((3 - SCELA_RANK))"]
        for rule, status in (("max", 3), ("ignore", 0)):
            self.assertEqual(self.run_job("-n", 3, "--on-failure", "wait", "--exit-status", rule, *words).status, status)
        self.assertEqual(self.run_job("-w", "a,b", "--exit-status", "ignore", "false", env=LOCAL).status, 0)
        ended = self.run_job("--launch", "rsh:false", "-w", "a.invalid", "--exit-status", "ignore", "true")
        self.assertEqual(ended.status, 0)
        self.assertIn("unreachable 1 (a.invalid)", ended.err)
        self.assertEqual(self.run_job("-n", 1, "--exit-status", "ignore", "--timeout", "0.1", "sleep", 1000).status, 124)

    def test_ranks_run_at_home_if_the_user_asks_for_it(self):
        home = os.path.realpath(self.folder)
        for options in (["-n", 1], ["-w", "a", "--launch", "local", "--label=no"]):
            self.assertEqual(self.succeed(*options, "--wdir", "~", "pwd", env={"HOME": home}).decode(), f"{home}\n")

    def test_the_user_of_all_hosts_is_given_once(self):
        client = self.script("client", f"""
            echo "$1" >> {self.folder}/calls
            shift; exec sh -c "$*" """)
        ended = self.run_job("--launch", f"rsh:{client}", "--user", "root", "-w", "node1,me@node2", "echo $SCELA_NODE")
        self.assertEqual((ended.status, sorted(ended.lines)), (0, ["me@node2: me@node2", "node1: node1"]))
        with open(f"{self.folder}/calls", encoding="utf-8") as calls:
            self.assertEqual(sorted(calls), ["me@node2\n", "root@node1\n"])


if __name__ == "__main__":
    job.main()
