#!/usr/bin/env python3
"""clang-tidy with the few checks of .clang-tidy over every source file and the headers it includes.

A file whose text, includes and configuration are unchanged since it was clean is not looked at again, in any clone
(tree.Proofs).

usage: check_tidy.py ROOT BUILD | check_tidy.py --self-test ROOT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tree

TIDY = "clang-tidy-14"
FLAGS = ["-std=c++20"]
# How many files of a folder are read in one call. Half of a call's time goes into the headers that they share. With more files some
# are refused that are right one by one, because clang instantiates the templates of all at the end of the joined file.
MOST = 24


def configuration_of(root, source):
    """The .clang-tidy that holds for a file: the nearest one in a folder above it."""
    folder = os.path.dirname(source)
    while folder and not os.path.exists(os.path.join(root, folder, ".clang-tidy")):
        folder = os.path.dirname(folder)
    return os.path.join(folder, ".clang-tidy")


def check(root, build, proofs=None):
    # Without what another compiler than the build's has its headers for.
    sources = [p for p in tree.files(root, (".c", ".cpp"))
               if not p.startswith(("examples/", "tests/style/consumer/", "tests/interop/programs/", "perf/mpi_peer.cpp"))]
    definitions = tree.Definitions(root, build)
    closure = tree.Closure(root)
    salt = tree.read("/", os.path.abspath(__file__)) + tree.packages_digest()
    salt += "".join(tree.read(root, p) for p in tree.files(root) if os.path.basename(p) == ".clang-tidy")

    # Findings in a file that another one includes are those that the header filter lets through, so it is widened to these files.
    of_headers = re.search(r"^HeaderFilterRegex: '(.*)'$", tree.read(root, ".clang-tidy"), re.M)

    def tidy(some):
        flags = definitions.flags(some[0]) + (FLAGS if some[0].endswith(".cpp") else [])
        # The joined file lies inside of the tree, because clang-tidy then looks for the configuration of each file that it includes
        # above that file: with one configuration for all, it also makes thousands of findings in system headers, and drops them.
        with tempfile.TemporaryDirectory(prefix="build-tidy-", dir=root) as folder:
            file, more = some[0], []
            if len(some) > 1:
                file = os.path.join(folder, "joined" + os.path.splitext(some[0])[1])
                filters = [of_headers.group(1)] if of_headers else []
                filters += [source.replace(".", "[.]") + "$" for source in some]
                more = ["--header-filter", "|".join(f"({f})" for f in filters)]
                with open(file, "w", encoding="utf-8") as f:
                    f.writelines(f'#include "{os.path.join(root, source)}"\n' for source in some)
                shutil.copy(os.path.join(root, configuration_of(root, some[0])), folder)
            run = subprocess.run([TIDY, "--quiet", *more, file, "--", *flags, "-I", root], cwd=root,
                                 capture_output=True, text=True, check=False)
        wrong = run.returncode or run.stdout.strip() or "Error parsing" in run.stderr
        return f"{some[0]}:\n{run.stdout}{run.stderr}" if wrong else ""

    return tree.run_cached(proofs or tree.Proofs("tidy"), sources,
                           lambda s: closure.digest(s, salt + definitions.salt(s)), tidy,
                           together=lambda s: (os.path.dirname(s), os.path.splitext(s)[1], definitions.salt(s)), most=MOST)


BAD = """#include <string>
#include <utility>
struct lower_type {
  int Member = 0;
};
int BadFunction(std::string taken) { return static_cast<int>(taken.size()); }
std::string moved(std::string s) {
  std::string t = std::move(s);
  return s + t;
}
int declared(int first);
int declared(int second) { return second; }
"""
SEEN = ["invalid case style for struct 'lower_type'", "invalid case style for function 'BadFunction'",
        "performance-unnecessary-value-param", "bugprone-use-after-move",
        "readability-inconsistent-declaration-parameter-name", "invalid case style for struct 'named_in_header'"]


def self_test(root):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(root, ".clang-tidy"), folder)
        with open(os.path.join(folder, "bad.cpp"), "w", encoding="utf-8") as f:
            f.write(BAD)
        with open(os.path.join(folder, "good.cpp"), "w", encoding="utf-8") as f:
            f.write("int good_function(int first) { return first; }\n")
        os.makedirs(os.path.join(folder, "common"))
        for name, text in (("named.h", "struct named_in_header {};\n"), ("one.cpp", '#include "common/named.h"\n'), ("two.cpp", "")):
            with open(os.path.join(folder, "common", name), "w", encoding="utf-8") as f:
                f.write(text)
        found = "\n".join(check(folder, os.path.join(folder, "build"), tree.Proofs("tidy", folder)))
    errors = [f"not seen: {text}" for text in SEEN if text not in found]
    if "good.cpp" in found:
        errors.append("a clean file was refused: " + found)
    return tree.finish(errors, f"tidy self-test, {len(SEEN)} planted faults")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(sys.argv[2]))
    sys.exit(tree.finish(check(os.path.abspath(sys.argv[1]), sys.argv[2]), "clang-tidy"))
