"""Deliberate breaks (tests/mutants): which are to be tried, and trying them.

Each tests/mutants/FOLDER/NAME.patch, where FOLDER is that of the first file that it changes, begins with lines that say what it is for:

    # row: 8.1                    the row of tests/coverage whose proof is put to the test
    # target: nla_core_test       what to build (one or more targets)
    # test: nla_core_test: .*     the tests that must fail (a regular expression, as ctest -R takes it)
    # why: a sentence
    # limit: 60                   if the tests hang with the break: the seconds after which that counts as seen
    --- a/...                     the patch, as git diff writes it

The record (tests/mutants/proved.json) says which breaks were seen, and with which sources: the digest of the patch, of every
source that the targets are built from and of the tests' scripts. A run tries the breaks whose digest is another one, and a tenth
of the others, drawn by the commit: a record that is wrong is found within some commits.
"""
import datetime
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import graph

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "style"))
import tree  # noqa: E402 (the path above)

# For a test that does not end with a break. Beside tests that start programs a process may wait minutes for a processor, and a
# test that fails for that would count as one that has seen the break.
TEST_TIMEOUT_S = 300
BESIDE_TIMEOUT_S = 600
IN_MEMORY = {"unit", "contract", "sim"}  # labels
# Of a test with the break, where threads or processes race: it must be able to see it, and what has the processor decides.
# And of one without, which failed: then it is its own stage of scripts/test that says so.
ATTEMPTS = 3
CTEST_FAILED = 8  # ctest's exit status where tests have failed; another one says that ctest was ended or is at fault
NINJA_FAILED = 1  # the same of ninja, where something does not compile
DRAWN = 10  # one of so many of the breaks that the record knows is tried again


class Mutant:
    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.path = path
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        fields = dict(re.findall(r"^# (\w+): *(.+)$", self.text, re.M))
        self.test, self.why = fields.get("test", ""), fields.get("why", "")
        self.row, self.targets = fields.get("row", ""), fields.get("target", "").split()
        self.limit_s = int(fields["limit"]) if "limit" in fields else None
        self.changes = set(re.findall(r"^\+\+\+ b/(\S+)", self.text, re.M))


def load(root):
    return [Mutant(p) for p in sorted(glob.glob(os.path.join(root, "tests", "mutants", "**", "*.patch"), recursive=True))]


class Record:
    """tests/mutants/proved.json."""

    def __init__(self, root):
        self.path = os.path.join(root, "tests", "mutants", "proved.json")
        try:
            with open(self.path, encoding="utf-8") as f:
                self.proved = json.load(f)
        except FileNotFoundError:
            self.proved = {}
        except ValueError as error:
            raise SystemExit(f"mutants: {self.path} is no JSON ({error}): take the committed one, or delete it") from None

    def knows(self, name, digest):
        return self.proved.get(name, {}).get("digest") == digest

    def seen(self, name, digest):
        if not self.knows(name, digest):
            self.proved[name] = {"digest": digest, "date": datetime.date.today().isoformat()}

    def write(self, names):
        """Keeps only breaks that still are there."""
        text = json.dumps({n: self.proved[n] for n in sorted(self.proved) if n in names}, indent=1) + "\n"
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(self.path + ".new", self.path)


def digests(mutants, tests_graph):
    """Mutant name to digest. The build tree of the graph must be built."""
    found, text_of = {}, {}
    for mutant in mutants:
        files, commands = set(), []
        for target in mutant.targets:
            files |= tests_graph.sources_of(target)
        for test in tests_graph.tests:
            if re.search(mutant.test, test.name):
                words = " ".join(test.command).replace(tests_graph.build, "<build>").replace(tests_graph.root, "<root>")
                # Not the interpreter's place on this machine.
                commands.append(f"{test.name}: {re.sub(r'^/[^ ]*/', '', words)}")
                files |= {f for f in tests_graph.own_sources(test) if f.endswith(".py")}
        parts = [mutant.text, *sorted(commands)]
        for path in sorted(files):
            if path not in text_of:
                text_of[path] = graph.digest_text(os.path.join(tests_graph.root, path))
            parts.append(path + text_of[path])
        found[mutant.name] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return found


