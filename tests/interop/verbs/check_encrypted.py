#!/usr/bin/env python3
"""Who stands between two nodes reads and changes nothing of what is encrypted, and everything of what is not.

usage: check_encrypted.py LIBRARY ENGINE

Both nodes are told that the other listens where somebody else does, who passes on what comes, keeps it, and changes a
byte when told to. ibv_rc_pingpong fills its messages with one letter, and looks at what comes.
"""
import contextlib
import select
import socket
import sys
import threading

import nodes
import verbs

LETTERS = b"{" * 64
COMMAND = ["ibv_rc_pingpong", "-g", "0", "-c", "-n"]


class Middle:
    """A context: listens for one node, and passes its connections on to where another listens."""

    def __init__(self, port):
        self.port = port
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.seen = bytearray()
        self.passed = 0
        self.change_at = None
        self.stop, self.stopped = socket.socketpair()
        self.others = {}
        self.thread = threading.Thread(target=self.run)

    def where(self):
        return self.listening.getsockname()[1]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.close()
        self.thread.join()
        for one in [self.listening, self.stopped, *self.others]:
            one.close()

    def run(self):
        while True:
            ready, _, _ = select.select([self.listening, self.stopped, *self.others], [], [])
            if self.stopped in ready:
                return
            for one in ready:
                if one is self.listening:
                    self.take_in()
                elif one in self.others:
                    self.pass_on(one)

    def take_in(self):
        near, _ = self.listening.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            near.close()
            return
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.others.update({near: far, far: near})

    def pass_on(self, one):
        try:
            part = bytearray(one.recv(65536))
            # Within a message, not in the few bytes that say how long it is: those make its receiver wait for more.
            if len(part) > 2048 and self.change_at is not None and self.passed + len(part) > self.change_at:
                part[len(part) // 2] ^= 4
                self.change_at = None
            self.seen += part
            self.passed += len(part)
            if part:
                self.others[one].sendall(part)
                return
        except OSError:
            pass
        other = self.others.pop(one)
        del self.others[other]
        one.close()
        other.close()


def start(stack, library, engine, wishes):
    """Two nodes, the first of which reaches the second through a Middle."""
    key = nodes.new_key()
    ports = [verbs.free_port() for _ in range(2)]
    middle = stack.enter_context(Middle(ports[1]))
    # The client's node connects first; where the second would connect itself it does so past the middle, so it is not
    # told where the first one is.
    told = [[f"peer 1 127.0.0.1:{middle.where()}"], []]
    made = []
    for node in range(2):
        more = told[node] + [f"encrypt {'yes' if wishes[node] else 'no'}"]
        record = nodes.record(node, 2, key, listen=f"127.0.0.1:{ports[node]}", more=more)
        made.append(stack.enter_context(nodes.Node(library, engine, record)))
    return middle, made


def play(server, client):
    """The client, which speaks first, is on the node that connects."""
    for node, program in zip((server, client), nodes.start(server, [client], COMMAND + ["300"])):
        status, output = node.finish(program)
        if status != 0 or "invalid data" in output:
            verbs.fail(f"a program ended with status {status}:\n{output}")


def count_changed(made):
    return [int(node.status()["connections changed on their way"]) for node in made]


def play_changed(server, client, middle):
    """Until a byte was changed: the connection ends, with a line that names the node, and nobody gets what came."""
    made = server, client
    for node in made:
        node.complaints = True
    middle.change_at = middle.passed + 100_000
    programs = nodes.start(server, [client], COMMAND + ["100000000"])
    verbs.wait_until(lambda: sum(count_changed(made)) > 0, "the change is found")
    for program in programs:
        program.kill()
        program.wait()
        if "invalid data" in verbs.output_of(program):
            verbs.fail(f"what came is not what was sent:\n{verbs.output_of(program)}")
    changed = count_changed(made)
    said = made[changed.index(1)].engine_said()
    if sum(changed) != 1 or "the connection to node" not in said or "was changed on its way" not in said:
        verbs.fail(f"{changed} connections were found changed, and the engine said: {said}")


def main():
    library, engine = sys.argv[1:]
    for wishes in ((False, False), (True, False), (False, True), (True, True)):
        with contextlib.ExitStack() as stack:
            middle, (first, second) = start(stack, library, engine, wishes)
            play(second, first)
            encrypted = any(wishes)
            for node in (first, second):
                found = node.status()
                if (found["of these encrypted"] == "1") != encrypted or found["nodes connected"] != "1":
                    verbs.fail(f"wishes {wishes} led to this: {found}")
            if middle.passed < 300 * 4096:
                verbs.fail(f"only {middle.passed} bytes went through the middle")
            if (LETTERS in middle.seen) == encrypted:
                verbs.fail(f"wishes {wishes}: what went between nodes was {'readable' if encrypted else 'not read'}")
            if encrypted:
                play_changed(second, first, middle)


if __name__ == "__main__":
    main()
