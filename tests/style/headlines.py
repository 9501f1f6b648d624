#!/usr/bin/env python3
"""The headline figures of docs/benchmarks.md are those of docs/results/headlines.json, and each stands in the section of
docs/results that its row links.

usage: headlines.py ROOT           the page is that of the data, and the data is that of the sections
       headlines.py ROOT --write   writes the tables between the two marks of the page
       headlines.py --self-test

A row has `what` is measured, its `result`, the `peer` or floor and its result (`peer_result`), the `ratio`, the `target`, the
`date`, the `commit` and the `command` of the measurement, and the `section` with the full record (page.md#anchor). If the target
has a limit, such as "at most 0.5", the row's verdict is computed from its `value`, or if it has none from its ratio, or else from
its result. Otherwise the row has a `verdict`. A row with `headline` is in the first table; the second has the other
targets that are missed or not measured.
"""
import copy
import json
import os
import re
import sys
import tempfile

import check_coverage
import tree

DATA = "docs/results/headlines.json"
PAGE = "docs/benchmarks.md"
BEGIN = "<!-- headlines: written by tests/style/headlines.py from docs/results/headlines.json -->"
END = "<!-- end of headlines -->"
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
LIMIT = re.compile(r"(at most|under|below|at least) (\d+(?:,\d{3})*(?:\.\d+)?)")
NEEDED = ("what", "result", "date", "commit", "command", "section")
FIELDS = {*NEEDED, "peer", "peer_result", "ratio", "value", "target", "verdict", "headline"}
VERDICTS = ("missed", "not measured", "no target")
HEADS = ["what is measured", "result", "peer or floor", "ratio", "target", "verdict", "date", "commit", "command", "record"]


def number(text):
    return float(text.replace(",", ""))


def verdict(row):
    """Met or missed by the limit of the target; the row's own verdict if the target has no limit."""
    limit = LIMIT.search(row.get("target", ""))
    if "verdict" in row or not limit:
        return row["verdict"]
    value = number(row.get("value") or NUMBER.search(row.get("ratio") or row["result"])[0])
    bound = number(limit[2])
    met = {"at most": value <= bound, "at least": value >= bound}.get(limit[1], value < bound)
    return "met" if met else "missed"


def occurs(figure, text):
    """Whether the number stands in the text, and not within another number."""
    return re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d|[.,]\d)", text) is not None


def flat(text):
    return " ".join(text.split())


def wrong_fields(row):
    """What a row lacks, or has although it may not."""
    wrong = [f"has no {field}" for field in NEEDED if not row.get(field)]
    wrong += [f"has an unknown field {field}" for field in sorted(set(row) - FIELDS)]
    if wrong:
        return wrong
    judged = LIMIT.search(row.get("target", "")) is not None
    if "verdict" in row and row["verdict"] not in VERDICTS:
        wrong.append(f"has the verdict '{row['verdict']}' (valid: {', '.join(VERDICTS)})")
    if "verdict" in row and judged and row["verdict"] != "not measured":
        wrong.append("states a verdict, which is computed from its target")
    if "verdict" not in row and not judged:
        wrong.append("has neither a limit in its target nor a verdict")
    if "verdict" not in row and judged and not NUMBER.search(row.get("ratio") or row["result"]):
        wrong.append("has no number for its target")
    if "value" in row and row["value"] not in NUMBER.findall(f"{row['result']} {row.get('ratio', '')}"):
        wrong.append(f"is judged by {row['value']}, which is neither in its result nor in its ratio")
    return wrong


def wrong_record(root, row):
    """What of a row is not in the section that it links."""
    name, _, anchor = row["section"].partition("#")
    path = f"docs/results/{name}"
    if not os.path.isfile(os.path.join(root, path)):
        return [f"links {path}, which does not exist"]
    sections = check_coverage.sections_of(tree.read(root, path))
    if anchor not in sections:
        return [f"links {path}#{anchor}, but the page has no such section"]
    text = flat(sections[anchor])
    quoted = [(field, figure) for field in ("result", "peer_result", "ratio") for figure in NUMBER.findall(row.get(field, ""))]
    wrong = [f"its {field} has {figure}, which does not occur in {path}#{anchor}" for field, figure in quoted if not occurs(figure, text)]
    wrong += [f"its {field} {row[field]} does not occur in {path}#{anchor}" for field in ("date", "commit", "command")
              if flat(row[field]) not in text]
    return wrong


