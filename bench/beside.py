#!/usr/bin/env python3
"""MPICH's programs beside other work: scela-run and Hydra in turn, on a machine each of whose processors is busy already.

  bench/beside.py [--run SCELA-RUN] [--ranks N] [--spinners N] [--repeat N] [--rounds N]

The other work are as many spinning processes as there are processors, each in a session of its own, as jobs of other users
would be. The kernel shares processors out by sessions (sched_autogroup_enabled), so that it matters whether the ranks have
one each. Prints medians, spreads and the ratio.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import measure
from contest import ROOT

SPIN = ["sh", "-c", "while :; do :; done"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", default=os.path.join(ROOT, "build-release/bin/scela-run"))
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--spinners", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "beside")
        subprocess.run(["mpicc.mpich", "-O1", "-o", program, os.path.join(ROOT, "tests/interop/programs/mpi/beside_mpi.c")], check=True)
        words = ["-n", str(options.ranks), program, str(options.rounds)]
        contestants = {"scela-run": lambda: measure.run_ok([options.run, *words]),
                       "Hydra": lambda: measure.run_ok(["/usr/bin/mpiexec.hydra", *words])}
        spinners = [subprocess.Popen(SPIN, start_new_session=True) for _ in range(options.spinners)]
        try:
            results = measure.alternate(contestants, options.repeat)
        finally:
            for one in spinners:
                one.kill()
                one.wait()
    medians = {}
    for name, runs in results.items():
        made = measure.summary([run.seconds for run in runs])
        medians[name] = made["median"]
        print(f"{name}: {made}")
    print(f"{options.ranks} ranks beside {options.spinners} spinning processes: {medians['scela-run'] / medians['Hydra']:.2f} of Hydra's time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
