#!/usr/bin/env python3
"""Engines of different nodes speak only with who knows the job's key, whatever else connects to them.

usage: check_strangers.py LIBRARY ENGINE

The greeting (hca/engine/peer_greeting.h) is made here a second time, from its description.
"""
import hashlib
import hmac
import os
import socket
import struct
import sys
import time

import nodes
import verbs

VERSION = 4
HELLO = struct.Struct("<8sIHHIIQ32s")
VERDICT = struct.Struct("<II32s32s")  # and the half of a key, and a proof
COMMAND = ["ibv_rc_pingpong", "-g", "0", "-n", "200"]


class Stranger:
    """Somebody who has connected to an engine."""

    def __init__(self, node):
        self.socket = socket.create_connection(("127.0.0.1", node.port()))
        self.socket.settimeout(verbs.TIME_LIMIT_S)

    def hello(self, key, me=2, to=0, version=VERSION, job=b"test", wishes=0):
        """Says hello; the proof that would follow, or none if the engine does not answer."""
        mine = HELLO.pack(b"scelahca", version, me, to, wishes, 1, int.from_bytes(os.urandom(8), "little"), os.urandom(32))
        self.socket.sendall(mine)
        answer = self.take(HELLO.size + 32)
        if answer is None:
            return None

        def proof(word, more=b""):
            said = bytes([len(word)]) + word + bytes([len(job)]) + job + mine + answer[:HELLO.size] + more
            return hmac.digest(bytes.fromhex(key), said, hashlib.sha256)

        self.believes = answer[HELLO.size:] == proof(b"scela-hca accepts")
        self.proof = proof
        # Of a key that is nobody's: what it leads to is not asked before something is encrypted.
        half = os.urandom(32) if wishes != 0 else bytes(32)
        return half + proof(b"scela-hca connects", half)

    def take(self, count):
        found = b""
        while len(found) < count:
            try:
                part = self.socket.recv(count - len(found))
            except ConnectionResetError:
                return None
            if not part:
                return None
            found += part
        return found

    def is_dropped(self):
        return self.take(1) is None


def exchange(server, client):
    for node, program in zip((server, client), nodes.start(server, [client], COMMAND)):
        status, output = node.finish(program)
        if status != 0:
            verbs.fail(f"the nodes do not speak to each other any more: {status}\n{output}")


def expect(holds, what):
    if not holds:
        verbs.fail(f"expected that {what}")


def dropped_ones(node, key):
    """Each with what the engine's standard error says of it."""
    one = Stranger(node)
    one.socket.sendall(os.urandom(4096))
    yield one, "no engine"
    one = Stranger(node)
    one.socket.sendall(b"scelahca" + bytes(12))
    one.socket.shutdown(socket.SHUT_WR)
    yield one, "hung up"
    one = Stranger(node)
    expect(one.hello(key, version=VERSION + 1) is None, "another version gets no answer")
    yield one, f"version {VERSION + 1}"
    one = Stranger(node)
    expect(one.hello(key, wishes=2) is None, "a wish that nobody knows gets no answer")
    yield one, "wishes"
    for words in ({"me": 0}, {"me": 3}, {"to": 1}):
        one = Stranger(node)
        expect(one.hello(key, **words) is None, f"a hello with {words} gets no answer")
        yield one, "another node"
    for words in ({"key": nodes.new_key()}, {"key": key, "job": b"other"}):
        one = Stranger(node)
        proof = one.hello(**words)
        expect(not one.believes, "the engine does not prove to know another key")
        one.socket.sendall(proof)
        yield one, "key"
    one = Stranger(node)
    one.socket.sendall(one.hello(key))
    expect(one.believes, "the engine proves itself")
    verdict = one.take(VERDICT.size)
    expect(VERDICT.unpack(verdict)[0] == 1, "who knows the key is welcome")
    expect(verdict[40:] == one.proof(b"scela-hca decides", verdict[:40]), "the verdict is the engine's")
    one.socket.sendall(b"\xff" * 100)
    yield one, "no frame"
    # Who knows the key, and wishes to encrypt, but seals with no secret of this connection's.
    one = Stranger(node)
    one.socket.sendall(one.hello(key, wishes=1))
    expect(VERDICT.unpack(one.take(VERDICT.size))[0] == 1, "who wishes to encrypt is welcome")
    one.socket.sendall(struct.pack("<I", 200) + os.urandom(216))
    yield one, "changed on its way"


def main():
    library, engine = sys.argv[1:]
    key = nodes.new_key()
    with nodes.Node(library, engine, nodes.record(0, 3, key)) as first, \
            nodes.Node(library, engine, nodes.record(1, 3, key)) as second:
        first.complaints = True
        exchange(first, second)
        for stranger, word in dropped_ones(first, key):
            expect(stranger.is_dropped(), f"a stranger is dropped: {word}")
            exchange(first, second)
        # Lines about strangers are few, however many come.
        begun = time.monotonic()
        lines = first.engine_said().count("\n")
        for _ in range(300):
            stranger = Stranger(first)
            stranger.socket.sendall(os.urandom(64))
            expect(stranger.is_dropped(), "a stranger is dropped")
        lines = first.engine_said().count("\n") - lines
        expect(lines <= time.monotonic() - begun + 2, f"there are not {lines} lines about strangers")
        # More who say nothing than are let in: the job's nodes connect all the same.
        silent = [Stranger(first) for _ in range(200)]
        second.end_engine()
        second.start_engine(nodes.record(1, 3, key))
        exchange(first, second)
        for stranger in silent:
            expect(stranger.is_dropped(), "who says nothing is dropped")
        verbs.wait_until(lambda: first.status()["connections not proved"] == "0", "no stranger is left")


if __name__ == "__main__":
    main()
