#!/usr/bin/env python3
"""What scripts/test leaves out is what has passed with exactly the present sources, or the same programs: check_proved.py

On a made-up tree of two programs, one of which starts the other, and a program of two headers: which tests a memory
(scripts/testing/proved.py) leaves out after a change of a source, a header that only the compiler's dependency file names, a
program that is started, a script and its module, the flags of a program, a file that the configuration writes, a command line, a
source that is older than what was built from another one;
and that one commit in ten draws each known test again. And which tests scripts/test --changed takes for a change (scripts/testing/affected.py).
"""
import os
import subprocess
import sys
import tempfile
import time

import tree

sys.path.insert(0, os.path.join(tree.ROOT, "scripts", "testing"))
import affected  # noqa: E402 (the path above)
import graph  # noqa: E402
import proved  # noqa: E402

FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(made_up LANGUAGES C)
enable_testing()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
add_executable(scela-run run.c)
add_executable(scela-nla nla.c)
add_executable(alone alone.c)
set_target_properties(alone PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/other")
target_include_directories(alone PRIVATE "${PROJECT_BINARY_DIR}")
file(CONFIGURE OUTPUT made.h CONTENT "#define MADE 0\n")
include(tests.cmake)
""",
    "tests.cmake": """add_test(NAME starts COMMAND scela-run)
add_test(NAME alone COMMAND alone one)
add_test(NAME scripted COMMAND sh "${PROJECT_SOURCE_DIR}/tests/script.py")
add_test(NAME corpus COMMAND alone "${PROJECT_SOURCE_DIR}/tests/inputs")
set_tests_properties(starts alone scripted corpus PROPERTIES LABELS unit)
add_test(NAME path COMMAND sh -c "PATH=${PROJECT_BINARY_DIR}/bin:/bin scela-run; exit $?")
add_test(NAME linked COMMAND true)
set_tests_properties(linked PROPERTIES ENVIRONMENT "PATH=${PROJECT_BINARY_DIR}/links:/bin")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/links")
file(CREATE_LINK "${PROJECT_BINARY_DIR}/bin/scela-run" "${PROJECT_BINARY_DIR}/links/mpiexec" SYMBOLIC)
add_test(NAME always COMMAND alone two)
set_tests_properties(always PROPERTIES LABELS install)
add_test(NAME nothing COMMAND true)
""",
    "run.c": "int main(void) { return 0; }\n",
    "nla.c": "int main(void) { return 0; }\n",
    "alone.c": '#include "alone.h"\n#include "made.h"\nint main(void) { return ALONE; }\n',
    "alone.h": "#define ALONE 0\n",
    "tests/script.py": "exit 0\nimport test_other\n",
    "tests/test_other.py": "\n",
    "tests/test_unused.py": "\n",
    "tests/module.py": "\n",
    "tests/inputs/one": "1\n",
    "tests/support/shared.py": "\n",
    ".gitignore": "build/\n",
}


class MadeUp:
    def __init__(self, root):
        self.root, self.build = root, os.path.join(root, "build")
        for path, text in FILES.items():
            self.write(path, text)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")
        self.make()

    def write(self, path, text):
        os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as f:
            f.write(text)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, *words], check=True)

    def make(self):
        for command in (["cmake", "-G", "Ninja", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
            subprocess.run(command, cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def memory(self, commit):
        memory = proved.Memory(self.root, self.build, commit)
        memory.proofs = tree.Proofs("tests", os.path.join(self.root, "proofs"))
        memory.proofs.anew = False
        return memory

    def left_out(self, commit):
        """Names of the known tests; then all that were to run are remembered as passed."""
        memory = self.memory(commit)
        run, known = memory.choose({test.name for test in memory.graph.tests})
        memory.remember(run, {test.name for test in run})
        return sorted(test.name for test in known)


def main():
    errors = []

    def expect(found, wanted, what):
        if found != wanted:
            errors.append(f"{what}: {found}, expected {wanted}")

    every = ["alone", "corpus", "linked", "path", "scripted", "starts"]
    quiet = next(f"{n}" for n in range(1000) if not any(proved.mutants.drawn(name, f"{n}") for name in every))
    with tempfile.TemporaryDirectory() as root:
        made = MadeUp(root)
        expect(made.left_out(quiet), [], "known before anything ran")
        expect(made.left_out(quiet), every, "known after all passed")
        for path, text, still in (
                ("alone.h", "#define ALONE 2\n", ["linked", "path", "scripted", "starts"]),
                ("nla.c", "int main(void) { return 3; }\n", ["alone", "corpus", "scripted"]),
                ("run.c", "int main(void) { return 4; }\n", ["alone", "corpus", "scripted"]),
                # The same programs come of these.
                ("alone.h", "// A comment.\n#define ALONE (1 + 1)\n", every),
                ("nla.c", "int main(void) { /* A comment. */\nreturn 3; }\n", every),
                ("tests/test_other.py", "x = 1\n", ["alone", "corpus", "linked", "path", "starts"]),
                ("tests/test_unused.py", "x = 1\n", every),
                ("tests/script.py", "exit 1\n", ["alone", "corpus", "linked", "path", "starts"]),
                ("tests/module.py", "x = 1\n", ["alone", "corpus", "linked", "path", "starts"]),
                ("tests/support/shared.py", "x = 1\n", ["alone", "corpus", "linked", "path", "starts"]),
                ("tests/inputs/two", "2\n", ["alone", "linked", "path", "scripted", "starts"]),
                ("README.md", "nothing that is built\n", every),
                ("tests.cmake", FILES["tests.cmake"].replace("alone one", "alone three"),
                 ["corpus", "linked", "path", "scripted", "starts"]),
                ("tests.cmake", FILES["tests.cmake"] + "set_tests_properties(starts PROPERTIES ENVIRONMENT A=1)\n",
                 ["alone", "corpus", "linked", "path", "scripted"]),
                ("tests.cmake", FILES["tests.cmake"] + "set_tests_properties(starts PROPERTIES ENVIRONMENT A=1 TIMEOUT 9)\n", every),
                ("CMakeLists.txt", FILES["CMakeLists.txt"].replace("MADE 0", "MADE 8"), every),
                ("alone.c", FILES["alone.c"].replace("return ALONE", "return ALONE + MADE"), ["linked", "path", "scripted", "starts"]),
                ("CMakeLists.txt", FILES["CMakeLists.txt"] + "target_compile_definitions(scela-nla PRIVATE A=1)\n", every),
                ("CMakeLists.txt", FILES["CMakeLists.txt"] + "target_compile_options(scela-nla PRIVATE -O2)\n",
                 ["alone", "corpus", "scripted"]),
                ("CMakeLists.txt", FILES["CMakeLists.txt"] + "# nothing\n", every)):  # as at the beginning
            made.write(path, text)
            made.make()
            expect(made.left_out(quiet), still, f"known after a change of {path}")
            expect(made.left_out(quiet), every, f"known after {path} was proved")
        # A source that changes between the build and the end of the tests: which of the two was tested is not known.
        built = time.time()
        made.write("alone.h", "#define ALONE 5\n")
        memory = made.memory(quiet)
        memory.built = built
        memory.remember(memory.graph.tests, set(every))
        made.make()
        expect(made.left_out(quiet), ["linked", "path", "scripted", "starts"], "known after a change during the tests")
        for name in every:
            drawing = next(f"{n}" for n in range(1000) if proved.mutants.drawn(name, f"{n}"))
            expect(name in made.left_out(drawing), False, f"{name} left out by a commit that draws it")
        memory = made.memory(quiet)
        memory.proofs.anew = True
        expect(memory.choose(set(every))[1], [], "known where nothing counts as known")

        # A source that was put there with an older time of its own: ninja does not build it.
        made.write("alone.h", "#define ALONE 6\n")
        os.utime(os.path.join(root, "alone.h"), (1, 1))
        made.make()
        for _ in range(2):
            expect(made.left_out(quiet), ["linked", "path", "scripted", "starts"], "known with a source that was not built")

        # A test that failed is not remembered.
        made.write("alone.h", "#define ALONE 9\n")
        made.make()
        memory = made.memory(quiet)
        run, _ = memory.choose(set(every))
        memory.remember(run, {test.name for test in run} - {"alone"})
        known = memory.choose(set(every))[1]
        memory.remember(known, {test.name for test in known} - {"starts"})  # drawn, and failed
        expect(made.left_out(quiet), ["corpus", "linked", "path", "scripted"], "known after one has failed that was known")
        expect(made.left_out(quiet), every, "known after both passed again")
        made.write("alone.h", "#define ALONE 7\n")
        made.make()
        memory = made.memory(quiet)
        run, _ = memory.choose(set(every))
        memory.remember(run, {test.name for test in run} - {"alone"})
        expect(made.left_out(quiet), ["corpus", "linked", "path", "scripted", "starts"], "known after one has failed")

        made.git("add", "-A")
        made.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "b")
        made.write("nla.c", "int main(void) { return 0; }\n")
        made.make()
        choice = affected.choose(root, made.build, "", 1)
        number = graph.Graph(root, made.build).number_of
        expect([sorted(numbers) for _, numbers in choice.stages], [sorted(number[name] for name in ("starts", "path", "linked"))],
               "affected by a change of what is started")
        made.write("alone.h", "#define ALONE 0\n")
        made.make()
        expect(sorted(n for _, numbers in affected.choose(root, made.build, "", 1).stages for n in numbers),
               sorted(number[name] for name in ("starts", "path", "linked", "alone", "corpus")), "affected by two changes")
        tests = graph.Graph(root, made.build).tests
        taken, left, budget = affected.fitting(tests, {test.name: 10 for test in tests}, 3 * 10 / affected.AT_ONCE)
        expect((len(taken), len(left), budget), (3, len(tests) - 3, 0), "what fits into the time of three tests")
        try:
            affected.changed_files(root, "nosuch")
            errors.append("a commit that is not there: nothing has changed")
        except SystemExit:
            pass
    return tree.finish(errors, "what is not run again")


if __name__ == "__main__":
    sys.exit(main())
