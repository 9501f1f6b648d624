#!/usr/bin/env python3
"""The man page and --help name the same long options, in both directions; a page of functions names all that its header
declares; and the adapter's variables are those that its sources, its page and its document name, the channel's and those of
collective operations likewise.

usage: check_man.py PROGRAM PAGE | check_man.py --header HEADER... PAGE | check_man.py --variables ROOT |
       check_man.py --channel-variables ROOT | check_man.py --collective-variables ROOT | check_man.py --render FOLDER |
       check_man.py --self-test
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import tree

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def options_of_help(text):
    """Options at the head of a line; what stands in prose is not a promise."""
    found = set()
    for line in text.splitlines():
        head = re.match(r"\s{1,8}((?:-\w(?:[ ,|/]+|\s+\S+[ ,|/]+))*--?[a-z].*)", line)
        if head:
            # The description starts after two spaces.
            found.update(OPTION.findall(re.split(r"\s{2,}", head.group(1))[0]))
    return found


def options_of_page(roff):
    """Options on the tag line after .TP (or of .It/.IP), fonts and escapes removed."""
    found, tag = set(), False
    for line in roff.splitlines():
        plain = re.sub(r"\\f(?:\[[^]]*\]|.)", "", line).replace("\\-", "-")
        if tag or re.match(r"\.(?:It|IP|TQ)\b", plain):
            found.update(OPTION.findall(plain))
        tag = bool(re.match(r"\.(?:TP|TQ)\b", plain))
    return found


def compare(help_text, roff):
    in_help, in_page = options_of_help(help_text), options_of_page(roff)
    errors = [f"{o}: in --help, not an entry of the man page" for o in sorted(in_help - in_page)]
    errors += [f"{o}: an entry of the man page, not in --help" for o in sorted(in_page - in_help)]
    if len(in_help) < 2:
        errors.append("--help lists no options that this check can see")
    return errors


def names_of_header(text):
    """Functions, enumerators, and members of structures, of a C header of ours."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = set(re.findall(r"\b(scela_\w+)\(", code)) | set(re.findall(r"\b(SCELA_[A-Z0-9_]+)\s*[,=}\n]", code))
    for body in re.findall(r"struct \w+ \{(.*)\n\};", code, flags=re.S):
        names |= set(re.findall(r"(\w+)(?:\[\w+\])?;", body)) - {"u"}
    return {name for name in names if not name.endswith("_H")}


def names_of_classes(text):
    """What a C++ header of ours declares for others: types, functions, enumerators, constants, members."""
    code = re.sub(r"//.*", "", text)
    code = re.sub(r"^namespace (?:channel|collectives) \{.*?^\}", "", code, flags=re.M | re.S)  # not for programs
    code = re.sub(r"\btemplate <[^\n]*>", "", code)
    code = re.sub(r"\n {6,}(?=\w+;)", " ", code)
    code = re.sub(r"\n private:.*?\n\};", "\n};", code, flags=re.S)
    types = set(re.findall(r"\b(?:class|struct|using) (\w+)", code.replace("enum class", "class")))
    names = types | set(re.findall(r"^ {0,2}(?:inline |static )*constexpr \w+ (\w+)", code, re.M))
    for body in re.findall(r"\benum class \w+ : [^{]*\{(.*?)\}", code, flags=re.S):
        names |= set(re.findall(r"\b(\w+)\b", body))
    for line in code.splitlines():
        if function := re.match(r"\s*(?:static |inline )?[\w:<>*&\[\] ]+[ &*](\w+)\(", line):
            names.add(function.group(1))
        elif re.match(r"  [\w:<>]+(?: const)? \w+(?: = [^;]*)?[,;]", line) or re.match(r"  +[\w:]+<.*> \w+;", line):
            names |= set(re.findall(r"(\w+)(?: = [^,;]*)?[,;]", line))
    # Inner types are for the library; what is spelt with the class is shown by its members.
    others = {"State", "Operation", "bool", "requires", "sizeof"}
    return {name for name in names if name not in others and not name.isdigit() and not name.endswith("_")}


