#!/usr/bin/env python3
"""A launcher of a few ranks of bootstrap_probe, by a server of PMI that does what none of the real ones does.

usage: bootstrap_server.py CASE PROGRAM

unmapped: PMI-1 that tells nothing of nodes: ranks on this machine are on one node.
framed: a server that refuses PMI-1: ranks speak PMI-2 with it.
silent: it closes with the first word. late: it closes when a rank comes to the first fence.
neither: it refuses both.
"""
import os
import re
import selectors
import socket
import subprocess
import sys

RANKS = 3
ENDS = {"silent", "late", "neither"}
TIME_LIMIT_S = 60


class Server:
    def __init__(self, case):
        self.case, self.pairs, self.waiting, self.text, self.framed = case, {}, [], {}, set()

    def say(self, peer, text):
        if peer in self.framed:
            text = f"{len(text):6d}{text}"
        peer.sendall(text.encode() + (b"" if peer in self.framed else b"\n"))

    def line(self, peer, line):
        """False: it is time to close."""
        words = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        command = words["cmd"]
        if command == "init":
            version = words["pmi_version"]
            if self.case == "silent":
                return False
            refused = self.case == "neither" or (self.case == "framed" and version == "1")
            self.say(peer, f"cmd=response_to_init pmi_version={version} pmi_subversion=1 rc={-1 if refused else 0}")
            if not refused and version == "2":
                self.framed.add(peer)
        elif command == "get_maxes":
            self.say(peer, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=200")
        elif command == "get_my_kvsname":
            self.say(peer, "cmd=my_kvsname kvsname=made_up")
        elif command == "put":
            assert len(words["value"]) < 200 and words["key"] not in self.pairs, line
            self.pairs[words["key"]] = words["value"]
            self.say(peer, "cmd=put_result rc=0 msg=success")
        elif command == "get":
            found = self.pairs.get(words["key"])
            self.say(peer, f"cmd=get_result rc=0 value={found}" if found else "cmd=get_result rc=-1 msg=absent")
        elif command == "barrier_in":
            return self.enter(peer, "cmd=barrier_out rc=0")
        elif command == "finalize":
            self.say(peer, "cmd=finalize_ack rc=0")
        return True

    def message(self, peer, payload):
        words = dict(word.split("=", 1) for word in payload.split(";") if word)
        command, more = words["cmd"], ""
        if command == "fullinit":
            more = f"rank={words['pmirank']};size={RANKS};appnum=0;"
        elif command == "job-getid":
            more = "jobid=made_up;"
        elif command == "info-getjobattr":
            more = "found=TRUE;value=(vector,(4,2,1),(9,1,1));"
        elif command == "kvs-put":
            self.pairs[words["key"]] = words["value"]
        elif command == "kvs-get":
            found = self.pairs.get(words["key"])
            more = f"found=TRUE;value={found};" if found else "found=FALSE;"
        answer = f"cmd={command}-response;rc=0;{more}"
        if command == "kvs-fence":
            return self.enter(peer, answer)
        self.say(peer, answer)
        return True

    def enter(self, peer, answer):
        if self.case == "late":
            return False
        self.waiting.append(peer)
        if len(self.waiting) == RANKS:
            for each in self.waiting:
                self.say(each, answer)
            self.waiting = []
        return True

    def serve(self, peer):
        """False: the peer has gone, or is to be left."""
        got = peer.recv(65536)
        if not got:
            return False
        text = self.text.get(peer, "") + got.decode()
        while True:
            if peer in self.framed:
                if len(text) < 6 or len(text) < 6 + int(text[:6]):
                    break
                end = 6 + int(text[:6])
                whole, text = text[6:end], text[end:]
                if not self.message(peer, whole):
                    return False
            else:
                if "\n" not in text:
                    break
                whole, text = text.split("\n", 1)
                if not self.line(peer, whole):
                    return False
        self.text[peer] = text
        return True


def start(program, rank):
    ours, theirs = socket.socketpair()
    environment = {k: v for k, v in os.environ.items() if not re.match("(PMI|SCELA|SLURM)_?", k)}
    environment.update(PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(RANKS))
    child = subprocess.Popen([program], env=environment, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    theirs.close()
    return ours, child


def main():
    case, program = sys.argv[1:]
    server, poll = Server(case), selectors.DefaultSelector()
    children = []
    for rank in range(RANKS):
        peer, child = start(program, rank)
        children.append(child)
        poll.register(peer, selectors.EVENT_READ)
    while poll.get_map():
        ready = poll.select(TIME_LIMIT_S)
        if not ready:
            for child in children:
                child.kill()
            sys.exit("the ranks say nothing")
        for key, _ in ready:
            if not server.serve(key.fileobj):
                poll.unregister(key.fileobj)
                key.fileobj.close()
    for child in children:
        out, err = child.communicate(timeout=TIME_LIMIT_S)
        print(out, end="")
        print(err, end="", file=sys.stderr)
    if any((child.returncode != 0) != (case in ENDS) for child in children):
        sys.exit(f"statuses {[child.returncode for child in children]}")


if __name__ == "__main__":
    main()
