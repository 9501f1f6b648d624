#!/usr/bin/env python3
"""The documents match the tree: links lead somewhere, named scripts exist, the plan names every room, every room has its README.md,
files that comments name exist, unit tests stand in the folder of their part.

usage: check_docs.py ROOT links|rooms|scripts|comments|units | check_docs.py --self-test
"""
import os
import re
import sys
import tempfile

import check_coverage
import tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
SOURCE = re.compile(r"(?<![\w/.<$}{*:-])((?:[a-z_-]+/)*[a-z_0-9]+\.(?:h|cpp|c))\b(?!\.)")
# Installed headers, and files of other projects.
FOREIGN = ("scela/", "infiniband/", "kernel/", "src/", "pmi2.h", "gssapi.h", "sysexits.h", "pmgr_collective_mpirun.c")
README_LINES = 18  # of a room's README.md
SCRIPT = re.compile(r"(?<![\w/.-])(?:\./)?(scripts/[\w-]+)")


def check_links(root):
    errors = []
    for path in tree.files(root, (".md",)):
        for target in LINK.findall(CODE.sub("", tree.read(root, path))):
            if re.match(r"[a-z]+:", target):
                continue  # another site: not ours to keep
            name, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(os.path.join(root, to)):
                errors.append(f"{path}: the link {target} leads nowhere")
            elif anchor and to.endswith(".md") and anchor not in check_coverage.sections_of(tree.read(root, to)):
                errors.append(f"{path}: {to} has no section {anchor}")
    return errors


def check_rooms(root):
    plan = tree.read(root, "docs/architecture.md")
    errors = [f"docs/architecture.md does not name {room}" for room in tree.arrows(root) if room not in plan]
    for room in sorted({room.split("/")[0] for room in tree.arrows(root)}):
        path = f"{room}/README.md"
        if not os.path.isfile(os.path.join(root, path)):
            errors.append(f"{path} is missing: it says what the room is, where to start, and what it may not know")
            continue
        text = tree.read(root, path)
        if len(text.splitlines()) > README_LINES:
            errors.append(f"{path} has more than {README_LINES} lines")
        errors += [f"{path} does not name its folder {folder}/" for folder in sorted(os.listdir(os.path.join(root, room)))
                   if os.path.isdir(os.path.join(root, room, folder)) and f"`{folder}/`" not in text]
    return errors


def check_scripts(root):
    errors = []
    for path in tree.files(root, (".md",)):
        for script in SCRIPT.findall(tree.read(root, path)):
            full = os.path.join(root, script)
            if not os.path.isfile(full):
                errors.append(f"{path}: there is no {script}")
            elif open(full, "rb").read(2) == b"#!" and not os.access(full, os.X_OK):
                errors.append(f"{path}: {script} is not executable")
    readme = tree.read(root, "README.md")
    errors += [f"README.md does not name {s}" for s in ("scripts/quickstart", "scripts/test") if s not in readme]
    if not re.search(r"^exec .*scripts/test", tree.read(root, ".ci/run"), re.M):
        errors.append(".ci/run does not call scripts/test")
    return errors


def check_comments(root):
    """A comment names a file by its path from the root, or one beside it by its name."""
    errors = []
    for path in tree.files(root, tree.SOURCE_SUFFIXES):
        for comment in COMMENT.findall(tree.read(root, path)):
            for name in SOURCE.findall(comment):
                near = os.path.join(os.path.dirname(path), name)
                if not name.startswith(FOREIGN) and not any(os.path.exists(os.path.join(root, each)) for each in (name, near)):
                    errors.append(f"{path}: a comment names {name}, which is neither a path from the root nor beside this file")
    return errors


# Tests of a notion that more than one part has.
OF_SEVERAL = ("collectives/algorithms/forms", "collectives/algorithms/hierarchical", "collectives/core/waits", "hca/core/pools",
              "nla/core/agent/adoption")


def check_units(root):
    """A unit test that has the name of a part of its room stands below tests/unit where the part stands below the root."""
    parts = {}
    for path in tree.files(root, (".h", ".cpp")):
        parts.setdefault((path.split("/")[0], os.path.splitext(os.path.basename(path))[0]), set()).add(os.path.dirname(path))
    errors = []
    for path in tree.files(os.path.join(root, "tests", "unit"), ("_test.cpp",)):
        folder, part = os.path.dirname(path), os.path.basename(path)[:-len("_test.cpp")]
        places = parts.get((folder.split("/")[0], part), {folder})
        if folder not in places and f"{folder}/{part}" not in OF_SEVERAL:
            errors.append(f"tests/unit/{path} belongs to tests/unit/{' or tests/unit/'.join(sorted(places))}, as {part} does")
    return errors


CHECKS = {"links": check_links, "rooms": check_rooms, "scripts": check_scripts, "comments": check_comments, "units": check_units}


def self_test():
    planted = {"README.md": "# A b\n[x](#a-b) [y](docs/a.md) `[c](code)` [z](docs/none.md) [w](#none)\nscripts/none\n",
               "cache/README.md": "x\n" * 19, "cache/core/a.h": "// Of a.h, core/a.h and cache/core/a.h.\n", "tests/unit/cache/a_test.cpp": "", "tests/unit/cache/core/a_test.cpp": "", "docs/a.md": "fine\n", "docs/architecture.md": "cache\n", ".ci/run": "true\n",
               "tests/style/arrows.json": '{"cache": [], "nla": []}'}
    expected = {"links": 2, "rooms": 4, "scripts": 4, "comments": 1, "units": 1}
    with tempfile.TemporaryDirectory() as root:
        for path, text in planted.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = {name: len(run(root)) for name, run in CHECKS.items()}
    return tree.finish([] if found == expected else [f"planted {expected}, found {found}"], "documents self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    sys.exit(tree.finish(CHECKS[sys.argv[2]](sys.argv[1]), sys.argv[2]))
