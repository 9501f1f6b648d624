#!/usr/bin/env python3
"""Measures the MPI of examples/mpi beside libscela, which it calls, and beside MPICH: two ranks on a node, in alternating runs.

usage: layer.py BUILD [--turns N]

All three run the loops of scela-perf. The two MPIs compile perf/mpi_peer.cpp. A figure is the median of the runs' medians, and behind it
the least of all samples, which other load on the machine disturbs less. The ratios are the layer's figures over the others'.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDES = [f"-I{ROOT}", f"-I{ROOT}/comm-channel/include", f"-I{ROOT}/collectives/include"]
# What is measured: the benchmark, its sizes in bytes, and its operation.
SUITE = (("latency", "8,65536,1048576", "-"), ("coll", "8,1048576", "allreduce"))


def compile_peers(build, folder):
    """Compiles perf/mpi_peer.cpp with the layer, and with MPICH."""
    peer = [str(ROOT / "perf" / "mpi_peer.cpp"), "-std=c++20", "-O2", "-DNDEBUG"]
    layer = [str(path) for path in sorted((ROOT / "examples" / "mpi").glob("*.cpp"))]
    subprocess.run(["c++", *peer, *layer, '-DSCELA_PERF_PROVIDER="layer"', f"-I{ROOT}/examples/mpi", *INCLUDES,
                    f"-L{build}/lib", "-lscela", f"-Wl,-rpath,{build}/lib", "-o", f"{folder}/layer"], check=True)
    subprocess.run(["mpicxx.mpich", *peer, '-DSCELA_PERF_PROVIDER="mpich"', *INCLUDES, "-o", f"{folder}/mpich"], check=True)


def run_once(command, suite):
    """Returns the samples of each size in microseconds: half of a round trip, or a blocking operation."""
    bench, sizes, operation = suite
    words = ["--rank", bench, sizes, "21", "0.02", "64", "pin", "-", "0", "0", operation, "-", "polled", "1", "-"]
    output = subprocess.run([*command, *words], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {(row["op"], row["bytes"]): row["values"].get("blocking_us", row["us"]) for row in rows}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    run = [str(options.build / "bin" / "scela-run"), "-n", "2", "--pmi", "fd", "--bind-to", "none"]
    with tempfile.TemporaryDirectory() as folder:
        compile_peers(options.build, folder)
        contestants = {"layer": [*run, f"{folder}/layer"], "libscela": [*run, str(options.build / "bin" / "scela-perf")],
                       "mpich": ["mpiexec.hydra", "-n", "2", f"{folder}/mpich"]}
        found = {name: {} for name in contestants}
        for _ in range(options.turns):
            for name, command in contestants.items():
                for suite in SUITE:
                    for row, figure in run_once(command, suite).items():
                        found[name].setdefault(row, []).append(figure)
    print("| what | bytes | layer_us | libscela_us | mpich_us | layer/libscela | layer/mpich |\n|---|---|---|---|---|---|---|")
    for row in found["layer"]:
        medians = [statistics.median(map(statistics.median, found[name][row])) for name in contestants]
        least = [min(map(min, found[name][row])) for name in contestants]
        figures = [f"{median:.3g} ({low:.3g})" for median, low in zip(medians, least)]
        ratios = [f"{medians[0] / medians[i]:.2f} ({least[0] / least[i]:.2f})" for i in (1, 2)]
        print("| " + " | ".join([row[0], str(row[1]), *figures, *ratios]) + " |")


if __name__ == "__main__":
    main()
