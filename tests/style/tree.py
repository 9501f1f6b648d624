"""What the style checks share: the files of the tree, the rooms, and a cache of checks by content.

A check runs on a tree given by its root, so that each can be shown a made-up bad tree (--self-test).
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE_SUFFIXES = (".h", ".c", ".cpp")
SKIPPED_FOLDERS = re.compile(r"^(build(-.*)?|\.git|\.cache|Testing|__pycache__)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def files(root, suffixes=None):
    """Paths below root, relative and sorted, without build trees."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not SKIPPED_FOLDERS.match(f))
        for name in names:
            if suffixes is None or name.endswith(suffixes):
                found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found)


def tracked(root):
    """What git would commit; every file where there is no git."""
    run = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True,
                         text=True, check=False)
    paths = run.stdout.splitlines() if run.returncode == 0 else files(root)
    return sorted(p for p in paths if os.path.isfile(os.path.join(root, p)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def arrows(root):
    return json.loads(read(root, "tests/style/arrows.json"))


def folder_arrows(root):
    """Room to the folders in it, each with those that it includes; all are relative to the room, and "." is the room's own."""
    return json.loads(read(root, "tests/style/folder_arrows.json"))


def room_of(path, table):
    """The longest room that is a folder above path; None for tests, examples, documents."""
    best = None
    for room in table:
        if path.startswith(room + "/") and (best is None or len(room) > len(best)):
            best = room
    return best


def includes(text):
    """(line number, '<' or '"', path) of each include line."""
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1), m.group(2)) for m in INCLUDE.finditer(text)]


class Closure:
    """Hash of a file together with every file of the tree that it includes, directly or not.

    An include is looked for where the build looks: beside the file (quoted ones), from the root, and in the public
    folders (`<room>/include`). What is found nowhere is a system header; packages_digest() stands for those.
    """

    def __init__(self, root):
        self.root = root
        self.reached = {}
        self.public = sorted({os.path.join(folder, "include") for path in files(root, (".h",))
                              for folder, below, _ in [path.partition("/include/")] if below})

    def _found(self, path, kind, target):
        beside = [os.path.dirname(path)] if kind == '"' else []
        for folder in beside + [""] + self.public:
            candidate = os.path.normpath(os.path.join(folder, target))
            if os.path.isfile(os.path.join(self.root, candidate)):
                return candidate
        return None

    def reach(self, path):
        """The file and all that it includes, relative to the root and sorted."""
        seen, todo = set(), [path]
        while todo:
            one = todo.pop()
            if one in seen or not os.path.isfile(os.path.join(self.root, one)):
                continue
            seen.add(one)
            if one not in self.reached:
                text = read(self.root, one)
                included = {self._found(one, kind, target) for _, kind, target in includes(text)} - {None}
                self.reached[one] = (hashlib.sha256(text.encode()).hexdigest(), included)
            todo += self.reached[one][1]
        return sorted(seen)

    def digest(self, path, salt):
        return digest_of([salt] + [p + self.reached[p][0] for p in self.reach(path)])


