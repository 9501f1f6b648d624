#!/usr/bin/env python3
"""Every C and C++ file is as clang-format lays it out (scripts/format does it).

usage: check_format.py ROOT
"""
import os
import subprocess
import sys

import tree

root = os.path.abspath(sys.argv[1])
sources = tree.files(root, tree.SOURCE_SUFFIXES)
run = subprocess.run(["clang-format-14", "--dry-run", "-Werror", "-ferror-limit=1", *sources], cwd=root,
                     capture_output=True, text=True, check=False)
errors = [line for line in run.stderr.splitlines() if ": error:" in line]
if run.returncode and not errors:
    errors = [run.stderr]
sys.exit(tree.finish(errors + (["mend: scripts/format"] if errors else []), f"format of {len(sources)} files"))
