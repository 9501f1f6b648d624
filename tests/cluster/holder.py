"""Holds a cluster: the first process of its outer process namespace, and of the network namespace of its bridge.

usage: holder.py FD, by cluster.py. Requests come over the sequential packet socket FD: {"op": NAME, ...} for the
holder, {"hosts": [INDEX...], "op": NAME, ...} for hosts. When it ends, for whatever reason, the kernel kills all
processes of the cluster, and with them go its networks and file systems. It ends when the socket closes or its
parent dies.
"""
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys

import host
import kernel
import layout
import relay

NAMESPACES = kernel.NEWNS | kernel.NEWUTS | kernel.NEWIPC | kernel.NEWNET


def run(*words, text=None):
    done = subprocess.run(words, input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


def sysctl(name, value):
    try:
        with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as f:
            f.write(str(value))
    except FileNotFoundError:
        pass  # no IPv6, or an older kernel


class Holder:
    def __init__(self, channel):
        self._channel = channel
        self._hosts = []  # the socket of each
        self._relay = None

    def op_up(self, hello, plan):
        """The private file systems and the bridge, then all hosts at once."""
        hello = socket.socket(fileno=hello)
        kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", "proc")
        kernel.mount("cluster", layout.SHARED, "tmpfs", data="mode=0755")
        sysctl("ipv6/conf/default/disable_ipv6", 1)
        sysctl("ipv4/ip_forward", 1)
        sysctl("ipv4/icmp_ratelimit", 0)
        for name in ("all", "default"):
            sysctl(f"ipv4/conf/{name}/send_redirects", 0)
        run("ip", "-batch", "-", text=layout.bridge())
        sysctl("ipv4/conf/default/arp_ignore", 8)  # a port that left the bridge does not answer in its stead
        gc.freeze()  # so that hosts share this process's memory
        pids = [self._fork(index, hello, plan) for index in range(plan["count"] + 1)]
        hello.close()
        run("ip", "-batch", "-", text="".join(layout.cable(*pair) for pair in enumerate(pids)))

    def _fork(self, index, hello, plan):
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = kernel.clone(NAMESPACES | (kernel.NEWPID if plan["own_processes"] else 0))
        if pid == 0:
            here.close()
            for other in self._hosts:
                other.close()
            self._channel.close()
            host.main(index, there, hello, plan)
        there.close()
        self._hosts.append(here)
        return pid

    def ask(self, indexes, request):
        """All the hosts work at once."""
        text = json.dumps(request).encode()
        for index in indexes:
            self._hosts[index].send(text)
        replies = [json.loads(self._hosts[index].recv(host.MESSAGE_BYTES) or b'{"error": "the host is gone"}')
                   for index in indexes]
        for reply in replies:
            if "error" in reply:
                return reply
        return {"value": [reply["value"] for reply in replies]}

    def op_link(self, index, up):
        run("ip", "link", "set", layout.port(index), "up" if up else "down")

    def op_rate(self, index, mbit):
        run("tc", *host.rate_words(layout.port(index), mbit))

    def op_delay(self, index, ms):
        if self._relay is None:
            self._relay = relay.start([self._channel] + self._hosts)
        self._relay.delay(index, ms)

    def serve(self):
        wake, signalled = socket.socketpair()
        signalled.setblocking(False)
        signal.set_wakeup_fd(signalled.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            readable = select.select([wake, self._channel], [], [])[0]
            if wake in readable:
                wake.recv(4096)
                try:
                    while os.waitpid(-1, os.WNOHANG)[0]:
                        pass
                except ChildProcessError:
                    pass
            if self._channel in readable:
                text = self._channel.recv(host.MESSAGE_BYTES)
                if not text:
                    os._exit(0)
                self._channel.send(json.dumps(self._answer(json.loads(text))).encode())

    def _answer(self, request):
        try:
            if "hosts" in request:
                return self.ask(request.pop("hosts"), request)
            return {"value": getattr(self, "op_" + request.pop("op"))(**request)}
        except Exception as error:  # pylint: disable=broad-except
            return {"error": repr(error)}


if __name__ == "__main__":
    kernel.die_with_parent()
    kernel.set_process_name("cluster")
    Holder(socket.socket(fileno=int(sys.argv[1]))).serve()
