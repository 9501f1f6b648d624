#!/usr/bin/env python3
"""Records what the ranks of a real program put: an aggregate of pairs, as fences carry it.

    pmi_pairs.py OUT-FILE COMMAND...    e.g. pmi_pairs.py pairs build/bin/scela-run --sim-nodes 16 -n 128 ./hello_mpi

Each rank's program is started behind a proxy (this file again) that passes its PMI-1 lines on and notes every put. The
file is in the form of cache/policy.h, append_pair: what bench/packing measures.
"""
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile

NOTES = "--notes"


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def proxy(folder, argv):
    agent = socket.socket(fileno=int(os.environ["PMI_FD"]))
    ours, theirs = socket.socketpair()
    with open(os.path.join(folder, os.environ["PMI_RANK"]), "wb", buffering=0) as notes:
        program = subprocess.Popen(argv, env=dict(os.environ, PMI_FD=str(theirs.fileno())), pass_fds=[theirs.fileno()])
        theirs.close()
        ends = selectors.DefaultSelector()
        ends.register(ours, selectors.EVENT_READ, agent)
        ends.register(agent, selectors.EVENT_READ, ours)
        while True:
            for ready, _ in ends.select():
                words = ready.fileobj.recv(65536)
                if not words:
                    return program.wait()
                if ready.fileobj is ours:
                    notes.write(words)
                ready.data.sendall(words)


def main():
    if sys.argv[1:2] == [NOTES]:
        sys.exit(proxy(sys.argv[2], sys.argv[3:]))
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    out, command = sys.argv[1], sys.argv[2:]
    program = next(i for i, word in enumerate(command) if i > 0 and shutil.which(word) and "/" in word)
    with tempfile.TemporaryDirectory() as notes:
        done = subprocess.run([*command[:program], sys.executable, os.path.abspath(__file__), NOTES, notes,
                               *command[program:]], stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            sys.exit(f"pmi_pairs: {' '.join(command)} ended with status {done.returncode}")
        pairs = []
        for rank in sorted(os.listdir(notes), key=int):
            with open(os.path.join(notes, rank), "rb") as said:
                pairs += re.findall(rb"^cmd=put kvsname=\S+ key=(\S+) value=(.*?) ?$", said.read(), re.M)
    with open(out, "wb") as file:
        for key, value in pairs:
            file.write(varint(len(key)) + key + varint(len(value)) + value)
    print(f"{len(pairs)} pairs, {os.path.getsize(out)} bytes")


main()
