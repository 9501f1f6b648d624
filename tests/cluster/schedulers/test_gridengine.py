"""Jobs in a real Grid Engine: hosts and slots of the allocation, agents by qrsh -inherit, and nothing left after qdel."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import cluster  # noqa: E402
import gridengine  # noqa: E402

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/guide/in-grid-engine.md")
WHERE = 'echo "$SCELA_RANK $SCELA_NODE"'


class GridEngineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lacks = gridengine.missing()
        if lacks:
            raise unittest.SkipTest(f"Grid Engine needs {', '.join(lacks)}")
        # No host can log in to another: agents come by qrsh or not at all.
        cls.cluster = cls.enterClassContext(cluster.Cluster(3, kex="curve25519-sha256", node_keys=False))
        gridengine.start(cls.cluster)
        cls.before = set(cls.left())

    @classmethod
    def left(cls):
        """What runs or lies on the hosts, but for what the daemons and the harness have."""
        return [line for line in cls.cluster.left(*cls.cluster.hosts) if "sge_execd" not in line]

    def setUp(self):
        self.addCleanup(self.assert_nothing_left)

    def assert_nothing_left(self):
        """The job, its processes and its files end a moment after qsub or qdel has."""
        gridengine.until(self.cluster, "jobs are left", "qstat", holds=lambda done: not done.stdout)
        gridengine.until(self.cluster, "processes are left", "true", holds=lambda _: set(self.left()) <= self.before)

    def submit(self, text, *words, name="job.sh", slots=4):
        """Runs a job to its end: its exit status and output. scela-run is in its PATH."""
        path = gridengine.write(self.cluster, f"{gridengine.HOME}/{name}", text, 0o755)
        done = gridengine.run(self.cluster, ["qsub", "-sync", "y", "-v", f"PATH={self.path()}", "-wd", gridengine.HOME, "-j", "y",
                                             "-o", f"{gridengine.HOME}/output.txt", "-pe", "scela", str(slots), *words, path])
        return done.returncode, self.output()

    @staticmethod
    def path():
        return f"{os.path.dirname(os.environ['SCELA_RUN'])}:/usr/bin:/bin"

    def output(self):
        path = self.cluster.path("head", f"{gridengine.HOME}/output.txt")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        os.unlink(path)
        return text

    def test_the_job_of_the_guide(self):
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        script = re.search(r"```sh\n(.*?)```", page, re.S)[1]
        environment = re.search(r"```\n(pe_name.*?)```", page, re.S)[1]
        self.assertEqual([line.split() for line in environment.splitlines()],
                         [line.split() for line in gridengine.PARALLEL_ENVIRONMENT.splitlines()])
        shown = re.findall(r"(?m)^    (\d: node00\d)$", page)
        status, output = self.submit(script, "-l", "h=node001|node002")
        # The scheduler chooses which host is the first.
        swapped = [line[0] + line[1:].translate(str.maketrans("12", "21")) for line in shown]
        self.assertEqual(status, 0, output)
        self.assertIn(sorted(output.splitlines()), (shown, swapped))

    def test_ranks_run_in_the_slots_of_all_hosts(self):
        status, output = self.submit(f"#!/bin/sh\nscela-run --dry-run true | head -2\nscela-run sh -c '{WHERE}'\n", slots=6)
        lines = output.splitlines()
        self.assertEqual(status, 0, output)
        self.assertRegex(lines[0], r"^allocation: Grid Engine, job \d+: 3 hosts, 6 slots \(PE_HOSTFILE=.*\)$")
        self.assertRegex(lines[1], r"^agents: by '/srv/gridengine/bin/lx-amd64/qrsh -inherit' on each host, from this machine$")
        hosts = [line.split()[1] for line in sorted(lines[2:])]
        self.assertEqual((sorted(hosts), hosts[::2]), (sorted(self.cluster.hosts * 2), hosts[1::2]))

    def test_more_ranks_than_slots_are_refused(self):
        status, output = self.submit("#!/bin/sh\nscela-run -n 5 true\n")
        self.assertEqual(status, 64)
        self.assertRegex(output, r"5 ranks.*4 slots")

    def test_input_and_the_exit_status_come_back(self):
        text = "#!/bin/sh\nprintf 'a b\\nc' | scela-run -n 4 sh -c '[ $SCELA_RANK = 0 ] || exit 0; cat; exit 7'\n"
        self.assertEqual(self.submit(text)[0], 7)
        status, output = self.submit("#!/bin/sh\nprintf 'a b\\nc' | scela-run --stdin 3 -n 4 sh -c 'exec cat'\n")
        self.assertEqual((status, output), (0, "a b\nc"))

    def test_ranks_have_the_jobs_variables_and_none_of_a_task(self):
        show = 'echo "$JOB_NAME ${QRSH_COMMAND-unset} ${JOB_ID:+id} $(test -d "$TMPDIR" && echo directory)"'
        status, output = self.submit(f"#!/bin/sh\nscela-run sh -c '{show}'\n")
        self.assertEqual((status, output.splitlines()), (0, ["job.sh unset id directory"] * 4))

    def test_qdel_leaves_nothing_on_any_host(self):
        gridengine.write(self.cluster, f"{gridengine.HOME}/sleep.sh",
                         "#!/bin/sh\nscela-run sh -c 'echo up; trap \"\" TERM; setsid sleep 1000 & exec sleep 1000'\n", 0o755)
        done = gridengine.run(self.cluster, ["qsub", "-terse", "-v", f"PATH={self.path()}", "-wd", gridengine.HOME, "-j", "y", "-o",
                                             f"{gridengine.HOME}/output.txt", "-pe", "scela", "6", f"{gridengine.HOME}/sleep.sh"])
        self.assertEqual(done.returncode, 0, done)
        path = self.cluster.path("head", f"{gridengine.HOME}/output.txt")

        def is_up(_):
            with open(path, encoding="utf-8") as f:
                return f.read() == "up\n" * 6
        gridengine.until(self.cluster, "ranks do not start", "qstat", holds=lambda done: os.path.exists(path) and is_up(done))
        self.assertEqual(gridengine.run(self.cluster, ["qdel", done.stdout.strip()]).returncode, 0)
        self.assert_nothing_left()
        os.unlink(path)

    def test_a_host_outside_of_the_job_is_refused_by_name(self):
        status, output = self.submit("#!/bin/sh\nscela-run --launch sge -w node003 hostname\n", "-l", "h=node001|node002")
        self.assertEqual(status, 64)
        self.assertRegex(output, r"node003: .*it is not a host of the job")

    def test_the_words_of_qrsh_are_shown(self):
        text = "#!/bin/sh\nsed 's/^node002/node003/' $PE_HOSTFILE > $TMPDIR/hosts\nPE_HOSTFILE=$TMPDIR/hosts scela-run hostname\n"
        status, output = self.submit(text, "-l", "h=node001|node002")
        self.assertEqual(status, 71, output)
        self.assertRegex(output, r"node003.*qrsh -inherit' ended before an agent answered: exit status 1; it said: .*error")


if __name__ == "__main__":
    case.main()
