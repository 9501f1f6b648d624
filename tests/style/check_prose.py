#!/usr/bin/env python3
"""Comments and documents say who does what: the words and fragments that hide it are counted, and no file may have more of them
than tests/style/prose.json has counted. A new file has none. Names of tests have none of the words in any file, and no count.
docs/style.md says how to write instead.

usage: check_prose.py ROOT            no file has more than its count
       check_prose.py ROOT --lower    writes lower counts; higher ones are refused
       check_prose.py ROOT --rates    what all files have together
       check_prose.py --self-test
"""
import json
import os
import re
import sys
import tempfile

import tree

BASELINE = "tests/style/prose.json"
QUOTES = ("docs/coverage.md",)  # its rows keep the words of their requirements
# (a) A sentence with these has no subject that a reader could look up.
PERSONS = re.compile(r"\b(who|whoever|whom|whose|nobody|somebody|everybody)\b", re.I)
# (b) A comment that begins so is most often a phrase that completes a name, and no sentence.
FRAGMENTS = re.compile(r"(Of|By|Where|Who|Whoever|What|Whether|None|Nothing|Nobody|The same)\b")
CODE = (".h", ".cpp", ".c")
# Names of tests: of cases and their sections, of functions of Python, and what CMake gives to ctest by add_test() and our functions.
TESTS = "tests/"
NOT_IN_NAMES = re.compile(r"\b(who|whoever|whom|whose|nobody|somebody|anybody|everybody)\b", re.I)
CASE = re.compile(r'\b(?:TEST_CASE|SECTION)\(\s*((?:"(?:\\.|[^"\\])*"\s*)+)')
PIECE = re.compile(r'"((?:\\.|[^"\\])*)"')
OF_PYTHON = re.compile(r"^ *(?:async )?def (test_\w+)", re.M)
OF_CMAKE = re.compile(r'^ *\w+\((?:NAME\s+)?"([^"]+)"', re.M)


def comments(text):
    """Those of C and C++, without the marks: those on lines of their own, and those behind code."""
    own, behind, lines = [], [], []
    for line in text.splitlines() + [""]:
        match = re.match(r"\s*// ?(.*)", line)
        if match:
            lines.append(match[1])
            continue
        if lines:
            own.append(" ".join(lines))
            lines = []
        match = re.search(r"\S +// (.*)", line)
        if match:
            behind.append(match[1])
    return own, behind


def count(path, text):
    """[persons, fragments], the number of words, and that of comments on lines of their own."""
    if not path.endswith(CODE):
        prose = re.sub(r"```.*?```|`[^`]*`|^    .*?$", "", text, flags=re.S | re.M)
        return [len(PERSONS.findall(prose)), 0], len(prose.split()), 0
    own, behind = comments(text)
    prose = " ".join(own + behind)
    return [len(PERSONS.findall(prose)), sum(FRAGMENTS.match(each) is not None for each in own)], len(prose.split()), len(own)


def names(path, text):
    """Those of the tests in a file."""
    if path.endswith(CODE):
        return ["".join(PIECE.findall(pieces)) for pieces in CASE.findall(text)]
    if path.endswith(".py"):
        return [name.replace("_", " ") for name in OF_PYTHON.findall(text)]
    # A variable of CMake stands for words that are not in the name.
    return [re.sub(r"\$\{\w+\}", "", name) for name in OF_CMAKE.findall(text)]


def bad_names(root):
    return [f"{path}: the test '{name}' has '{NOT_IN_NAMES.search(name)[0]}' in its name: name the subject (docs/style.md)"
            for path in tree.files(root, CODE + (".py", ".cmake", "CMakeLists.txt")) if path.startswith(TESTS)
            for name in names(path, tree.read(root, path)) if NOT_IN_NAMES.search(name)]


