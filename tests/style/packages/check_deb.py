#!/usr/bin/env python3
"""Debian's packages of a build tree: made by cpack, clean for lintian, installed in roots of their own, used there, and removed.

usage: check_deb.py BUILD | check_deb.py --self-test

One root has no package but those that scela and libscela depend on: programs run there. The other has a compiler too: programs are
built there by pkg-config and by CMake. Nothing of the packages may be left in a root when they are removed.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import bare_root

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tree  # noqa: E402 (the path above)

NAMES = ("libscela", "libscela-dev", "scela")
# Folders of dpkg's own data, caches of ldconfig, and what the root's own users write.
KEPT = ("var/lib/dpkg/", "var/cache/", "var/log/", "etc/ld.so.cache", "tmp/", "run/", "root/", "dev/", "proc/", "sys/")
TOOLS = "g++, cmake, ninja-build, pkg-config, man-db"
CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(Scela 0.2 REQUIRED)
add_executable(consumer /usr/share/doc/libscela-dev/examples/ring_channel.cpp)
target_compile_features(consumer PRIVATE cxx_std_20)
target_link_libraries(consumer PRIVATE Scela::scela)
"""
BEGIN = r"""
set -eu
cd /tmp
export HOME=/tmp LC_ALL=C DEBIAN_FRONTEND=noninteractive CMAKE_GENERATOR=Ninja
ldconfig
dpkg -i packages/*.deb > install.log 2>&1 || { cat install.log; exit 1; }
same() {
  [ "$2" = "$3" ] || { echo "$1: '$3', not '$2'"; exit 1; }
  echo "$1: $2"
}
"""
RUN = r"""
same "which scela-run" /usr/bin/scela-run "$(command -v scela-run)"
for program in /usr/bin/scela-*; do
  same "${program#/usr/bin/} --version" "${program#/usr/bin/} $VERSION" "$("$program" --version)"
done
same "two ranks" "$(hostname) $(hostname)" "$(scela-run -n 2 hostname | tr '\n' ' ' | sed 's/ $//')"
same "two ranks of mpirun" 2 "$(PATH=/usr/libexec/scela/compat:$PATH mpirun -np 2 -x HOME hostname | wc -l)"
same "two nodes" 2 "$(scela-run --sim-nodes 2 --ppn 1 echo here | grep -c '^here$')"
for file in bash-completion/completions/scela-run zsh/vendor-completions/_scela-run fish/vendor_completions.d/scela-run.fish; do
  [ -s "/usr/share/$file" ] || { echo "there is no $file"; exit 1; }
done
"""
BUILD = r"""
man -w scela-run scela_channel > pages
same "manual pages" 2 "$(wc -l < pages)"
mkdir consumer
printf '%s' "$CONSUMER" > consumer/CMakeLists.txt
{ cmake -S consumer -B consumer/build && cmake --build consumer/build; } > build.log 2>&1 || { cat build.log; exit 1; }
ring="6 went round 4 ranks on 1 nodes"
same find_package "$ring" "$(scela-run -n 4 consumer/build/consumer)"
g++ -std=c++20 /usr/share/doc/libscela-dev/examples/ring_channel.cpp $(pkg-config --cflags --libs libscela) -o by-pkg-config
same pkg-config "$ring" "$(scela-run -n 4 ./by-pkg-config)"
"""
END = r"""
dpkg -P $PACKAGES > remove.log 2>&1 || { cat remove.log; exit 1; }
! grep -i warning remove.log || exit 1
"""


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)[:200]}\nfailed with {done.returncode}:\n{done.stdout}")
    return done.stdout


