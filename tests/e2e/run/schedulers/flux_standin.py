"""Stands in for the command flux of an instance with one broker on each of the hosts HOSTLIST, all of them on this machine.

It follows src/cmd/flux-exec.c, src/cmd/builtin/attr.c and flux-kvs.c of flux-core 0.88 and RFC 20 for the resource set: options end at the first word that is none, the command is
executed without a shell, standard input is sent to all processes once all have started, each process has the FLUX_URI of its own
broker and nothing else that tells its rank, and what has failed is said in these words and with these exit codes.

Variables of the tests: MACHINES has the names that the machines of the brokers have, if they are not those of HOSTLIST; DOWN has the
ranks of brokers that cannot be reached; CORES is the number of cores of each broker, 1 without it; CALLS is a file that gets each
command line.
"""
import json
import os
import re
import signal
import subprocess
import sys

NO_HOST, USAGE = 68, 1
USAGE_TEXT = "Usage: flux-exec [OPTIONS] COMMAND..."


def expand(text):
    """The names of a host list with one pair of brackets at most in each name (RFC 29)."""
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,]*)?", text):
        found = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not found:
            yield part
            continue
        for piece in found[2].split(","):
            low, _, high = piece.partition("-")
            for number in range(int(low), int(high or low) + 1):
                yield f"{found[1]}{number:0{len(low)}}{found[3]}"


def ranks_of(idset):
    for piece in idset.strip("[]").split(","):
        low, _, high = piece.partition("-")
        yield from range(int(low), int(high or low) + 1)


def complain(command, text, status=USAGE):
    print(f"flux-{command}: {text}", file=sys.stderr)
    sys.exit(status)


def folded(ranks):
    text = ",".join(map(str, sorted(ranks)))
    return f"[{text}]" if len(ranks) > 1 else text


class Exec:
    def __init__(self, words, size):
        self.directory, self.ranks, self.sends_input = os.getcwd(), range(size), True
        while words and words[0].startswith("-"):
            option = words.pop(0)
            if option in ("-n", "--noinput"):
                self.sends_input = False
            elif option in ("-r", "-d") and words:
                value = words.pop(0)
                if option == "-d":
                    self.directory = value
                else:
                    self.ranks = sorted(ranks_of(value))
            elif option == "--":
                break
            else:
                print(USAGE_TEXT, file=sys.stderr)
                sys.exit(USAGE)
        if not words:
            print(USAGE_TEXT, file=sys.stderr)
            sys.exit(USAGE)
        if max(self.ranks) >= size:
            complain("exec", f"One or more invalid --ranks specified: {folded(self.ranks)}")
        self.words = words

    def start(self, rank, machine):
        """A process in a namespace with the name of the machine; it is the agent itself, as these commands execute one another."""
        own_user = [] if os.geteuid() == 0 else ["--map-root-user"]
        namespace = ["unshare", "--uts", *own_user, "sh", "-c", 'hostname "$0" && exec "$@"', machine]
        environment = {**os.environ, "FLUX_URI": f"local:///stand-in/{rank}", "FLUX_EXEC_PATH": "/usr/libexec/flux/cmd"}
        environment.pop("FLUX_PROXY_REMOTE", None)
        return subprocess.Popen([*namespace, *self.words], stdin=subprocess.PIPE, cwd=self.directory, env=environment, start_new_session=True)

    def run(self, machines, down):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
        running, status = {}, 0
        for rank in self.ranks:
            if rank in down:
                print(f"flux-exec: Error: rank {rank}: {self.words[0]}: No route to host", file=sys.stderr)
                status = NO_HOST
            else:
                running[rank] = self.start(rank, machines[rank])

        def forward(number, _):
            for process in running.values():
                process.send_signal(number)
        signal.signal(signal.SIGTERM, forward)
        signal.signal(signal.SIGINT, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGINT])
        text = sys.stdin.buffer.read() if self.sends_input else b""
        for process in running.values():
            try:
                process.stdin.write(text)
                process.stdin.close()
            except BrokenPipeError:
                pass
        codes = {}
        for rank, process in running.items():
            code = process.wait()
            codes.setdefault(128 - code if code < 0 else code, []).append(rank)
        for code, ranks in sorted(codes.items()):
            if code:
                print(f"{folded(ranks)}: {f'Exit {code}' if code < 128 else signal.strsignal(code - 128)}", file=sys.stderr)
        return max([status, *codes])


def main():
    words = sys.argv[1:]
    with open(os.environ["CALLS"], "a", encoding="utf-8") as calls:
        calls.write(" ".join(words) + "\n")
    hosts = list(expand(os.environ["HOSTLIST"]))
    if words[:1] == ["getattr"]:
        if not os.environ.get("FLUX_URI", "").startswith("local:///"):
            complain("getattr", "flux_open: No such file or directory")
        if words[1:] != ["hostlist"]:
            complain("getattr", f"{words[1]}: No such file or directory")
        print(os.environ["HOSTLIST"])
        return 0
    if words[:2] == ["kvs", "get"]:
        if words[2:] != ["resource.R"]:
            complain("kvs", f"{words[2]}: No such file or directory")
        cores = f"0-{int(os.environ.get('CORES', '1')) - 1}"
        brokers = {"rank": f"0-{len(hosts) - 1}", "children": {"core": cores}}
        print(json.dumps({"version": 1, "execution": {"R_lite": [brokers], "starttime": 0, "expiration": 0, "nodelist": [os.environ["HOSTLIST"]]}}))
        return 0
    if words[:1] != ["exec"]:
        complain("standin", f"no stand-in for: {' '.join(words)}")
    machines = os.environ.get("MACHINES", ",".join(hosts)).split(",")
    return Exec(words[1:], len(hosts)).run(machines, {int(rank) for rank in os.environ.get("DOWN", "").split()})


if __name__ == "__main__":
    sys.exit(main())
