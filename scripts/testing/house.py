"""What scripts/house measures: files, comments, classes, functions, folders, and the arrows of the #include lines.

Classes and functions are those that Debian's universal-ctags finds. Lines are those that are not blank. A class has the lines of
its functions, in all files that define them; the lines of its body beside these are not counted.
"""
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "style"))
import check_layers  # noqa: E402 (the path above)
import check_prose  # noqa: E402
import tree  # noqa: E402

OTHER_THAN_PRODUCT = ("tests", "bench", "examples")
# Files that count in a folder: patches, inputs and results of tests are no code.
FOLDER_FILES = tree.SOURCE_SUFFIXES + (".py", ".sh")
# A test case is a function; ctags does not see that by itself.
CTAGS = ["ctags", "--output-format=json", "--language-force=C++", "--kinds-C++=cstfp", "--fields=+neS", "--fields-C++={properties}",
         "--sort=no", "-D", "TEST_CASE(...)=void TEST_CASE()", "-f", "-", "-L", "-"]
STATE = re.compile(r"\((?:const )?([\w:]*\bState)(?: const)? ?&")
ANONYMOUS = re.compile(r"__anon\w+::")


def room_of(path):
    """The folder of the root that a path is in."""
    return path.split("/")[0]


def is_product(path):
    return room_of(path) not in OTHER_THAN_PRODUCT


def named(scope, name):
    """The name as it is shown, without the project's namespace and without those that have no name."""
    return re.sub(r"^scela::", "", ANONYMOUS.sub("", f"{scope}::{name}" if scope else name))


def in_file(name, path):
    """The name of what only one file sees. In the product the folder is left out, so that a move keeps the name."""
    return f"{name} ({os.path.basename(path) if is_product(path) else path})"


def name_of(tag):
    """The name of a class or function in the tables and in the baseline."""
    path, scope, name = tag["path"], tag.get("scope", ""), tag["name"]
    if name == "TEST_CASE" and '"' in tag["pattern"]:
        return f"TEST_CASE {tag['pattern'].split(chr(34))[1]} ({os.path.basename(path)})".replace("\\/", "/")
    alone = ANONYMOUS.search(scope + "::") or not (is_product(path) or path.endswith(".h"))
    return in_file(named(scope, name), path) if alone else named(scope, name)


class File:
    def __init__(self, root, path):
        text = tree.read(root, path)
        self.path, self.comment_lines, block = path, 0, False
        self.up_to = [0]  # how many of the first lines are not blank
        for line in text.splitlines():
            line = line.strip()
            self.up_to.append(self.up_to[-1] + bool(line))
            block = block or line.startswith("/*")
            self.comment_lines += bool(line) and (block or line.startswith("//"))
            block = block and "*/" not in line
        self.lines = self.up_to[-1]
        (self.persons, self.fragments), self.words, self.comments = check_prose.count(path, text)

    def between(self, first, last):
        """The lines from `first` to `last`, which are numbered from 1; both are included."""
        return self.up_to[min(last, len(self.up_to) - 1)] - self.up_to[first - 1]


class Class:
    def __init__(self):
        self.declared, self.outside, self.inside = (collections.Counter() for _ in range(3))
        self.lines, self.pure, self.bodies, self.files = 0, 0, [], set()

    def methods(self):
        """An overload is a function of its own; a function that is declared in the body and defined outside counts once."""
        names = set(self.declared) | set(self.outside)
        return sum(max(self.declared[name], self.outside[name]) for name in names) + sum(self.inside.values())

    def add(self, tag, lines):
        path, properties = tag["path"], tag.get("properties", "").split(",")
        if "delete" in properties:
            return
        in_body = any(path == body and first <= tag["line"] <= last for body, first, last in self.bodies)
        if tag["kind"] == "prototype" and in_body:
            self.declared[tag["name"]] += 1
            self.pure += "pure" in properties
        elif tag["kind"] == "function":
            (self.inside if in_body else self.outside)[tag["name"]] += 1
            self.lines += lines
            self.files.add(path)


