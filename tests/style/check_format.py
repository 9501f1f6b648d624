#!/usr/bin/env python3
"""Every C and C++ file is as clang-format lays it out (scripts/format does it), and no comment of C++ is longer than its lines:
clang-format leaves comments alone, because it would make running text of tables in them.

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
errors += ["mend: scripts/format"] if errors else []
MOST = 100  # .clang-format's ColumnLimit
for path in sources:
    for number, line in enumerate(tree.read(root, path).splitlines() if path.endswith((".h", ".cpp")) else [], 1):
        if len(line) > MOST and "//" in line and "https://" not in line and "NOLINT" not in line and '"' not in line:
            errors.append(f"{path}:{number}: a comment of {len(line)} characters, {MOST} at most")
sys.exit(tree.finish(errors, f"format of {len(sources)} files"))
