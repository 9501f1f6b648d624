"""What the style checks share: the files of the tree, the rooms, and a cache of checks by content.

A check runs on a tree given by its root, so that each can be shown a made-up bad tree (--self-test).
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess

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
    """Hash of a file together with every file of the tree that it includes, directly or not."""

    def __init__(self, root):
        self.root = root
        self.reached = {}

    def _reach(self, path, seen):
        if path in seen or not os.path.isfile(os.path.join(self.root, path)):
            return
        seen.add(path)
        if path not in self.reached:
            text = read(self.root, path)
            quoted = [p for _, kind, p in includes(text) if kind == '"']
            self.reached[path] = (hashlib.sha256(text.encode()).hexdigest(), quoted)
        for other in self.reached[path][1]:
            self._reach(other, seen)

    def digest(self, path, salt):
        seen = set()
        self._reach(path, seen)
        parts = [salt] + [p + self.reached[p][0] for p in sorted(seen)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def run_cached(cache_file, jobs, digest, check, workers=None):
    """Runs check(job) -> error text or '' for each job whose digest is not known as clean.

    Only clean results are remembered. Returns the error texts; says how much was remembered.
    """
    try:
        with open(cache_file, encoding="utf-8") as f:
            known = set(json.load(f))
    except (OSError, ValueError):
        known = set()
    digests = {job: digest(job) for job in jobs}
    todo = [job for job in jobs if digests[job] not in known]
    errors = []
    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for job, text in zip(todo, pool.map(check, todo)):
            if text:
                errors.append(text)
                digests.pop(job)
    os.makedirs(os.path.dirname(cache_file) or ".", exist_ok=True)
    temporary = f"{cache_file}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as f:
        json.dump(sorted(digests.values()), f)
    os.replace(temporary, cache_file)
    print(f"{len(jobs)} files, {len(todo)} checked, {len(jobs) - len(todo)} unchanged since they were clean")
    return errors


class Definitions:
    """The -D, -I and -isystem flags that the build gives each file; a header has those of its folder's
    sources, or of the nearest folder above or below that has any."""

    def __init__(self, root, build):
        self.of_file, self.of_folder = {}, {}
        database = os.path.join(build, "compile_commands.json")
        if not os.path.exists(database):
            return
        with open(database, encoding="utf-8") as f:
            entries = json.load(f)
        for entry in entries:
            path = os.path.relpath(entry["file"], root)
            flags = []
            words = shlex.split(entry["command"])
            for word, following in zip(words, words[1:] + [""]):
                if word.startswith(("-D", "-I")):
                    flags.append(word)
                elif word == "-isystem":
                    flags.append(word + following)
            self.of_file[path] = flags
            folder = os.path.dirname(path)
            while folder:
                known = self.of_folder.setdefault(folder, [])
                known += [flag for flag in flags if flag not in known]
                folder = os.path.dirname(folder)

    def flags(self, path):
        if path in self.of_file:
            return self.of_file[path]
        folder = os.path.dirname(path)
        while folder and folder not in self.of_folder:
            folder = os.path.dirname(folder)
        return self.of_folder.get(folder, [])


def first_line_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def finish(errors, what):
    """Prints the findings; the exit status of the check."""
    for error in errors:
        print(error)
    print(f"{what}: {len(errors)} finding(s)")
    return 1 if errors else 0