def make(build, folder):
    """The files of the packages, which cpack makes from what is built."""
    # Users' packages are smaller, and take a minute longer to make.
    run(["cpack", "--config", f"{build}/CPackConfig.cmake", "-G", "DEB", "-B", folder, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"], cwd=build)
    files = sorted(glob.glob(f"{folder}/*.deb"))
    names = sorted(os.path.basename(file).partition("_")[0] for file in files)
    if tuple(names) != NAMES:
        sys.exit(f"cpack made packages of {names}, not {NAMES}")
    return files


def files_in(root):
    """Files and folders of the root, but for those that are kept."""
    found = set()
    for folder, folders, files in os.walk(root):
        found.update(os.path.relpath(os.path.join(folder, name), root) for name in files + folders)
    return {path for path in found if not f"{path}/".startswith(KEPT)}


def use(files, depends, version, script, root):
    """Installs the packages in a root with what they depend on, runs the script there, removes them; what is left."""
    there = bare_root.make(root, depends)
    before = files_in(root)
    os.mkdir(f"{root}/tmp/packages")
    for file in files:
        shutil.copy(file, f"{root}/tmp/packages")
    packages = " ".join(os.path.basename(file).partition("_")[0] for file in files)
    print(f"{packages} in a root of {len(there)} packages:")
    mounts = "".join(f"mount --rbind /{name} '{root}/{name}'\n" for name in ("dev", "proc", "sys"))
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "INSIDE": BEGIN + script + END, "CONSUMER": CONSUMER, "VERSION": version,
                   "PACKAGES": packages}
    print(run(["unshare", "--mount", "sh", "-c", f"set -eu\n{mounts}chroot '{root}' sh -c \"$INSIDE\""], env=environment), end="")
    return sorted(files_in(root) - before)


def in_no_package(build, files, prefix):
    """Files that the tree installs and no package has, because their install() names no component."""
    run(["cmake", "--install", build, "--prefix", prefix])
    packed = {line.split()[5].removesuffix(".gz").rpartition("/")[2] for file in files for line in run(["dpkg-deb", "-c", file]).splitlines()}
    return sorted({name for _, _, names in os.walk(prefix) for name in names} - packed)


def check(build):
    with tempfile.TemporaryDirectory() as work:
        files = make(build, f"{work}/made")
        complaints = run(["lintian", "--allow-root", "--profile", "debian", "--fail-on", "none", *files]).splitlines()
        errors = [f"lintian: {line}" for line in complaints if not line.startswith("N:")]
        errors += [f"in no package: {name}" for name in in_no_package(build, files, f"{work}/all")]
        version = field(files[0], "Version").partition("-")[0]
        programs = [file for file in files if "libscela-dev_" not in file]
        # What the packages depend on among themselves is found beside them.
        depends = ", ".join(field(file, "Depends") for file in programs)
        for used, known, script in ((programs, depends, RUN), (files, f"{depends}, {TOOLS}", BUILD)):
            os.mkdir(f"{work}/root-{len(used)}")
            errors += [f"left after dpkg -P: {path}" for path in use(used, known, version, script, f"{work}/root-{len(used)}")]
    return errors


def field(file, name):
    return run(["dpkg-deb", "-f", file, name]).strip()


def self_test():
    with tempfile.TemporaryDirectory() as root:
        before = files_in(root)
        for path in ("var/lib/dpkg/status", "usr/bin/scela-run", "usr/lib/scela/none", "etc/ld.so.cache", "usr/share/doc/scela/x"):
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "w", encoding="utf-8"):
                pass
        os.remove(f"{root}/usr/lib/scela/none")
        found = {path for path in files_in(root) - before if "scela" in path}
    expected = {"usr/bin/scela-run", "usr/lib/scela", "usr/share/doc/scela", "usr/share/doc/scela/x"}
    return [] if found == expected else [f"found {sorted(found)}, not {sorted(expected)}"]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(tree.finish(self_test(), "packages self-test"))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if os.getuid() != 0:
        print("skipped: only root can install packages, in whatever root")
        sys.exit(77)
    for tool in ("lintian", "unshare", "dpkg-deb"):
        if not shutil.which(tool):
            sys.exit(f"there is no {tool}: scripts/install-packages test")
    sys.exit(tree.finish(check(os.path.abspath(sys.argv[1])), "packages"))
