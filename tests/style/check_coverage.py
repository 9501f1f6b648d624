#!/usr/bin/env python3
"""Every promise of tests/coverage names what proves it, and the proof ran, passed and was not skipped; docs/coverage.md shows them.

The rows: coverage_data.py. A proof is a test as ctest calls it (it must have passed, in every build tree that ran it),
`bench:ANCHOR`, a section of a page of docs/results that states its command, date and commit, or `all:COMMIT`, where only
`scripts/test --all` proves the row: the commit that it ran on, which must not be more than 200 commits of the product old.
The proof `open` (not yet written) is an error with --strict. A row about a requirement that tests/style/requirements.txt has
keeps its words (requirements.py). A row without proofs says what there is instead: `not_done`, or `by_reading` of a text.

usage: check_coverage.py ROOT [--strict] --results FOLDER   after the tests: FOLDER holds JUnit files
       check_coverage.py ROOT [--strict] --tests BUILD      before: are there such tests?
       check_coverage.py ROOT --write                       writes the page
       check_coverage.py --self-test
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import coverage_data
import requirements
import tree

STATED = {"command": r"(?im)\bcommand\b.*`", "date": r"(?im)\bdate\b.*\b20\d\d-\d\d-\d\d\b",
          "commit": r"(?im)\bcommit\b.*\b[0-9a-f]{7,40}\b"}


def anchor_of(heading):
    """The anchor of a heading, as a web view of Markdown makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def sections_of(text):
    """Anchor to the text of the section."""
    sections, anchor = {}, None
    for line in text.splitlines():
        heading = re.match(r"#+ +(.*)", line)
        if heading:
            anchor = anchor_of(heading.group(1))
            sections[anchor] = ""
        elif anchor:
            sections[anchor] += line + "\n"
    return sections


