#!/usr/bin/env python3
"""The #include lines: between rooms they follow the arrows of tests/style/arrows.json, between the folders of a room exactly those of
tests/style/folder_arrows.json, and no folders include each other. No two headers of the product have one name.

usage: check_layers.py ROOT | check_layers.py --self-test
"""
import os
import re
import sys
import tempfile

import tree

# Folders that show the rest of the tree one header.
PROVIDERS = ("nla/link", "nla/spawn", "comm-channel/verbs", "comm-channel/shm",
             "collectives/executors", "collectives/offload")
# Names that mean the same in each folder: what makes the objects of a folder, and the command line of a program.
SHARED_NAMES = ("factory.h", "options.h")
PURE = re.compile(r"^(?!tests/)(cache|pmi/protocol|([a-z-]+/)+core)/")
# What a pure room may include in angle brackets: value libraries, and the standard library without
# what reaches for the machine.
PURE_LIBRARIES = ("tl/expected.hpp", "xxhash.h", "lz4.h", "nlohmann/json.hpp", "nlohmann/json_fwd.hpp")
# Parses words it is given; all of it throws, so its users catch at once.
PURE_LIBRARY_FOLDERS = ("boost/program_options/",)
PURE_BANNED_STANDARD = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore",
                        "latch", "barrier", "stop_token", "fstream", "iostream", "filesystem", "random",
                        "ctime", "cstdio", "syncstream"}
# C headers that only name constants and types.
PURE_C_HEADERS = {"cerrno"}
# Asio costs two seconds of compilation per file that sees it, so headers that others include must not.
ASIO_HEADERS = re.compile(r"^(common/os/|nla/link/|nla/spawn/|nla/process/shell\.h$)")


def cycle_in(table):
    """A list of rooms that lead back to the first, or None."""
    done = set()

    def walk(room, path):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        for other in table.get(room, []):
            found = walk(other, path + [room])
            if found:
                return found
        done.add(room)
        return None

    for room in table:
        found = walk(room, [])
        if found:
            return found
    return None


def closure(table, room):
    reached, todo = set(), [room]
    while todo:
        for other in table.get(todo.pop(), []):
            if other not in reached:
                reached.add(other)
                todo.append(other)
    return reached


def provider_of(path):
    return next((p for p in PROVIDERS if path.startswith(p + "/")), None)


def check_quoted(root, table, allowed, path, target):
    """What is wrong with path's #include "target", or None."""
    beside = os.path.join(os.path.dirname(path), target)
    if path.startswith("examples/") and os.path.isfile(os.path.join(root, beside)):
        return None  # a user compiles an example of several files by itself
    if not os.path.isfile(os.path.join(root, target)):
        return f'"{target}" is not a file of the tree: includes are written from the root ("room/file.h")'
    room, other = tree.room_of(path, table), tree.room_of(target, table)
    if path.startswith("examples/"):
        return "examples see installed headers only" if other else None
    if room is None:
        return None  # tests and benchmarks may include anything
    if target.startswith("tests/"):
        return "a room includes a test's file"
    if other is None:
        return f'"{target}" belongs to no room'
    if other != room and other not in allowed[room]:
        return f"the plan has no arrow from {room} to {other}"
    provider = provider_of(target)
    if provider and provider != provider_of(path) and target != provider + "/factory.h":
        return f"{provider} shows the others its factory.h only"
    return None


def folder_includes(root, paths):
    """Folder to the folders that its files include, each with the first include line that says so."""
    table = {}
    for path in paths:
        for line, kind, target in tree.includes(tree.read(root, path)):
            folder, other = os.path.dirname(path), os.path.dirname(target)
            if kind == '"' and folder != other:
                table.setdefault(folder, {}).setdefault(other, f"{path}:{line}")
    return table


def folder_cycle(found):
    """What is wrong with the arrows between folders, or None: folders that include each other are one."""
    cycle = cycle_in(found)
    return "folders include each other: " + " -> ".join(cycle) if cycle else None


def check_folders(found, rooms, listed):
    """The arrows between folders of one room that are not listed, and those that are listed but that no file needs."""
    def folder_of(room, name):
        return room if name == "." else f"{room}/{name}"

    allowed = {(folder_of(room, folder), folder_of(room, other))
               for room, folders in listed.items() for folder, others in folders.items() for other in others}
    used = {(folder, other): where for folder, others in found.items() for other, where in others.items()
            if tree.room_of(folder + "/", rooms) == tree.room_of(other + "/", rooms)}
    return [f"{used[arrow]}: tests/style/folder_arrows.json has no arrow from {arrow[0]} to {arrow[1]}"
            for arrow in sorted(set(used) - allowed)] + [
                f"tests/style/folder_arrows.json: no file of {folder} includes one of {other}: remove the arrow"
                for folder, other in sorted(allowed - set(used))]


def equal_names(paths):
    """The headers whose name another header has: a reader of #include "connection.h" must not ask which one."""
    by_name = {}
    for path in paths:
        if path.endswith(".h") and os.path.basename(path) not in SHARED_NAMES:
            by_name.setdefault(os.path.basename(path), []).append(path)
    return [f"{paths[0]}: {', '.join(paths[1:])} has the same name: name each for what it has"
            for paths in map(sorted, by_name.values()) if len(paths) > 1]


