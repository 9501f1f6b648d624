#!/usr/bin/env python3
"""A simulated cluster for people.

usage: people.py shell N [OPTION...]   a shell on the head of a cluster of N hosts, which ends with it
       people.py up N [OPTION...]      holds a cluster until interrupted, and prints its number
       people.py exec NUMBER HOST COMMAND...
"""
import argparse
import os
import signal
import subprocess
import sys

import cluster
import kernel


def arguments():
    parser = argparse.ArgumentParser(description="Simulated hosts with a real sshd each.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, text in (("shell", "a shell on the head of a new cluster"), ("up", "hold a cluster until interrupted")):
        sub = verbs.add_parser(verb, help=text)
        sub.add_argument("count", type=int, metavar="N", help="hosts, without the head")
        sub.add_argument("--kex", help="the only key exchange that sshd takes")
        sub.add_argument("--sshd", action="append", default=[], metavar="LINE", help="a line of sshd_config")
        sub.add_argument("--delay", type=float, metavar="MS", help="of each node's cable, each way")
        sub.add_argument("--rate", type=float, metavar="MBIT", help="of each node's cable, each way")
    sub = verbs.add_parser("exec", help="a command on a host of a cluster that is up")
    sub.add_argument("number", type=int)
    sub.add_argument("host")
    sub.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def first_process(number, host):
    """Of the host, in the cluster that process number holds."""
    for holder in children(number):
        for pid in children(holder):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                if f.read().strip() == f"host:{host}":
                    return pid
    sys.exit(f"people.py: there is no host {host} in a cluster with the number {number}")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            return [int(word) for word in f.read().split()]
    except FileNotFoundError:
        sys.exit(f"people.py: there is no cluster with the number {pid}")


def run_in(number, host, command):
    first = os.pidfd_open(first_process(number, host))

    def enter():
        kernel.setns(first, cluster.ALL)
        return kernel.clone(kernel.CLONE_PARENT)

    with cluster.uninterrupted() as mask:
        process = cluster.spawn(command, enter, cwd="/root", mask=mask, new_session=False, env=environment())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return process.wait()


def environment():
    return cluster.environment({name: os.environ[name] for name in ("TERM",) if name in os.environ})


def hold(options):
    with cluster.Cluster(options.count, kex=options.kex, sshd=options.sshd) as hosts:
        if options.delay is not None:
            hosts.delay(options.delay)
        for host in hosts.hosts if options.rate is not None else ():
            hosts.rate(host, options.rate)
        if options.verb == "shell":
            print(f"hosts: {hosts.hosts[0]} to {hosts.hosts[-1]}; cluster {os.getpid()}", flush=True)
            return run_in(os.getpid(), "head", ["/bin/bash", "--norc"])
        print(f"cluster {os.getpid()}", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
        return 0


def main():
    options = arguments()
    if options.verb == "exec":
        return run_in(options.number, options.host, options.command or ["/bin/bash"])
    if options.verb == "up":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    return hold(options)


if __name__ == "__main__":
    try:
        status = main()
    except (cluster.ClusterError, subprocess.SubprocessError, OSError, ValueError) as error:
        sys.exit(f"people.py: {error}")
    sys.exit(status if status >= 0 else 128 - status)