def digest_of(parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.lru_cache(maxsize=None)
def packages_digest():
    """Changes with the version of any installed package of scripts/packages, and of those that these depend on: compilers,
    libraries and their headers, interpreters. Not of tools that benchmarks measure, nor of those whose options are compared."""
    todo = [line.split()[1] for line in read(ROOT, "scripts/packages").splitlines() if line.startswith(("build ", "test "))]
    run = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Depends},${Pre-Depends}\n"], capture_output=True,
                         text=True, check=False)
    installed = {}
    for line in run.stdout.splitlines():
        name, version, depends = line.split("\t")
        if version:
            installed[name] = (version, re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", depends))
    found = set()
    while todo:
        name = todo.pop()
        if name in installed and name not in found:
            found.add(name)
            todo += installed[name][1]
    return digest_of([f"{name} {installed[name][0]}" for name in sorted(found)])


def cache_folder():
    """$XDG_CACHE_HOME/scela, else ~/.cache/scela; a path that is not absolute does not count, as the XDG specification says."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".cache"), "scela")


class Proofs:
    """What was found to be right, by digest of all that was looked at: one empty file each, outside of every build tree.

    In cache_folder(), which may be deleted at any time: everything is then looked at again. Where it cannot be written, nothing
    is remembered. Safe for several processes. With TESTING_PROOFS_ANEW=1 nothing counts as known (scripts/test --all).
    """

    KEPT_DAYS = 60

    def __init__(self, kind, folder=None):
        self.folder = os.path.join(folder or os.path.join(cache_folder(), "proofs"), kind)
        self.anew = os.environ.get("TESTING_PROOFS_ANEW") == "1"

    def _file(self, digest):
        return os.path.join(self.folder, digest[:2], digest[2:])

    def known(self, digest):
        if self.anew:
            return False
        try:
            os.utime(self._file(digest))
            return True
        except OSError:  # also where the folder cannot be written, because nothing could be forgotten there
            return False

    def add(self, digest):
        try:
            os.makedirs(os.path.dirname(self._file(digest)), exist_ok=True)
            with open(self._file(digest), "w", encoding="utf-8"):
                pass
        except OSError as error:
            not_kept(error)

    def forget(self, digest):
        try:
            os.remove(self._file(digest))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            not_kept(error)

    def forget_unused(self):
        """Deletes what no run has asked for in KEPT_DAYS days."""
        oldest = time.time() - self.KEPT_DAYS * 86400
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    if os.stat(path).st_mtime < oldest:
                        os.remove(path)
                except OSError:
                    pass  # another process was faster, or the folder cannot be written


@functools.lru_cache(maxsize=1)  # told once
def _told_not_kept(why):
    print(f"nothing is remembered in {cache_folder()}: {why}", file=sys.stderr)


def not_kept(error):
    """Tells that a result cannot be kept for the next run."""
    _told_not_kept(error.strerror)


def blamed(part, text):
    """Those of `part` that the messages in a text are of, if all are: else a file that several include may be at fault, or the
    compiler has given up early and has not told all."""
    places = set(re.findall(r"^(\S+?):\d+:\d+: (?:warning|error)", text, re.M))
    of = {place: [job for job in part if place == job or place.endswith("/" + job)] for place in places}
    if not places or not all(of.values()) or "clang-diagnostic-error" in text:
        return []
    return [job for job in part if any(job in jobs for jobs in of.values())]


def run_cached(proofs, jobs, digest, check, workers=None, together=None, most=8):
    """Runs check(jobs) -> error text or '' for the jobs whose digest is not known as clean.

    Each alone, or where together(job) says the same up to `most` in one call; of a list that is not clean those that are blamed
    are checked again alone, or if that is unclear each half, so that errors come from calls with one job. Only clean results are
    remembered. Returns the error texts; prints how much was remembered.
    """
    digests = {job: digest(job) for job in jobs}
    todo = [job for job in jobs if not proofs.known(digests[job])]
    by_key = {}
    for job in todo:
        by_key.setdefault(together(job) if together else job, []).append(job)
    parts = [same[at:at + most] for same in by_key.values() for at in range(0, len(same), most)]

    def errors_of(part):
        text = check(part)
        if text and len(part) == 1:
            return [text]
        at_fault = blamed(part, text) if text else []
        if text and not at_fault:
            return errors_of(part[:len(part) // 2]) + errors_of(part[len(part) // 2:])
        for job in part:
            if job not in at_fault:
                proofs.add(digests[job])
        return [error for job in at_fault for error in errors_of([job])]

    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        errors = [text for found in pool.map(errors_of, parts) for text in found]
    proofs.forget_unused()
    print(f"{len(jobs)} files, {len(todo)} checked, {len(jobs) - len(todo)} unchanged since they were clean")
    return errors


class Definitions:
    """The -D, -I and -isystem flags that the build gives each file; a header has those of its folder's
    sources, or of the nearest folder above or below that has any."""

    def __init__(self, root, build):
        self.root, self.build = os.path.abspath(root), os.path.abspath(build)
        self.of_file, self.of_folder = {}, {}
        database = os.path.join(build, "compile_commands.json")
        if not os.path.exists(database):
            return
        with open(database, encoding="utf-8") as f:
            entries = json.load(f)
        for entry in entries:
            flags = []
            words = shlex.split(entry["command"])
            for word, following in zip(words, words[1:] + [""]):
                if word.startswith(("-D", "-I")):
                    flags.append(word)
                elif word == "-isystem":
                    flags.append(word + following)
            for path in self._sources(entry["file"]):
                self.of_file[path] = flags
                folder = os.path.dirname(path)
                while folder:
                    known = self.of_folder.setdefault(folder, [])
                    known += [flag for flag in flags if flag not in known]
                    folder = os.path.dirname(folder)

    def _sources(self, file):
        """What is compiled there: several where cmake/ScelaRoom.cmake has joined them."""
        if os.path.basename(os.path.dirname(file)) == "joined" and os.path.exists(file):
            return [target for _, _, target in includes(read("/", file))]
        return [os.path.relpath(file, self.root)]

    def flags(self, path):
        if path in self.of_file:
            return self.of_file[path]
        folder = os.path.dirname(path)
        while folder and folder not in self.of_folder:
            folder = os.path.dirname(folder)
        return self.of_folder.get(folder, [])

    def salt(self, path):
        """The flags as one text, the same in every clone."""
        return " ".join(self.flags(path)).replace(self.build, "<build>").replace(self.root, "<root>")


def first_line_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def finish(errors, what):
    """Prints the findings; the exit status of the check."""
    for error in errors:
        print(error)
    print(f"{what}: {len(errors)} finding(s)")
    return 1 if errors else 0
