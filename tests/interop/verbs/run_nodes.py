#!/usr/bin/env python3
"""Runs a verbs program that knows nothing of ScELA between nodes; all must end well.

usage: run_nodes.py LIBRARY ENGINE [--clients N] [--by-lid] [--encrypt] [--kill-engine | --other-key] -- COMMAND...

Each client is on a node of its own. --by-lid: each engine is told beforehand where the others listen.
--encrypt: the clients' nodes ask for encryption, the server's does not.
--kill-engine: the server's engine is killed while they work. --other-key: the clients' engines have
another key. With either, the clients' requests must end with their retries over.
"""
import argparse
import contextlib
import signal
import sys

import nodes
import verbs


def start_nodes(stack, options):
    count = 1 + options.clients
    keys = [nodes.new_key()] * count
    ports = [0] * count
    more = []
    if options.other_key:
        keys[1:] = [nodes.new_key()] * options.clients
    if options.by_lid:
        ports = [verbs.free_port() for _ in range(count)]
        more = [f"peer {n} 127.0.0.1:{port}" for n, port in enumerate(ports)]
    started = []
    for i in range(count):
        wishes = ["encrypt yes"] if options.encrypt and i > 0 else []
        record = nodes.record(i, count, keys[i], listen=f"127.0.0.1:{ports[i]}", more=more + wishes)
        started.append(stack.enter_context(nodes.Node(options.library, options.engine, record)))
    return started


def check_ways(server, clients, encrypt):
    for node in clients:
        found = node.status()
        if found["of these encrypted"] != ("1" if encrypt else "0"):
            verbs.fail(f"the connection is encrypted, or not, unasked: {found}")
        if found["nodes connected"] != "1" or int(found["frames sent"]) == 0:
            verbs.fail(f"nothing went between the nodes: {found}")
    for node in [server] + clients:
        found = node.status()
        if found["nodes lost"] != "0" or found["connections refused"] != "0" or found["frame bytes waiting"] != "0":
            verbs.fail(f"connections were lost, or frames stayed: {found}")


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("engine")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--by-lid", action="store_true")
    parser.add_argument("--encrypt", action="store_true")
    parser.add_argument("--kill-engine", action="store_true")
    parser.add_argument("--other-key", action="store_true")
    options = parser.parse_args(sys.argv[1:at])
    fails = options.kill_engine or options.other_key
    if options.other_key:
        # The program shows its first completion only. A strict engine may flush its receives before its send fails.
        nodes.Node.strict = "0"
    with contextlib.ExitStack() as stack:
        server, *clients = start_nodes(stack, options)
        for node in [server] + clients:
            node.complaints = fails
        serving, *asking = nodes.start(server, clients, sys.argv[at + 1:])
        if options.kill_engine:
            verbs.wait_until(lambda: int(clients[0].status()["frames received"]) > 1000, "the engines speak")
            server.end_engine(signal.SIGKILL)
        for node, program in zip(clients, asking):
            status, output = node.finish(program)
            if (status == 0) == fails or status < 0:
                verbs.fail(f"a client ended with status {status}:\n{output}")
            if fails and not any(word in output.lower() for word in ("retry", "status 12", "syndrom 0x81")):
                verbs.fail(f"a client did not see that its retries are over:\n{output}")
        if options.other_key:
            for node in clients:
                if node.status()["nodes connected"] != "0" or "key" not in node.engine_said():
                    verbs.fail(f"who does not know the key was spoken to, or not named: {node.engine_said()}")
            return
        status, output = server.finish(serving)
        if status < 0 or (status == 0) == fails:
            verbs.fail(f"the server ended with status {status}:\n{output}")
        if not fails:
            check_ways(server, clients, options.encrypt)


if __name__ == "__main__":
    main()
