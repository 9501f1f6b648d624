"""The stages of scripts/test, which has installed the packages: what waits runs beside what computes.

The release tree is built first. Then two lanes go on at once. The first runs its tests, of which those that start jobs mostly
wait, and the deliberate breaks that those must see. The second only computes, at a lower priority: style, the deliberate breaks
that tests in memory must see, building the other trees, the tests of the sanitizers, fuzzing. Each stage writes a log and a
JUnit file into build-results/; the times of all stages and of the 50 slowest tests are in build-results/times.txt.
"""
import argparse
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

import affected
import proved
import results

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "build-results")
CORES = os.cpu_count() or 1
# ctest counts in quarters of a processor: tests/CMakeLists.txt says which tests wait, compute and fill the machine.
SLOTS = 4 * CORES
TEST_LIMIT_S = 300
# Of one at a lower priority: how much of the processors it gets depends on what else the machine does.
LOWER_TEST_LIMIT_S = 3600
# Labels of tests that compute and run beside the others, and benchmarks, which are run by hand.
BESIDE = "style|mutants"
BY_HAND = "bench"
# Deliberate breaks that tests in memory must see: compiling them and those tests only computes, and may take long.
MUTANTS_IN_MEMORY = "^mutants: none survives the tests in memory$"
# The trees beside the release tree. That of the address sanitizer has the fuzzers.
SANITIZERS = ("asan", "tsan")
# Signals that end a run with all that it has started, and how long that may take before it is killed.
ENDING = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
END_LIMIT_S = 10
# Runs a command at a lower priority, also where the kernel shares processors out by session.
LOWER = ["sh", "-c", '{ echo "$0" > /proc/self/autogroup; } 2>/dev/null; exec nice -n "$0" "$@"']
# Of what a test printed that passed, in a JUnit file: there tests/support/run_cases.py tells which cases pass only alone.
MAX_OUTPUT_BYTES = 1000000


class Run:
    """What this run has started, and how it went."""

    def __init__(self):
        self.stages = []  # (name, seconds, whether it went well)
        self.children = set()
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.ending = False
        self.ended_by = 0  # the signal
        self.commit = proved.head_of(ROOT)
        self.memories = {}  # preset to proved.Memory, of the trees that are built
        self.build_began = {}  # preset to seconds since 1970
        self.memory_over = threading.Event()  # the release tree's tests in memory
        self.build_mutants = threading.Lock()  # that folder and the record: of one stage at a time
        self.lane_over = False  # beside() has come to its end

    def call(self, command, log, nice=0, environment=None):
        """Exit status. In a process group of its own, which end() ends."""
        if nice:
            command = [*LOWER, str(nice), *command]
        with open(os.path.join(RESULTS, log), "ab") as out, self.lock:
            if self.ending:
                return 1
            child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                     start_new_session=True, env={**os.environ, **(environment or {})})
            self.children.add(child)
        status = child.wait()
        with self.lock:
            self.children.discard(child)
        return status

    def end_at_signals(self):
        """From now on a signal ends all that this run has started; the stages then come to their ends one after the other."""

        def ended(number, _):
            self.ended_by = number
            # In a thread, because what the signal interrupted may hold the lock, and must go on to see its child end.
            threading.Thread(target=self.end).start()

        for number in ENDING:
            signal.signal(number, ended)

    def end(self):
        """Ends the process groups of the commands that run, and lets no more begin."""
        with self.lock:
            self.ending = True
            children = list(self.children)
        for how in (signal.SIGINT, signal.SIGKILL):  # the first as from a terminal
            for child in children:
                try:
                    os.killpg(child.pid, how)
                except ProcessLookupError:
                    pass
            ends = time.monotonic() + END_LIMIT_S
            while time.monotonic() < ends and any(running(child.pid) for child in children):
                time.sleep(0.1)

    def stage(self, name, work):
        """Runs work() -> (whether it went well, what to show), and tells of it at once."""
        start = time.monotonic()
        try:
            well, text = work()
        except Exception:  # the stage's own fault: the other stages are run all the same
            well, text = False, traceback.format_exc()
        seconds = time.monotonic() - start
        self.stages.append((name, seconds, well))
        with self.lock:
            print(f"\n== {name}: {seconds:.0f} s{'' if well else ', FAILED'}\n{text}".rstrip(), flush=True)
        return well


