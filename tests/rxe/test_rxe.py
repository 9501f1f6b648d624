#!/usr/bin/env python3
"""verbs-semantics, verbs-tasks and Debian's ping-pong programs on the kernel's soft-RoCE, in an emulated machine.

usage: test_rxe.py run KERNEL WORK SEMANTICS FAULTS TASKS   boots the machine once; WORK/console, WORK/semantics.txt
       test_rxe.py semantics WORK SEMANTICS    no case fails but the known deviations
       test_rxe.py ping-pongs WORK             all of them ran
       test_rxe.py tasks WORK TASKS            no case of tasks fails, with a thread that executes them
       test_rxe.py faults WORK                 a device with a fault does not pass
       test_rxe.py self-test                   wrong results are seen

semantics.txt has one line for each case, sorted: what other devices are compared with.
"""
import os
import re
import shutil
import subprocess
import sys

import deviations
import kernel
import machine

SECONDS = 400  # the machine needs about 50 where nothing else runs
PING_PONGS = ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong")
# Few iterations, by events: polling pairs cost a scheduler's slice each on one processor. The client
# comes again until the server listens.
PAIR = ("{0} -d rxe0 -g 1 -e -n 40 > /tmp/server 2>&1 & tries=0; "
        "until {0} -d rxe0 -g 1 -e -n 40 127.0.0.1 > /tmp/client 2>&1; do tries=$((tries + 1)); "
        "[ $tries -lt 50 ] || break; sleep 0.2; done; wait $!; status=$?; cat /tmp/server /tmp/client; exit $status")
# Faults of tests/verbs/faults.cpp, and the case that must see each.
FAULTS = {
    "flush-succeeds": "errors.flushed-in-order", "wrong-error": "protection.bad-rkey",
    "wrong-number": "transfers.shared-cq", "wrong-length": "transfers.rc-send",
    "plain-receive": "memory.write-with-immediate", "no-source": "datagrams.many-peers",
    "out-of-order": "accounting.completions-in-order", "always-signalled": "accounting.unsignalled-is-silent",
    "no-inline": "transfers.inline-unregistered", "no-immediate": "transfers.uc-immediate",
    "add-for-swap": "memory.compare-swap", "any-qkey": "datagrams.wrong-qkey",
    "pieces-reversed": "transfers.several-pieces", "never-refused": "accounting.queue-full",
    "wrong-bad": "posting.bad-in-list", "all-solicited": "events.solicited", "impatient": "errors.not-ready-waits",
    "any-step": "states.wrong-steps", "all-rights": "protection.region-denies-write",
    "wide-region": "protection.beyond-target", "never-busy": "objects.domain-in-use", "no-limit": "srq.query",
}


def commands():
    slow = deviations.NEVER_COMES
    yield "semantics", "verbs-semantics -d rxe0" + "".join(f" --skip {name}" for name in slow)
    yield "deviations", "verbs-semantics -d rxe0 --deadline 2" + "".join(f" --only {name}" for name in slow)
    yield "tasks", "VERBS_TASKS_THREADS=1 verbs-tasks -d rxe0 --deadline 40"
    yield "second-device", "verbs-semantics -d rxe1 --only 'transfers.*'"
    for program in PING_PONGS:
        yield program, PAIR.format(program)
    for fault, case in FAULTS.items():
        yield fault, f"FAULT={fault} LD_PRELOAD=/bin/verbs-faults.so verbs-semantics -d rxe0 --only {case}"


def read_parts(work):
    with open(os.path.join(work, "console"), encoding="utf-8", errors="replace") as f:
        return machine.parts_of(f.read())


def verdicts(lines):
    """Case to its line: 'ok', 'not ok: why' or 'skip: why'."""
    found = {}
    for line in lines:
        match = re.match(r"(ok|not ok|skip) ([a-z.-]+[a-z])(?:: (.*))?$", line)
        if match:
            found[match.group(2)] = match.group(1) + (": " + match.group(3) if match.group(3) else "")
    return found


def run(kernel_folder, work, semantics, faults, tasks):
    kernel.prepare(kernel_folder)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    programs = [semantics, faults, tasks, *(shutil.which(program) for program in PING_PONGS)]
    initramfs = machine.build(kernel_folder, work, programs, list(commands()))
    machine.boot(kernel_folder, initramfs, os.path.join(work, "console"), SECONDS)
    shutil.rmtree(os.path.join(work, "root"))
    parts, complaints = read_parts(work)
    complaints += [f"{name} did not run" for name, _ in commands() if name not in parts]
    found = verdicts(line for name in ("semantics", "deviations") for line in parts.get(name, (0, []))[1])
    with open(os.path.join(work, "semantics.txt"), "w", encoding="utf-8") as f:
        f.writelines(f"{name} {verdict}\n" for name, verdict in sorted(found.items()))
    return complaints


