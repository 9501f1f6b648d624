#!/usr/bin/env python3
"""The record of breaks that were seen (tests/mutants/proved.json) cannot lie for long: check_mutants.py SCRIPT

Runs SCRIPT (scripts/mutants) on a made-up tree of one program, one test and two breaks: one that the test sees, one that it
does not. A record is forged that says both were seen with the present sources; a commit that draws the second break must find
it, and about one commit in ten draws it. Then the source changes: the first break, whose record is stale, is tried again.
"""
import json
import os
import subprocess
import sys
import tempfile

import tree

sys.path.insert(0, os.path.join(tree.ROOT, "scripts", "testing"))
import mutants as breaks  # noqa: E402 (the path above)

FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(made_up LANGUAGES C)
enable_testing()
add_executable(answer answer.c)
add_test(NAME answer COMMAND answer)
set_tests_properties(answer PROPERTIES LABELS unit)
""",
    "CMakePresets.json": """{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja",
 "binaryDir": "${sourceDir}/build-${presetName}", "cacheVariables": {"CMAKE_BUILD_TYPE": "Release"}}]}
""",
    "answer.c": """#include "answer.h"
int main(void) {
  int unused = 1;
  (void)unused;
  return ANSWER == 42 ? 0 : 1;
}
""",
    "answer.h": "#define ANSWER 42\n",
    "tests/mutants/seen.patch": """# row: 1
# target: answer
# test: ^answer$
# why: the answer is another one
--- a/answer.h
+++ b/answer.h
@@ -1 +1 @@
-#define ANSWER 42
+#define ANSWER 41
""",
    "tests/mutants/survivor.patch": """# row: 2
# target: answer
# test: ^answer$
# why: nothing looks at it
--- a/answer.c
+++ b/answer.c
@@ -1,5 +1,5 @@
 #include "answer.h"
 int main(void) {
-  int unused = 1;
+  int unused = 2;
   (void)unused;
   return ANSWER == 42 ? 0 : 1;
""",
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text)


def build(root):
    for command in (["cmake", "--preset", "release"], ["cmake", "--build", "build-release"]):
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)


def run(script, root, commit, *words):
    ended = subprocess.run([sys.executable, "-B", script, "--root", root, "--commit", commit, *words], capture_output=True, text=True,
                           env={k: v for k, v in os.environ.items() if not k.startswith("TESTING_")}, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def recorded(root):
    with open(os.path.join(root, "tests", "mutants", "proved.json"), encoding="utf-8") as f:
        return json.load(f)


def main(script):
    errors = []

    def expect(true, what, said=""):
        if not true:
            errors.append(f"{what}\n{said}")

    drawn = next(f"commit {n}" for n in range(1000) if breaks.drawn("survivor", f"commit {n}"))
    other = next(f"commit {n}" for n in range(1000)
                 if not breaks.drawn("survivor", f"commit {n}") and not breaks.drawn("seen", f"commit {n}"))
    share = sum(breaks.drawn("survivor", f"commit {n}") for n in range(1000))
    expect(60 < share < 140, f"{share} of 1,000 commits draw a break, not about a tenth")
    with tempfile.TemporaryDirectory() as root:
        for path, text in FILES.items():
            write(root, path, text)
        build(root)
        status, said = run(script, root, other, "--tests", "programs")
        expect(status == 0 and "0 mutants tried" in said, "breaks that tests in memory must see were tried with the others", said)
        status, said = run(script, root, other, "--tests", "memory")
        expect(status == 1 and "SURVIVED" in said and "2 mutants tried, 1 killed" in said, "a break without a record was not tried", said)
        known = recorded(root)
        expect(set(known) == {"seen"}, f"the record is not of the break that was seen: {known}")
        digest = breaks.digests(breaks.load(root), breaks.graph.Graph(root, os.path.join(root, "build-release")))

        forged = {name: {"digest": digest[name], "date": "2024-01-01"} for name in digest}
        write(root, "tests/mutants/proved.json", json.dumps(forged))
        status, said = run(script, root, other)
        expect(status == 0 and "0 mutants tried" in said, "what is recorded was tried by a commit that does not draw it", said)
        status, said = run(script, root, drawn)
        expect(status == 1 and "SURVIVED" in said, "a forged record was not found by a commit that draws it", said)
        expect("survivor" not in recorded(root), "a forged record stands after it was found")

        write(root, "tests/mutants/proved.json", json.dumps(forged))
        write(root, "answer.h", "#define ANSWER (40 + 2)\n")  # in the compiler's dependency file only
        build(root)
        status, said = run(script, root, other)
        expect(status == 1 and "2 mutants tried" in said and "DOES NOT APPLY" in said, "a stale record was believed", said)
    return tree.finish(errors, "record of mutants")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
