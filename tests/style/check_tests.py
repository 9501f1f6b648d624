#!/usr/bin/env python3
"""Every test of a build tree says what it takes of the machine, has a name of its own, and there is none that ctest does not know.

PROCESSORS, in quarters of a processor, or RUN_SERIAL: ctest counts a test that says nothing as a quarter of a processor, whatever
it does, and starts too many beside it. Of the methods of Python tests ctest knows those whose names are as
tests/e2e/run/CMakeLists.txt reads them; Catch2 hides a test case by the tag [.], and passes one that fails by others.

usage: check_tests.py ROOT BUILD | check_tests.py --self-test
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import tree


# A class or method that unittest would run, and what may hide a failure, in a line of a Python test.
PYTHON = re.compile(r"^(?:class (?P<klass>\w+)\(|\s+(?:async )?def (?P<method>test\w*)\(|\s*@(?P<hides>unittest\.expectedFailure))")
KNOWN = {"klass": re.compile(r"[A-Za-z0-9]+"), "method": re.compile(r"test_[a-z0-9_]+"), "hides": re.compile("(?!)")}
# The end of a test case's name, and tags by which it is not run, or may fail.
HIDDEN = re.compile(r"\[(\.\w*|!mayfail|!shouldfail|!throws|hide)\]")


def wrong_in(shown):
    """What is wrong with the tests that `ctest --show-only=json-v1` shows."""
    tests = json.loads(shown[shown.index("{"):])["tests"]
    times = collections.Counter(test["name"] for test in tests)
    return ([f"{test['name']}: does not say what it takes (PROCESSORS)" for test in tests
             if not {"PROCESSORS", "RUN_SERIAL"} & {p["name"] for p in test.get("properties", [])}]
            + [f"{name}: {count} tests of that name" for name, count in times.items() if count > 1])


def unseen(root):
    """Tests in the sources that ctest does not know, or that may fail."""
    found = []
    for path in tree.files(os.path.join(root, "tests"), ("_test.cpp", ".py")):
        for number, line in enumerate(tree.read(os.path.join(root, "tests"), path).splitlines(), 1):
            of_python = PYTHON.match(line) if os.path.basename(path).startswith("test_") else None
            if path.endswith(".py") and of_python:
                kind, name = next((kind, name) for kind, name in of_python.groupdict().items() if name)
                if not KNOWN[kind].fullmatch(name):
                    found.append(f"tests/{path}:{number}: ctest does not know of {name}, or it hides a failure")
            elif path.endswith(".cpp") and re.match(r"\s*(TEST_CASE|.*\")", line) and HIDDEN.search(line):
                found.append(f"tests/{path}:{number}: a tag by which a test case is not run, or may fail")
    return found


def self_test():
    shown = "Test project\n" + json.dumps({"tests": [
        {"name": "says", "properties": [{"name": "LABELS", "value": ["unit"]}, {"name": "PROCESSORS", "value": 4}]},
        {"name": "alone", "properties": [{"name": "RUN_SERIAL", "value": True}]},
        {"name": "labelled", "properties": [{"name": "LABELS", "value": ["unit"]}]},
        {"name": "bare"}, {"name": "alone", "properties": [{"name": "RUN_SERIAL", "value": True}]}]})
    found = [line.partition(":")[0] for line in wrong_in(shown)]
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "tests"))
        for name, text in (("test_a.py", "class A1(X):\n    def test_a(self):\n    @unittest.expectedFailure\n    def test_B(self):\n"),
                           ("b_test.cpp", 'TEST_CASE("a [bracket] x", "[.]") {\n  a[!b];\nTEST_CASE("a", "[!mayfail]") {\n')):
            with open(os.path.join(root, "tests", name), "w", encoding="utf-8") as f:
                f.write(text)
        found += [line.rpartition(": ")[0] for line in unseen(root)]
    wanted = ["labelled", "bare", "alone", "tests/b_test.cpp:1", "tests/b_test.cpp:3", "tests/test_a.py:3", "tests/test_a.py:4"]
    return tree.finish([] if found == wanted else [f"found {found}, expected {wanted}"], "tests self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    shown_now = subprocess.run(["ctest", "--test-dir", sys.argv[2], "--show-only=json-v1"], capture_output=True, text=True,
                               check=True).stdout
    sys.exit(tree.finish(wrong_in(shown_now) + unseen(sys.argv[1]), "tests"))
