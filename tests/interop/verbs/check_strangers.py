#!/usr/bin/env python3
"""Engines of different nodes speak only with who knows the job's key, whatever else connects to them.

usage: check_strangers.py LIBRARY ENGINE

The greeting (hca/engine/net/peer_greeting.h) is made here a second time, from its description, over the TLS of openssl's
command line.
"""
import hashlib
import hmac
import os
import socket
import struct
import subprocess
import sys
import time

import nodes
import verbs

VERSION = 5
HELLO = struct.Struct("<IIQ")  # wish, attempt, instance
ANSWER = struct.Struct("<IIIQ")  # verdict, wish, attempts, instance
COMMAND = ["ibv_rc_pingpong", "-g", "0", "-n", "200"]


def derived(key, purpose):
    """HKDF-SHA256 (RFC 5869) without salt, of one block."""
    extracted = hmac.digest(bytes(32), key, hashlib.sha256)
    return hmac.digest(extracted, purpose.encode() + b"\1", hashlib.sha256)


def connection_key(job_key, me, to):
    engine = derived(bytes.fromhex(job_key), f"scela adapter engine, node {to}")
    return derived(engine, f"scela adapter engine, TLS 1.3, from node {me}")


class Stranger:
    """Somebody who has connected to an engine."""

    def __init__(self, node):
        self.socket = socket.create_connection(("127.0.0.1", node.port()))
        self.socket.settimeout(verbs.TIME_LIMIT_S)

    def is_dropped(self):
        try:
            return self.socket.recv(1 << 16) == b"" or self.is_dropped()
        except ConnectionResetError:
            return True


class Talker:
    """Somebody who speaks TLS 1.3 to an engine, under a key that may be the right one."""

    def __init__(self, node, key, me=2, to=0, version=VERSION, job="test", name="scela-hca", key_of=None):
        job = hmac.digest(b"scela-hca", job.encode(), hashlib.sha256).hex()[:16]
        secret = connection_key(key, *(key_of or (me, to)))
        self.process = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{node.port()}", "-tls1_3", "-ciphersuites",
             "TLS_AES_128_GCM_SHA256", "-psk", secret.hex(), "-psk_identity", f"{name} {version} {job} {me} {to}", "-quiet"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def say(self, text):
        self.process.stdin.write(text)

    def hello(self, wishes=0):
        self.say(HELLO.pack(wishes, 1, int.from_bytes(os.urandom(8), "little")))

    def answer(self):
        found = b""
        while len(found) < ANSWER.size:
            part = self.process.stdout.read(ANSWER.size - len(found))
            if not part:
                return None
            found += part
        return ANSWER.unpack(found)

    def is_dropped(self):
        """It ends when the engine has closed the connection."""
        self.process.wait(verbs.TIME_LIMIT_S)
        self.process.stdin.close()
        self.process.stdout.close()
        return True


def exchange(server, client):
    for node, program in zip((server, client), nodes.start(server, [client], COMMAND)):
        status, output = node.finish(program)
        if status != 0:
            verbs.fail(f"the nodes do not speak to each other any more: {status}\n{output}")


def expect(holds, what):
    if not holds:
        verbs.fail(f"expected that {what}")


def dropped_ones(node, key):
    """Each with what the engine says of it on standard error, unless it said something within a second before."""
    one = Stranger(node)
    one.socket.sendall(os.urandom(4096))
    yield one, "no engine"
    one = Stranger(node)
    one.socket.sendall(b"\x16\x03\x01\x02\x00\x01")
    one.socket.shutdown(socket.SHUT_WR)
    yield one, "hung up"
    for words, said in (({"version": VERSION + 1}, f"version {VERSION + 1}"), ({"name": "scela-nla"}, "no engine"),
                        ({"me": 0}, "another node"), ({"me": 3}, "another node"), ({"to": 1}, "another node"),
                        ({"job": "other"}, "another job"), ({"key": nodes.new_key()}, "know the connection's key"),
                        # Node 2 has this key, and poses as node 1.
                        ({"me": 1, "key_of": (2, 0)}, "know the connection's key")):
        one = Talker(node, **{"key": key, **words})
        expect(one.answer() is None, f"with {words} there is no answer")
        yield one, said
    one = Talker(node, key)
    one.hello(wishes=2)
    expect(one.answer() is None, "a wish that the engine does not know gets no answer")
    yield one, "wishes"
    # It knows the key, and wishes to encrypt, but says what is no frame.
    one = Talker(node, key)
    one.hello(wishes=1)
    verdict, wishes, _, _ = one.answer()
    expect((verdict, wishes) == (1, 0), "an engine that knows the key is welcome")
    one.say(b"\xff" * 100)
    yield one, "no frame"
    # It was welcome, and goes on in the clear, where that is no TLS any more: what openssl sends is no frame.
    one = Talker(node, key)
    one.hello()
    expect(one.answer()[0] == 1, "an engine that knows the key is welcome")
    one.say(b"x" * 100)
    yield one, "no frame"


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
