"""The promises of tests/coverage/*.toml, one file an area, and the page docs/coverage.md that is written from them.

A file has a `title`, an `about`, and rows:

    [[row]]
    id = "23/5.2"
    promise = "the words of the requirement"
    proofs = ["suite/name of a test", "bench:section-of-a-page-of-results"]

What the product does less, or more, stands beside the promise and not in it: `partly` (what is missing), `not_done` (what is not there, and
why), `also` (what there is beyond the requirement), `reworded` (why the promise is not in the requirement's words), `measured` (what was found), `by_reading` (which text proves it).
"""
import glob
import os
import textwrap
import tomllib

NOTES = {"partly": "partly", "not_done": "not done", "reworded": "reworded", "by_reading": "by reading", "also": "also",
         "measured": "measured"}
NEEDED = {"id", "promise", "proofs"}
FOLDER = os.path.join("tests", "coverage")
BAR = "\\|"  # in a table of Markdown
PAGE = os.path.join("docs", "coverage.md")

ABOUT = """# What is promised, and what proves it

Written by `tests/style/check_coverage.py . --write` from `tests/coverage/*.toml`, where rows are changed.

A row is a promise. Its status is "done", "partly" (the note says what is missing) or "not done". A proof is a test, named as `ctest -N`
lists it, or `bench:anchor`, a section of a page of docs/results with command, date and commit, or `all:commit`, where only `scripts/test
--all` proves the row: the commit that it ran on, at most 200 commits of the product ago. A row with several stands only if all of them do.
`scripts/test` ends with `tests/style/check_coverage.py`, which fails unless every test named here ran, or is known to pass with the present
sources ([testing.md](testing.md)), passed and was not skipped. Rows of 21 and later keep the words of their requirements
(`tests/style/requirements.txt`).
"""


class Invalid(Exception):
    pass


def area_of(path, text):
    """The area that a file describes: its title, about and rows."""
    try:
        area = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{path}: {error}") from error
    if set(area) != {"title", "about", "row"}:
        raise Invalid(f"{path}: has {', '.join(sorted(area))}; a file has title, about and [[row]]")
    for row in area["row"]:
        name = row.get("id", "a row without id")
        wrong = sorted(NEEDED - set(row)) or sorted(set(row) - NEEDED - set(NOTES))
        if wrong:
            raise Invalid(f"{path}: {name}: {wrong[0]} is missing, or no field (fields: {', '.join(sorted(NEEDED) + list(NOTES))})")
        texts = [row[key] for key in row if key != "proofs"] + row["proofs"]
        if not isinstance(row["proofs"], list) or not all(isinstance(text, str) and text.strip() == text != "" for text in texts):
            raise Invalid(f"{path}: {name}: a field is empty, begins or ends with a space, or is no text")
        if any("\n" in text for text in texts):
            raise Invalid(f"{path}: {name}: a field has a line break (end a line of a text with a backslash)")
    return area


def load(root):
    """The areas, in the order of their files' names."""
    areas = []
    for path in sorted(glob.glob(os.path.join(root, FOLDER, "*.toml"))):
        with open(path, encoding="utf-8") as file:
            areas.append(area_of(os.path.relpath(path, root), file.read()))
    return areas


def status(row):
    if "not_done" in row and not row["proofs"]:
        return "not done"
    return "partly" if "partly" in row or "not_done" in row else "done"


def noted(row):
    """The promise and its notes, as the page has them."""
    return " ".join([row["promise"], *(f"({title}: {row[note]})" for note, title in NOTES.items() if note in row)])


def wrapped(text):
    return textwrap.fill(text, 140, break_long_words=False, break_on_hyphens=False)


def page(areas):
    text = [ABOUT, "| area | rows | done | partly | not done |", "|---|---:|---:|---:|---:|"]
    for area in areas:
        found = [status(row) for row in area["row"]]
        text.append(f"| {area['title']} | {len(found)} | {found.count('done')} | {found.count('partly')} | {found.count('not done')} |")
    for area in areas:
        text += ["", f"## {area['title']}", "", wrapped(area["about"].strip()), "", "| row | promise | status | proof |", "|---|---|---|---|"]
        for row in area["row"]:
            proofs = ", ".join(f"`{proof}`" for proof in row["proofs"]) or "–"
            cells = [row["id"], noted(row), status(row), proofs]
            text.append(f"| {' | '.join(each.replace('|', BAR) for each in cells)} |")
    return "\n".join(text) + "\n"