def check_angle(path, target):
    if path.endswith(".h") and target.startswith("boost/asio") and not ASIO_HEADERS.match(path):
        return "Asio in a header: keep it in .cpp files"
    if PURE.match(path):
        if target in PURE_LIBRARIES or target in PURE_C_HEADERS or target.startswith(PURE_LIBRARY_FOLDERS):
            return None
        if "/" in target or "." in target:
            return f"a pure room includes <{target}>, which is not on its list of value libraries"
        if target in PURE_BANNED_STANDARD:
            return f"a pure room includes <{target}>"
    return None


def check(root):
    table = tree.arrows(root)
    errors = []
    cycle = cycle_in(table)
    if cycle:
        errors.append("tests/style/arrows.json: cycle: " + " -> ".join(cycle))
    allowed = {room: closure(table, room) for room in table}
    files = list(tree.files(root, tree.SOURCE_SUFFIXES))
    found = folder_includes(root, [path for path in files if tree.room_of(path, table)])
    around = folder_cycle(found)
    if around:
        errors.append(around)
    errors += check_folders(found, table, tree.folder_arrows(root))
    errors += equal_names([path for path in files if not path.startswith("tests/style/consumer/")])
    for path in files:
        if path.startswith("tests/style/consumer/"):
            continue  # a program of a user's, outside the tree's rules
        for line, kind, target in tree.includes(tree.read(root, path)):
            wrong = (check_quoted(root, table, allowed, path, target) if kind == '"'
                     else check_angle(path, target))
            if wrong:
                errors.append(f"{path}:{line}: {wrong}")
    return errors


BAD_TREE = {
    "tests/style/arrows.json": '{"common/core": [], "cache": ["common/core"], "nla/core": ["cache"],'
                               ' "nla": ["nla/core"], "launcher": ["nla"], "a": ["b"], "b": ["a"]}',
    "tests/style/folder_arrows.json": '{"nla": {"link": ["spawn"], "process": ["link"], "spawn": ["link"]}}',
    "common/core/text.h": "#pragma once\n",
    "common/core/up.cpp": '#include "cache/store.h"\n',
    "cache/store.h": '#include "common/core/text.h"\n',
    "cache/net.cpp": "#include <boost/asio.hpp>\n#include <thread>\n#include <vector>\n#include <unistd.h>\n",
    "nla/core/tree/agent.h": '#include "common/core/text.h"\n#include "cache/store.h"\n',
    "nla/link/factory.h": "#pragma once\n",
    "nla/spawn/factory.h": "#pragma once\n",
    "launcher/store.h": "#pragma once\n",
    "nla/link/pair_link.h": '#include "nla/link/factory.h"\n',
    "nla/process/shell.cpp": '#include "nla/link/pair_link.h"\n#include "nla/link/factory.h"\n#include "agent.h"\n',
    "nla/wait.h": "#include <boost/asio/steady_timer.hpp>\n",
    "nla/spawn/start.cpp": '#include "nla/spawn/factory.h"\n#include "nla/wait.h"\n',
    "launcher/session.cpp": '#include "nla/core/tree/agent.h"\n#include "tests/support/fake.h"\n',
    "tests/support/fake.h": '#include "nla/link/pair_link.h"\n',
    "examples/hello.cpp": '#include "common/core/text.h"\n',
    "examples/several/part.cpp": '#include "parts.h"\n',
    "examples/several/parts.h": "#pragma once\n",
}
EXPECTED = [
    "tests/style/arrows.json: cycle: a -> b -> a",
    "cache/net.cpp:1: a pure room includes <boost/asio.hpp>",
    "cache/net.cpp:2: a pure room includes <thread>",
    "cache/net.cpp:4: a pure room includes <unistd.h>",
    "common/core/up.cpp:1: the plan has no arrow from common/core to cache",
    "examples/hello.cpp:1: examples see installed headers only",
    "launcher/session.cpp:2: a room includes a test's file",
    "nla/process/shell.cpp:1: nla/link shows the others its factory.h only",
    'nla/process/shell.cpp:3: "agent.h" is not a file of the tree',
    "nla/wait.h:1: Asio in a header",
    "folders include each other: cache -> common/core -> cache",
    "cache/store.h: launcher/store.h has the same name",
    "nla/spawn/start.cpp:2: tests/style/folder_arrows.json has no arrow from nla/spawn to nla",
    "tests/style/folder_arrows.json: no file of nla/link includes one of nla/spawn: remove the arrow",
    "tests/style/folder_arrows.json: no file of nla/spawn includes one of nla/link: remove the arrow",
]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text in BAD_TREE.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = check(root)
    missed = [e for e in EXPECTED if not any(f.startswith(e) for f in found)]
    false_alarms = [f for f in found if not any(f.startswith(e) for e in EXPECTED)]
    return tree.finish([f"not seen: {e}" for e in missed] + [f"false alarm: {f}" for f in false_alarms],
                       f"layers self-test, {len(EXPECTED)} planted faults")


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else tree.finish(check(sys.argv[1]), "layers"))