def in_memory(mutant, tests_graph):
    """Whether all tests that must see a break run in memory, so that it may be tried beside others that start programs."""
    labels = [set(test.labels) for test in tests_graph.tests if re.search(mutant.test, test.name)]
    return bool(labels) and all(some & IN_MEMORY for some in labels)


def drawn(name, commit, share=DRAWN):
    """Whether this commit tries a break that the record knows."""
    return int(hashlib.sha256(f"{commit} {name}".encode()).hexdigest(), 16) % share == 0


def to_try(mutants, record, digest_of, commit):
    """(those whose digest the record does not have, those of the others that this commit draws)."""
    changed = [m for m in mutants if not record.knows(m.name, digest_of[m.name])]
    return changed, [m for m in mutants if m not in changed and drawn(m.name, commit)]


class Interrupted(Exception):
    """A break was not put to the test: neither seen nor not seen."""


class Workshop:
    """A copy of the tree with a build tree of its own, in which breaks are tried one after the other."""

    def __init__(self, root, folder, settings, limit_s):
        self.root, self.folder, self.settings, self.limit_s = root, folder, settings, limit_s
        self.copy = os.path.join(folder, "source")
        self.build_tree = os.path.join(self.copy, "build-release")

    def run(self, command, log, variables=None):
        environment = {**os.environ, **(variables or {})}
        with open(os.path.join(self.folder, log), "a", encoding="utf-8") as f:
            f.write(f"$ {' '.join(command)}\n")
            f.flush()
            return subprocess.run(command, cwd=self.copy, env=environment, stdout=f, stderr=subprocess.STDOUT, check=False).returncode

    def prepare(self, mutants):
        """Copies what differs, so that an unchanged file keeps its time, and builds what the mutants need. False: see plain.log."""
        targets = sorted({target for mutant in mutants for target in mutant.targets})
        apart = ";".join(sorted({file for mutant in mutants for file in mutant.changes if file.endswith(".cpp")}))
        os.makedirs(self.copy, exist_ok=True)
        for old in glob.glob(os.path.join(self.folder, "*.log")):
            os.remove(old)
        wanted = tree.tracked(self.root)
        for path in wanted:
            source, copy = os.path.join(self.root, path), os.path.join(self.copy, path)
            if not os.path.isfile(copy) or graph.digest_text(source) != graph.digest_text(copy):
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copy(source, copy)
        for path in set(tree.files(self.copy)) - set(wanted):
            os.remove(os.path.join(self.copy, path))
        configured = self.run(["cmake", "--preset", "release", *self.settings, f"-DSCELA_APART={apart}"], "plain.log") == 0
        return configured and self.build(targets, "plain.log", os.cpu_count() or 1)

    def build(self, targets, log, jobs=1):
        """Raises Interrupted if ninja has not come to its end."""
        status = self.run(["cmake", "--build", self.build_tree, f"-j{jobs}", "--target", *targets], log)
        if status not in (0, NINJA_FAILED):
            raise Interrupted(f"the build ended with status {status}: {self.folder}/{log}")
        return status == 0

    def tests_pass(self, regex, log, limit_s=None):
        """None if no test has such a name. Raises Interrupted if ctest has not come to its end."""
        base = ["ctest", "--test-dir", self.build_tree, "-R", regex, "--no-tests=error"]
        listed = subprocess.run([*base, "-N"], capture_output=True, text=True, check=False).stdout
        if re.search(r"^Total Tests: 0$", listed, re.M):
            return None
        # Tests that wait with a time limit of their own read it from the environment (tests/e2e/run/job.py, tests/cluster/case.py).
        deadline = {"TEST_DEADLINE_S": str(limit_s)} if limit_s else None
        status = self.run([*base, "-j2", "--timeout", str(limit_s or self.limit_s), "--output-on-failure"], log, deadline)
        if status not in (0, CTEST_FAILED):
            raise Interrupted(f"ctest ended with status {status}: {self.folder}/{log}")
        return status == 0

    def passes_at_last(self, regex):
        for _ in range(ATTEMPTS):
            passed = self.tests_pass(regex, "plain.log")
            if passed is not False:
                break
        return passed

    def verdict_on(self, mutant):
        log = mutant.name + ".log"
        patch = ["patch", "-p1", "--no-backup-if-mismatch", "-s", "-i", mutant.path]
        if self.run([*patch, "--dry-run"], log):
            return "DOES NOT APPLY"
        self.run(patch, log)
        try:
            if not self.build(mutant.targets, log):
                return "DOES NOT COMPILE"
            for attempt in range(1, ATTEMPTS + 1):
                passed = self.tests_pass(mutant.test, log, mutant.limit_s)
                if not passed:
                    return "NO SUCH TEST" if passed is None else "killed" if attempt == 1 else f"killed at try {attempt}"
            return "SURVIVED"
        finally:
            if self.run([*patch, "-R"], log):
                raise Interrupted(f"{mutant.name} cannot be taken out of {self.copy}: {self.folder}/{log}")


