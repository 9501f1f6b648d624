#!/usr/bin/env python3
"""tests/support/run_cases.py gives each case of a program its own verdict, however the program ends: check_cases.py

By a stand-in for a Catch2 program whose cases pass, fail, end the process, fail only after others, or leave the process with an
error once all have passed. And a run of scripts/test fails if a test failed or was skipped, and writes times.
"""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import tree

sys.path.insert(0, os.path.join(tree.ROOT, "scripts", "testing"))
import results  # noqa: E402 (the path above)

# What run_cases.py uses of Catch2 2.13: the list of names, -f FILE or one name, the xml reporter, which writes as it goes.
STAND_IN = r"""#!{python}
import os, sys
cases = {cases!r}
if "--list-test-names-only" in sys.argv:
    print("\n".join(cases))
    sys.exit(min(len(cases), 255))
if "-f" in sys.argv:
    names = open(sys.argv[sys.argv.index("-f") + 1]).read().splitlines()
else:
    names = [sys.argv[1]]
names = [n.replace("\\,", ",").replace("\\[", "[").replace("\\\\", "\\") for n in names]
out = open(sys.argv[sys.argv.index("--out") + 1], "w")
out.write("<Catch><Group>")
bad = 0
for at, name in enumerate(names):
    assert name in cases, name
    kind = name.split()[0]
    out.write(f'<TestCase name="{{name}}">')
    out.flush()
    if kind == "ends":
        os.abort()
    if kind == "overruns":
        print("ERROR: AddressSanitizer: heap-buffer-overflow")
        sys.exit(1)
    well = kind != "fails" and not (kind == "follows" and at > 0)
    if kind == "races" and at > 0:
        print("WARNING: ThreadSanitizer: data race")
        well = False
    if kind == "says":  # a process of its own, whose end is not its program's
        print("WARNING: ThreadSanitizer: data race")
    bad += not well
    out.write(f'<OverallResult success="{{str(well).lower()}}" durationInSeconds="0.5"/></TestCase>')
    if kind == "reports" and len(names) > 1:
        out.flush()
        print("ERROR: AddressSanitizer: heap-use-after-free")
        os._exit(1)
out.write("</Group></Catch>")
out.close()
sys.exit(3 if any(n.startswith("leaks") for n in names) else bad)
"""


def verdicts(cases, shard="1/1"):
    """(exit status, {case: whether it passed}, cases that scripts/test says pass only alone) of run_cases.py on a program with
    these cases."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        with open(program, "w", encoding="utf-8") as f:
            f.write(STAND_IN.format(python=sys.executable, cases=cases))
        os.chmod(program, 0o755)
        ended = subprocess.run([sys.executable, "-B", os.path.join(tree.ROOT, "tests", "support", "run_cases.py"), "--name", "p",
                                "--file", "out", "--shard", shard, program], env={**os.environ, "TESTING_CASE_RESULTS": folder},
                               stdout=subprocess.PIPE, text=True, check=False)
        suite = ElementTree.parse(os.path.join(folder, "out.xml")).getroot()
        # As ctest writes it.
        report = ElementTree.Element("testsuite")
        entry = ElementTree.SubElement(report, "testcase", name="cases: p, part 1 of 1", status="run")
        ElementTree.SubElement(entry, "system-out").text = ended.stdout
        ElementTree.ElementTree(report).write(os.path.join(folder, "asan.xml"))
        return (ended.returncode, {case.get("name"): case.get("status") == "run" for case in suite.iter("testcase")},
                list(results.passed_alone(folder)))


def end_of_run(entry):
    """(exit status of a run with one test, of which ctest wrote this; how often times.txt has the test)."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "unit.xml"), "w", encoding="utf-8") as f:
            f.write(f"<testsuite>{entry}</testsuite>")
        with contextlib.redirect_stdout(io.StringIO()):
            status = results.finish(folder, [("unit", 1, True)], 1)
        with open(os.path.join(folder, "times.txt"), encoding="utf-8") as f:
            return status, f.read().count("  a  (unit)")


def main():
    errors = []

    def expect(found, status, wanted, what, alone=()):
        wanted = (status, {f"p/{name}": well for name, well in wanted.items()}, [f"p/{name}" for name in alone])
        if found != wanted:
            errors.append(f"{what}: {found}, expected {wanted}")

    names = ["passes", "passes, with a comma", "passes [with brackets]"]
    expect(verdicts(names), 0, {name: True for name in names}, "all pass")
    expect(verdicts(names, "2/2"), 0, {names[1]: True}, "the second of two parts")
    expect(verdicts(["passes", "fails"]), 1, {"passes": True, "fails": False}, "one fails")
    expect(verdicts(["passes", "ends", "passes too"]), 1, {"passes": True, "ends": False, "passes too": True}, "one ends the process")
    expect(verdicts(["passes", "follows"]), 0, {"passes": True, "follows": True}, "one passes alone only",
           ["follows"])
    expect(verdicts(["passes", "overruns", "passes too"]), 1, {"passes": True, "overruns": False, "passes too": True}, "an overrun")
    expect(verdicts(["passes", "races"]), 1, {"passes": True, "races": False}, "a report with others that is not there alone")
    expect(verdicts(["reports", "passes"]), 1, {"reports": True, "passes": False}, "a report after a case has passed")
    expect(verdicts(["passes", "leaks"]), 1, {"passes": True, "leaks": False}, "an error at the end of the process", ["passes"])
    expect(verdicts(["passes", "says"]), 1, {"passes": True, "says": False}, "a report of another process", ["passes"])
    for status, inside, wanted in (("run", "", 0), ("notrun", "<skipped/>", 1), ("fail", "", 1)):
        if (ended := end_of_run(f'<testcase name="a" status="{status}">{inside}</testcase>')) != (wanted, 1):
            errors.append(f"a run with a test whose status is {status}: {ended}, expected {wanted}")
    lost = '<testcase name="cases: p, part 1 of 1" status="fail"/>'  # which has not come to its end: there is no file of its cases
    if end_of_run(lost)[0] != 1:
        errors.append("a program that has not come to its end does not fail the run")
    return tree.finish(errors, "cases in one process")


if __name__ == "__main__":
    sys.exit(main())
