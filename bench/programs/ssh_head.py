"""Runs commands on the head of simulated hosts and times them there, for bench/ssh_hosts.py.

A line of JSON on standard input, {"argv", "timeout", "output"}, is answered by one: measure.Run's fields, and the CPU
seconds that this process itself took; or {"error"}. Ends with its input. What is timed starts with posix_spawn from a
process that is already there, not with the making of one in other namespaces.
"""
import json
import os
import sys
import time

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
import measure  # noqa: E402 pylint: disable=wrong-import-position


def main():
    for line in sys.stdin:
        request = json.loads(line)
        before = time.process_time()
        try:
            answer = measure.run(request["argv"], request["timeout"], output=request["output"])._asdict()
            answer["own_seconds"] = time.process_time() - before
        except (OSError, measure.Failed) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
