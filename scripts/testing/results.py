"""What a run of scripts/test leaves and shows: JUnit files, logs, times; and the cost of each test, kept for the next run."""
import fcntl
import glob
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "style"))
import tree  # noqa: E402 (the path above)

SLOWEST = 50
# ctest's lines of tests that started or passed, and its frame.
PLAIN = re.compile(r"^ *Start +\d+:|^ *\d+/\d+ Test +#\d+:.* Passed |^Internal ctest|^Test project|^$")
# ctest's entry for a whole program whose cases have a file of their own (tests/support/run_cases.py).
WHOLE_PROGRAM = "cases: "
# What tests/support/run_cases.py says of a case that has passed, but not with the others.
ALONE = re.compile(r"^(.+): not passed in one process with others; passes alone$", re.M)


def clear(folder):
    if os.path.exists(folder):
        shutil.rmtree(folder)
    os.makedirs(folder)


class Costs:
    """How long each test of a tree took when it last ran, kept beside the compiler's cache for the next clone. ctest's own file
    of costs loses tests whose names have blanks."""

    def __init__(self, preset):
        self.path = os.path.join(tree.cache_folder(), "costs", preset + ".json")

    def seconds(self):
        """{test: seconds}, of the tests that have run."""
        try:
            with open(self.path, encoding="utf-8") as f:
                known = json.load(f)
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def keep(self, report):
        """Adds the times of a JUnit file."""
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path + ".lock", "w", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # another stage, or another run, may write it now
                known = self.seconds()
                known.update((name, round(seconds, 3)) for _, name, seconds, status in entries_of(report) if status == "passed")
                with open(self.path + ".new", "w", encoding="utf-8") as f:
                    json.dump(known, f, indent=0)
                os.replace(self.path + ".new", self.path)
        except OSError as error:
            tree.not_kept(error)


def shown_of(log):
    with open(log, encoding="utf-8", errors="replace") as f:
        return "\n".join(line.rstrip() for line in f if not PLAIN.match(line))


def build_errors(log):
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = f.read().splitlines()
    wrong = [line for line in lines if re.search(r"error:|warning:|undefined reference|^FAILED", line)]
    return "\n".join(wrong[:40] + lines[-20:])


def cases(folder):
    """(file without its suffix, name, seconds, "passed", "failed", "skipped" or "proved") of every test case. A whole program counts
    as one only if it failed and no case of it did: then it has not come to its end."""
    found = [entry for path in sorted(glob.glob(os.path.join(folder, "*.xml"))) for entry in entries_of(path)]
    failed = {name.partition("/")[0] for _, name, _, status in found if status == "failed"}
    return [(file, name, seconds, status) for file, name, seconds, status in found if not name.startswith(WHOLE_PROGRAM)
            or (status == "failed" and program_of(name) not in failed)]


def program_of(entry):
    """The program that ctest's entry for a whole program is of."""
    return entry[len(WHOLE_PROGRAM):].rpartition(", part")[0]


def entries_of(path):
    """The same of one JUnit file, with the entries of whole programs."""
    if os.path.exists(path):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            status = {"run": "passed", "proved": "proved", "fail": "failed"}.get(case.get("status"), "skipped")
            if case.find("skipped") is not None:
                status = "skipped"
            yield os.path.basename(path)[:-len(".xml")], case.get("name"), float(case.get("time") or 0), status


def passed_alone(folder):
    """Of cases that have passed: those that did not in one process with the others of their program."""
    failed = {name for _, name, _, status in cases(folder) if status == "failed"}
    for path in sorted(glob.glob(os.path.join(folder, "*.xml"))):
        for entry, names in not_in_common(path).items():
            yield from (name for name in (f"{program_of(entry)}/{name}" for name in names) if name not in failed)


def not_in_common(path):
    """ctest's entries for whole programs in a JUnit file, each with its cases that did not pass in one process with the others."""
    if not os.path.exists(path):
        return {}
    found = {case.get("name"): ALONE.findall(case.findtext("system-out") or "")
             for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase") if case.get("name").startswith(WHOLE_PROGRAM)}
    return {entry: names for entry, names in found.items() if names}


def times_text(stages, whole, found):
    lines = ["== time of each stage (those of two lanes overlap)"]
    lines += [f"{name:<36} {seconds:6.0f} s  {'ok' if well else 'FAILED'}" for name, seconds, well in stages]
    lines.append(f"{'whole':<36} {whole:6.0f} s")
    lines.append(f"\n== the {SLOWEST} slowest tests")
    slowest = sorted(found, key=lambda case: case[2], reverse=True)[:SLOWEST]
    lines += [f"{seconds:7.1f} s  {name}  ({file})" for file, name, seconds, _ in slowest]
    return "\n".join(lines) + "\n"


def finish(folder, stages, whole):
    """Prints times and the summary over all stages; the exit status of the run."""
    found = cases(folder)
    text = times_text(stages, whole, found)
    with open(os.path.join(folder, "times.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    kept = text.split("\n\n== the")[0]
    print(f"\n{kept}\n(the {SLOWEST} slowest tests: build-results/times.txt)\n")
    failed = [name for _, name, _, status in found if status == "failed"]
    skipped = [name for _, name, _, status in found if status == "skipped"]
    proved = sum(status == "proved" for *_, status in found)
    if proved:
        print(f"{len(found) - proved} tests ran; {proved} have passed before with the same programs and were not run again "
              "(scripts/test --all runs all)")
    if skipped:
        print(f"{len(skipped)} tests were skipped, which fails the run: {'; '.join(skipped)}")
    alone = list(passed_alone(folder))
    if alone:
        print(f"{len(alone)} tests passed only in a process of their own, not with the others of their program: {'; '.join(alone)}")
    bad_stages = [name for name, _, well in stages if not well]
    if bad_stages:
        print(f"failed: {'; '.join(bad_stages)}")
    # ctest's own closing lines, over all of its runs above.
    share = 100 * (len(found) - len(failed)) // len(found) if found else 0
    print(f"{share}% tests passed, {len(failed)} tests failed out of {len(found)}\n")
    print(f"Total Test time (real) = {sum(case[2] for case in found):.2f} sec")
    return 1 if bad_stages or failed or skipped or not found else 0
