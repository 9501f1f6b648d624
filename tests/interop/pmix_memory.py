"""Jobs whose PMIx server gets less memory than it needs, at every moment: none may hang.

usage: pmix_memory.py SCELA_RUN SCELA_NLA SCELA_PMIX PROGRAM

A script in the place of scela-pmix limits its address space, from what its start takes to what the job takes. A job must end well, or
name the server and its memory.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 40
STEP_KIB = 1024
NAMED = re.compile(r"PMIx server|[Cc]annot allocate|no memory|bad_alloc")


def run(folder, scela_run, program, limit_kib):
    with open(os.path.join(folder, "limit"), "w", encoding="ascii") as f:
        f.write(f"{limit_kib}\n")
    words = [scela_run, "--pmi", "pmix", "-n", "4", program]
    env = {**os.environ, "SCELA_AGENT": os.path.join(folder, "scela-nla")}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        try:
            _, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            _, err = process.communicate()
            return None, f"it is not over after {LIMIT_S} s\n{err}"
        return process.returncode, err


def main():
    scela_run, agent, server, program = sys.argv[1:]
    ended = {"well": 0, "named": 0}
    with tempfile.TemporaryDirectory(prefix="pmix-memory-") as folder:
        shutil.copy(agent, folder)
        script = os.path.join(folder, "scela-pmix")
        with open(script, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nread kib <{folder}/limit\nulimit -v "$kib"\nexec {server} "$@"\n')
        os.chmod(script, 0o755)
        limit, well = STEP_KIB, 0
        while well < 5:
            status, err = run(folder, scela_run, program, limit)
            if status != 0 and (status is None or not NAMED.search(err)):
                sys.exit(f"with {limit} KiB: status {status}\n{err}")
            well = well + 1 if status == 0 else 0
            ended["well" if status == 0 else "named"] += 1
            # Twice as fast until it begins to work, so that most limits are met while clients connect.
            limit += STEP_KIB * 8 if "libpmix" not in err and status != 0 else STEP_KIB
    print(f"PMIx server with little memory: {ended['named']} jobs named it, {ended['well']} ended well")


main()
