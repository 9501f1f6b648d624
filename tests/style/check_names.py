#!/usr/bin/env python3
"""One type of a name in a namespace: two in two files are one to the linker, which keeps the code of either.

No compiler sees both, so nobody warns (the one definition rule). Types without a namespace's name are their
file's own, and tests, benchmarks and examples are programs of their own: none of these counts.

usage: check_names.py ROOT | check_names.py --self-test
"""
import os
import re
import sys
import tempfile

import tree

PROGRAMS = re.compile(r"^(tests|bench|examples)/")
# As the formatter leaves them: what stands in a namespace begins its line.
OPENS = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
CLOSES = re.compile(r"^\}  // namespace")
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum struct|enum) (?:alignas\([^)]*\) |\[\[\w+\]\] )?([\w:]+)(?![\w:])([^;]*)$")


def types_of(text):
    """(line number, qualified name) of each type that is defined in named namespaces only."""
    spaces, found = [], []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if opened := OPENS.match(line):
            spaces.append(opened.group(1))
        elif CLOSES.match(line) and spaces:
            spaces.pop()
        elif (made := TYPE.match(line)) and None not in spaces:
            rest = made.group(2) + " ".join(lines[number:number + 3])
            if "{" in rest.split(";")[0]:
                found.append((number, "::".join([*spaces, made.group(1)])))
    return found


def check(root):
    """One line for each type that another file has defined before."""
    first, errors = {}, []
    for path in tree.files(root, tree.SOURCE_SUFFIXES):
        if PROGRAMS.match(path):
            continue
        for number, name in types_of(tree.read(root, path)):
            where = f"{path}:{number}"
            if name in first:
                errors.append(f"{where}: there is another {name} in {first[name]}: give one of them another name")
            else:
                first[name] = where
    return errors


BAD = {
    "a/one.h": "namespace scela {\nstruct Kind {\n};\nstruct Only;\n}  // namespace scela\n",
    "a/two.cpp": "namespace scela {\nnamespace {\nstruct Own {\n};\n}  // namespace\nstruct Only {\n};\n}  // namespace scela\n",
    "b/three.h": "namespace scela::more {\nstruct Kind {\n};\n}  // namespace scela::more\n",
    "b/four.cpp": "namespace scela {\nnamespace {\nstruct Own {\n};\n}  // namespace\nenum class Kind : int {\n  one\n};\n"
                  "}  // namespace scela\n",
    "tests/five.cpp": "namespace scela {\nstruct Kind {\n};\n}  // namespace scela\n",
}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text in BAD.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = check(root)
    expected = ["b/four.cpp:6: there is another scela::Kind in a/one.h:2: give one of them another name"]
    return [] if found == expected else [f"expected {expected}, found {found}"]


def main():
    errors = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    for error in errors:
        print(error)
    print(f"names: {len(errors)} finding(s)")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
