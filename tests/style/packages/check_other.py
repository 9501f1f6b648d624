#!/usr/bin/env python3
"""rpm's spec packs a built tree into the same three packages, and the tarball runs where it is unpacked, without being installed.

usage: check_other.py ROOT BUILD
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from check_deb import run  # noqa: E402 (the path above)
import tree  # noqa: E402 (the path above)

# Fields of the spec and of the CMake project that must agree.
VERSION = re.compile(r"^Version:\s+(\S+)$", re.M)


def files_of(package):
    return run(["rpm", "-qlp", package]).split()


def check_rpm(root, build, work):
    errors = []
    with open(f"{root}/packaging/rpm/scela.spec", encoding="utf-8") as file:
        version = VERSION.search(file.read()).group(1)
    with open(f"{root}/CMakeLists.txt", encoding="utf-8") as file:
        if f"project(scela VERSION {version} " not in file.read():
            errors.append(f"packaging/rpm/scela.spec: version {version} is not the project's")
    # Debian has no packages of these names, so that what the build requires cannot be looked up here.
    run(["rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {work}/rpm", "--define", f"scela_build {build}",
         "--define", f"_dbpath {work}/rpmdb", "--define", "_binary_payload w1.gzdio", f"{root}/packaging/rpm/scela.spec"], cwd=work)
    made = {os.path.basename(path).split(f"-{version}")[0]: path for path in glob.glob(f"{work}/rpm/RPMS/*/*.rpm")}
    if sorted(made) != ["libscela", "libscela-devel", "scela"]:
        return errors + [f"rpmbuild made {sorted(made)}"]
    for package, path in (("scela", "/usr/bin/scela-run"), ("scela", "/usr/bin/scela-nla"), ("libscela", "/usr/lib/libscela.so.0.2"),
                          ("libscela-devel", "/usr/include/scela/channel.h"), ("libscela-devel", "/usr/lib/libscela.so")):
        if path not in files_of(made[package]):
            errors.append(f"{package}.rpm has no {path}")
    print(f"rpm: {', '.join(f'{name} {len(files_of(path))} files' for name, path in sorted(made.items()))}")
    return errors


def check_tarball(build, work):
    run(["cpack", "--config", f"{build}/CPackConfig.cmake", "-G", "TGZ", "-B", f"{work}/made"], cwd=build)
    archives = glob.glob(f"{work}/made/*.tar.gz")
    if len(archives) != 1:
        return [f"cpack made the archives {archives}"]
    run(["tar", "-C", work, "-xzf", archives[0]])
    folder = f"{work}/{os.path.basename(archives[0]).removesuffix('.tar.gz')}"
    program = f"{folder}/bin/scela-run"
    said = run([program, "-n", "2", "echo", "unpacked"])
    errors = [] if said == "unpacked\nunpacked\n" else [f"the unpacked scela-run said {said!r}"]
    # Nodes need no library for what is copied there; this machine needs the C library only for scela-run.
    for name in ("scela-nla", "scela-hca"):
        if "INTERP" in run(["readelf", "-l", f"{folder}/bin/{name}"]):
            errors.append(f"{name} of the tarball is not static")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", program])))
    others = {name for name in needed if not re.match(r"(libc|libm|libresolv|libpthread|ld-linux.*)\.so", name)}
    if others:
        errors.append(f"scela-run of the tarball needs {sorted(others)}")
    print(f"tarball: {os.path.basename(archives[0])} of {os.path.getsize(archives[0]) >> 20} MiB; scela-run needs {sorted(needed)}")
    return errors


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(tree.finish(check_rpm(sys.argv[1], sys.argv[2], folder) + check_tarball(sys.argv[2], folder), "rpm and tarball"))
