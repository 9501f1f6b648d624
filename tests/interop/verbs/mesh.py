#!/usr/bin/env python3
"""Many processes on several nodes, each connected with all others, each sends to each.

usage: mesh.py LIBRARY ENGINE MESH [--mode xrc|rc] [--nodes N] [--processes N]

Says how many connections the engines count, and what they cost.
"""
import argparse
import contextlib
import json
import os
import subprocess
import threading

import nodes
import verbs


def told(program):
    """The lines of a process until it has told all."""
    found = []
    for line in program.stdout:
        if line == "told\n":
            return found
        found.append(line)
    verbs.fail(f"a process ended with {program.wait()} before it had told where it is")


def expect(program, word):
    line = program.stdout.readline()
    if line != f"{word}\n":
        end = "" if line else f", and ends with {program.wait()}"
        verbs.fail(f"a process says '{line.strip()}' instead of '{word}'{end}")


def status(node):
    ask = node.launched([node.engine, "--status", "--json", "--socket", node.socket])
    return json.loads(subprocess.run(ask, check=True, timeout=60, capture_output=True, text=True).stdout)


def memory_of(pid):
    """KiB that a process has for itself, and shares in equal parts."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def run(library, engine, program, mode, node_count, processes):
    """What the engines count when everybody has sent to everybody."""
    key = nodes.new_key()
    with contextlib.ExitStack() as stack:
        places = [stack.enter_context(nodes.Node(library, engine, nodes.record(n, node_count, key)))
                  for n in range(node_count)]
        started = []
        for rank in range(processes):
            place = places[rank % node_count]
            started.append(subprocess.Popen(
                place.launched([program, mode, str(rank), str(processes), str(node_count),
                                os.path.join(place.folder, "domain")]),
                env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            place.programs.append(started[-1])
        # Nobody waits for what is not there for ever.
        limit = threading.Timer(verbs.TIME_LIMIT_S * 2, lambda: [p.kill() for p in started])
        limit.start()
        stack.callback(limit.cancel)
        everything = "".join(line for p in started for line in told(p)) + "told\n"
        for process in started:
            process.stdin.write(everything)
            process.stdin.flush()
        for word in ("connected", "done"):
            for process in started:
                expect(process, word)
            if word == "connected":
                for process in started:
                    process.stdin.write("\n")
                    process.stdin.flush()
        found = [status(place) for place in places]
        memory = [memory_of(place.process.pid) for place in places]
        for process in started:
            process.stdin.write("\n")
            process.stdin.flush()
        for process in started:
            if process.wait() != 0:
                verbs.fail(f"a process ended with {process.returncode}")
    return judged(found, memory, mode, node_count, processes)


def judged(found, memory, mode, node_count, processes):
    counted = {key: sum(one["node"]["queue_pairs"][key] for one in found) for key in ("rc", "xrc_send", "xrc_recv", "bytes")}
    sent = sum(one["node"]["requests"]["executed"] for one in found)
    if sent != processes * (processes - 1):
        verbs.fail(f"{sent} requests were executed, not {processes * (processes - 1)}")
    wanted = {"rc": {"rc": processes * (processes - 1), "xrc_send": 0, "xrc_recv": 0},
              "xrc": {"rc": 0, "xrc_send": processes * node_count, "xrc_recv": processes * node_count}}[mode]
    if any(counted[key] != count for key, count in wanted.items()):
        verbs.fail(f"{counted} queue pairs, not {wanted}")
    connections = processes * node_count if mode == "xrc" else processes * (processes - 1) // 2
    links = sum(int(one["fabric"]["nodes connected"]) for one in found) // 2
    if links != node_count * (node_count - 1) // 2:
        verbs.fail(f"the nodes have {links} connections among them")
    return {"mode": mode, "nodes": node_count, "processes": processes, "connections": connections,
            "queue_pairs": counted["rc"] + counted["xrc_send"] + counted["xrc_recv"],
            "counted": sum(one["node"]["connections"]["all"] for one in found),
            "bytes": counted["bytes"],
            "srq_bytes": sum(one["node"]["shared_receive_queues"]["bytes"] for one in found),
            "shared_bytes": sum(one["node"]["shared_bytes"] for one in found),
            "engine_kib": sum(memory), "links": links}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("engine")
    parser.add_argument("mesh")
    parser.add_argument("--mode", choices=["xrc", "rc"], default="xrc")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--processes", type=int, default=64)
    options = parser.parse_args()
    print(json.dumps(run(options.library, options.engine, options.mesh, options.mode, options.nodes, options.processes)))


if __name__ == "__main__":
    main()
