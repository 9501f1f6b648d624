#!/usr/bin/env python3
"""Random sequences of verbs against a model, by ranges of seeds, under sanitizers: as many as time allows.

  bench/verbs_model.py --results FILE [--build DIR] [--for SECONDS] [--seeds N] [--jobs N] [--range N] [--docs FILE]
  bench/verbs_model.py --render FILE [--docs FILE]

Goes on behind the last seed that FILE has, and adds to it what was run: seeds, time, commit, date, what was found. Each seed is
two sequences: one where the engine reaches all memory at once, one where it does not. --for: no range begins after so many
seconds; --seeds: not more than these. FILE is written after each round of --jobs ranges, so that a run may be ended at any time.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import contest
import launch_report
import measure
from contest import ROOT, say
from launch_report import table

FORMS = {"memory is reached at once": "hca model: random sequences of verbs do what the model says",
         "memory is not reached at once": "hca model: random sequences do the same where memory is not reached at once"}
TARGET = 1_000_000
RANGE_LIMIT_S = 3600


def run_range(program, form, first, seeds):
    """What was found, [{form, seed, text}]; a sequence that differs does not end the range, a sanitizer does."""
    found = []
    while seeds > 0:
        environment = {**os.environ, "SCELA_MODEL_FIRST": str(first), "SCELA_MODEL_SEQUENCES": str(seeds)}
        ended = subprocess.run([program, FORMS[form]], env=environment, capture_output=True, text=True, check=False,
                               timeout=RANGE_LIMIT_S)
        said = ended.stdout + ended.stderr
        if ended.returncode == 0:
            if "assertions in 1 test case" not in said:
                sys.exit(f"{program} has no test of that name, or it compares nothing: {FORMS[form]}\n{said[-2000:]}")
            return found
        seed = re.search(r"SCELA_MODEL_SEED=(\d+)", said)
        found.append({"form": form, "seed": int(seed.group(1)) if seed else None, "range": [first, seeds],
                      "text": said[-2000:]})
        say(f"found: {found[-1]}")
        if not seed:
            return found
        seeds -= int(seed.group(1)) + 1 - first
        first = int(seed.group(1)) + 1
    return found


def save(path, results):
    """Whole, or as it was. A link or a device, such as /dev/stdout, is written to: a rename would replace it for all programs."""
    if os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path)):
        contest.save(path, results, sort_keys=False)
        return
    contest.save(path + ".new", results, sort_keys=False)
    os.replace(path + ".new", path)


def run(options, results):
    program = os.path.abspath(os.path.join(ROOT, options.build, "tests", "unit", "hca", "hca_test"))
    if not os.path.exists(program):
        sys.exit(f"{program} is missing: cmake --preset asan -DSCELA_TESTS=ON && cmake --build --preset asan --target hca_test")
    first = 1 + max((one["first"] + one["seeds"] - 1 for one in results["runs"]), default=0)
    one = {"command": "bench/verbs_model.py " + " ".join(sys.argv[1:]), "date": measure.today(), **measure.commit(ROOT),
           "build": os.path.basename(options.build), "first": first, "seeds": 0, "seconds": 0.0, "findings": []}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        program = shutil.copy(program, folder)  # the tree may be built anew meanwhile
        while one["seeds"] < options.seeds and time.monotonic() < begun + options.seconds:
            ranges = range(first, min(first + options.jobs * options.range, one["first"] + options.seeds), options.range)
            end = min(first + options.jobs * options.range, one["first"] + options.seeds)
            orders = [(form, at, min(options.range, end - at)) for at in ranges for form in FORMS]
            for found in pool.map(lambda order: run_range(program, *order), orders):
                one["findings"] += found
            first = end
            one.update(seeds=first - one["first"], seconds=round(time.monotonic() - begun, 1))
            save(options.results, {**results, "runs": results["runs"] + [one]})
            say(f"seeds to {first - 1}, {one['seconds']:.0f} s, {len(one['findings'])} found")


def section(results):
    runs = results["runs"]
    sequences = sum(one["seeds"] for one in runs) * len(FORMS)
    findings = sum(len(one["findings"]) for one in runs)
    head = launch_report.stated(runs[-1]["command"], runs[-1], runs[-1]["date"], results["machine"])
    rows = [[f"{one['first']:,} to {one['first'] + one['seeds'] - 1:,}", f"{one['seeds'] * len(FORMS):,}",
             f"{one['seconds'] / 60:.0f}", one["build"], one["commit"] + (" (tree modified)" if one["modified"] else ""),
             one["date"], len(one["findings"])] for one in runs]
    notes = "".join(f"\nSeed {found['seed']}, where {found['form']}: {found.get('note', 'not explained yet')}\n"
                    for one in runs for found in one["findings"])
    return (head + "\nRandom sequences of verbs on the adapter's interpreter and on a model of it "
            "(tests/unit/hca/core/model_test.cpp): after each step states, errors, completions and their order, memory and events are "
            "compared. Each seed is two sequences: one where the engine reaches all memory at once, one where it does not. The "
            "tree `build-asan` has the address and undefined-behaviour sanitizers. A run continues after the last seed of the run "
            "before.\n\n" +
            table(["seeds", "sequences", "minutes", "tree", "commit", "date", "found"], rows) +
            f"\nSequences so far: {sequences:,} (target {TARGET:,}: {'met' if sequences >= TARGET else 'not yet met'}); "
            f"differences from the model and reports of sanitizers: {findings}.\n" + notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-asan", help="build tree (default: build-asan)")
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--seeds", type=int, default=TARGET // len(FORMS), help=f"(default: {TARGET // len(FORMS)})")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default: 1)")
    parser.add_argument("--range", type=int, default=500, help="seeds of a process (default: 500)")
    parser.add_argument("--results", help="add what was run to this JSON file")
    parser.add_argument("--render", help="run nothing: take the figures from this JSON file")
    parser.add_argument("--docs", help="write the section into this Markdown file, or into the page of this folder that has it")
    options = parser.parse_args()
    if not (options.results or options.render) or min(options.seeds, options.jobs, options.range) < 1:
        parser.error("name --results or --render, and at least one seed, job and seed of a range")
    path = options.render or options.results
    results = {"machine": measure.machine(), "runs": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            results = json.load(f)
    if not options.render:
        run(options, results)
        results = contest.load(path)
    launch_report.put_sections([("The software adapter against its model", section(results))], options.docs)


if __name__ == "__main__":
    main()