class House:
    """The measurements of one tree."""

    def __init__(self, root):
        self.root = root
        self.files = {path: File(root, path) for path in tree.files(root, tree.SOURCE_SUFFIXES)}
        self.folders = collections.Counter(os.path.dirname(path) for path in tree.files(root, FOLDER_FILES))
        self.classes = collections.defaultdict(Class)
        self.functions = {}  # name to (lines, path); of overloads the longest
        self.aliases = {}    # (path, name) to the name of the State that it stands for
        self._read_tags()
        self.includes = self._read_includes()

    def _read_tags(self):
        run = subprocess.run(CTAGS, input="\n".join(self.files), cwd=self.root, capture_output=True, text=True, check=True)
        tags = [tag for tag in map(json.loads, run.stdout.splitlines()) if not tag["name"].startswith("__anon")]
        for tag in tags:
            if tag["kind"] in ("class", "struct") and "end" in tag:
                of = self.classes[name_of(tag)]
                of.bodies.append((tag["path"], tag["line"], tag["end"]))
                of.files.add(tag["path"])
        for tag in tags:
            target = tag.get("typeref", "").partition(":")[2]
            if tag["kind"] == "typedef" and STATE.match(f"({target}&"):
                key = self._class_named(target, tag.get("scope", ""), tag["path"])
                self.aliases[tag["path"], named(tag.get("scope", ""), tag["name"])] = key
        for tag in tags:
            if tag["kind"] in ("function", "prototype"):
                self._add_function(tag)

    def _class_named(self, name, scope, path):
        """The class, in self.classes, that `name` means in a namespace or class of a file; None if there is no such class."""
        spaces = [space for space in named(scope, "").split("::") if space]
        for count in range(len(spaces), -1, -1):
            full = "::".join(spaces[:count] + [named("", name)])
            full = self.aliases.get((path, full)) or full
            for key in (in_file(full, path), full):
                if key in self.classes:
                    return key
        return None

    def _add_function(self, tag):
        path, scope, defined = tag["path"], tag.get("scope", ""), tag["kind"] == "function"
        lines = self.files[path].between(tag["line"], tag.get("end", tag["line"]))
        if defined:
            name = name_of(tag)
            self.functions[name] = max((lines, path), self.functions.get(name, (0, "")))
        of = self._class_named(re.sub(r"<.*?>", "", scope), "", path) if scope else None
        first = STATE.match(tag.get("signature", ""))
        if of is None and first and defined:  # a free function
            of = self._class_named(first[1], scope, path)
        if of is not None:
            self.classes[of].add(tag, lines)

    def _read_includes(self):
        """Pairs of a file and a file that it includes, both of the product."""
        closure, found = tree.Closure(self.root), []
        for path in filter(is_product, self.files):
            closure.reach(path)
            found += [(path, target) for target in sorted(closure.reached[path][1]) if is_product(target)]
        return found


def arrows(includes, node_of):
    """Arrow, from one node to another, to the number of include lines that it stands for."""
    nodes = ((node_of(path), node_of(target)) for path, target in includes)
    return collections.Counter((a, b) for a, b in nodes if a and b and a != b)


def cycles(found):
    """The sets of nodes that lead to each other."""
    table = {}
    for a, b in found:
        table.setdefault(a, []).append(b)
    reached = {node: check_layers.closure(table, node) for node in table}
    return sorted({tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
                   for node in table if node in reached[node]})


def upward(found):
    """The arrows of cycles that lead up: the node that the others of the cycle include in the fewest lines stands highest."""
    back = []
    for cycle in cycles(found):
        rest = set(cycle)
        while rest:
            top = min(sorted(rest), key=lambda node: sum(found[other, node] for other in rest))
            rest.remove(top)
            back += [(other, top) for other in sorted(rest) if (other, top) in found]
    return back
