"""Tests that have passed with exactly what they would run now are not run again.

What a test proves depends on the files that its programs are built from (and those that they start), the commands that build
them, its scripts, its command line and properties, and the machine: one digest of all that. It depends on those files only
through what is built from them: a second digest is of the bytes of the programs and libraries instead of their sources, so that
a change which leads to the same programs (of a comment, say) is none. A test that has passed is remembered by both, beside the compiler's cache (tests/style/tree.py, Proofs). A later run leaves it out, says so, and lists it in
build-results/STAGE-proved.xml; but a tenth of those, drawn by the commit, runs again, and is forgotten if it fails: so a wrong memory, or
a test that passes by luck, does not stay. Of a tree with sanitizers, where tests take ten times as long, it is one in forty.
`scripts/test --all` runs everything.
"""
import functools
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import graph
import mutants

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "style"))
import tree  # noqa: E402 (the path above)

ET_EXEC, ET_DYN = 2, 3  # elf(5): what can be run or loaded

# Tests that look at the whole tree or have a memory of their own, as have those that are given the root of the tree.
ALWAYS = {"style", "mutants", "install", "bench"}


def head_of(root):
    """The hash of the commit; empty where there is none."""
    return subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()


def selected(ctest, arguments):
    """Names of the tests that ctest would run."""
    listed = subprocess.run([*ctest, *arguments, "-N"], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"^ *Test +#\d+: (.*)$", listed, re.M))


SANITIZED = {"build-asan", "build-tsan"}
SANITIZED_DRAWN = 40  # one of so many of their known tests runs again

# Variables of the environment that programs under test and those of their peers read.
# Not PATH: what is found there is of the installed packages.
VARIABLES = re.compile(r"^(SCELA|OMPI|PMIX|PRTE|MPICH|MPIR|HYDRA|PMI|SLURM|LD|UCX|FI|VERBS|HWLOC|MALLOC|GLIBC|[A-Z]+SAN)_")


def machine():
    """The digest of the installed packages, the kernel, the user, the processors and the environment."""
    words = [os.uname().release, f"{os.geteuid()} {len(os.sched_getaffinity(0))}"]
    words += sorted(f"{name}={value}" for name, value in os.environ.items() if VARIABLES.match(name))
    return tree.digest_of([tree.packages_digest()] + words)


@functools.lru_cache(maxsize=None)
def emulated_kernel():
    """What stands for the kernel of the emulated machine (tests/rxe/kernel.py): the package that Debian's newest one is in."""
    run = subprocess.run(["apt-cache", "show", "--no-all-versions", "linux-image-amd64"], capture_output=True, text=True, check=False)
    return run.stdout


