#!/usr/bin/env python3
"""Real shells complete scela-run's command line: options of --help, words of the table, files, hosts that ssh knows, programs. None of
them executes or expands what stands in ssh's files.

usage: check_completion.py bash|zsh|fish FILE SCELA-RUN
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

import check_man
import tree

DEADLINE_S = 60
# What is typed before the key for completion, what must be offered or written, and what must not be.
CASES = [
    ("scela-run --map-by nu", ["numa"], []),
    ("scela-run --on-failure ", ["kill", "wait"], ["auto"]),
    ("scela-run --on-failure=w", ["wait"], ["kill"]),
    ("scela-run --cache=hcmab-", ["hcmab-lru"], ["dht"]),
    ("scela-run --launch ss", ["ssh-exec"], ["local"]),
    ("scela-run --stats=", ["json", "text"], []),
    ("scela-run -n 4 --bind-to hwt", ["hwthread"], []),
    ("scela-run -np 4 --ssh-host", ["--ssh-host-keys"], ["--ssh-config"]),
    ("scela-run -w quok", ["quokka7"], []),
    ("scela-run --hosts wombat3,quok", ["quokka7"], []),
    ("scela-run -w bandi", ["bandicoot5"], []),
    ("scela-run -w me@quok", ["quokka7"], []),
    ("scela-run --hosts=wombat3,me@quok", ["quokka7"], []),
    ("scela-run -w wombat3 -w quok", ["quokka7"], []),
    ("scela-run -w ^hostli", ["hostlist.txt"], []),
    ("scela-run -w a%s,quok", ["quokka7"], []),
    ("NAME=1 scela-run -w quok", ["quokka7"], []),
    ("scela-run -w ", ["quokka7", "wombat3", "bandicoot5"], ["touch", "/root", "evil", "~root"]),
    ("scela-run -w wombat3 --exclude=womb", ["wombat3"], []),
    ("scela-run --hostfile hostli", ["hostlist.txt"], []),
    ("scela-run -n 2 printen", ["printenv"], []),
    ("scela-run -lv -n4 cat hostli", ["hostlist.txt"], []),
    ("scela-run -n 2 cat hostlist.txt : --map-by sock", ["socket"], []),
]


class Shell:
    """An interactive shell on a terminal, as a person uses it."""

    def __init__(self, command, home):
        environment = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "vt100", "LC_ALL": "C", "ZDOTDIR": home}
        self.process, self.end = pty.fork()
        if self.process == 0:
            os.chdir(home)
            os.execvpe(command[0], command, environment)
        self.shown = ""

    def type(self, text):
        os.write(self.end, text.encode())

    def read(self, is_done):
        """Waits until what was shown satisfies the predicate, or until the deadline; returns it."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_done(self.shown) and (left := deadline - time.monotonic()) > 0:
            if select.select([self.end], [], [], left)[0]:
                try:
                    self.shown += os.read(self.end, 65536).decode(errors="replace")
                except OSError:
                    break
        shown, self.shown = self.shown, ""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x07|\x08", "", shown)

    def run(self, line):
        """Runs a line; what is shown until it has ended."""
        self.type(line + "; printf 'ended-%s\\n' here\r")
        return self.read(lambda shown: "ended-here" in shown)

    def complete(self, line, wanted):
        """Types a line and the key; what is shown until all wanted words are, or the shell has answered."""
        self.run("true")
        self.type(line + "\t\t")
        shown = self.read(lambda text: all(word in without(text, line) for word in wanted))
        self.type("\x15\r")
        return without(shown, line)

    def close(self):
        os.close(self.end)
        os.waitpid(self.process, 0)


def without(shown, line):
    """What is shown beside the typed words, but a word that completion has ended."""
    typed = line.split(" ")[-1]
    return shown.replace(line, typed.rsplit("=", 1)[-1].rsplit(",", 1)[-1], 1)


def interactive(shell, file, home):
    if shell == "bash":
        person = Shell(["bash", "--norc", "--noprofile", "-i"], home)
        person.run("bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items -1'; bind 'set page-completions off'; PS1='$ '")
        person.run(f". '{file}'")
    else:
        person = Shell(["zsh", "-f", "-i"], home)
        person.run(f"PROMPT='$ '; fpath=('{os.path.dirname(file)}' $fpath); autoload -U compinit; compinit -u -D; unsetopt beep; LISTMAX=9999")
    return person


def of_fish(file, home, line):
    shown = subprocess.run(["fish", "--no-config", "-c", f"source '{file}'; complete -C '{line}'"], cwd=home, text=True,
                           env={"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, capture_output=True, timeout=DEADLINE_S,
                           check=False).stdout
    return re.sub(r"\t.*", "", shown)  # the descriptions


def home_of_a_person(home):
    os.mkdir(f"{home}/.ssh")
    with open(f"{home}/.ssh/known_hosts", "w", encoding="utf-8") as file:
        file.write("# hosts\nquokka7,10.9.8.7 ssh-ed25519 AAAA\n|1|hashed= ssh-ed25519 AAAA\n[wombat3]:2222 ssh-ed25519 AAAA\n"
                   "$(touch${IFS}evil-1) ssh-ed25519 AAAA\n`touch${IFS}evil-2` ssh-ed25519 AAAA\n~root ssh-ed25519 AAAA\n")
    with open(f"{home}/.ssh/config", "w", encoding="utf-8") as file:
        file.write("Host *\n  User me\nHost bandicoot5\nHost $(touch${IFS}evil-3) `touch${IFS}evil-4` $HOME/evil\n")
    with open(f"{home}/hostlist.txt", "w", encoding="utf-8") as file:
        file.write("quokka7\n")
    with open(f"{home}/two words.txt", "w", encoding="utf-8") as file:
        file.write("quokka7\n")


def check(shell, file, program):
    errors = []
    options = check_man.options_of_help(subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout)
    with tempfile.TemporaryDirectory() as home:
        home_of_a_person(home)
        person = None if shell == "fish" else interactive(shell, file, home)
        cases = CASES + [("scela-run --", sorted(options), [])]
        for line, wanted, unwanted in cases:
            shown = of_fish(file, home, line) if shell == "fish" else person.complete(line, wanted)
            missing = [word for word in wanted if word not in shown]
            wrong = [word for word in unwanted if word in shown]
            if missing or wrong:
                errors.append(f"'{line}': {shell} did not offer {missing} or offered {wrong}; it showed {shown!r}")
        if person:
            person.run("scela-run() { printf '<%s>' \"$@\" ; printf '\\n'; }")
            person.type("scela-run --hostfile two\t; printf 'ended-%s\\n' here\r")
            shown = person.read(lambda text: "ended-here" in text)
            if "<--hostfile><two words.txt>" not in shown:
                errors.append(f"{shell} did not complete the name of a file with a blank as one word; it showed {shown!r}")
            person.close()
        errors += [f"{shell} executed text of ssh's files: {name}" for name in os.listdir(home) if "evil" in name]
    return errors


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(tree.finish(check(sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]), f"completion of {sys.argv[1]}"))