def running(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def build(run, preset, nice=0, options=()):
    run.build_began[preset] = time.time()
    log = f"build-{preset}.log"
    well = (run.call(["cmake", "--preset", preset, "-DSCELA_TESTS=ON", "-DSCELA_LIBRARY=ON", *options], log, nice) == 0 and
            run.call(["cmake", "--build", "--preset", preset, "--", "-k", "0"], log, nice) == 0)
    return well, "" if well else results.build_errors(os.path.join(RESULTS, log))


def ctest(run, name, preset, arguments, nice=0):
    """Runs the tests that ctest's arguments choose, but for those that have passed before with the same programs."""
    tree = os.path.join(ROOT, f"build-{preset}")
    base = ["ctest", "--test-dir", tree, "-j", str(SLOTS), "--timeout", str(LOWER_TEST_LIMIT_S if nice else TEST_LIMIT_S),
            "--output-on-failure", "--test-output-size-passed", str(MAX_OUTPUT_BYTES)]
    if preset not in run.memories:
        run.memories[preset] = proved.Memory(ROOT, tree, run.commit, run.build_began.get(preset))
    memory = run.memories[preset]
    chosen, known = memory.choose(proved.selected(base, arguments))
    report = os.path.join(RESULTS, f"{name}.xml")
    if known:
        memory.write(known, os.path.join(RESULTS, f"{name}-proved.xml"))
    if not chosen:
        return bool(known), f"{len(known)} tests have passed before with the same programs" if known else "there are no such tests"
    numbers = "0,0,0," + ",".join(str(memory.graph.number_of[test.name]) for test in chosen)
    status = run.call([*base, "--output-junit", report, "-I", numbers, *(["-V"] if "-V" in arguments else [])], f"{name}.log", nice,
                      {"TESTING_CASE_RESULTS": RESULTS})
    text = results.shown_of(os.path.join(RESULTS, f"{name}.log"))
    if run.ending:
        return False, text + "\nended before its end; what has passed is not remembered"
    results.Costs(preset).keep(report)
    verdicts = {case: verdict for _, case, _, verdict in results.entries_of(report)}
    # A program of which a case passes only alone runs again the next time, so that the case is listed again.
    passed = {case for case, verdict in verdicts.items() if verdict == "passed"} - results.not_in_common(report).keys()
    memory.remember(chosen + [test for test in known if test.name in verdicts], passed)
    if lost := [test.name for test in chosen if test.name not in verdicts]:
        text += f"\n{len(lost)} tests were to run and did not: {'; '.join(lost)}"
    return status == 0 and not lost, text + (f"\n{len(known)} more have passed before with the same programs" if known else "")


def script(run, name, command):
    log = f"{name}.log"
    status = run.call([sys.executable, "-B", *command], log)
    with open(os.path.join(RESULTS, log), encoding="utf-8", errors="replace") as f:
        return status == 0, f.read().strip()


def foreground(run):
    """Tests of the release tree but for those that only compute, and the deliberate breaks that tests of programs must see."""
    try:
        run.stage("release: unit, contract, simulation",
                  lambda: ctest(run, "unit", "release", ["-L", "^(unit|contract|sim)$"]))
    finally:
        run.memory_over.set()
    run.stage("release: all that starts programs",
              lambda: ctest(run, "programs", "release", ["-LE", f"^(unit|contract|sim|{BESIDE}|{BY_HAND})$"]))
    # After the tests, whose results say what passes without a break.
    with run.build_mutants:
        run.stage("mutants", lambda: ctest(run, "mutants", "release", ["-L", "^mutants$", "-E", MUTANTS_IN_MEMORY, "-V"]))


def beside(run):
    """What only computes: style, deliberate breaks of what is in memory, building the other trees, their tests, fuzzing."""
    run.stage("style", lambda: ctest(run, "style", "release", ["-L", "^style$"], nice=15))
    # After the release tree's tests in memory, whose results say what passes without a break.
    run.memory_over.wait()
    with run.build_mutants:
        run.stage("mutants of tests in memory",
                  lambda: ctest(run, "mutants-memory", "release", ["-R", MUTANTS_IN_MEMORY, "-V"], nice=5))
    built = [preset for preset in SANITIZERS if run.stage(f"build {preset}", lambda: build(run, preset, nice=15))]
    for preset in built:
        run.stage(f"{preset}: unit, contract, sim", lambda: ctest(run, preset, preset, ["-L", "^(unit|contract|sim)$"], nice=5))
    if "asan" in built:
        run.stage("fuzz", lambda: ctest(run, "fuzz", "asan", ["-L", "^fuzz$"], nice=5))
    run.lane_over = True


def whole(run, every_proof):
    """Everything. With every_proof nothing counts as proved before."""
    if every_proof:
        os.environ.update(TESTING_PROOFS_ANEW="1", TESTING_MUTANTS="all", STRANGERS="all")
    if not run.stage("build release", lambda: build(run, "release", options=["-DSCELA_BENCH=ON"])):
        return
    lane = threading.Thread(target=beside, args=(run,))
    lane.start()
    foreground(run)
    lane.join()
    if not run.lane_over:
        run.stage("what computes", lambda: (False, "it has not come to its end"))
    coverage = [os.path.join(ROOT, "tests", "style", "check_coverage.py"), ROOT, "--strict", "--results", RESULTS]
    run.stage("coverage", lambda: script(run, "coverage", coverage))


def quick(run):
    if run.stage("build release", lambda: build(run, "release", options=["-DSCELA_BENCH=ON"])):
        run.stage("style", lambda: ctest(run, "style", "release", ["-L", "^style$"]))
        run.stage("unit, contract", lambda: ctest(run, "unit", "release", ["-L", "^(unit|contract)$"]))


def changed(run, base, minutes):
    """Tests that what has changed since `base` can affect."""
    affected.changed_files(ROOT, base)  # before the build: ends the run if there is no such commit
    if not run.stage("build release", lambda: build(run, "release", options=["-DSCELA_BENCH=ON"])):
        return
    choice = affected.choose(ROOT, os.path.join(ROOT, "build-release"), base, minutes)
    print(choice.text, flush=True)
    for name, chosen in choice.stages:
        numbers = "0,0,0," + ",".join(str(number) for number in chosen)
        run.stage(name, lambda: ctest(run, name.replace(", ", "-"), "release", ["-I", numbers]))


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description="Installs what is missing, builds, and runs every test that is "
                                     "not known to pass, and a tenth of the others (docs/testing.md).")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="only the release tree's style checks, unit and contract tests")
    how.add_argument("--all", action="store_true", help="every test, whatever is known")
    how.add_argument("--changed", nargs="?", const="", metavar="BASE", help="only tests of the release tree that what differs from the "
                     "commit BASE can affect; without BASE: what is not committed, else the last commit")
    parser.add_argument("--minutes", type=float, default=2, help="with --changed: for how long (%(default)s); building and the style "
                        "checks are not counted")
    parser.add_argument("--only-read-options", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_read_options:
        return 0
    only_run = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(only_run, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("scripts/test: another scripts/test runs in this tree; wait for it, or use another clone")
    run = Run()
    run.end_at_signals()
    try:
        results.clear(RESULTS)
        if options.quick:
            quick(run)
        elif options.changed is not None:
            changed(run, options.changed, options.minutes)
        else:
            whole(run, options.all)
        status = results.finish(RESULTS, run.stages, time.monotonic() - run.began)
    finally:
        run.end()
    if run.ended_by:
        print(f"scripts/test: ended by {signal.Signals(run.ended_by).name}; what the lines above count is not complete")
    return 128 + run.ended_by if run.ended_by else status


if __name__ == "__main__":
    sys.exit(main())