def check_header(*paths):
    names, page = set(), paths[-1]
    for header in paths[:-1]:
        with open(header, encoding="utf-8") as f:
            text = f.read()
        names |= names_of_classes(text) if "namespace" in text else names_of_header(text)
    with open(page, encoding="utf-8") as f:
        plain = re.sub(r"\\f(?:\[[^]]*\]|.)", "", f.read()).replace("\\-", "-")
    return [f"{name}: in the header, not in {os.path.basename(page)}" for name in sorted(names)
            if not re.search(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", plain)] or \
           ([] if names else [f"{paths[0]}: declares nothing that this check can see"])


VARIABLE = re.compile(r"\bSCELA_HCA(?:_[A-Z]+)*(?![A-Z_]*(?:_H\b|\())")
# Of C sources: the guard and the constant of scela/hca_job.h, and a path that the build gives to tests.
NO_VARIABLES = {"SCELA_HCA_JOB_H", "SCELA_HCA_KEY_BYTES", "SCELA_HCA_PATH"}


def entries_of_page(roff):
    """Variables on tag lines."""
    plain = roff.replace("\\-", "-")
    return {name for tag in re.findall(r"\.TP\n(.*)", plain) for name in VARIABLE.findall(tag)}


def check_variables(root):
    table = set(VARIABLE.findall(tree.read(root, "hca/core/wire/variables.h").split("kVariables[]")[1].split(";")[0]))
    known = table | {"SCELA_HCA"}
    errors = [] if len(table) > 4 else ["hca/core/wire/variables.h: no table that this check can see"]
    for path in tree.files(root, (".cpp", ".h", ".c")):
        if path.startswith(("hca/", "nla/", "launcher/", "examples/")):
            named = {name for text in re.findall(r'"(SCELA_HCA(?:_[A-Z_]*[A-Z])?)"', tree.read(root, path))
                     for name in [text]} - NO_VARIABLES
            errors += [f"{path}: {name} is not in hca/core/wire/variables.h" for name in sorted(named - known)]
    document = tree.read(root, "docs/guide/run-verbs-programs.md").partition("\n## Environment\n")[2].partition("\n## ")[0]
    places = {"man/scela-hca.8.in": entries_of_page(tree.read(root, "man/scela-hca.8.in")),
              "docs/guide/run-verbs-programs.md": {name for row in re.findall(r"^\| (`.*?`) \|", document, re.M) for name in VARIABLE.findall(row)}}
    for path, names in places.items():
        errors += [f"{path}: has no entry for {name}" for name in sorted(known - names)]
        errors += [f"{path}: {name} is no variable" for name in sorted(names - known)]
    return errors


def check_channel_variables(root):
    """What settings.cpp knows is what the page has, and whatever the channel reads itself is known there."""
    settings = tree.read(root, "comm-channel/api/environment_options.cpp")
    others = re.search(r"kOthers\[\] = \{(.*?)\}", settings, re.S)
    known = set(re.findall(r'^    (?:\{|SCELA_SIZE\()"([A-Z_]+)",', settings, re.M)) | set(re.findall(r'"([A-Z_]+)"', others.group(1) if others else ""))
    known = {"SCELA_CHANNEL_" + name for name in known}
    errors = [] if len(known) > 2 else ["comm-channel/api/environment_options.cpp: no table that this check can see"]
    for path in tree.files(root, (".cpp", ".h")):
        if path.startswith("comm-channel/"):
            named = set(re.findall(r'"(SCELA_CHANNEL_[A-Z_]*[A-Z])"', tree.read(root, path)))
            errors += [f"{path}: {name} is not in comm-channel/api/environment_options.cpp" for name in sorted(named - known)]
    page = set(re.findall(r"SCELA_CHANNEL_[A-Z_]*[A-Z]", tree.read(root, "man/scela_channel.3.in")))
    errors += [f"man/scela_channel.3.in: does not name {name}" for name in sorted(known - page)]
    errors += [f"man/scela_channel.3.in: {name} is no variable" for name in sorted(page - known)]
    return errors


def check_collective_variables(root):
    """One for each operation, and whatever the sources name, are those of the page."""
    names = re.search(r"\bkNames = \{(.*?)\}", tree.read(root, "collectives/core/shape.cpp"), re.S)
    operations = re.findall(r'"([a-z_]+)"', names.group(1)) if names else []
    known = {f"SCELA_COLL_{name.upper()}" for name in operations}
    errors = [] if len(known) > 2 else ["collectives/core/shape.cpp: no names of operations that this check can see"]
    for path in tree.files(root, (".cpp", ".h")):
        if path.startswith("collectives/"):
            known |= set(re.findall(r'"(SCELA_COLL_[A-Z_]*[A-Z])"', tree.read(root, path)))
    page = set(re.findall(r"SCELA_COLL_[A-Z_]*[A-Z]", tree.read(root, "man/scela_communicator.3.in")))
    errors += [f"man/scela_communicator.3.in: does not name {name}" for name in sorted(known - page)]
    errors += [f"man/scela_communicator.3.in: {name} is no variable" for name in sorted(page - known)]
    return errors


def warnings_of(page):
    """What man says about a page when it has all its warnings on."""
    run = subprocess.run(["man", "--warnings=w", "-E", "UTF-8", "-l", page], capture_output=True, text=True,
                         check=False, env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat"})
    if run.returncode or run.stderr:
        return run.stderr or f"status {run.returncode}"
    return "" if "NAME" in run.stdout else "no NAME section"


def check_render(folder):
    pages = sorted(glob.glob(os.path.join(folder, "*.[13578]")))
    errors = [f"{page}: {text}" for page in pages for text in [warnings_of(page)] if text]
    return tree.finish(errors if pages else [f"no pages in {folder}"], f"rendering of {len(pages)} pages")


def self_test():
    text = "usage: p [options]\nGroup:\n  -n, --np N     ranks; see --nowhere\n  --only-help    x\n  -l, --label  y\n"
    page = ".SH OPTIONS\n.TP\n\\fB\\-n\\fR, \\fB\\-\\-np\\fR \\fIN\\fR\nranks\n.TP\n.B \\-\\-label\nsee \\-\\-x\n" \
           ".TP\n.BR \\-\\-only\\-page\n"
    found = [f.split(":")[0] for f in compare(text, page)]
    errors = [] if found == ["--only-help", "--only-page"] else [f"planted one in each direction, found {found}"]
    header = "#ifndef SCELA_X_H\nenum { SCELA_A = 1, SCELA_B };\nstruct scela_s {\n  int one, two;\n  char three[SCELA_A];\n};\n" \
             "/* scela_none() */\nint scela_do(void);\n"
    if names_of_header(header) != {"SCELA_A", "SCELA_B", "two", "three", "scela_do"}:
        errors.append(f"of a header were seen {names_of_header(header)}")
    header = "namespace x {\nenum class E : unsigned char {\n  one,  // not this\n  two,\n};\nstruct S {\n  int a = 1, b = 2;\n" \
             "  std::string\n      c;\n  explicit operator bool() const;\n};\nclass C {\n public:\n  static S open(const S& d = {});\n\n" \
             " private:\n  int hidden_;\n};\nbool wait(int limit);\ninline constexpr int kOne = 1;\n" \
             "template <class T>\nconstexpr E of() {\n    constexpr int kInner = sizeof(T);\n}\n" \
             "class V {\n public:\n  template <Range R>\n  requires(!small<R>) V(R&& range)\n" \
             "      : data_(range) {}\n  int last() const;\n};\n}\n"
    if names_of_classes(header) != {"E", "one", "two", "S", "a", "b", "c", "C", "open", "wait", "kOne", "of", "V", "last"}:
        errors.append(f"of a header of classes were seen {names_of_classes(header)}")
    with tempfile.TemporaryDirectory() as folder:
        planted = {"hca/core/wire/variables.h": 'kVariables[] = {"SCELA_HCA_A", "SCELA_HCA_B", "SCELA_HCA_C", "SCELA_HCA_D", "SCELA_HCA_E"};',
                   "hca/x.cpp": 'getenv("SCELA_HCA_SECRET"); getenv("SCELA_HCA_A");',
                   "man/scela-hca.8.in": ".TP\n.BR SCELA_HCA \", \" SCELA_HCA_A\n.TP\n.B SCELA_HCA_B\n.TP\n.B SCELA_HCA_C\n.TP\n"
                                         ".B SCELA_HCA_D\nnot SCELA_HCA_E\n.TP\n.B SCELA_HCA_OLD\n",
                   "docs/guide/run-verbs-programs.md": "\n## Environment\n| `SCELA_HCA` | |\n" + "".join(f"| `SCELA_HCA_{x}` | |\n" for x in "ABCDE")}
        for path, text in planted.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                f.write(text)
        seen = check_variables(folder)
        if [one.split(": ")[0] for one in seen] != ["hca/x.cpp", "man/scela-hca.8.in", "man/scela-hca.8.in"]:
            errors.append(f"planted a variable that no table has, one without an entry and one that is none, found {seen}")
    with tempfile.TemporaryDirectory() as folder:
        planted = {"comm-channel/api/environment_options.cpp": '    {"ONE", "", x},\n    {"TWO", "", x},\n    {"LOST", "", x},\nkOthers[] = {"THREE"};\n',
                   "comm-channel/x.cpp": 'getenv("SCELA_CHANNEL_THREE"); getenv("SCELA_CHANNEL_SECRET");',
                   "man/scela_channel.3.in": "SCELA_CHANNEL_ONE SCELA_CHANNEL_TWO SCELA_CHANNEL_THREE SCELA_CHANNEL_OLD SCELA_CHANNEL_"}
        for path, text in planted.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                f.write(text)
        seen = [one.split(": ")[1] for one in check_channel_variables(folder)]
        if seen != ["SCELA_CHANNEL_SECRET is not in comm-channel/api/environment_options.cpp", "does not name SCELA_CHANNEL_LOST",
                    "SCELA_CHANNEL_OLD is no variable"]:
            errors.append(f"planted three faults of the channel's variables, found {seen}")
    with tempfile.TemporaryDirectory() as folder:
        planted = {"collectives/core/shape.cpp": 'kNames = {"barrier", "bcast", "lost"};\n',
                   "collectives/x.cpp": 'getenv("SCELA_COLL_TABLE"); getenv("SCELA_COLL_SECRET"); "SCELA_COLL_"',
                   "man/scela_communicator.3.in": "SCELA_COLL_BARRIER SCELA_COLL_BCAST SCELA_COLL_TABLE SCELA_COLL_OLD"}
        for path, text in planted.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                f.write(text)
        seen = [one.split(": ")[1] for one in check_collective_variables(folder)]
        if seen != ["does not name SCELA_COLL_LOST", "does not name SCELA_COLL_SECRET", "SCELA_COLL_OLD is no variable"]:
            errors.append(f"planted three faults of the variables of collective operations, found {seen}")
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "bad.1")
        with open(bad, "w", encoding="utf-8") as f:
            f.write('.TH BAD 1 "" x y\n.SH NAME\nbad \\- x\n.NOSUCHMACRO\n')
        if not warnings_of(bad):
            errors.append("an unknown macro was not seen")
    return tree.finish(errors, "man page self-test")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test())
    if sys.argv[1] == "--header":
        sys.exit(tree.finish(check_header(*sys.argv[2:]), "man page against the header"))
    if sys.argv[1] == "--variables":
        sys.exit(tree.finish(check_variables(sys.argv[2]), "variables of the adapter"))
    if sys.argv[1] == "--channel-variables":
        sys.exit(tree.finish(check_channel_variables(sys.argv[2]), "variables of the channel"))
    if sys.argv[1] == "--collective-variables":
        sys.exit(tree.finish(check_collective_variables(sys.argv[2]), "variables of collective operations"))
    if sys.argv[1] == "--render":
        sys.exit(check_render(sys.argv[2]))
    shown = subprocess.run([sys.argv[1], "--help"], capture_output=True, text=True, check=True).stdout
    with open(sys.argv[2], encoding="utf-8") as page_file:
        sys.exit(tree.finish(compare(shown, page_file.read()), "man page against --help"))