def shared_out(mutants, workshops):
    """One list of breaks for each workshop: those of the same targets together, the lists of about equal length."""
    by_target = {}
    for mutant in mutants:
        by_target.setdefault(" ".join(mutant.targets), []).append(mutant)
    lists = [[] for _ in range(workshops)]
    # Large groups are cut, because a list of half of all is as long as the rest.
    pieces = [group[at:at + 8] for group in by_target.values() for at in range(0, len(group), 8)]
    for piece in sorted(pieces, key=len, reverse=True):
        min(lists, key=len).extend(piece)
    return [sorted(one, key=lambda m: m.targets) for one in lists if one]


class Trial:
    """Tries breaks in several workshops at once."""

    def __init__(self, root, folder, settings, workshops, passed=frozenset(), seen=lambda mutant, verdict: None,
                 limit_s=TEST_TIMEOUT_S):
        self.shops = [Workshop(root, os.path.join(folder, str(n + 1)), settings, limit_s) for n in range(workshops)]
        self.passed = passed  # names of tests that are known to pass without a break
        self.seen = seen      # called after each break, by one thread at a time
        self.lock = threading.Lock()
        self.verdicts = {}    # name to (verdict, seconds)
        self.broken = []      # what kept a workshop from working
        self.stopped = False  # no break is begun any more

    def _work(self, shop, mutants):
        try:
            self._try_all(shop, mutants)
        except Interrupted as error:
            with self.lock:
                self.broken.append(str(error))

    def _try_all(self, shop, mutants):
        healthy = {}
        # All of them before the first break: what it was built into stays until another one is.
        for mutant in mutants:
            if mutant.test not in healthy:
                known = [t for t in graph.Graph(shop.copy, shop.build_tree).tests if re.search(mutant.test, t.name)]
                # A program of one of the targets is built here as it was there; what another test starts may not be.
                trusted = all(t.name in self.passed and t.name.partition("/")[0] in mutant.targets for t in known)
                healthy[mutant.test] = None if not known else trusted or shop.passes_at_last(mutant.test)
        for mutant in mutants:
            if self.stopped:
                return
            start = time.monotonic()
            if healthy[mutant.test] is None:
                verdict = "NO SUCH TEST"
            elif not healthy[mutant.test]:
                verdict = "FAILS WITHOUT IT"
            else:
                verdict = shop.verdict_on(mutant)
            with self.lock:
                self.verdicts[mutant.name] = (verdict, time.monotonic() - start)
                self.seen(mutant, verdict)

    def run(self, mutants):
        threads = []
        # One after the other, with all processors: the compiler's cache has for the next what the first has compiled.
        for shop, part in zip(self.shops, shared_out(mutants, len(self.shops))):
            os.makedirs(shop.folder, exist_ok=True)
            try:
                if shop.prepare(part):
                    threads.append(threading.Thread(target=self._work, args=(shop, part)))
                else:
                    self.broken.append(f"the tree does not build without mutants: {shop.folder}/plain.log")
            except Interrupted as error:
                self.broken.append(str(error))
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.stopped = True
            raise
