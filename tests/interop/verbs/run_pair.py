#!/usr/bin/env python3
"""Runs a server and clients of a verbs program that knows nothing of ScELA; all must end well.

usage: run_pair.py LIBRARY ENGINE [--clients N] [--kill-engine] [--faults WORDS] [--lenient] -- COMMAND...

--kill-engine: the engine is killed while they work; all must end by themselves, and say that they failed.
--faults: what the engine does wrong (SCELA_HCA_FAULTS); if it dies of it, as if it were killed.
--lenient: completions come at once. perftest's send programs by events look once for the completion of a send when
its answer has come, and then count on its place in the queue.
"""
import argparse
import os
import signal
import sys

import verbs


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("engine")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--kill-engine", action="store_true")
    parser.add_argument("--faults", default="")
    parser.add_argument("--lenient", action="store_true")
    options = parser.parse_args(sys.argv[1:at])
    with verbs.Place(options.library, options.engine) as place:
        if options.lenient:
            place.environment["SCELA_HCA_STRICT"] = "0"
        if options.faults:
            place.environment["SCELA_HCA_FAULTS"] = options.faults
        dies = "dies-after" in options.faults
        if dies:
            place.expected = "scela-hca: ends as if killed, as SCELA_HCA_FAULTS (dies-after) says\n"
        fails = options.kill_engine or dies
        programs = place.start_pair(sys.argv[at + 1:], options.clients)
        if options.kill_engine:
            # An engine that has used so much time has carried many messages.
            verbs.wait_until(lambda: any((verbs.processor_ticks(e) or 0) >= 10 for e in place.engines()),
                             "the engine works")
            for engine in place.engines():
                os.kill(engine, signal.SIGKILL)
        for name, program in zip(["server"] + ["client"] * options.clients, programs):
            status, output = place.finish(program)
            if (status == 0) == fails or status < 0:
                verbs.fail(f"the {name} ended with status {status}:\n{output}")


if __name__ == "__main__":
    main()
