#!/usr/bin/env python3
"""Debian's packages of a build tree: made by cpack, clean for lintian, installed in a root of their own, used there, and removed.

usage: packages.py BUILD | packages.py --self-test

The root is an overlay of this machine's file system in a mount namespace of its own: what dpkg and the programs write lands in a
folder that is thrown away, so that the test can list all of it. The packages must need nothing but packages that this machine has.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import tree

NAMES = ("libscela", "libscela-dev", "scela")
# Files that dpkg itself keeps, caches of ldconfig and man, and what the root's own users write.
KEPT = ("var/lib/dpkg/", "var/cache/", "var/log/", "etc/ld.so.cache", "tmp", "run", "root", "dev", "proc")
CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(Scela 0.2 REQUIRED)
add_executable(consumer /usr/share/doc/libscela-dev/examples/ring_channel.cpp)
target_compile_features(consumer PRIVATE cxx_std_20)
target_link_libraries(consumer PRIVATE Scela::scela)
"""
# Runs in the root. The second ring is linked by pkg-config.
INSIDE = r"""
set -eu
cd /tmp
export HOME=/tmp LC_ALL=C DEBIAN_FRONTEND=noninteractive
dpkg -i packages/*.deb > install.log 2>&1 || { cat install.log; exit 1; }
same() {
  [ "$2" = "$3" ] || { echo "$1: '$3', not '$2'"; exit 1; }
  echo "$1: $2"
}
same "which scela-run" /usr/bin/scela-run "$(command -v scela-run)"
same "scela-run --version" "scela-run $VERSION" "$(scela-run --version)"
same "hostname, two ranks" "$(hostname) $(hostname)" "$(scela-run -n 2 hostname | tr '\n' ' ' | sed 's/ $//')"
same "two nodes" 2 "$(scela-run --sim-nodes 2 --ppn 1 echo here | grep -c '^here$')"
man -w scela-run scela_channel > pages
same "manual pages" 2 "$(wc -l < pages)"
for file in bash-completion/completions/scela-run zsh/vendor-completions/_scela-run fish/vendor_completions.d/scela-run.fish; do
  [ -s "/usr/share/$file" ] || { echo "there is no $file"; exit 1; }
done
mkdir consumer
printf '%s' "$CONSUMER" > consumer/CMakeLists.txt
{ cmake -S consumer -B consumer/build && cmake --build consumer/build; } > build.log 2>&1 || { cat build.log; exit 1; }
ring="6 went round 4 ranks on 1 nodes"
same find_package "$ring" "$(scela-run -n 4 consumer/build/consumer)"
g++ -std=c++20 /usr/share/doc/libscela-dev/examples/ring_channel.cpp $(pkg-config --cflags --libs libscela) -o by-pkg-config
same pkg-config "$ring" "$(scela-run -n 4 ./by-pkg-config)"
dpkg -P scela libscela-dev libscela > remove.log 2>&1 || { cat remove.log; exit 1; }
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


def left_in(upper):
    """Files and folders in the layer of the root that are neither dpkg's nor of the root's users."""
    found = []
    for folder, _, files in os.walk(upper):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), upper)
            if not path.startswith(KEPT):
                found.append(path)
        path = os.path.relpath(folder, upper)
        if "scela" in os.path.basename(path) and not path.startswith(KEPT) and not os.path.isdir(f"/{path}"):
            found.append(path + "/")
    return found


def use(files, version, work):
    """Installs, uses and removes the packages in the root; what is left there."""
    for folder in ("upper", "scratch", "root"):
        os.mkdir(f"{work}/{folder}")
    # Overlays do not lie upon each other everywhere: the layer is a file system in memory.
    script = f"""set -eu
mount -t tmpfs none {work}/scratch
mkdir {work}/scratch/upper {work}/scratch/work {work}/scratch/packages
cp {' '.join(files)} {work}/scratch/packages
mount -t overlay none -o lowerdir=/,upperdir={work}/scratch/upper,workdir={work}/scratch/work {work}/root
mount -t tmpfs none {work}/root/tmp
mount -t tmpfs none {work}/root/run
mount --rbind /dev {work}/root/dev
mount --rbind /proc {work}/root/proc
mount --rbind /sys {work}/root/sys
mkdir {work}/root/tmp/packages
cp {work}/scratch/packages/*.deb {work}/root/tmp/packages
chroot {work}/root sh -c "$INSIDE"
cp -a {work}/scratch/upper {work}/upper/layer
"""
    environment = dict(os.environ, INSIDE=INSIDE, CONSUMER=CONSUMER, VERSION=version,
                       PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    print(run(["unshare", "--mount", "sh", "-c", script], env=environment), end="")
    return left_in(f"{work}/upper/layer")


def check(build):
    with tempfile.TemporaryDirectory() as work:
        files = make(build, f"{work}/made")
        complaints = run(["lintian", "--allow-root", "--profile", "debian", "--fail-on", "none", *files]).splitlines()
        errors = [f"lintian: {line}" for line in complaints if not line.startswith("N:")]
        version = run(["dpkg-deb", "-f", files[-1], "Version"]).strip().partition("-")[0]
        errors += [f"left after dpkg -P: {path}" for path in use(files, version, work)]
    return errors


def self_test():
    with tempfile.TemporaryDirectory() as upper:
        for path in ("var/lib/dpkg/status", "usr/bin/scela-run", "usr/lib/scela/none", "etc/ld.so.cache", "usr/share/doc/scela/x"):
            os.makedirs(os.path.dirname(f"{upper}/{path}"), exist_ok=True)
            with open(f"{upper}/{path}", "w", encoding="utf-8"):
                pass
        os.remove(f"{upper}/usr/lib/scela/none")
        found = sorted(left_in(upper))
    expected = ["usr/bin/scela-run", "usr/lib/scela/", "usr/share/doc/scela/", "usr/share/doc/scela/x"]
    return [] if found == expected else [f"found {found}, not {expected}"]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(tree.finish(self_test(), "packages self-test"))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if os.getuid() != 0:
        print("skipped: only root can make a root of its own over this machine's file systems")
        sys.exit(77)
    for tool in ("lintian", "unshare", "dpkg-deb"):
        if not shutil.which(tool):
            sys.exit(f"there is no {tool}: scripts/install-packages test")
    sys.exit(tree.finish(check(os.path.abspath(sys.argv[1])), "packages"))