def counts(root):
    found, words, own = {}, 0, 0
    for path in tree.files(root, CODE + (".md",)):
        if path in QUOTES:
            continue
        counted, more, more_own = count(path, tree.read(root, path))
        words, own = words + more, own + more_own
        if any(counted):
            found[path] = counted
    return found, words, own


def compare(found, known):
    errors = []
    for path, counted in sorted(found.items()):
        for kind, now, before in zip(("who, whoever, nobody, ...", "comments that begin with a fragment"), counted, known.get(path, [0, 0])):
            if now > before:
                errors.append(f"{path}: {now} of '{kind}', not more than {before}: write sentences with a subject (docs/style.md)")
    return errors


def save(root, found):
    with open(os.path.join(root, BASELINE), "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join(f"{json.dumps(path)}: {json.dumps(found[path])}" for path in sorted(found)) + "\n}\n")


def load(root):
    with open(os.path.join(root, BASELINE), encoding="utf-8") as f:
        return json.load(f)


PLANTED = {
    "tests/CMakeLists.txt": 'add_test(NAME "room: a rank" COMMAND x "for nobody")\n  our_test("room: who waits"\n our_test("by ${who}")\n',
    "tests/a.cmake": 'our_test("lets nobody in" COMMAND x)\n',
    "tests/room/b_test.cpp": 'TEST_CASE(\n    "who sleeps is woken "\n    "by what comes") {\n  SECTION("Whose") {\n'
                             '  say("nobody");\nTEST_CASE("a whole name, of a \\"x\\"", "[who]") {\n',
    "tests/test_c.py": "    def test_nobody_waits(self):\n    def test_a_whole_one(self):\n    def who(self):\n",
    "room/d.cpp": 'TEST_CASE("nobody") {\n',
}


def self_test():
    errors = []
    good = "// The sender waits until the receiver has room.\n// It returns false if there is none.\nint x;  // bytes\n"
    bad = "// Of a message that nobody has asked for.\n// Who sends it waits.\n//\n// More.\nint y;  // whose it is\n"
    if count("a.h", good)[0] != [0, 0]:
        errors.append(f"a good comment is counted: {count('a.h', good)[0]}")
    if count("a.h", bad)[0] != [3, 1]:
        errors.append(f"expected [3, 1], found {count('a.h', bad)[0]}")
    if count("a.md", "Who `who` waits.\n\n    who is there\n")[0] != [1, 0]:
        errors.append("code in documents is counted")
    if [len(compare({"a": [2, 0], "b": [1, 1], "c": [1, 0]}, {"a": [1, 0], "b": [1, 2]}))] != [2]:
        errors.append("higher counts and new files are not seen")
    with tempfile.TemporaryDirectory() as folder:
        for path, text in PLANTED.items():
            os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                f.write(text)
        found_names = [line.split("'")[1] for line in bad_names(folder)]
        if found_names != ["room: who waits", "lets nobody in", "who sleeps is woken by what comes", "Whose", "test nobody waits"]:
            errors.append(f"the names of tests that are found: {found_names}")
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "tests/style"))
        save(folder, {"a": [1, 2]})
        if load(folder) != {"a": [1, 2]}:
            errors.append("what was saved is not read")
    return tree.finish(errors, "prose self-test")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = os.path.abspath(sys.argv[1])
    found, words, own = counts(root)
    persons, fragments = (sum(each[i] for each in found.values()) for i in (0, 1))
    if "--rates" in sys.argv:
        print(f"{words} words, {persons} of who and its like: {1000 * persons / words:.1f} of 1,000; {own} comments on lines of their "
              f"own, {fragments} of them begin with a fragment: {100 * fragments / own:.1f} %")
        return 0
    known = load(root) if os.path.exists(os.path.join(root, BASELINE)) else None
    errors = bad_names(root) + (compare(found, known) if known is not None else [])
    if "--lower" in sys.argv and not errors:
        save(root, found)
    return tree.finish(errors, f"prose: {persons} persons, {fragments} fragments")


if __name__ == "__main__":
    sys.exit(main())
