"""What a job tells of itself: statistics, traces, records, logs."""
import collections
import json
import os
import re
import signal
import subprocess

import job
from job import JobTest


class InspectionTest(JobTest):
    def test_stats_tell_phases_counts_and_memory(self):
        ended = self.run_job("--stats", "--sim-nodes", 3, "--degree", 2, "--ppn", 2, "echo", "12345")
        self.assertEqual((ended.status, len(ended.lines)), (0, 6))
        self.assertRegex(ended.err, r"scela-run: 6 ranks on 3 nodes, degree 2, depth 2\n")
        for phase in ("prepare", "tree", "launch", "run", "leave", "total"):
            self.assertRegex(ended.err, rf"(?m)^scela-run:   {phase} +\d+\.\d+ ms ")
        self.assertRegex(ended.err,
                         r"(?m)^scela-run:   messages [1-9]\d*, [1-9]\d* bytes on links, 36 bytes of output$")
        self.assertRegex(ended.err, r"(?m)^scela-run:   largest agent [1-9]\d* KiB private, [1-9]\d* KiB resident")

    def test_stats_of_one_rank_are_in_the_singular(self):
        self.assertRegex(self.run_job("--stats", "true").err, r"^scela-run: 1 rank on 1 node, degree ")

    def test_stats_as_json_have_every_field(self):
        ended = self.run_job("--stats=json", "--sim-nodes", 3, "--degree", 2, "--ppn", 2, "echo", "12345")
        self.assertEqual(ended.status, 0)
        found = json.loads(ended.err)
        self.assertEqual([found[name] for name in ("nodes", "ranks", "degree", "depth", "agents", "output_bytes")],
                         [3, 6, 2, 2, 3, 36])
        self.assertEqual(set(found["phases_ms"]), {"prepare", "tree", "launch", "run", "leave", "total"})
        parts = [ms for name, ms in found["phases_ms"].items() if name != "total"]
        self.assertTrue(all(ms > 0 for ms in parts))
        self.assertAlmostEqual(sum(parts), found["phases_ms"]["total"], places=3)
        for name in ("messages", "link_bytes", "max_private_bytes", "max_resident_bytes"):
            self.assertGreater(found[name], 0, name)
        self.assertGreaterEqual(found["max_resident_bytes"], found["max_private_bytes"])
        self.assertGreaterEqual(found["max_cache_bytes"], 0)

    def test_stats_do_not_touch_standard_output(self):
        self.assertEqual(self.run_job("--stats=json", "echo", "x").out, b"x\n")

    def test_stats_show_what_ranks_tell_of_themselves(self):
        told = "echo \"own {\\\"made\\\":$((SCELA_RANK + 1)),\\\"max_held\\\":$SCELA_RANK}\" >> \"$SCELA_COUNTERS\""
        options = ("--sim-nodes", 3, "--degree", 2, "--ppn", 2)
        found = json.loads(self.run_job("--stats=json", *options, "sh", "-c", told).err)["counters"]
        self.assertEqual(found["own"]["all"], {"made": 21, "max_held": 5})
        self.assertEqual(found["own"]["ranks"], {str(i): {"made": i + 1, "max_held": i} for i in range(6)})
        ended = self.run_job("--stats", *options, "sh", "-c", f"[ $SCELA_RANK = 4 ] || {told}")
        self.assertIn("scela-run:   own, as 5 of 6 ranks told\n", ended.err)
        self.assertRegex(ended.err, r"(?m)^scela-run: +made +16 +1 +2 +3 +4 +6$")

    def test_ranks_are_asked_for_counters_with_stats_only(self):
        os.environ["SCELA_COUNTERS"] = "/of/another/launcher"
        try:
            self.assertEqual(self.run_job("sh", "-c", "echo $SCELA_COUNTERS").out, b"\n")
        finally:
            del os.environ["SCELA_COUNTERS"]
        self.assertEqual(json.loads(self.run_job("--stats=json", "true").err)["counters"], {})

    def test_stats_of_a_failed_job_stand_before_the_cause(self):
        ended = self.run_job("--stats", "-n", 2, "sh", "-c", "exit 3")
        self.assert_ended(ended, 3, r"rank \d on .* exited with code 3")
        self.assertIn("scela-run:   total", ended.err)

    def test_a_trace_has_spans_of_every_node_on_one_clock(self):
        path = os.path.join(self.folder, "trace.json")
        self.succeed("--trace", path, "--sim-nodes", 4, "--degree", 2, "--ppn", 2, "true")
        with open(path, encoding="utf-8") as f:
            events = json.load(f)
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({span["pid"] for span in spans}, set(range(5)))
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertEqual({pid: names[pid].split()[-1] for pid in range(1, 5)}, {i + 1: f"sim{i}" for i in range(4)})
        # Every agent's spans lie within the launcher's, whatever process measured them.
        own = [span for span in spans if span["pid"] == 0]
        begin, end = min(span["ts"] for span in own), max(span["ts"] + span["dur"] for span in own)
        for span in spans:
            self.assertGreaterEqual(span["dur"], 0, span)
            self.assertTrue(begin <= span["ts"] and span["ts"] + span["dur"] <= end + 1, (span, begin, end))

    def test_a_trace_that_cannot_be_written_is_refused_before_the_job_runs(self):
        ended = self.run_job("--trace", "/nowhere/trace.json", "echo", "x")
        self.assert_ended(ended, 74, r"write the trace '/nowhere/trace.json': No such file or directory.*")
        self.assertEqual(ended.out, b"")  # refused before anything ran

    def test_a_trace_is_written_of_a_failed_job_too(self):
        path = os.path.join(self.folder, "trace.json")
        self.assertEqual(self.run_job("--trace", path, "--sim-nodes", 2, "--ppn", 1, "false").status, 1)
        with open(path, encoding="utf-8") as f:
            self.assertEqual({event["pid"] for event in json.load(f) if event["ph"] == "X"}, {0, 1, 2})

    def test_a_record_is_written_by_the_launcher_and_every_agent(self):
        path = os.path.join(self.folder, "record")
        self.succeed("--record", path, "--sim-nodes", 3, "--ppn", 1, "true")
        for name in (path, *(f"{path}.{i}" for i in range(3))):
            with open(name, "rb") as f:
                self.assertEqual(f.read(9), b"ScELA-rec", name)

    def test_a_record_that_cannot_be_written_stops_the_job_before_it_starts(self):
        ended = self.run_job("--record", "/nowhere/record", "echo", "x")
        self.assertEqual((ended.status, ended.out), (74, b""))
        self.assertRegex(ended.err, r"^scela-run: .*/nowhere/record.*No such file or directory.*\n$")

    def test_verbose_tells_what_happens(self):
        ended = self.run_job("-v", "--sim-nodes", 2, "--ppn", 1, "echo", "x")
        self.assertEqual((ended.status, ended.out), (0, b"x\nx\n"))
        self.assertRegex(ended.err, r"(?m)^scela-run: .* tree: starting 2 agents")
        self.assertRegex(ended.err, r"(?m)^scela-run: .* launch: 2 ranks run")

    def test_verbose_keeps_to_the_subsystems_given(self):
        for words in (["--verbose=launch"], ["--verbose=launch,pmi"]):
            ended = self.run_job(*words, "--sim-nodes", 2, "--ppn", 1, "true")
            kinds = {re.fullmatch(r"scela-run: \S+ \w+ (\w+)\b.*", line).group(1) for line in ended.err.splitlines()}
            self.assertIn("launch", kinds)
            self.assertLessEqual(kinds, {"launch", "pmi"})

    def test_an_unknown_subsystem_is_an_error(self):
        self.assert_refused(self.run_job("--verbose=nonsense", "true"), 64, "nonsense.*tree.*launch")


GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "guide", "results-as-data.md")
TYPES = {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict, "null": type(None)}


def schema():
    """The tables of the guide: type of record to member to the types it may have; and the statuses of hosts and of ranks."""
    records, statuses, table = {}, {"host": set(), "rank": set()}, None
    with open(GUIDE, encoding="utf-8") as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if head := re.match(r"\| `(\w+)` \| type \| meaning \|$", line):
                table = records.setdefault(head.group(1), {})
            elif cells == ["status", "of a host", "of a rank"]:
                table = statuses
            elif not line.startswith("| `"):
                table = table if line.startswith("|--") else None
            elif table is statuses:
                for of, meaning in zip(("host", "rank"), cells[1:]):
                    statuses[of] |= {cells[0].strip("`")} if meaning else set()
            elif table is not None:
                table[cells[0].strip("`")] = tuple(TYPES[one] for one in cells[1].split(" or "))
    return records, statuses


class RecordsTest(JobTest):
    """Records of --json. Each test checks all of its records against the tables of the guide."""

    def setUp(self):
        super().setUp()
        self.members, self.statuses = schema()

    def records(self, text):
        """Type to records, in the order of the lines, which must have the form that the guide says."""
        found = collections.defaultdict(list)
        for line in text.splitlines():
            record = json.loads(line)
            members = self.members[record["type"]]
            self.assertEqual(set(record), set(members), line)
            for name, value in record.items():
                kinds = members[name]
                fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
                self.assertTrue(fits, f"{name} of {line}")
            if record["type"] in self.statuses:
                self.assertIn(record["status"], self.statuses[record["type"]])
            found[record["type"]].append(record)
        self.assertEqual([len(found[one]) for one in ("job", "end")], [1, 1], text)
        self.assertTrue(text.startswith('{"type":"job"') and '{"type":"end"' in text.splitlines()[-1], text)
        return found

    def run_records(self, *arguments, **options):
        """Runs a job that writes records to a file; how it ended, and the records."""
        path = os.path.join(self.folder, "records")
        ended = self.run_job(f"--json={path}", *arguments, **options)
        with open(path, encoding="utf-8") as f:
            found = self.records(f.read())
        self.assertEqual(found["end"][0]["exit_status"], ended.status)
        return ended, found

    def test_the_guide_has_a_table_for_each_record(self):
        self.assertEqual(set(self.members), {"job", "output", "host", "rank", "end"})
        self.assertTrue(all(self.members.values()) and all(self.statuses.values()))

    def test_records_on_standard_output_contain_the_output(self):
        text = 'echo "a\\"b"; printf "x\\377y"; echo "é $SCELA_RANK" >&2'
        ended = self.run_job("--sim-nodes", 2, "--ppn", 2, "-l", "--json", "sh", "-c", text)
        self.assertEqual((ended.status, ended.err), (0, ""))
        found = self.records(ended.out.decode())
        lines = sorted((one["rank"], one["host"], one["stream"], one["line"], one["whole"]) for one in found["output"])
        self.assertEqual(lines, sorted(line for rank in range(4) for line in (
            (rank, f"sim{rank // 2}", "stdout", 'a"b', True), (rank, f"sim{rank // 2}", "stdout", "x\ufffdy", False),
            (rank, f"sim{rank // 2}", "stderr", f"é {rank}", True))))
        self.assertEqual(found["job"][0]["commands"], [["sh", "-c", text]])
        self.assertEqual([one["ranks"] for one in found["host"]], ["0-1", "2-3"])
        self.assertEqual(found["end"][0]["hosts"], {"ok": 2})
        self.assertEqual(found["end"][0]["ranks"], {"ok": 4})

    def test_records_in_a_file_leave_the_output_as_it_is(self):
        ended, found = self.run_records("-w", "a,b", "--launch", "local", "sh", "-c", "echo x; echo y >&2")
        self.assertEqual((sorted(ended.lines), sorted(ended.err.split())), (["a: x", "b: x"], ["a:", "b:", "y", "y"]))
        self.assertEqual((found["output"], found["job"][0]["once_per_host"]), ([], True))

    def test_records_say_how_each_rank_ended_and_what_it_used(self):
        text = """case $SCELA_RANK in 0) ;; 1) exit 3 ;; 2) kill -9 $$ ;;
            3) i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done ;; esac"""
        ended, found = self.run_records("--sim-nodes", 2, "-n", 4, "--on-failure", "wait", "sh", "-c", text,
                                        ":", "-n", 1, "/nonexistent")
        ranks = found["rank"]
        self.assertEqual([one["status"] for one in ranks], ["ok", "failed", "failed", "ok", "not_started"])
        self.assertEqual([one["exit_code"] for one in ranks], [0, 3, None, 0, None])
        self.assertEqual([one["signal"] for one in ranks], [None, None, 9, None, None])
        self.assertEqual([one["phase"] for one in ranks], [None, "running", "running", None, "start program"])
        self.assertRegex(ranks[4]["cause"], "^not started, program not found: ")
        self.assertEqual(ranks[4]["program"], "/nonexistent")
        self.assertEqual([one["seconds"] is None for one in ranks], [False] * 4 + [True])
        self.assertGreater(ranks[3]["user_seconds"], 0)
        self.assertGreater(ranks[3]["max_rss_kib"], 0)
        self.assertEqual(found["end"][0]["ranks"], {"failed": 2, "not_started": 1, "ok": 2})
        self.assertIn(found["end"][0]["cause"], ended.last)

    def test_ranks_of_one_status_keep_their_own_causes(self):
        _, found = self.run_records("--sim-nodes", 1, "-n", 1, "--on-failure", "wait", "/no/such/a", ":", "-n", 1, "/no/such/b")
        self.assertRegex(found["rank"][1]["cause"], "/no/such/b|No such file")

    def test_records_name_hosts_that_were_not_reached_or_did_not_do_well(self):
        ended, found = self.run_records("-w", "localhost,no-such-host.invalid", "sh", "-c", "exit 4")
        facts = [[one[name] for name in ("host", "status", "phase", "cause", "ranks")] for one in found["host"]]
        self.assertEqual(facts[0], ["localhost", "failed", "running", "exited with code 4", "0"])
        self.assertEqual(facts[1][:3] + facts[1][4:], ["no-such-host.invalid", "missing", "resolve", "1"])
        self.assertEqual(found["job"][0]["hosts"], ["localhost", "no-such-host.invalid"])
        self.assertIn(facts[1][3], ended.err)
        self.assertEqual((ended.status, found["end"][0]["hosts"]), (68, {"failed": 1, "missing": 1}))

    def test_records_are_there_if_no_host_is_left(self):
        _, found = self.run_records("-w", "no-such-host.invalid", "hostname")
        self.assertEqual([one["status"] for one in found["host"]], ["missing"])
        self.assertEqual(found["job"][0]["hosts"], ["no-such-host.invalid"])
        self.assertEqual(found["end"][0]["exit_status"], 68)
        ended = self.run_job("-w", "no-such-host.invalid", "--json", "hostname")
        self.assertEqual(self.records(ended.out.decode())["rank"], [])

    def test_records_name_a_host_that_is_lost(self):
        path = os.path.join(self.folder, "records")
        running = self.start(f"--json={path}", "--sim-nodes", 3, "--degree", 3, "--ppn", 1, "--on-failure", "wait", "sh", "-c",
                             f"[ $SCELA_RANK != 1 ] || {{ {job.HOLD}; }}")
        running.ranks(1)
        job.kill_together(running.nodes()["sim1"])
        ended = running.wait()
        with open(path, encoding="utf-8") as f:
            found = self.records(f.read())
        self.assertEqual([one["status"] for one in found["host"]], ["ok", "lost", "ok"])
        self.assertEqual([one["status"] for one in found["rank"]], ["ok", "lost", "ok"])
        self.assertEqual((found["host"][1]["phase"], found["rank"][1]["seconds"]), ("running", None))
        self.assertEqual(found["end"][0]["exit_status"], ended.status)

    def records_of_an_early_end(self, runs, *arguments, hosts="hfast,hslow"):
        """Records of a command that is interrupted before hslow has an agent. `runs`: it has ended on hfast."""
        path = os.path.join(self.folder, "records")
        go, came = self.channel(f"go{len(self.jobs)}"), self.channel(f"came{len(self.jobs)}")
        self.script("rsh", f'[ "$1" != hslow ] || {{ echo > {came}; read -r line < {go}; }}\nshift; exec sh -c "$*"\n')
        running = self.start(f"--json={path}", "--launch", f"rsh:{self.folder}/rsh", "-w", hosts, *arguments, "sh", "-c", job.TELL)
        with open(came, encoding="utf-8") as f:
            f.read()
        if runs:
            self.assertEqual(job.wait_gone(running.ranks(1).values(), job.time.monotonic() + job.DEADLINE_S), [])
        running.signal(signal.SIGINT)
        ended = running.wait()
        self.assertEqual(ended.status, 130, ended.err)
        with open(path, encoding="utf-8") as f:
            return self.records(f.read())

    def test_hosts_that_never_ran_the_command_are_not_ok_in_the_records(self):
        found = self.records_of_an_early_end(True)
        self.assertEqual([one["status"] for one in found["host"]], ["ok", "ended"])
        self.assertEqual([one["status"] for one in found["rank"]], ["ok", "ended"])
        self.assertEqual((found["end"][0]["hosts"], found["end"][0]["ranks"]), ({"ended": 1, "ok": 1}, {"ended": 1, "ok": 1}))
        found = self.records_of_an_early_end(False, hosts="hslow")
        self.assertEqual([[one["status"] for one in found[kind]] for kind in ("host", "rank")], [["ended"], ["ended"]])
        self.assertEqual((found["rank"][0]["host"], found["rank"][0]["seconds"]), ("hslow", None))
        found = self.records_of_an_early_end(False, "--on-failure", "kill")  # waits for all hosts
        self.assertEqual([one["status"] for one in found["host"]], ["ended", "ended"])
        self.assertEqual((found["end"][0]["hosts"], found["rank"]), ({"ended": 2}, []))

    def test_records_of_a_job_that_is_interrupted_are_complete(self):
        path = os.path.join(self.folder, "records")
        running = self.start(f"--json={path}", "--grace", 10, "-n", 2, "sh", "-c", job.HOLD)
        running.ranks(2)
        running.signal(signal.SIGINT)
        self.assertEqual(running.wait().status, 130)
        with open(path, encoding="utf-8") as f:
            found = self.records(f.read())
        self.assertEqual((found["end"][0]["exit_status"], found["end"][0]["ranks"]), (130, {"ended": 2}))

    def test_a_prompt_is_a_record_before_its_line_ends(self):
        answers, write = os.pipe()
        read, output = os.pipe()
        running = self.start("-n", 1, "--json", "sh", "-c", 'printf "name? "; read -r x; echo "is $x"',
                             stdin=answers, stdout=output)
        os.close(answers)
        os.close(output)
        with open(read, encoding="utf-8") as out:
            text = out.readline() + out.readline()
            os.write(write, b"it\n")
            os.close(write)
            text += out.read()
        self.assertEqual(running.wait().status, 0)
        lines = [(one["line"], one["whole"]) for one in self.records(text)["output"]]
        self.assertEqual(lines, [("name? ", False), ("is it", True)])

    def test_a_file_of_records_that_cannot_be_written_is_refused_before_the_job_runs(self):
        for path in ("/nowhere/records", self.folder):
            ended = self.run_job(f"--json={path}", "echo", "x")
            self.assertEqual((ended.status, ended.out), (74, b""))
            self.assertRegex(ended.err, rf"^scela-run: write the records '{path}': .*--json=FILE\)\n$")

    def test_records_that_find_a_full_disk_or_no_reader_are_an_error(self):
        ended = self.run_job("--json=/dev/full", "echo", "x")
        self.assert_ended(ended, 74, "write the records '/dev/full': No space left on device.*")
        self.assertEqual(ended.out, b"x\n")
        read, write = os.pipe()
        os.close(read)
        ended = self.run_job(f"--json=/dev/fd/{write}", "echo", "x", pass_fds=[write])
        os.close(write)
        self.assert_ended(ended, 74, "write the records '/dev/fd/.*': Broken pipe.*")
        # The failure of a rank is the more important one.
        self.assertEqual(self.run_job("--json=/dev/full", "sh", "-c", "exit 3").status, 3)

    def test_a_reader_of_records_that_leaves_ends_the_job_quietly(self):
        read, write = os.pipe()
        running = self.start("-n", 2, "--json", "yes", stdout=write)
        os.close(write)
        os.read(read, 1000)
        os.close(read)
        ended = running.wait()
        self.assertEqual((ended.status, ended.err), (128 + signal.SIGPIPE, ""))

    def test_records_take_the_place_of_output_and_nothing_else_can(self):
        self.assert_refused(self.run_job("--json", "-b", "true"), 64, "--json and --gather: .*--json=FILE")
        self.assert_refused(self.run_job("--json", "--pty", "true"), 64, "--json and --pty: .*--json=FILE")
        ended = self.run_job("--json", "--output-dir", "out", "--timestamp", "echo", "x")
        self.assertEqual((self.records(ended.out.decode())["output"], ended.err), ([], ""))
        with open(os.path.join(self.folder, "out", "rank.0.out"), encoding="ascii") as f:
            self.assertRegex(f.read(), r"^\d\d:\d\d:\d\d\.\d\d\d x\n$")

    def test_a_map_stays_out_of_the_records(self):
        ended = self.run_job("--json", "--show-map", "--sim-nodes", 2, "--ppn", 1, "echo", "x")
        self.assertEqual([one["line"] for one in self.records(ended.out.decode())["output"]], ["x", "x"])
        self.assertIn("sim1", ended.err)

    def test_a_rank_runs_no_shorter_than_it_computes(self):
        _, found = self.run_records("-n", 4, "true")
        for one in found["rank"]:
            self.assertGreaterEqual(one["seconds"], one["user_seconds"] + one["system_seconds"], one)

    def test_the_time_of_a_job_is_known_if_no_host_was_reached(self):
        _, found = self.run_records("-w", "no-such-host.invalid", "hostname")
        seconds = found["end"][0]["seconds"]
        self.assertGreater(seconds["total"], 0)
        self.assertEqual(seconds["prepare"], seconds["total"])
        self.assertIsNone(seconds["launch"])

    def test_records_wait_for_the_reader_of_a_fifo_and_say_so(self):
        path = os.path.join(self.folder, "fifo")
        os.mkfifo(path)
        read, write = os.pipe()
        running = self.start(f"--json={path}", "echo", "x", stderr=write)
        os.close(write)
        with open(read, encoding="utf-8") as said:
            self.assertRegex(said.readline(), f"^scela-run: the FIFO '{path}' of --json has no reader yet; waiting for one$")
            with open(path, encoding="utf-8") as f:
                self.records(f.read())
            self.assertEqual((running.wait().status, said.read()), (0, ""))

    def test_two_outputs_never_share_a_file(self):
        ran = os.path.join(self.folder, "ran")
        for one, other in (("--json=f", "--trace=./f"), ("--trace=f", "--record=f"), ("--json=f", f"--record={self.folder}/f")):
            self.assert_refused(self.run_job(one, other, "touch", ran), 64, "both .*'f'.*")
        # Standard output and records would overwrite each other.
        kept = self.file("kept", "kept\n")
        for option in ("json", "trace", "record"):
            for stream in ("stdout", "stderr"):
                with open(kept, "a", encoding="ascii") as f:
                    ended = self.run_job(f"--{option}=kept", "touch", ran, **{stream: f})
                self.assertEqual(ended.status, 64)
                with open(kept, encoding="ascii") as f:
                    text = f.read() + ended.err
                self.assertRegex(text, rf"(?s)^kept\n.*option --{option}.*it is the file to which standard {'output' if stream == 'stdout' else 'error'} goes")
                os.truncate(kept, 5)
        self.assertFalse(os.path.exists(ran))
        self.succeed("--json=/dev/null", "--trace=/dev/null", "true", stdout=subprocess.DEVNULL)

    def test_outputs_are_written_through_links_and_devices(self):
        """A result that replaced /dev/stdout, as tools that write by rename do, would harm the whole machine."""
        for option in ("json", "trace", "record"):
            target, device = os.path.join(self.folder, f"{option}.target"), os.path.join(self.folder, f"{option}.null")
            link = os.path.join(self.folder, f"{option}.link")
            os.symlink(target, link)
            os.symlink("/dev/null", device)
            for path in (link, device):
                self.succeed(f"--{option}={path}", "true")
                self.assertTrue(os.path.islink(path), path)
            self.assertGreater(os.path.getsize(target), 0, option)
            self.assertEqual(os.path.getsize(device), 0)
            # A link to a pipe, as /dev/stdout is one.
            stream = os.path.join(self.folder, f"{option}.stdout")
            os.symlink("/proc/self/fd/1", stream)
            ended = self.start(f"--{option}={stream}", "true", stdout=(pipe := os.pipe())[1])
            os.close(pipe[1])
            with open(pipe[0], "rb") as said:
                self.assertNotEqual(said.read(), b"", option)
            self.assertEqual(ended.wait().status, 0)
            self.assertTrue(os.path.islink(stream))


if __name__ == "__main__":
    job.main()
