#!/usr/bin/env python3
"""Every header compiles alone, without warnings.

A header whose text and whose includes are unchanged since it compiled is not compiled again, in any clone (tree.Proofs).

usage: check_headers.py ROOT BUILD COMPILER | check_headers.py --self-test COMPILER
"""
import os
import subprocess
import sys
import tempfile

import tree

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
CXX_FLAGS = ["-x", "c++", "-std=c++20", "-Wconversion"]
C_FLAGS = ["-x", "c", "-std=c11"]


def headers_of_c(root):
    """Headers that C sources include and no C++ source does."""
    users = {".c": set(), ".cpp": set()}
    for path in tree.files(root, (".c", ".cpp")):
        for _, kind, target in tree.includes(tree.read(root, path)):
            if kind == '"':
                users[os.path.splitext(path)[1]] |= {target, os.path.join(os.path.dirname(path), target)}
    return users[".c"] - users[".cpp"]


def check(root, build, compiler, proofs=None):
    headers = [p for p in tree.files(root, (".h",)) if not p.startswith("tests/style/consumer/")]
    closure = tree.Closure(root)
    definitions = tree.Definitions(root, build)
    salt = tree.read("/", os.path.abspath(__file__)) + tree.first_line_of([compiler, "--version"])
    salt += tree.packages_digest()
    only_c = headers_of_c(root)

    def compile_alone(headers):
        (header,) = headers
        # Included from a one-line file: "#pragma once in main file" is a warning otherwise.
        language = C_FLAGS if header in only_c else CXX_FLAGS
        run = subprocess.run([compiler, *FLAGS, *language, *definitions.flags(header), "-I", root, "-"],
                             input=f'#include "{header}"\n', cwd=root, capture_output=True, text=True,
                             check=False)
        return f"{header}: does not compile alone\n{run.stderr}" if run.returncode else ""

    return tree.run_cached(proofs or tree.Proofs("headers"), headers,
                           lambda h: closure.digest(h, salt + str(h in only_c) + definitions.salt(h)), compile_alone)


def self_test(compiler):
    errors = []
    with tempfile.TemporaryDirectory() as root:
        def write(path, text):
            os.makedirs(os.path.join(root, "room"), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)

        write("room/good.h", "#pragma once\n#include <string>\ninline std::string a() { return {}; }\n")
        write("room/bad.h", "#pragma once\ninline std::string b() { return {}; }\n")
        build, proofs = os.path.join(root, "build"), tree.Proofs("headers", os.path.join(root, "proofs"))
        if [e.split(":")[0] for e in check(root, build, compiler, proofs)] != ["room/bad.h"]:
            errors.append("a header without its includes was not seen")
        write("room/bad.h", '#pragma once\n#include "room/good.h"\ninline std::string b() { return a(); }\n')
        if check(root, build, compiler, proofs):
            errors.append("a mended header was refused")
        write("room/good.h", "#pragma once\n")
        if len(check(root, build, compiler, proofs)) != 1:
            errors.append("a change below an unchanged header was not seen")
        if tree.Proofs("headers", os.path.join(root, "proofs")).known("0" * 64):
            errors.append("what was never proved is known")
    return tree.finish(errors, "headers self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(sys.argv[2]))
    sys.exit(tree.finish(check(os.path.abspath(sys.argv[1]), *sys.argv[2:4]), "headers"))
