#!/usr/bin/env python3
"""Ranks of the channel on the kernel's soft-RoCE, in an emulated machine: RC with shared receive queues, by the
system's libibverbs and a provider that others wrote, which the channel finds by itself.

usage: test_channel.py run KERNEL WORK LIBRARY PROGRAM...   boots the machine once; WORK/console
       test_channel.py part WORK NAME                       that part has ended as it must
       test_channel.py self-test                            wrong ends are seen

LIBRARY is libscela-verbs-tasks, which is loaded by name; PROGRAMs are scela-run, scela-nla and channel_probe.
"""
import os
import re
import shutil
import sys

import kernel
import machine

SECONDS = 480  # the machine needs about 120 where nothing else runs

BETWEEN = "scela-run --timeout 120 --sim-nodes {0} --ppn {1} {2} "


def part(nodes, of_each, words, said, status=0, options=""):
    return BETWEEN.format(nodes, of_each, options) + words, said, status


DEVICE = r"other nodes: rxe0 of libibverbs\.so\.1: RC with a shared receive queue \(rxe0 does not support XRC\), 1 port, .*"
# Name: what runs, a line of what it must say, its exit status.
PARTS = {
    "described": part(2, 1, "channel_probe described", DEVICE),
    "all": part(2, 2, "channel_probe all", "channel: all, 4 ranks on 2 nodes"),
    "verbs-alone": part(1, 2, "channel_probe all", "channel: all, 2 ranks on 1 nodes",
                        options="--env SCELA_CHANNEL_TRANSPORT=verbs"),
    "ring": part(2, 1, "channel_probe ring", "channel: ring, 2 ranks on 2 nodes"),
    "threads": part(2, 1, "channel_probe threads", "channel: threads, 2 ranks on 2 nodes"),
    "limits": part(2, 1, "channel_probe limits", "channel: limits, 2 ranks on 2 nodes"),
    "links": part(3, 1, "channel_probe links", "channel: links, 3 ranks on 3 nodes"),
    "killed": part(3, 1, "channel_probe killed", "channel: killed, 3 ranks on 3 nodes", 137, "--on-failure wait"),
}


def run(kernel_folder, work, library, *programs):
    kernel.prepare(kernel_folder)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    commands = [(name, command) for name, (command, _, _) in PARTS.items()]
    # Where dlopen looks.
    extra = [(library, os.path.join("lib/x86_64-linux-gnu", os.path.basename(library)))]
    initramfs = machine.build(kernel_folder, work, list(programs), commands, extra)
    machine.boot(kernel_folder, initramfs, os.path.join(work, "console"), SECONDS)
    shutil.rmtree(os.path.join(work, "root"))
    parts, complaints = read_parts(work)
    return complaints + [f"{name} did not run" for name in PARTS if name not in parts]


def read_parts(work):
    with open(os.path.join(work, "console"), encoding="utf-8", errors="replace") as f:
        return machine.parts_of(f.read())


def judge(parts, name):
    """What is wrong with how it ended."""
    _, said, right = PARTS[name]
    status, lines = parts.get(name, (None, []))
    wrong = [] if status == right else [f"{name}: status {status}, and not {right}"]
    if not any(re.fullmatch(said, line) for line in lines):
        wrong.append(f"{name}: nobody says '{said}'")
    return wrong + (lines[-12:] if wrong else [])


def part_is_right(work, name):
    return judge(read_parts(work)[0], name)


def self_test():
    line = "channel: all, 4 ranks on 2 nodes"
    wrong = judge({"all": (0, ["more", line])}, "all")
    for parts in ({}, {"all": (1, [line])}, {"all": (0, [])}, {"all": (0, [line + "s"])}):
        if not judge(parts, "all"):
            wrong.append(f"a wrong end is not seen: {parts}")
    return wrong


def main(words):
    modes = {"run": run, "part": part_is_right, "self-test": self_test}
    wrong = modes[words[0]](*words[1:])
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
