#!/usr/bin/env python3
"""All test cases of a Catch2 program, or every n-th of them, in one process: under a sanitizer most of a short test is its start.

usage: run_cases.py --name NAME --file FILE [--shard I/N] PROGRAM

Writes a JUnit file of the cases, FILE.xml in the folder that TESTING_CASE_RESULTS names (else in the current one), each as "NAME/<case>": the name that ctest gives it where each case has a process of
its own. If the process does not come to its end, or a case fails in it, each case that has not passed is run again alone, so
that every case has its own verdict. A case that passes alone has passed, as where each has a process of its own, unless a
sanitizer reported something in the common process; which cases did not pass in it is printed. Exit status 1 if any has.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ALONE_LIMIT_S = 300
TOGETHER_LIMIT_S = 1500
CATCH_MAX_STATUS = 255
# A test may ask for memory that nothing has; that it gets none is no report.
REPORT = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer(?! failed to allocate )|runtime error: ")


def names_of(program):
    ended = subprocess.run([program, "--list-test-names-only"], capture_output=True, text=True, check=False)
    found = [line.strip() for line in ended.stdout.splitlines() if line.strip()]
    if ended.returncode != min(len(found), CATCH_MAX_STATUS):  # Catch2 2.13 tells by its status how many it has listed
        sys.exit(f"run_cases.py: {program} ended with status {ended.returncode} when it listed {len(found)} cases\n{ended.stderr}")
    return found


def escaped(name):
    """As Catch2 wants a name on its command line."""
    return name.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")


def run(program, names, limit_s=None):
    """(exit status or None at the limit, output, {case: seconds} of those that passed, all that began)."""
    with tempfile.TemporaryDirectory() as folder:
        report, list_file = os.path.join(folder, "report.xml"), os.path.join(folder, "names")
        with open(list_file, "w", encoding="utf-8") as f:
            f.write("\n".join(escaped(name) for name in names) + "\n")
        chosen = ["-f", list_file] if len(names) > 1 else [escaped(names[0])]
        try:
            # The xml reporter writes as it goes, so that it tells of the cases before one that ends the process.
            ended = subprocess.run([program, *chosen, "--reporter", "xml", "--out", report, "--durations", "yes"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   timeout=limit_s, check=False)
            status, said = ended.returncode, ended.stdout
        except subprocess.TimeoutExpired as error:
            status, said = None, error.stdout or b""
        passed, begun = {}, set()
        parser = ElementTree.XMLPullParser(["start", "end"])
        try:
            with open(report, "rb") as f:
                text = f.read()
            parser.feed(text)
        except (FileNotFoundError, ElementTree.ParseError):
            text = b""
        try:
            for event, element in parser.read_events():
                if element.tag != "TestCase":
                    continue
                begun.add(element.get("name").strip())
                result = element.find("OverallResult") if event == "end" else None
                if result is not None and result.get("success") == "true":
                    passed[element.get("name").strip()] = float(result.get("durationInSeconds", 0))
        except ElementTree.ParseError:
            pass
    return status, said.decode(errors="replace") + ("" if status == 0 else text.decode(errors="replace")[-8000:]), passed, begun


def verdicts(program, names):
    """{case: (seconds, what is wrong or "")}."""
    status, said, passed, begun = run(program, names, TOGETHER_LIMIT_S)
    reported = bool(REPORT.search(said))
    found = {name: (passed[name], "") for name in names if name in passed}
    missing = [name for name in names if name not in found]
    if status == 0 and not missing and not reported:
        return found
    first = f"in one process with others: status {status}\n{said[-8000:]}"
    all_passed = not missing
    if all_passed:  # and then something was wrong: a leak, at the end of the process, or reported by a process of theirs
        missing, found = names, {}
    fault = False
    for name in missing:
        start = time.monotonic()
        status, said, passed, _ = run(program, [name], ALONE_LIMIT_S)
        well = status == 0 and name in passed and not REPORT.search(said)
        alone = "passes alone" if well else f"alone: status {status}\n{said[-8000:]}"
        if name in begun:
            print(f"{name}: not passed in one process with others; {alone.splitlines()[0]}")
        wrong = "" if well and (all_passed or not (reported and name in begun)) else f"{alone}\n{first}"
        fault = fault or bool(wrong)
        found[name] = (time.monotonic() - start, wrong)
    if reported and not fault:  # of a case that had passed by then
        found.update((name, (found[name][0], first)) for name in missing)
    return found


def write(path, prefix, found):
    suite = ElementTree.Element("testsuite", name=prefix, tests=str(len(found)),
                                failures=str(sum(bool(wrong) for _, wrong in found.values())))
    for name, (seconds, wrong) in found.items():
        case = ElementTree.SubElement(suite, "testcase", name=f"{prefix}/{name}", classname=prefix, time=f"{seconds:.6f}",
                                      status="fail" if wrong else "run")
        if wrong:
            ElementTree.SubElement(case, "failure", message="").text = "".join(c for c in wrong if c in "\n\t" or c >= " ")
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("program", help="a Catch2 program")
    parser.add_argument("--list", action="store_true", help="only print the names of the cases")
    options = parser.parse_args()
    shard, shards = (int(number) for number in options.shard.split("/"))
    program = options.program
    names = names_of(program)[shard - 1::shards]
    if not names:
        sys.exit(f"run_cases.py: {program} has no test cases in part {options.shard}")
    if options.list:
        print("\n".join(f"{options.name}/{name}" for name in names))
        return 0
    found = verdicts(program, names)
    write(os.path.join(os.environ.get("TESTING_CASE_RESULTS", "."), options.file + ".xml"), options.name, found)
    bad = {name: wrong for name, (_, wrong) in found.items() if wrong}
    for name, wrong in bad.items():
        print(f"{options.name}/{name}: {wrong}")
    print(f"{len(found)} test cases, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
