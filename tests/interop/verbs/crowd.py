#!/usr/bin/env python3
"""Debian's verbs programs, all of them in every mode, several pairs at once; all must end well.

usage: crowd.py LIBRARY ENGINE --pairs N [--between-nodes] [--infinitely SECONDS]

Each program in each mode is in one crowd of N pairs, whose programs differ. --between-nodes: the servers on one node,
the clients on another. --infinitely: one crowd of perftest's programs that go on for ever, which is cut then; each must
have moved something, and the adapter must serve others afterwards.
"""
import argparse
import contextlib
import signal
import time

import nodes
import verbs

PERFTEST = ["send_lat", "send_bw", "write_lat", "write_bw", "read_lat", "read_bw", "atomic_lat", "atomic_bw"]


def programs(gid):
    """Words of each program in each mode; `gid` says how ping-pongs and perftest are told to use GIDs."""
    for pingpong in ("rc", "uc", "ud", "srq", "xsrq"):
        for mode in ([], ["-e"]):
            yield [f"ibv_{pingpong}_pingpong", "-n", "100", *gid[0], *mode]
    for program in PERFTEST:
        for connection in ["RC", "XRC"] + (["UC", "UD"] if program.startswith("send") else []):
            yield [f"ib_{program}", "-F", "-n", "100", "-c", connection, *gid[1]]


def endless(gid):
    for program in ("send_bw", "write_bw", "read_bw", "atomic_bw"):
        for connection in ("RC", "XRC"):
            yield [f"ib_{program}", "-F", "--run_infinitely", "-D", "2", "-c", connection, *gid[1]]


class Crowd:
    def __init__(self, stack, options):
        if options.between_nodes:
            key = nodes.new_key()
            self.server, self.client = (
                stack.enter_context(nodes.Node(options.library, options.engine, nodes.record(n, 2, key))) for n in range(2))
            self.gid = (["-g", "0"], ["-x", "0"])
        else:
            self.server = self.client = stack.enter_context(verbs.Place(options.library, options.engine))
            self.gid = ([], [])

    def start(self, command):
        if self.server is self.client:
            return self.server.start_pair(command)
        return nodes.start(self.server, [self.client], command)

    def finish(self, command, pair):
        for place, name, program in zip((self.server, self.client), ("server", "client"), pair):
            status, output = place.finish(program)
            if status != 0:
                verbs.fail(f"the {name} of {' '.join(command)} ended with {status}:\n{output}")

    def run(self, commands):
        started = [(command, self.start(command)) for command in commands]
        for command, pair in started:
            self.finish(command, pair)


def moved(output):
    """Whether perftest has shown figures."""
    rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
    return any(len(row) >= 4 and float(row[3]) > 0 for row in rows)


def run_endless(crowd, pairs, seconds):
    commands = list(endless(crowd.gid))[:pairs]
    begun = time.monotonic()
    started = [(command, crowd.start(command)) for command in commands]
    time.sleep(max(0, begun + seconds - time.monotonic()))  # as long as they are to run
    for command, pair in started:
        verbs.wait_until(lambda p=pair: any(moved(verbs.output_of(one)) for one in p) or p[1].poll() is not None,
                         f"{' '.join(command)} shows figures")
        for program in pair:
            if program.poll() is not None:
                verbs.fail(f"{' '.join(command)} ended by itself with {program.returncode}:\n{verbs.output_of(program)}")
    for _, pair in started:
        for program in pair:
            program.send_signal(signal.SIGKILL)
            program.wait()
    crowd.run([["ibv_rc_pingpong", "-n", "100", *crowd.gid[0]]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("engine")
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--between-nodes", action="store_true")
    parser.add_argument("--infinitely", type=float)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        crowd = Crowd(stack, options)
        if options.infinitely is not None:
            return run_endless(crowd, options.pairs, options.infinitely)
        commands = list(programs(crowd.gid))
        # The last crowd is as large as the others: it begins again with the first programs.
        commands += commands[:-len(commands) % options.pairs]
        for first in range(0, len(commands), options.pairs):
            crowd.run(commands[first:first + options.pairs])


if __name__ == "__main__":
    main()
