"""What a build tree's tests are made of: from a test to the files of the source tree that it reads.

Ninja tells what each output is linked from, the compiler's dependency files (kept by ninja) which headers each object has read,
and ctest which programs and scripts a test names. A program that a test starts through another one (scela-run starts scela-nla)
is not on its command line: started_by() says which those are.
"""
import functools
import hashlib
import json
import os
import re
import subprocess

# What outputs start, load or read by name at run time: an output (its versions are meant too) to outputs and folders of outputs.
STARTS = {
    "bin/scela-run": ("bin", "lib", "man"),
    "bin/scela-nla": ("bin", "lib"),
    "bin/scela-perf": ("bin", "lib"),
    "lib/libscela.so": ("bin/scela-hca", "lib"),
    "lib/libscela-verbs-tasks.so": ("bin/scela-hca", "lib/libscela-ibverbs.so"),
    "lib/libscela-ibverbs.so": ("bin/scela-hca",),
}

# What an output of the build tree, or a script, reads of the source tree at run time.
READS = {
    "bin/scela-perf": ("perf/mpi_peer.cpp",),
    "tests/cluster/test_harness_life.py": ("bench/operator", "bench/contest.py", "bench/launch.py",
                                           "bench/launches.py", "bench/launch_report.py", "bench/launch_ssh.py",
                                           "bench/measure.py", "bench/openmpi.py", "bench/plot_svg.py", "bench/ssh_contest.py",
                                           "bench/programs/ssh_head.py", "bench/ssh_hosts.py", "bench/ssh_peers.py", "bench/ssh_report.py",
                                           "examples/hello_mpi.c", "tests/interop/programs/mpi/init_mpi.c"),
    "tests/rxe/test_rxe.py": ("tests/rxe/init",),
    "tests/rxe/test_channel.py": ("tests/rxe/init",),
}

# Variables of a build step that do not change what comes of it; some are others when a tree is configured again.
NO_FLAGS = re.compile(r"^  (TARGET_PDB|TARGET_COMPILE_PDB|DEP_FILE|OBJECT_DIR|OBJECT_FILE_DIR|DESC) = .*\n", re.M)
# Properties of a test that do not change whether it passes.
SCHEDULING = {"COST", "LABELS", "PROCESSORS", "RESOURCE_LOCK", "RUN_SERIAL", "TIMEOUT"}


