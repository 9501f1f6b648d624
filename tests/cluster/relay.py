"""Delays whatever crosses a host's cable, for kernels without netem: one process for all hosts of a cluster.

A delayed host's port leaves the bridge, and a second pair of interfaces takes its place there. The relay copies
frames between the two by packet sockets, each after the delay, in order, with the kernel's notes on checksums and
segmentation, so that large segments pass whole and no byte is looked at.
"""
import collections
import json
import os
import select
import socket
import subprocess
import time

import kernel
import layout

SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
SO_RCVBUFFORCE, SO_SNDBUFFORCE = 33, 32
ETH_P_ALL = 0x0003
BUFFER_BYTES = 8 << 20  # of a socket: a burst must not be lost
FRAME_BYTES = 70000  # the largest segment and its headers


class Relay:
    """The holder's end."""

    def __init__(self, channel):
        self._channel = channel

    def delay(self, index, ms):
        self._channel.send(json.dumps([index, ms]).encode())
        reply = self._channel.recv(65536).decode()
        if reply != "ok":
            raise RuntimeError(f"relay: {reply or 'it is gone'}")


def start(others):
    """A fork of the caller; others: its sockets, which the relay must not keep open."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        try:
            for other in others + [here]:
                other.close()
            kernel.set_process_name("relay")
            os.nice(-15)
            _Loop(there).run()
        finally:
            os._exit(0)
    there.close()
    return Relay(here)


def _ip(*lines):
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


class _Direction:
    """Frames from one interface to another."""

    def __init__(self, source, sink, seconds):
        self.source, self.sink, self.seconds = source, sink, seconds
        self.waiting = collections.deque()  # (when due, frame)

    def take(self, now):
        while True:
            try:
                self.waiting.append((now + self.seconds, self.source.recv(FRAME_BYTES)))
            except OSError:
                return  # nothing more now; or the link is down, as by a cut

    def give(self, now):
        while self.waiting and self.waiting[0][0] <= now:
            try:
                self.sink.send(self.waiting.popleft()[1])
            except OSError:
                pass  # a link that is down loses its frames


class _Loop:
    def __init__(self, channel):
        self._channel = channel
        self._poll = select.epoll()
        self._poll.register(channel.fileno(), select.EPOLLIN)
        self._by_source = {}  # descriptor: direction
        self._by_host = {}  # index: its two directions

    def run(self):
        while True:
            due = min((d.waiting[0][0] for d in self._by_source.values() if d.waiting), default=None)
            wait = None if due is None else max(0.0, due - time.monotonic())
            for fd, _ in self._poll.poll(wait):
                if fd == self._channel.fileno():
                    self._control()
                elif fd in self._by_source:
                    self._by_source[fd].take(time.monotonic())
            now = time.monotonic()
            for direction in self._by_source.values():
                direction.give(now)

    def _control(self):
        text = self._channel.recv(65536)
        if not text:
            os._exit(0)
        index, ms = json.loads(text)
        try:
            if ms is None:
                self._remove(index)
            elif index in self._by_host:
                for direction in self._by_host[index]:
                    direction.seconds = ms / 1000
            else:
                self._add(index, ms / 1000)
            self._channel.send(b"ok")
        except (OSError, RuntimeError) as error:
            self._channel.send(repr(error).encode())

    def _add(self, index, seconds):
        port, outer, inner = layout.port(index), f"r{index}", f"q{index}"
        _ip(f"link add {inner} up type veth peer name {outer}")
        ends = [self._socket(port), self._socket(inner)]
        _ip(f"link set {port} nomaster", f"link set {outer} up master br0")
        pair = [_Direction(ends[0], ends[1], seconds), _Direction(ends[1], ends[0], seconds)]
        for direction in pair:
            self._by_source[direction.source.fileno()] = direction
            self._poll.register(direction.source.fileno(), select.EPOLLIN)
        self._by_host[index] = pair

    def _remove(self, index):
        for direction in self._by_host.pop(index, ()):
            del self._by_source[direction.source.fileno()]
            self._poll.unregister(direction.source.fileno())
            direction.source.close()
        if os.path.exists(f"/proc/sys/net/ipv4/conf/q{index}"):
            _ip(f"link del q{index}", f"link set {layout.port(index)} master br0")

    @staticmethod
    def _socket(device):
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        end.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES)
        end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        end.bind((device, ETH_P_ALL))
        return end
