#!/usr/bin/env python3
"""A Catch2 program's tests, each in a process of its own, behind a launcher (unprivileged.c): all must pass.

usage: run_as.py [--with FILE]... [--without NAME]... [--engine FILE] -- LAUNCHER... -- PROGRAM

Runs copies of the program and of each FILE, in a folder of the launcher's user which is also LD_LIBRARY_PATH and TMPDIR;
nothing may be left there. --engine: SCELA_TEST_HCA is its copy. --without: a test that is not run; it must exist.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

NOBODY = 65534
TIME_LIMIT_S = 120


def fail(text):
    sys.exit(f"run_as.py: {text}")


def bring(file, folder):
    """A copy that other users may run."""
    copy = shutil.copy(file, folder)
    os.chmod(copy, 0o755)
    return copy


def names_of(program):
    said = subprocess.run([program, "--list-test-names-only"], capture_output=True, text=True, check=False).stdout
    return [line.strip() for line in said.splitlines() if line.strip()]


def run(command, environment):
    """Its output, if it did not pass."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        started = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = started.wait(TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            status = f"none within {TIME_LIMIT_S} s ({started.wait()})"
        output.seek(0)
        said = output.read()
    return "" if status == 0 and "All tests passed" in said else f"status {status}\n{said[-6000:]}"


def main():
    first = sys.argv.index("--")
    second = sys.argv.index("--", first + 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="files", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--engine")
    options = parser.parse_args(sys.argv[1:first])
    launcher, (program,) = sys.argv[first + 1:second], sys.argv[second + 1:]
    with tempfile.TemporaryDirectory(prefix="run-as.") as folder:
        work = os.path.join(folder, "work")
        os.mkdir(work)
        os.chmod(folder, 0o755)
        if os.geteuid() == 0:
            os.chown(work, NOBODY, NOBODY)
        program, launcher[0], *_ = [bring(file, folder) for file in (program, launcher[0], *options.files)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SCELA_", "VERBS_"))}
        environment.update(LD_LIBRARY_PATH=folder, TMPDIR=work, HOME=work)
        if options.engine:
            environment["SCELA_TEST_HCA"] = bring(options.engine, folder)
        names = names_of(program)
        if not names or set(options.without) - set(names):
            fail(f"no tests, or none of that name: {sorted(set(options.without) - set(names))}")
        wrong = []
        for name in names:
            if name in options.without:
                continue
            said = run([*launcher, program, name.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")], environment)
            if said:
                wrong.append(f"{name}: {said}")
            if os.listdir(work):
                wrong.append(f"{name} leaves {os.listdir(work)}")
                shutil.rmtree(work)
                os.mkdir(work)
                if os.geteuid() == 0:
                    os.chown(work, NOBODY, NOBODY)
        if wrong:
            fail(f"{len(wrong)} of {len(names)} are wrong\n" + "\n".join(wrong))
        print(f"{len(names) - len(options.without)} tests passed")


if __name__ == "__main__":
    main()
