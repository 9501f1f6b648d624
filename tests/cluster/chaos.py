#!/usr/bin/env python3
"""Rounds of chaos: jobs on simulated hosts, each with a victim to which something is done at some moment, and what
docs/faults.md promises held against what happens.

usage: chaos.py [--rounds N] [--seed S] [--only VICTIM[:FAULT]] [--hosts N] [--logs DIRECTORY] [--table FILE] [--verbose]

Round number i has the seed S + i: chaos_plan.py draws everything from it, chaos_job.py plays it, chaos_judge.py judges. A
failure is printed with the command that repeats it; --logs keeps what such a round has said. --table adds a line of JSON for
each round to a file, of which `chaos.py --show FILE...` makes a table. Programs come from SCELA_RUN, SCELA_PROGRAMS and
SCELA_ADAPTER, else from build-release. Needs root.
"""
import argparse
import json
import os
import statistics
import sys

import chaos_faults
import chaos_job
import chaos_judge
import chaos_plan
import cluster

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPTIONS = {"kex": "curve25519-sha256", "own_processes": False}
MAX_HOSTS = 8


def places():
    build = f"{SOURCE}/build-release"
    return chaos_job.Places(os.environ.get("SCELA_RUN", f"{build}/bin/scela-run"),
                            os.environ.get("SCELA_PROGRAMS", f"{build}/tests/interop/bin"),
                            os.environ.get("SCELA_ADAPTER", f"{build}/lib/libscela-ibverbs.so.1"))


def play(hosts, where, seed, only=None):
    """The round of this seed on a cluster that is up: the round, what happened, what is wrong with it."""
    return play_round(hosts, where, chaos_plan.draw(seed, len(hosts.hosts), only))


def play_round(hosts, where, round_):
    outcome = chaos_job.Play(hosts, where, round_).run()
    return round_, outcome, chaos_judge.complaints(round_, outcome)


def told(round_, outcome, wrong, only=None):
    """What a person reads of a round that failed."""
    again = f"tests/cluster/chaos.py --rounds 1 --seed {round_.seed}" + (f" --only {only}" if only else "")
    return (f"chaos: seed {round_.seed}: {'; '.join(wrong)}\n  again: {again}\n  round: {round_.text()}\n"
            f"  host {outcome.host}, rank {outcome.rank}, struck {outcome.struck}, status {outcome.status}, "
            f"{len(outcome.out)} lines, {outcome.to_end_s:.2f} s to the end\n  tree: {outcome.tree.parent}\n"
            f"  standard error:\n{outcome.err}")


def record(path, round_, outcome, wrong):
    with open(path, "a", encoding="utf-8") as f:
        json.dump({"name": round_.name(), "struck": outcome.struck, "status": outcome.status, "seconds": outcome.to_end_s,
                   "left": outcome.left_s, "wrong": wrong, "seed": round_.seed}, f)
        f.write("\n")


def keep(folder, round_, outcome, text):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{round_.seed}.txt", "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text + "\nstandard output:\n" + "".join(outcome.out))


def show(paths):
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for each in map(json.loads, f):
                rows.setdefault(each["name"], []).append(each)
    print("| victim: fault | rounds | fault came in time | as documented | status 0 | median s to the end | worst s "
          "| worst s until nothing was left |\n|---|---|---|---|---|---|---|---|")
    for name, all_ in sorted(rows.items()):
        struck = [each for each in all_ if each["struck"]]
        seconds = [each["seconds"] for each in struck] or [0.0]
        print(f"| {name.replace(':', ': ')} | {len(all_)} | {len(struck)} | {sum(not each['wrong'] for each in all_)} "
              f"| {sum(each['status'] == 0 for each in struck)} | {statistics.median(seconds):.2f} | {max(seconds):.2f} "
              f"| {max(each['left'] for each in all_):.2f} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--hosts", type=int, default=MAX_HOSTS)
    parser.add_argument("--logs")
    parser.add_argument("--table")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--show", nargs="+")
    options = parser.parse_args()
    if options.show:
        return show(options.show)
    chaos_faults.clear_groups()
    failed = 0
    with cluster.Cluster(options.hosts, **OPTIONS) as hosts:
        for seed in range(options.seed, options.seed + options.rounds):
            round_, outcome, wrong = play(hosts, places(), seed, options.only)
            text = told(round_, outcome, wrong, options.only)
            if options.verbose or wrong:
                print(text, flush=True)
            if wrong and options.logs:
                keep(options.logs, round_, outcome, text)
            if options.table:
                record(options.table, round_, outcome, wrong)
            failed += bool(wrong)
    print(f"chaos: {options.rounds} rounds, {failed} not as documented")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
