#!/usr/bin/env python3
"""The library stands in for the whole of libibverbs: what that shows programs, this one shows as well.

usage: check_symbols.py defined LIBRARY
       check_symbols.py bound LIBRARY ENGINE STATUS COMMAND...

defined: every symbol of the system's libibverbs.so.1 that is for programs is defined here, without a
version: references to any version are satisfied by those. bound: the command ends with the
status under the preloaded library, and the loader binds none of these names to the system's library.
"""
import ctypes
import os
import re
import subprocess
import sys

import verbs

# Of libibverbs' private interface, and used by ibverbs-utils all the same.
PRIVATE_BUT_USED = {"ibv_query_gid_type"}
OURS = "scela_"  # hca/include/scela/verbs_ext.h
PUBLIC_VERSION = re.compile(r"IBVERBS_1\.\d+$")
BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `([^']+)'")


def exported(library):
    """(name, version or "") of what a shared library defines."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                            text=True).stdout
    for line in listed.splitlines():
        name, _, version = line.split()[-1].partition("@")
        if line.split()[-2] != "A":  # the versions themselves
            yield name, version.lstrip("@")


def system_library():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        ctypes.CDLL("libibverbs.so.1")
        maps.seek(0)
        return next(line.split()[-1] for line in maps if "libibverbs.so.1" in line)


def public_names():
    names = {name for name, version in exported(system_library()) if PUBLIC_VERSION.match(version)}
    return names | PRIVATE_BUT_USED


def check_defined(library):
    ours = dict(exported(library))
    missing = sorted(public_names() - set(ours))
    if missing:
        verbs.fail("not defined: " + ", ".join(missing))
    strangers = sorted(n for n, v in ours.items() if v or not (n in public_names() or n.startswith(OURS)))
    if strangers:
        verbs.fail("with a version, or neither libibverbs' nor ours: " + ", ".join(strangers))


def check_bound(library, engine, expected, command):
    public = public_names()
    with verbs.Place(library, engine) as place:
        log = os.path.join(place.folder, "bindings")
        # The command's own file, not the engine's: the loader appends the process number.
        program = place.start(command, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=log)
        status, output = place.finish(program)
        if status != expected:
            verbs.fail(f"ended with status {status}:\n{output}")
        with open(f"{log}.{program.pid}", encoding="utf-8") as f:
            bound = [m.groups() for m in map(BINDING.search, f) if m]
    ours = [b for b in bound if b[2] in public and os.path.samefile(b[1], library)]
    others = [b for b in bound if b[2] in public and not os.path.samefile(b[1], library)]
    if others:
        verbs.fail("falls through: " + ", ".join(f"{name} of {user} to {to}" for user, to, name in others))
    if not ours:
        verbs.fail("nothing was bound at all")


if __name__ == "__main__":
    if sys.argv[1] == "defined":
        check_defined(sys.argv[2])
    else:
        check_bound(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
