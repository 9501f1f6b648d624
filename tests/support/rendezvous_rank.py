#!/usr/bin/env python3
"""A rank that meets the others as torch.distributed does with init_method="env://", by plain sockets.

Rank 0 listens on MASTER_PORT, the others connect to MASTER_ADDR:MASTER_PORT, and all of them add up rank + 1 (allreduce).
Each rank then prints one line: its numbers, where it met the others, which start of the job this is, and the sum.

    rendezvous_rank.py [--hold-until START]    ranks of earlier starts tell the fifo $E2E_READY "RANK PROCESS", or print
                                               "held RANK PROCESS" without one, then wait
"""
import os
import select
import signal
import socket
import struct
import sys
import time

DEADLINE_S = 60


def connect(address, port):
    """Connects to rank 0, which may listen later than this rank starts; torch asks again and again too."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return socket.create_connection((address, port), timeout=DEADLINE_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            select.select([], [], [], 0.01)


def read(connection):
    """The number that the other end sends."""
    return struct.unpack("!Q", connection.recv(8, socket.MSG_WAITALL))[0]


def all_reduce(rank, size, address, port, value):
    """The sum of the values of all ranks."""
    if rank > 0:
        with connect(address, port) as master:
            master.sendall(struct.pack("!Q", value))
            return read(master)
    with socket.create_server(("", port), backlog=size) as server:
        others = [server.accept()[0] for _ in range(size - 1)]
    total = value + sum(read(other) for other in others)
    for other in others:
        other.sendall(struct.pack("!Q", total))
        other.close()
    return total


def main():
    get = os.environ.__getitem__
    rank, size, start = int(get("RANK")), int(get("WORLD_SIZE")), int(get("TORCHELASTIC_RESTART_COUNT"))
    total = all_reduce(rank, size, get("MASTER_ADDR"), int(get("MASTER_PORT")), rank + 1)
    print(f"rank {rank} of {size} local {get('LOCAL_RANK')} of {get('LOCAL_WORLD_SIZE')} node {get('NODE_RANK')} "
          f"{get('SCELA_NODE')} at {get('MASTER_ADDR')}:{get('MASTER_PORT')} start {start} sum {total}", flush=True)
    if sys.argv[1:2] == ["--hold-until"] and start < int(sys.argv[2]):
        fifo = os.environ.get("E2E_READY")
        if fifo:
            with open(fifo, "w", encoding="utf-8") as ready:
                ready.write(f"{rank} {os.getpid()}\n")
        else:
            print(f"held {rank} {os.getpid()}", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