def judge(found, cases, known):
    """What is wrong with these verdicts."""
    wrong = [f"{name}: no verdict" for name in cases if name not in found]
    for name, verdict in sorted(found.items()):
        if verdict.startswith("not ok") and name not in known:
            wrong.append(f"{name} {verdict}")
        # Soft-RoCE lacks XRC and nothing else: any other skip would be a case that judges nothing.
        if verdict.startswith("skip") and verdict != "skip: device lacks XRC":
            wrong.append(f"{name} {verdict}")
    wrong += [f"{name}: a known deviation, but no case" for name in known if name not in cases]
    return wrong


def semantics_agree(work, semantics):
    with open(os.path.join(work, "semantics.txt"), encoding="utf-8") as f:
        found = dict(line.rstrip("\n").split(" ", 1) for line in f)
    cases = subprocess.run((semantics, "--list"), check=True, capture_output=True, text=True).stdout.split()
    known = {**deviations.FAILS, **deviations.NEVER_COMES}
    for name in sorted(known):
        if found.get(name) == "ok":
            print(f"note: {name} passes here; it is listed as a deviation: {known[name]}")
    passed = sum(verdict == "ok" for verdict in found.values())
    print(f"{passed} of {len(cases)} cases pass, {len(known)} deviations are known")
    status, lines = read_parts(work)[0]["second-device"]
    return judge(found, cases, known) + ([] if status == 0 else [f"on the second device: {lines}"])


def tasks_are_executed(work, tasks):
    cases = subprocess.run((tasks, "--list"), check=True, capture_output=True, text=True).stdout.split()
    found = verdicts(read_parts(work)[0].get("tasks", (None, []))[1])
    wrong = [f"{name}: {found.get(name, 'no verdict')}" for name in cases if found.get(name) != "ok"]
    return wrong if cases else ["there is no case"]


def ping_pongs_ran(work):
    parts, _ = read_parts(work)
    wrong = []
    for program in PING_PONGS:
        status, lines = parts.get(program, (None, []))
        ends = sum(bool(re.match(r"40 iters in [0-9.]+ seconds", line)) for line in lines)
        if status != 0 or ends != 2:
            wrong.append(f"{program}: status {status}, {ends} of 2 ends finished: {lines[-6:]}")
    return wrong


def faults_are_seen(work):
    parts, _ = read_parts(work)
    wrong = []
    for fault, case in FAULTS.items():
        verdict = verdicts(parts.get(fault, (None, []))[1]).get(case, "no verdict")
        if not verdict.startswith("not ok: ") or "nothing came" in verdict:
            wrong.append(f"{fault}: {case} says {verdict}")
    return wrong


def self_test():
    cases, known = ["a.x", "a.y", "a.z"], {"a.y": "reason"}
    fine = {"a.x": "ok", "a.y": "not ok: 3", "a.z": "skip: device lacks XRC"}
    seen = [judge(found, cases, known) for found in (
        {**fine, "a.x": "not ok: 4"}, {**fine, "a.x": "skip: too lazy"}, {"a.x": "ok", "a.y": "ok"})]
    wrong = [] if judge(fine, cases, known) == [] else ["good verdicts are called wrong"]
    wrong += [f"wrong verdicts were not seen: {number}" for number, found in enumerate(seen) if len(found) != 1]
    text = "boot@@\n\n@@ begin one\nok a.x\nnot ok a.y: b: c\n@@ end one 1\n@@ begin two\nhalf"
    parts, complaints = machine.parts_of(text)
    if parts != {"one": (1, ["ok a.x", "not ok a.y: b: c"])} or len(complaints) != 2:
        wrong.append(f"a console that broke off: {parts}, {complaints}")
    if verdicts(parts["one"][1]) != {"a.x": "ok", "a.y": "not ok: b: c"}:
        wrong.append("verdicts are read wrongly")
    return wrong


def main(words):
    modes = {"run": run, "semantics": semantics_agree, "ping-pongs": ping_pongs_ran, "faults": faults_are_seen,
             "tasks": tasks_are_executed, "self-test": self_test}
    wrong = modes[words[0]](*words[1:])
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