def verdicts(folder):
    """Test name to 'passed', 'failed' or 'skipped', over all JUnit files; the worst counts."""
    # "proved": passed before with the same sources, and was not run again (scripts/testing/proved.py).
    worst = {"passed": 0, "proved": 0, "skipped": 1, "failed": 2}
    found = {}
    for path in glob.glob(os.path.join(folder, "*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            status = {"run": "passed", "proved": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
            if case.find("skipped") is not None:
                status = "skipped"
            name = case.get("name")
            if name not in found or worst[status] > worst[found[name]]:
                found[name] = status
    return found


def registered(root, build):
    """Names that ctest knows in a build tree, and the fuzzers, which are built with the address sanitizer only."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True,
                           text=True, check=True).stdout
    names = {test["name"] for test in json.loads(shown[shown.index("{"):])["tests"]}
    fuzzers = glob.glob(os.path.join(root, "tests", "fuzz", "*_fuzz.cpp"))
    return names | {"fuzz: " + os.path.basename(f)[:-len("_fuzz.cpp")] for f in fuzzers}


def results_of(root):
    """The sections of all pages of docs/results, and the anchors that two pages have."""
    sections, twice = {}, []
    for path in sorted(glob.glob(os.path.join(root, "docs", "results", "*.md"))):
        found = sections_of(tree.read(root, path))
        twice += sorted(set(sections) & set(found))
        sections.update(found)
    return sections, twice


MAX_COMMITS = 200
# What is not the product: a commit of these alone does not make a proof older.
AROUND = ("docs", "bench", "tests", "scripts", "README.md", "man")


def product_commits_since(root, commit):
    """How many commits after `commit` change the product; None if this history does not have it."""
    known = subprocess.run(["git", "-C", root, "merge-base", "--is-ancestor", commit, "HEAD"], capture_output=True, check=False)
    if known.returncode:
        return None
    counted = subprocess.run(["git", "-C", root, "rev-list", "--count", f"{commit}..HEAD", "--", ".",
                              *(f":(exclude){path}" for path in AROUND)], capture_output=True, text=True, check=True)
    return int(counted.stdout)


def check_all(commit, commits_since):
    since = commits_since(commit)
    if since is None:
        return f"commit {commit}, on which scripts/test --all ran, is not in this history"
    if since > MAX_COMMITS:
        return f"scripts/test --all ran {since} commits of the product ago (at {commit}); run it again and name its commit here"
    return None


def check_bench(anchor, sections):
    if anchor not in sections:
        return f"no page of docs/results has a section {anchor}"
    text = re.sub(r"(?<=\S)\n(?=[^\s|#])", " ", sections[anchor])  # a paragraph in one line, as the patterns need it
    missing = [what for what, pattern in STATED.items() if not re.search(pattern, text)]
    return f"section {anchor} of docs/results states no {', '.join(missing)}" if missing else None


def check_proof(proof, status_of, sections, commits_since, strict):
    """What is wrong with one proof of a promise, or None."""
    if proof == "open":
        return "no proof yet" if strict else None
    if proof.startswith("bench:"):
        return check_bench(proof[len("bench:"):], sections)
    if proof.startswith("all:"):
        return check_all(proof[len("all:"):], commits_since)
    status = status_of(proof)
    return None if status == "passed" else f'test "{proof}" {status}'


def check(rows, sections, asked, status_of, commits_since, strict):
    errors, seen = [], set()
    for row in rows:
        name = row["id"]
        if name in seen:
            errors.append(f"row {name}: stands twice")
        seen.add(name)
        other = requirements.reworded(row, asked)
        if other:
            errors.append(f"row {name}: '{other}' is not said by its requirement (tests/style/requirements.txt); say it in the "
                          "requirement's words, or in the row's `partly` or `also`, or say `reworded`: why")
        if not row["proofs"] and not {"not_done", "by_reading"} & set(row):
            errors.append(f"row {name}: no proof, and the row does not say why")
        for proof in row["proofs"]:
            wrong = check_proof(proof, status_of, sections, commits_since, strict)
            if wrong:
                errors.append(f"row {name}: {wrong}")
    unproved = [row["id"] for row in rows if "open" in row["proofs"]]
    print(f"{len(rows)} rows, {len(unproved)} open{': ' + ' '.join(unproved) if unproved else ''}")
    if not rows:
        errors.append("tests/coverage has no rows")
    return errors


# Row, promise, note, proofs.
PLANTED = (
    ("1", "good", "", ["a: one", "b: two"]),
    ("2", "fails", "", ["a: three"]),
    ("3", "skipped", "", ["a: four"]),
    ("4", "is not there", "", ["a: five"]),
    ("5", "measured", "", ["bench:the-barrier-in-s"]),
    ("6", "measured without a date", "", ["bench:start"]),
    ("7", "not measured", "", ["bench:end"]),
    ("8", "later", "", ["open"]),
    ("8", "twice", "", ["a: one"]),
    ("9", "nothing", "", []),
    ("10", "all, not long ago", "", ["all:aaaaaaa"]),
    ("11", "all, long ago", "", ["all:bbbbbbb"]),
    ("12", "all, on a commit that is not there", "", ["all:ccccccc"]),
    ("13", "keys", 'not_done = "there are none"', []),
    ("14", "keys", 'partly = "some"', []),
    ("15.1", "a bad one is an error; `keys` are long", 'partly = "of two kinds"', ["a: one"]),
    ("15.2", "keys are short", 'reworded = "longer ones are not needed"', ["a: one"]),
    ("15.3", "keys are short", 'partly = "some"', ["a: one"]),
    ("15.4", "keys are long and a bad one is told", "", ["a: one"]))


def self_test():
    text = 'title = "t"\nabout = "a"\n' + "".join(
        f'[[row]]\nid = "{name}"\npromise = "{promise}"\n{note}\nproofs = {json.dumps(proofs)}\n'
        for name, promise, note, proofs in PLANTED)
    area = coverage_data.area_of("t.toml", text)
    asked = requirements.read("# Comment.\n15 Of keys: keys are long; a bad one is an error.\n")
    pages = {"a.md": "# The barrier, in s\nCommand: `x`, date: 2024-01-02, commit 0123abc\n",
             "b.md": "## Start\nCommand: `y`, commit 0123abc\n## The barrier, in s\nCommand: `x`, date: 2024-01-02, commit 0123abc\n"}
    junit = """<testsuite><testcase name="a: one" status="run"/><testcase name="b: two" status="run"/>
<testcase name="a: three" status="fail"><failure/></testcase>
<testcase name="a: four" status="notrun"><skipped/></testcase></testsuite>"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("r.xml", junit), ("s.xml", '<t><testcase name="a: three" status="run"/></t>'),
                           ("t.xml", '<t><testcase name="b: two" status="proved"/></t>')):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        known = verdicts(folder)
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "docs", "results"))
        for name, text in pages.items():
            with open(os.path.join(root, "docs", "results", name), "w", encoding="utf-8") as f:
                f.write(text)
        sections, twice = results_of(root)

    def rows_in_error(strict):
        found = check(area["row"], sections, asked, lambda t: known.get(t, "did not run"),
                      {"aaaaaaa": 200, "bbbbbbb": 201}.get, strict)
        return [f.split(":")[0][len("row "):] for f in found]

    errors = [] if twice == ["the-barrier-in-s"] else [f"planted one section on two pages, found {twice}"]
    for strict, expected in ((False, ["2", "3", "4", "6", "7", "8", "9", "11", "12", "14", "15.3", "15.4"]),
                             (True, ["2", "3", "4", "6", "7", "8", "8", "9", "11", "12", "14", "15.3", "15.4"])):
        if rows_in_error(strict) != expected:
            errors.append(f"strict={strict}: expected rows {expected}, found {rows_in_error(strict)}")
    wrapped = "Command:\n`x`. Date: 2026-01-01. Commit:\nabcdef1.\n"
    if check_bench("w", {"w": wrapped}) or not check_bench("w", {"w": wrapped.replace("Commit:\n", "Commit:\n\n")}):
        errors.append("a statement that goes on in the next line of its paragraph is not seen, or one of another paragraph is")
    statuses = {row["id"]: coverage_data.status(row) for row in area["row"]}
    if [statuses[name] for name in ("1", "13", "14", "15.2")] != ["done", "not done", "partly", "done"]:
        errors.append(f"found the statuses {statuses}")
    shown = coverage_data.page([area])
    for line in ("| t | 19 | 15 | 3 | 1 |", "| 13 | keys (not done: there are none) | not done | – |",
                 "| 1 | good | done | `a: one`, `b: two` |"):
        if line not in shown.splitlines():
            errors.append(f"the page has no line '{line}'")
    for wrong in ('[[row]]\nid = "1"\npromise = "p"', '[[row]]\nid = "1"\npromise = ""\nproofs = []', "[[row]]\nid = 1\npromise = 'p'\nproofs = []",
                  '[[row]]\nid = "1"\npromise = "a\\nb"\nproofs = []', '[[row]]\nid = "1"\npromise = "p"\nproofs = []\nonly = "x"', "[[row]"):
        try:
            coverage_data.area_of("t.toml", 'title = "t"\nabout = "a"\n' + wrong)
            errors.append(f"planted '{wrong}', which was not refused")
        except coverage_data.Invalid:
            pass
    return tree.finish(errors, "coverage self-test")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--results")
    parser.add_argument("--tests")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    try:
        areas = coverage_data.load(options.root)
    except coverage_data.Invalid as error:
        return tree.finish([str(error)], "coverage")
    page = os.path.join(options.root, coverage_data.PAGE)
    if options.write:
        with open(page, "w", encoding="utf-8") as file:
            file.write(coverage_data.page(areas))
        return 0
    if options.results:
        known = verdicts(options.results)
    else:
        known = {name: "passed" for name in registered(options.root, options.tests)}
    absent = "did not run" if options.results else "does not exist"
    sections, twice = results_of(options.root)
    asked = requirements.read(tree.read(options.root, "tests/style/requirements.txt"))
    errors = [f"two pages of docs/results have a section {anchor}" for anchor in twice]
    if not os.path.exists(page) or tree.read(options.root, coverage_data.PAGE) != coverage_data.page(areas):
        errors.append(f"{coverage_data.PAGE} is not what tests/coverage says: run tests/style/check_coverage.py . --write")
    errors += check([row for area in areas for row in area["row"]], sections, asked, lambda t: known.get(t, absent),
                    lambda commit: product_commits_since(options.root, commit), options.strict)
    return tree.finish(errors, "coverage")


if __name__ == "__main__":
    sys.exit(main())
