#!/usr/bin/env python3
"""No file names the place where it was written: the checkout's own folder, or a package registry's host.

usage: check_words.py ROOT | check_words.py --self-test
"""
import os
import re
import sys
import tempfile

import tree

REGISTRY = re.compile(r"//[a-z0-9.-]*(?:debian|npmjs|pypi|crates)\.")
# A checkout in one of these says nothing about anybody's machine.
ORDINARY = {"/", "/tmp", "/home", "/root", "/usr", "/usr/src", "/opt", "/srv", "/var", "/var/tmp", "/mnt"}


def check(root, parent):
    errors = []
    for path in tree.tracked(root):
        for number, line in enumerate(tree.read(root, path).splitlines(), 1):
            if parent not in ORDINARY and parent + "/" in line:
                errors.append(f"{path}:{number}: an absolute path of this machine")
            if REGISTRY.search(line):
                errors.append(f"{path}:{number}: the host of a package registry")
    return errors


def self_test():
    with tempfile.TemporaryDirectory() as root:
        with open(os.path.join(root, "a.txt"), "w", encoding="utf-8") as f:
            f.write("fine\nsee /some/where/else/x\nfrom http:/" + "/deb.debian.org/y\n")
        found = check(root, "/some/where")
    errors = [] if [f.split(":")[1] for f in found] == ["2", "3"] else [f"planted at lines 2 and 3, found {found}"]
    return tree.finish(errors, "words self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    top = os.path.abspath(sys.argv[1])
    sys.exit(tree.finish(check(top, os.path.dirname(top)), "words"))