class Memory:
    """Which of a tree's tests are known to pass with the present sources, or with the programs that came of them. `built`: the time, in seconds since 1970, at which the
    tree's build began; a test one of whose sources has changed since is not remembered, because its programs may be of either."""

    def __init__(self, root, build, commit, built=None):
        self.root, self.build, self.commit, self.built = root, build, commit, built
        self.proofs = tree.Proofs("tests-" + os.path.basename(build))
        self.graph = graph.Graph(root, build)
        self.common = machine()
        self.share = SANITIZED_DRAWN if os.path.basename(build) in SANITIZED else mutants.DRAWN

    @functools.lru_cache(maxsize=None)
    def _file(self, path):
        return path + graph.digest_text(os.path.join(self.root, path))

    @functools.lru_cache(maxsize=None)
    def _output(self, output):
        return tree.digest_of([output] + [self._file(path) for path in sorted(self.graph.sources_of(output))]
                              + self.graph.steps_of(output))

    @functools.lru_cache(maxsize=None)
    def _linked(self, inside):
        """The digest of a program or library of the build tree; None if it is neither."""
        path = os.path.join(self.build, inside)
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as f:
            head = f.read(18)
        kind = int.from_bytes(head[16:18], sys.byteorder)
        return graph.digest_text(path) if head[:4] == b"\x7fELF" and kind in (ET_EXEC, ET_DYN) else None

    @functools.lru_cache(maxsize=None)
    def _bytes(self, output):
        """As _output(), of the bytes of the program and of the libraries that it is linked to, where it is one that was built."""
        if self._linked(output) is None or self._older_than_sources(output):
            return self._output(output)
        linked = {inside: self._linked(inside) for inside in self.graph.built_of(output)}
        return tree.digest_of([output] + [inside + digest for inside, digest in sorted(linked.items()) if digest])

    def _parts(self, test, of):
        _, started, files = self.graph.parts(test)
        return {of(output) for output in started} | {self._file(path) for path in files}

    @functools.lru_cache(maxsize=None)
    def _set_up(self, fixture, of):
        """What the tests are made of that set up a fixture."""
        return frozenset().union(*(self._parts(test, of) for test in self.graph.tests if fixture in test.sets_up))

    def _digest(self, test, of):
        parts = self._parts(test, of).union(*(self._set_up(fixture, of) for fixture in test.needs))
        if not parts:  # nothing of this tree is known to be in it: no change of it would be seen
            return None
        words = self.graph.anywhere("\n".join([test.name, *test.command, test.terms]))
        words += emulated_kernel() if "rxe" in test.labels else ""
        return tree.digest_of([self.common, words] + sorted(parts))

    @functools.lru_cache(maxsize=None)
    def digests(self, test):
        """By its sources and by its programs' bytes; none for a test that is always run."""
        if ALWAYS & set(test.labels) or self.root in map(os.path.normpath, test.command):
            return ()
        return tuple(digest for of in (self._output, self._bytes) if (digest := self._digest(test, of)))

    def choose(self, selected):
        """(tests to run, tests that are known to pass and not drawn) of those that `selected` names."""
        run, known = [], []
        for test in self.graph.tests:
            if test.name not in selected:
                continue
            left_out = any(map(self.proofs.known, self.digests(test))) and not mutants.drawn(test.name, self.commit, self.share)
            (known if left_out else run).append(test)
        return run, known

    def _put_there(self, path):
        """When a file came to be as it is: its own time may be an older one that was copied with it."""
        try:
            return os.stat(os.path.join(self.root, path)).st_ctime
        except FileNotFoundError:
            return math.inf

    def _changed(self, path):
        return self.built is not None and self._put_there(path) >= self.built

    @functools.lru_cache(maxsize=None)
    def _older_than_sources(self, output):
        """Whether an output was built before one of its sources was put there: ninja compares only the files' own times."""
        try:
            made = os.stat(os.path.join(self.build, output)).st_mtime
        except FileNotFoundError:
            return False  # not a file; what it is made of is looked at itself
        return any(self._put_there(path) > made for path in self.graph.sources_of(output))

    def remember(self, tests, passed):
        """Of tests that have run: those that failed are not known any more, whatever they did before."""
        changed = functools.lru_cache(maxsize=None)(self._changed)
        for test in tests:
            if test.name not in passed:
                for digest in self.digests(test):
                    self.proofs.forget(digest)
            elif not (any(changed(path) for path in self.graph.all_sources(test))
                      or any(self._older_than_sources(output) for output in self.graph.parts(test)[1])):
                for digest in self.digests(test):
                    self.proofs.add(digest)
        self.proofs.forget_unused()

    def cases_of(self, test):
        """Names of a test's cases: those of its program for one that is a whole program."""
        if not test.name.startswith("cases: "):
            return [test.name]
        said = subprocess.run([sys.executable, "-B", *test.command[2:-1], "--list", test.command[-1]], capture_output=True,
                              text=True, check=False)
        return said.stdout.splitlines()

    def write(self, known, path):
        """A JUnit file of those that were left out, so that who reads the results finds each test's name."""
        suite = ElementTree.Element("testsuite", name="proved before")
        for test in known:
            for name in self.cases_of(test):
                case = ElementTree.SubElement(suite, "testcase", name=name, classname="proved before", time="0", status="proved")
                ElementTree.SubElement(case, "system-out").text = "passed before with the same sources, or the same programs; not run again"
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
