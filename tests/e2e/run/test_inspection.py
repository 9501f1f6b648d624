"""What a job tells of itself: statistics, traces, records, logs."""
import json
import os
import re

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


if __name__ == "__main__":
    job.main()