def line_of(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def cells_of(row):
    name, _, _ = row["section"].partition("#")
    peer = ": ".join(filter(None, (row.get("peer"), row.get("peer_result"))))
    return [row["what"], row["result"], peer, row.get("ratio", ""), row.get("target", ""), verdict(row), row["date"], row["commit"],
            f"`{row['command']}`", f"[{name[:-len('.md')]}](results/{row['section']})"]


def table(rows):
    return line_of(HEADS) + "|" + "---|" * len(HEADS) + "\n" + "".join(line_of(cells_of(row)) for row in rows)


def counted(rows):
    found = [verdict(row) for row in rows]
    return f"{len(rows)} rows: " + ", ".join(f"{found.count(name)} {name}" for name in ("met", *VERDICTS) if name in found)


def tables(rows):
    first = [row for row in rows if row.get("headline")]
    others = [row for row in rows if not row.get("headline")]
    text = f"{counted(first)}.\n\n{table(first)}"
    return text + (f"\nOther targets that are missed or not measured ({counted(others)}):\n\n{table(others)}" if others else "")


def parts(page):
    """The page before, between and after the marks, or None."""
    match = re.fullmatch(rf"(.*{re.escape(BEGIN)}\n)(.*)({re.escape(END)}\n.*)", page, re.S)
    return match.groups() if match else None


def check(root, write=False):
    rows = json.loads(tree.read(root, DATA))
    errors = [] if rows else [f"{DATA}: has no rows"]
    for row in rows:
        wrong = wrong_fields(row) or wrong_record(root, row)
        if not wrong and not row.get("headline") and verdict(row) not in ("missed", "not measured"):
            wrong = ["is no headline, and neither missed nor not measured"]
        errors += [f"{DATA}: '{row.get('what', '?')}' {each}" for each in wrong]
    if errors:
        return errors
    page = parts(tree.read(root, PAGE))
    if page is None:
        return [f"{PAGE}: has no lines '{BEGIN}' and '{END}' for the tables"]
    text = f"\n{tables(rows)}\n"
    if write:
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as f:
            f.write(page[0] + text + page[2])
        return []
    if page[1] != text:
        return [f"{PAGE}: the tables are not those of {DATA}; run tests/style/headlines.py . --write"]
    return []


RECORD = """# Results
## The launch
Command: `bench/x
--all`. Date: 2026-01-02. Commit: 0123abc.

| ms | peer | ratio |
|---|---|---|
| 88 (82; 85-90) | 1,203 | 0.43 |
## Other
nothing
"""
ROW = {"what": "launch", "result": "88 ms", "peer": "peer 4.0.2", "peer_result": "1,203 ms", "ratio": "0.43", "target": "at most 0.5",
       "date": "2026-01-02", "commit": "0123abc", "command": "bench/x --all", "section": "launch.md#the-launch", "headline": True}


def planted(root, rows, page=None):
    """Writes a tree with these rows, and with the page that belongs to them or with another one."""
    os.makedirs(os.path.join(root, "docs", "results"), exist_ok=True)
    texts = {DATA: json.dumps(rows), "docs/results/launch.md": RECORD, PAGE: f"# B\n{BEGIN}\n{END}\n"}
    for path, text in texts.items():
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)
    errors = check(root, write=True)
    if page is not None:
        text = page(tree.read(root, PAGE))
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as f:
            f.write(text)
    return errors


def self_test():
    faults = {"the page has no such section": {"section": "launch.md#the-end"}, "does not exist": {"section": "none.md#the-launch"},
              "result has 87": {"result": "87 ms"}, "result has 8,": {"result": "8, or 88"}, "ratio has 0.4,": {"ratio": "0.4, at best"},
              "peer_result has 203": {"peer_result": "203 ms"}, "date 2026-01-03": {"date": "2026-01-03"}, "commit 0123abd": {"commit": "0123abd"},
              "command bench/y": {"command": "bench/y"}, "has no result": {"result": ""}, "an unknown field pear": {"pear": "x"},
              "neither a limit": {"target": "as fast as can be"}, "verdict, which is computed": {"verdict": "missed"},
              "judged by 0.42": {"value": "0.42"}, "is no headline": {"headline": False}}
    errors = []
    with tempfile.TemporaryDirectory() as root:
        missed = {**ROW, "what": "slow", "target": "under 0.43", "headline": False}
        if planted(root, [ROW, missed]) or check(root):
            errors.append(f"good rows have findings: {check(root)}")
        page = tree.read(root, PAGE)
        for words in ("| launch | 88 ms | peer 4.0.2: 1,203 ms | 0.43 | at most 0.5 | met |", "1 rows: 1 met.", "not measured (1 rows: 1 missed):",
                      "| slow | 88 ms | peer 4.0.2: 1,203 ms | 0.43 | under 0.43 | missed |"):
            if words not in page:
                errors.append(f"the page has no '{words}'")
        for words, change in faults.items():
            found = planted(root, [{**copy.deepcopy(ROW), **change}])
            if not any(words in each for each in found):
                errors.append(f"planted {change}, found {found}")
        for what, change in (("another figure", lambda page: page.replace("88 ms", "87 ms")),
                             ("another verdict", lambda page: page.replace("| met |", "| missed |")), ("no mark", lambda page: page.replace(END, ""))):
            if planted(root, [ROW], change) or len(check(root)) != 1:
                errors.append(f"planted a page with {what}, found {check(root)}")
        planted(root, [ROW])
        with open(os.path.join(root, "docs/results/launch.md"), "w", encoding="utf-8") as f:
            f.write(RECORD.replace("88 (82", "89 (82"))
        if not any("result has 88" in each for each in check(root)):
            errors.append(f"a section that was measured anew is not seen: {check(root)}")
        if len(planted(root, [])) != 1:
            errors.append("data without rows is not seen")
    return tree.finish(errors, "headlines self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit("usage: headlines.py ROOT [--write] | headlines.py --self-test")
    sys.exit(tree.finish(check(sys.argv[1], write="--write" in sys.argv), "headlines"))
