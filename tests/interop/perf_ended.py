#!/usr/bin/env python3
"""Ends scela-perf by a signal while it compiles a contestant: neither its directory nor the compiler is left.

usage: perf_ended.py SCELA_PERF

The "compiler" is a script that says when it runs, as a child of a shell, and would run for long.
"""
import os
import select
import signal
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bin", "tmp"):
            os.mkdir(os.path.join(folder, name))
        compiler = os.path.join(folder, "bin", "mpicxx.mpich")
        started = os.path.join(folder, "started")
        os.mkfifo(started)
        with open(compiler, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nsh -c \'echo $$ > "{started}"; exec sleep 1000\'\necho survived\n')
        os.chmod(compiler, 0o755)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            environment = dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"], TMPDIR=os.path.join(folder, "tmp"))
            perf = subprocess.Popen([sys.argv[1], "latency", "--vs", "mpich"], env=environment, start_new_session=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with open(started, encoding="ascii") as f:
                inner = os.pidfd_open(int(f.read()))
            perf.send_signal(number)
            status = perf.wait(60)
            if status != -number:
                sys.exit(f"{signal.Signals(number).name}: it ended with {status}")
            if not select.select([inner], [], [], 60)[0]:
                sys.exit(f"{signal.Signals(number).name}: its compiler's child is left")
            os.close(inner)
            left = os.listdir(os.path.join(folder, "tmp"))
            if left:
                sys.exit(f"{signal.Signals(number).name}: left behind: {left}")
    print("scela-perf: nothing is left")


main()
