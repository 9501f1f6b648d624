#!/usr/bin/env python3
"""Lets each verb that the channel calls fail, call by call, and judges how the job's ranks end.

usage: failures.py [--all] [--only REGEX] [--show] SCELA_RUN RANK_PROGRAM VERBS_LIBRARY xrc|rc

The job: two nodes of two ranks, all of which send each other messages of several sizes (rank.cpp). One rank has
failing_verbs.c for its adapter. The first job counts how often each function is called. In each further one a call fails, the
first, the second, one in the middle or the last: two of these of each function by XRC and the other two by RC, all of what one of them alone
calls. --all, or FAILURES=all in the environment: each call (of functions that are called more often, MOST of them), of an inner
and a first rank; and where others can be told of it, every call from one on.

Right is: every rank ends by itself, with 0 or with an error; no sanitizer has anything to say; the rank whose call has failed
goes on, or names what has failed; no other rank has an error that does not concern that one, and none says of a rank that it cannot
be reached. --show prints what the ranks say.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

RANKS = range(4)
MOST = 60
WORKERS = 2
WAIT_S = 60  # of a rank for one message: longer is a hang
JOB_S = 240
# What is said of a function that has failed.
NAMES = {
    "get_device_list": "shows no device", "open_device": "open scela_hca", "query_device": "query the device",
    "query_port": "no active port|query port", "query_gid": "no active port", "alloc_pd": "allocate a protection domain",
    "reg_mr": "register memory", "create_comp_channel": "create a completion channel", "create_cq": "create a completion queue",
    "create_srq": "create a shared receive queue", "create_srq_ex": "create an XRC shared receive queue",
    "create_qp": "create an? (UD|RC) queue pair", "create_qp_ex_send": "create an XRC_SEND queue pair",
    "create_qp_ex_recv": "create an XRC_RECV queue pair", "open_xrcd": "open an XRC domain", "open_qp": "open an XRC_RECV queue pair",
    "modify_qp_init": "initialize a queue pair|UD queue pair ready", "modify_qp_rtr": "queue pair ready",
    "modify_qp_rts": "queue pair ready", "get_srq_num": "number of a shared receive queue", "post_recv": "post a buffer|takes no receive",
    "post_srq_recv": "post a receive buffer", "post_send": "send", "poll_cq": "poll the completion queue",
    "create_ah": "create an address handle", "scela_hca_join": "join", "scela_post_task": "post task",
    "scela_create_cq": "completion queue", "scela_create_qp": "queue pair", "scela_modify_qp": "queue pair",
}
# Of a rank that cannot make its queue pairs by XRC the others learn that it uses them in another way; and of one whose channel was not
# opened, the ranks of its node end too.
CONSEQUENCES = re.compile(r"it has given this rank up|in another way|it has not opened its channel|has ended|cannot be moved there|"
                          r"an offloaded channel|its device gives no more|open the channel|is being closed")
UNREACHABLE = re.compile(r"cannot reach|cannot be reached|did not answer|has not answered|does not answer")
# With every call from one on failing nothing can be said to others any more, who learn of it when the process ends.
MUTE = {"create_ah", "post_send"}


class Jobs:
    def __init__(self, options):
        self.options = options

    def run(self, rank, failing):
        words = [self.options.scela_run, "--pmi", "fd", "--sim-nodes", "2", "--ppn", "2", "--on-failure", "wait", "--timeout",
                 str(JOB_S)]
        for name, value in (("SCELA_HCA_NO_XRC", 0 if self.options.mode == "xrc" else 1), ("SCELA_CHANNEL_OFFLOAD_MIN_USES", 1),
                            ("SCELA_CHANNEL_VERBS", self.options.library), ("FAILING_VERBS", failing), ("FAILING_VERBS_RANK", rank)):
            words += ["--env", f"{name}={value}"]
        return subprocess.run([*words, self.options.program, str(WAIT_S)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=2 * JOB_S, check=False)

    def counts(self, rank):
        done = self.run(rank, "all")
        found = {name: int(times) for name, times in re.findall(r"failing_verbs: (\S+) was called (\d+) times", done.stderr)}
        if done.returncode != 0 or "poll_cq" not in found:
            raise SystemExit(f"failures: the job without a failure fails:\n{done.stdout}{done.stderr}")
        return found


def calls_of(times, mode, only_here, every):
    if every:
        return sorted({1 + i * times // min(times, MOST) for i in range(min(times, MOST))} | {times})
    middle = (times + 1) // 2
    wanted = {1, 2, middle, times} if only_here else {1, middle} if mode == "xrc" else {2, times}
    return sorted(call for call in wanted if 1 <= call <= times)


def cases(options, jobs):
    """(rank, NAME:CALL), each function's together."""
    found = []
    for rank in (1, 2) if options.all else (1,):
        for name, times in jobs.counts(rank).items():
            if not re.fullmatch(options.only, name) or name.startswith(("say_", "hear_")):  # datagrams: no functions
                continue
            only_here = name in {"xrc": ("open_xrcd", "close_xrcd", "open_qp", "create_srq_ex", "get_srq_num", "create_qp_ex_send",
                                         "create_qp_ex_recv"), "rc": ("create_srq", "modify_qp_err", "get_async_event")}[options.mode]
            calls = calls_of(times, options.mode, only_here, options.all)
            found += [(rank, f"{name}:{call}") for call in calls]
            if options.all and name not in MUTE:
                found += [(rank, f"{name}:{call}+") for call in sorted({1, 2, (times + 1) // 2}) if call <= times]
    return found


def wrong_with(rank, failing, done):
    """What is not right, or None; and whether the call was reached."""
    name = failing.partition(":")[0]
    said = {each: re.findall(rf"^rank {each}: (.*)$", done.stdout, re.M) for each in RANKS}
    if re.search(r"Sanitizer|runtime error:", done.stderr):
        return "a sanitizer has something to say"
    if re.search(r"killed by signal|ended with the job|reached its time limit", done.stderr):
        return "a rank did not end by itself"
    for each in RANKS:
        errors = [line[len("error: "):] for line in said[each] if line.startswith("error: ")]
        if not said[each] or (said[each] != ["all is well"] and len(errors) != len(said[each])):
            return f"rank {each} has said neither that all is well nor what is wrong"
        if any(UNREACHABLE.search(error) for error in errors):
            return f"rank {each} says of a rank that it cannot be reached"
        if each == rank and errors and not any(re.search(NAMES.get(name, "$^"), error) for error in errors):
            return f"rank {each} does not name what has failed"
        for error in errors if each != rank else ():
            if not CONSEQUENCES.search(error):
                return f"rank {each} has an error of its own: {error}"
            about = set(map(int, re.findall(r"\brank (\d)\b", error)))
            # A channel that was not opened is closed by the whole node.
            opened = not any("it has not opened its channel" in line for lines in said.values() for line in lines)
            if opened and about and rank not in about:
                return f"rank {each} has an error with another than rank {rank}: {error}"
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--all", action="store_true", default=os.environ.get("FAILURES") == "all")
    parser.add_argument("--only", default=".*")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("scela_run")
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("mode", choices=("xrc", "rc"))
    options = parser.parse_args()
    jobs = Jobs(options)
    chosen = cases(options, jobs)
    bad = reached = 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for (rank, failing), done in zip(chosen, pool.map(lambda case: jobs.run(*case), chosen)):
            reached += "failing_verbs: call" in done.stderr
            wrong = wrong_with(rank, failing, done)
            bad += wrong is not None
            if wrong or options.show:
                print(f"failures: rank {rank}, {failing}: {wrong or 'right'}\n{done.stdout}{done.stderr}")
    print(f"failures: {len(chosen)} calls, of which {reached} were made and failed; {bad} were borne wrongly")
    # How often some are called depends on time; of the others all must be made.
    return 1 if bad or reached < 0.8 * len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
