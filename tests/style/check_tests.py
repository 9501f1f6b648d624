#!/usr/bin/env python3
"""Every test of a build tree says what it takes of the machine: PROCESSORS, in quarters of a processor, or RUN_SERIAL.

ctest counts a test that says nothing as a quarter of a processor, whatever it does, and starts too many beside it.

usage: check_tests.py BUILD | check_tests.py --self-test
"""
import json
import subprocess
import sys

import tree


def silent(shown):
    """Names of tests that say nothing, of what `ctest --show-only=json-v1` shows."""
    return [test["name"] for test in json.loads(shown[shown.index("{"):])["tests"]
            if not {"PROCESSORS", "RUN_SERIAL"} & {p["name"] for p in test.get("properties", [])}]


def self_test():
    shown = "Test project\n" + json.dumps({"tests": [
        {"name": "says", "properties": [{"name": "LABELS", "value": ["unit"]}, {"name": "PROCESSORS", "value": 4}]},
        {"name": "alone", "properties": [{"name": "RUN_SERIAL", "value": True}]},
        {"name": "labelled", "properties": [{"name": "LABELS", "value": ["unit"]}]},
        {"name": "bare"}]})
    found = silent(shown)
    return tree.finish([] if found == ["labelled", "bare"] else [f"found {found}"], "tests self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    shown_now = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], capture_output=True, text=True,
                               check=True).stdout
    sys.exit(tree.finish([f"{name}: does not say what it takes (PROCESSORS)" for name in silent(shown_now)], "what tests take"))
