#!/usr/bin/env python3
"""A program that tells the adapter its job (scela_hca_join), under a launcher that knows nothing of ScELA.

usage: check_launcher.py LIBRARY ENGINE [--jobs N] [--refused] -- LAUNCHER... PROGRAM WORDS...

N jobs run at the same time; all ranks of each must play with a rank of another node. --refused: the program ends
because it may not join any more. Engines begin with the programs, one for each job and node, and none is left.
"""
import argparse
import os
import re
import sys

import verbs

PLAYED = re.compile(r"rank (\d+) on node (\d+) of (\d+): \d+ messages there and back with rank (\d+)")


class Launched(verbs.Place):
    """Where nothing says where engines listen, nor which library is used: programs are linked to it."""

    def __init__(self, library, engine):
        super().__init__(library, engine)
        del self.environment["LD_PRELOAD"]
        self.environment["LD_LIBRARY_PATH"] = os.path.dirname(library)

    def sockets(self):
        return [os.path.join(folder, file) for folder, _, files in os.walk(self.folder) for file in files
                if file.startswith("socket")]


def check_played(output):
    found = {int(rank): (int(node), int(nodes), int(other)) for rank, node, nodes, other in PLAYED.findall(output)}
    if not found or sorted(found) != list(range(len(found))):
        verbs.fail(f"not all ranks have played:\n{output}")
    for rank, (node, nodes, other) in found.items():
        if nodes < 2 or found[other][2] != rank or found[other][0] == node:
            verbs.fail(f"rank {rank} has not played with another node:\n{output}")


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("engine")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--refused", action="store_true")
    options = parser.parse_args(sys.argv[1:at])
    with Launched(options.library, options.engine) as place:
        jobs = [place.start(sys.argv[at + 1:]) for _ in range(options.jobs)]
        for job in jobs:
            status, output = place.finish(job)
            if options.refused:
                if status == 0 or "cannot join: Device or resource busy" not in output:
                    verbs.fail(f"who has opened the device joined, or was not told: {status}\n{output}")
                continue
            if status != 0:
                verbs.fail(f"the job ended with status {status}:\n{output}")
            check_played(output)
        verbs.wait_until(lambda: not place.engines(), "the engines end with their programs")
        if place.sockets():
            verbs.fail(f"sockets are left: {place.sockets()}")


if __name__ == "__main__":
    main()