def digest_text(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Test:
    """One test as ctest lists it."""

    def __init__(self, entry):
        self.name = entry["name"]
        self.command = entry.get("command", [])
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.labels = properties.get("LABELS", [])
        self.environment = properties.get("ENVIRONMENT", [])
        self.needs = frozenset(properties.get("FIXTURES_REQUIRED", []))
        self.sets_up = frozenset(properties.get("FIXTURES_SETUP", []))
        # What decides whether it passes: not when it runs, beside what, and how long it may take.
        self.terms = json.dumps({name: value for name, value in properties.items() if name not in SCHEDULING}, sort_keys=True)


class Graph:
    """The graph of one build tree that is built: what is not yet built has no dependency files."""

    def __init__(self, root, build):
        self.root, self.build = os.path.abspath(root), os.path.abspath(build)

    def _ninja(self, *words):
        run = subprocess.run(["ninja", "-C", self.build, "-t", *words], capture_output=True, text=True, check=True)
        return [line for line in run.stdout.splitlines() if not line.startswith("ninja:")]

    @functools.cached_property
    def _headers(self):
        """Object, relative to the build tree, to what its compiler has read: files of the source tree by their absolute
        paths, and of the build tree relative to it."""
        found, files = {}, set()
        for line in self._ninja("deps"):
            if line.startswith("    "):
                path = self._inside(line.strip())
                if not os.path.isabs(path) or self._is_source(path):
                    files.add(path)
            elif ": #deps" in line:
                files = found.setdefault(line.split(": #deps")[0], set())
        return found

    def _is_source(self, path):
        return path.startswith(self.root + os.sep) and not path.startswith(self.build + os.sep)

    def anywhere(self, text):
        """The text as it would be if the trees lay elsewhere."""
        return text.replace(self.build, "<build>").replace(self.root, "<root>")

    @functools.cached_property
    def _edges(self):
        """Output to (what it is made of, how), as build.ninja says: paths relative to the build tree where they are in it; how is
        the digest of the command with its flags, wherever the trees lie."""
        with open(os.path.join(self.build, "CMakeFiles", "rules.ninja"), encoding="utf-8") as f:
            commands = dict(re.findall(r"^rule (\S+)\n(?:  .*\n)*?  command = (.*)$", f.read(), re.M))
        with open(os.path.join(self.build, "build.ninja"), encoding="utf-8") as f:
            edges = re.findall(r"^build (.*?[^$]): (\S+)(.*)\n((?:  .*\n)*)", f.read().replace("$\n", ""), re.M)
        found = {}
        for outputs, rule, inputs, variables in edges:
            # '$ ' and '$:' stand for what separates words otherwise; '|' and '||' begin other kinds of inputs.
            words = [w.replace("$:", ":").replace("\0", " ") for w in inputs.replace("$ ", "\0").split() if not w.startswith("|")]
            how = self.anywhere(commands.get(rule, rule) + "\n" + NO_FLAGS.sub("", variables))
            made = (frozenset(map(self._inside, words)), hashlib.sha256(how.encode()).hexdigest())
            for output in outputs.replace("$ ", "\0").split():
                found[self._inside(output.replace("\0", " "))] = made
        return found

    def _inside(self, path):
        absolute = os.path.normpath(os.path.join(self.build, path))
        return os.path.relpath(absolute, self.build) if absolute.startswith(self.build + os.sep) else absolute

    @functools.lru_cache(maxsize=None)
    def _made_of(self, output):
        """(files of the source tree, relative to the root; what lies in the build tree) that an output is built from."""
        sources, todo, seen = set(), [output], set()
        while todo:
            one = todo.pop()
            if self._is_source(one):
                sources.add(os.path.relpath(one, self.root))
            elif one not in seen:
                seen.add(one)
                todo += self._headers.get(one, ())
                todo += self._edges.get(one, ((), ""))[0]
        return frozenset(sources), frozenset(seen)

    def sources_of(self, output):
        """Files that a target or an output of the build tree is built from, relative to the root."""
        return self._made_of(output)[0]

    def built_of(self, output):
        """An output and what lies in the build tree that it is built from, relative to the build tree."""
        return self._made_of(output)[1]

    @functools.lru_cache(maxsize=None)
    def _step(self, inside):
        """How one output is made; of a file that the configuration has written, what is in it."""
        if inside in self._edges:
            return self._edges[inside][1]
        path = os.path.join(self.build, inside)
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as f:
            return hashlib.sha256(self.anywhere(f.read()).encode()).hexdigest()

    def steps_of(self, output):
        """The steps that lead to an output, one digest each: commands with their flags, and files that the configuration writes."""
        return sorted(self.anywhere(inside) + self._step(inside) for inside in self._made_of(output)[1])

    @functools.cached_property
    def tests(self):
        shown = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], capture_output=True, text=True,
                               check=True).stdout
        return [Test(entry) for entry in json.loads(shown[shown.index("{"):])["tests"]]

    @functools.cached_property
    def number_of(self):
        """What ctest's -I calls each test."""
        return {test.name: at + 1 for at, test in enumerate(self.tests)}

    @functools.cached_property
    def _outputs(self):
        return frozenset(self._edges)

    @functools.lru_cache(maxsize=None)
    def _files_below(self, folder):
        """What lies in a folder of the source tree that a test names, as a corpus of inputs."""
        return frozenset(os.path.relpath(os.path.join(at, name), self.root) for at, _, names in os.walk(folder) for name in names)

    @functools.lru_cache(maxsize=None)
    def _outputs_at(self, path):
        """The output of that name, or all below a folder of that name."""
        if path in self._outputs:
            return frozenset([path])
        return frozenset(o for o in self._outputs if o.startswith(path + "/") and "CMakeFiles/" not in o)

    @functools.lru_cache(maxsize=None)
    def _started_by(self, outputs):
        """Those outputs and what they start or load, and so on. What is not built is not among them."""
        todo, found = list(outputs), set()
        while todo:
            one = todo.pop()
            if one in found:
                continue
            found.add(one)
            for starter, started in STARTS.items():
                if one == starter or one.startswith(starter + "."):
                    todo += [output for path in started for output in self._outputs_at(path)]
        return frozenset(found)

    def _named(self, test):
        """(outputs of the build tree, files of the source tree) on the command line and in the environment of a test."""
        outputs, files = set(), set()
        # Also inside of words: of PATH=a:b, of what a shell is given, of lists.
        paths = re.findall(re.escape(self.root) + r"/[^\s:;,'\"]+", "\n".join([*test.command, *test.environment]))
        for path in map(os.path.normpath, paths):
            if path.startswith(self.build + os.sep):
                # A link of the build tree to a program there stands for it.
                for one in [path, *(os.path.join(path, name) for name in (os.listdir(path) if os.path.isdir(path) else ()))]:
                    if one == path or os.path.islink(one):
                        outputs |= self._outputs_at(self._inside(os.path.realpath(one)))
                outputs |= self._outputs_at(os.path.relpath(path, self.build))
            elif os.path.isfile(path):
                files.add(os.path.relpath(path, self.root))
            else:
                files |= self._files_below(path)
        return outputs, files

    def parts(self, test):
        """(outputs that a test names, those and what they start, files of the source tree: what it names and its modules)."""
        outputs, files = self._named(test)
        started = self._started_by(frozenset(outputs))
        files = files.union(*(self._modules(file) for file in files))
        reads = {path for one in [*started, *files] for path in READS.get(one, ())}
        return outputs, started, files | reads

    @functools.lru_cache(maxsize=None)
    def _modules(self, script):
        """What a Python script may import: modules beside it, or in tests/support."""
        if not script.endswith(".py"):
            return frozenset()
        folder = os.path.join(self.root, os.path.dirname(script))
        with open(os.path.join(self.root, script), encoding="utf-8") as f:
            imported = set(re.findall(r"^(?:from|import) (test_\w+)", f.read(), re.M))
        return frozenset(os.path.relpath(os.path.join(at, name), self.root)
                         for at in (folder, os.path.join(self.root, "tests/support")) for name in os.listdir(at)
                         if name.endswith(".py") and (not name.startswith("test_") or name[:-len(".py")] in imported))

    def own_sources(self, test):
        """What the programs that a test names itself are built from, and the scripts that it is."""
        outputs, _, files = self.parts(test)
        return files.union(*(self.sources_of(output) for output in outputs))

    def all_sources(self, test):
        """The same with the programs that those start."""
        _, started, files = self.parts(test)
        return files.union(*(self.sources_of(output) for output in started))
