#!/usr/bin/env python3
"""What the documents tell to type, to compile and run examples/verbs_pmi.c, is typed as it stands there.

usage: check_lines.py ROOT BUILD

In a folder that looks like the source tree with build-release in it. Lines that need a cluster (srun), or mpirun's
leave to run as root, are not typed: tests/cluster/test_slurm.py and check_launcher.py run those programs.
"""
import os
import re
import subprocess
import sys
import tempfile

import verbs
from check_launcher import check_played

TYPED = re.compile(r"(B=|gcc |build-release/bin/scela-run .*verbs_pmi|mpiexec\.hydra )")
SOURCES = ("examples/verbs_pmi.c", "docs/guide/run-verbs-programs.md")


def lines_of(text):
    """Each as a shell sees it: those that end with a backslash go on in the next."""
    lines = [re.sub(r"^(?: \* | \*$|    (?:\$ )?)", "", line).strip() for line in text.splitlines()]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [line for line in whole if TYPED.match(line)]


def check(source, root, build):
    with open(os.path.join(root, source), encoding="utf-8") as f:
        typed = lines_of(f.read())
    kinds = {line.split()[0].partition("=")[0] for line in typed}
    if not kinds >= {"gcc", "build-release/bin/scela-run"}:
        verbs.fail(f"{source} does not say how to compile and run an example: {typed}")
    with tempfile.TemporaryDirectory(prefix="verbs.") as folder:
        for name in ("examples", "hca", "pmi"):
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
        os.symlink(build, os.path.join(folder, "build-release"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SCELA_", "LD_"))}
        environment.update(TMPDIR=folder, LC_ALL="C")
        given = ""  # variables hold for the lines after them
        for line in typed:
            if line.startswith("B="):
                given = line + "; "
                continue
            run = subprocess.run(["bash", "-c", given + line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                 timeout=verbs.TIME_LIMIT_S)
            if run.returncode != 0:
                verbs.fail(f"{source}: '{line}' ended with {run.returncode}:\n{run.stdout}")
            if not line.startswith("gcc"):
                check_played(run.stdout)


if __name__ == "__main__":
    for one in SOURCES:
        check(one, *map(os.path.abspath, sys.argv[1:3]))
