#!/usr/bin/env python3
"""The man page and --help name the same long options, in both directions.

usage: check_man.py PROGRAM PAGE | check_man.py --render FOLDER | check_man.py --self-test
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import tree

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def options_of_help(text):
    """Options at the head of a line; what stands in prose is not a promise."""
    found = set()
    for line in text.splitlines():
        head = re.match(r"\s{1,8}((?:-\w(?:[ ,|/]+|\s+\S+[ ,|/]+))*--?[a-z].*)", line)
        if head:
            # The description starts after two spaces.
            found.update(OPTION.findall(re.split(r"\s{2,}", head.group(1))[0]))
    return found


def options_of_page(roff):
    """Options on the tag line after .TP (or of .It/.IP), fonts and escapes removed."""
    found, tag = set(), False
    for line in roff.splitlines():
        plain = re.sub(r"\\f(?:\[[^]]*\]|.)", "", line).replace("\\-", "-")
        if tag or re.match(r"\.(?:It|IP|TQ)\b", plain):
            found.update(OPTION.findall(plain))
        tag = bool(re.match(r"\.(?:TP|TQ)\b", plain))
    return found


def compare(help_text, roff):
    in_help, in_page = options_of_help(help_text), options_of_page(roff)
    errors = [f"{o}: in --help, not an entry of the man page" for o in sorted(in_help - in_page)]
    errors += [f"{o}: an entry of the man page, not in --help" for o in sorted(in_page - in_help)]
    if len(in_help) < 2:
        errors.append("--help lists no options that this check can see")
    return errors


def warnings_of(page):
    """What man says about a page when it has all its warnings on."""
    run = subprocess.run(["man", "--warnings=w", "-E", "UTF-8", "-l", page], capture_output=True, text=True,
                         check=False, env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat"})
    if run.returncode or run.stderr:
        return run.stderr or f"status {run.returncode}"
    return "" if "NAME" in run.stdout else "no NAME section"


def check_render(folder):
    pages = sorted(glob.glob(os.path.join(folder, "*.[1578]")))
    errors = [f"{page}: {text}" for page in pages for text in [warnings_of(page)] if text]
    return tree.finish(errors if pages else [f"no pages in {folder}"], f"rendering of {len(pages)} pages")


def self_test():
    text = "usage: p [options]\nGroup:\n  -n, --np N     ranks; see --nowhere\n  --only-help    x\n  -l, --label  y\n"
    page = ".SH OPTIONS\n.TP\n\\fB\\-n\\fR, \\fB\\-\\-np\\fR \\fIN\\fR\nranks\n.TP\n.B \\-\\-label\nsee \\-\\-x\n" \
           ".TP\n.BR \\-\\-only\\-page\n"
    found = [f.split(":")[0] for f in compare(text, page)]
    errors = [] if found == ["--only-help", "--only-page"] else [f"planted one in each direction, found {found}"]
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "bad.1")
        with open(bad, "w", encoding="utf-8") as f:
            f.write('.TH BAD 1 "" x y\n.SH NAME\nbad \\- x\n.NOSUCHMACRO\n')
        if not warnings_of(bad):
            errors.append("an unknown macro was not seen")
    return tree.finish(errors, "man page self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    if sys.argv[1] == "--render":
        sys.exit(check_render(sys.argv[2]))
    shown = subprocess.run([sys.argv[1], "--help"], capture_output=True, text=True, check=True).stdout
    with open(sys.argv[2], encoding="utf-8") as page_file:
        sys.exit(tree.finish(compare(shown, page_file.read()), "man page against --help"))
