#!/usr/bin/env python3
"""shellcheck over every shell script of the tree.

usage: check_shell.py ROOT
"""
import os
import subprocess
import sys

import tree


def is_shell(root, path):
    with open(os.path.join(root, path), "rb") as f:
        first = f.readline(80)
    return first.startswith(b"#!") and (b"sh\n" in first or b"sh " in first)


root = os.path.abspath(sys.argv[1])
scripts = [p for p in tree.files(root) if p.endswith(".sh") or is_shell(root, p)]
run = subprocess.run(["shellcheck", "-x", *scripts], cwd=root, capture_output=True, text=True, check=False)
sys.exit(tree.finish([run.stdout + run.stderr] if run.returncode else [], f"shellcheck of {len(scripts)} scripts"))
