#!/usr/bin/env python3
"""How long a job takes to end, by each cause: from that moment until the last process of the job is gone and its
directories are removed.

  bench/leave.py [--build DIR] [--repeat N] [--docs docs/results]

Seven nodes of degree 2 with two ranks each, every rank with a daemon beside it, all of which ignore SIGTERM,
SIGINT and SIGHUP; so every end lasts at least the grace. Prints the section; with --docs, replaces it there.
"""
import argparse
import os
import signal
import sys
import time

import launch_report
import measure

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADING = "Time until a job's processes and directories are gone"
GRACE_S = 1
TARGET_S = 2


def jobs(build):
    """The harness of the end-to-end tests, on the programs of this build."""
    os.environ["SCELA_RUN"] = os.path.join(build, "bin", "scela-run")
    os.environ["SCELA_AGENT"] = os.path.join(build, "bin", "scela-nla")
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e", "run"))
    import test_nothing_left  # pylint: disable=import-outside-toplevel
    return test_nothing_left


def kill(process, signo):
    """Kills this process of a node; which one is a function from the job."""
    return lambda running: os.kill(process(running), signo)


def ends(tests):
    def of(node, which):
        return lambda running: getattr(running.nodes()[node], which)

    def to_run(signo):
        return kill(lambda running: running.pid, signo)

    found = {"SIGINT to scela-run": to_run(signal.SIGINT), "SIGTERM to scela-run": to_run(signal.SIGTERM),
             "SIGKILL to scela-run": to_run(signal.SIGKILL)}
    for name, node in (("a leaf", tests.LEAF), ("an inner", tests.INNER)):
        found[f"SIGKILL to {name} agent"] = kill(of(node, "agent"), signal.SIGKILL)
        found[f"SIGSTOP to {name} agent"] = kill(of(node, "agent"), signal.SIGSTOP)
        found[f"SIGKILL to {name} guardian"] = kill(of(node, "guardian"), signal.SIGKILL)
    found["SIGSEGV of a rank"] = kill(lambda running: running.segfault, signal.SIGSEGV)
    return found


def once(tests, end):
    """Seconds from the end's cause until nothing is left."""
    class Leaving(tests.NothingLeftTest):
        def runTest(self):  # pylint: disable=invalid-name
            running = self.start("--sim-nodes", tests.NODES, "--degree", 2, "--ppn", tests.PPN, "--grace", GRACE_S,
                                 "sh", "-c", tests.STUBBORN)
            told = self.news_of(running)
            running.segfault = next(int(pid) for rank, pid in told if rank == "4")
            running.nodes()
            start = time.monotonic()
            end(running)
            running.wait()
            self.assertEqual(self.wait_nothing_runs(), [])
            while os.listdir(self.temporary):
                time.sleep(0.001)
            Leaving.seconds = time.monotonic() - start

        def news_of(self, running):
            return running.news(tests.NODES * tests.PPN * 2)

    result = Leaving().run()
    if not result.wasSuccessful():
        sys.exit((result.failures + result.errors)[0][1])
    return Leaving.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build-release"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--docs")
    args = parser.parse_args()
    tests = jobs(os.path.abspath(args.build))
    before = measure.load()
    rows, worst = [], 0.0
    for name, end in ends(tests).items():
        times = [once(tests, end) for _ in range(args.repeat)]
        worst = max(worst, *times)
        rows.append([name, f"{measure.summary(times)['median'] * 1e3:.0f}", f"{max(times) * 1e3:.0f}"])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    met = "met" if worst <= GRACE_S + TARGET_S else "missed"
    text = (launch_report.stated(f"bench/leave.py --repeat {args.repeat}", measure.commit(ROOT), measure.today(),
                                 measure.machine(), [f"load {before:.1f} before"]) +
            f"\nms from the event that ends the job until its last process and its last directory are gone; {args.repeat} runs each. "
            f"{tests.NODES} nodes of degree 2 have {tests.PPN} ranks each. Every rank has a daemon of its own, and all of them ignore "
            f"SIGTERM; the grace is {GRACE_S} s. Longest {worst:.2f} s (target at most {TARGET_S} s plus the grace: {met}).\n\n" +
            launch_report.table(["cause", "median", "longest"], rows))
    launch_report.put_sections([(HEADING, text)], args.docs)


if __name__ == "__main__":
    sys.exit(main())
