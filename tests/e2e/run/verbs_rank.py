"""What a rank of test_adapter.py runs: programs of two ends, one after the other, with the adapter preloaded.

    verbs_rank.py PORT COMMAND... [--- COMMAND...]

Rank 0 is the server of each, rank 1 the client, once the server listens; $ROLE makes it one of the two. "?COMMAND" may
fail: it says whether it has. With $TELL the test hears of each start.
"""
import os
import re
import subprocess
import sys


def listens(port):
    wanted = re.compile(rf"\s*\d+: [0-9A-F]+:{port:04X} [0-9A-F]+:0000 0A ")
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as f:
            if any(wanted.match(line) for line in f):
                return True
    return False


def programs(words):
    while words:
        end = words.index("---") if "---" in words else len(words)
        yield words[:end]
        words = words[end + 1:]


def main():
    port, *words = sys.argv[1:]
    rank = os.environ["SCELA_RANK"]
    environment = {**os.environ, "LD_PRELOAD": os.environ["ADAPTER"]}
    for command in programs(words):
        may_fail = command[0].startswith("?")
        command = [command[0].lstrip("?"), *command[1:], "-p", port]
        server = os.environ.get("ROLE", "server" if rank == "0" else "client") == "server"
        while not server and not listens(int(port)):
            pass
        program = subprocess.Popen(command + ([] if server else ["127.0.0.1"]), env=environment)
        if "TELL" in os.environ:
            with open(os.environ["E2E_READY"], "w", encoding="ascii") as f:
                f.write(f"{rank} {program.pid}\n")
        status = program.wait()
        if may_fail:
            print("failed" if status else "worked", flush=True)
        elif status:
            sys.exit(f"{command[0]} ended with {status}")


main()
