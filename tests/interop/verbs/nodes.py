"""Nodes to run verbs programs on: each an engine with a socket directory of its own, all on the loopback
address, which prove to each other that they are of one job. Nothing is left of them afterwards."""
import json
import os
import secrets
import signal
import subprocess
import tempfile

import verbs


class Node(verbs.Place):
    strict = "1"  # as SCELA_HCA_STRICT; benchmarks say 0

    def __init__(self, library, engine, record):
        super().__init__(library, engine)
        self.environment["SCELA_HCA_STRICT"] = self.strict
        self.socket = os.path.join(self.folder, "socket")
        self.engine = self.environment["SCELA_HCA"]
        self.environment.update(SCELA_HCA_SOCKET=self.socket, SCELA_HCA="/nonexistent")
        self.complaints = False  # whether the engine may say something
        self.start_engine(record)

    def start_engine(self, record):
        self.said = tempfile.TemporaryFile("w+")
        told, tell = os.pipe()
        begun, begins = os.pipe()
        self.process = subprocess.Popen(
            self.launcher + [self.engine, "--socket", self.socket, "--fabric-fd", str(told),
                             "--ready-fd", str(begins)],
            pass_fds=(told, begins), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said,
            env={k: v for k, v in os.environ.items() if not k.startswith("SCELA_")} | {"SCELA_HCA_STRICT": self.strict})
        os.close(told)
        os.close(begins)
        with os.fdopen(tell, "w") as f:
            f.write(record)
        with os.fdopen(begun, "rb") as f:
            if f.read() != b"\1":
                verbs.fail(f"an engine does not begin: {self.engine_said()}")

    def engine_said(self):
        self.said.seek(0)
        return self.said.read()

    def status(self):
        """What the engine says of other nodes, by name."""
        ask = self.launcher + [self.engine, "--status", "--json", "--socket", self.socket]
        text = subprocess.run(ask, check=True, timeout=20, capture_output=True, text=True).stdout
        return json.loads(text)["fabric"]

    def port(self):
        return int(self.status()["listens"].rpartition(":")[2])

    def end_engine(self, signo=signal.SIGTERM):
        self.process.send_signal(signo)
        return self.process.wait(verbs.TIME_LIMIT_S)

    def __exit__(self, kind, value, trace):
        wrong = ""
        if self.process.poll() is None:
            status = self.end_engine()
            wrong = f"an engine ended with {status}" if status else ""
            if os.path.exists(self.socket):
                wrong = "an engine has left its socket"
        if not self.complaints and self.engine_said():
            wrong = f"an engine said: {self.engine_said()}"
        super().__exit__(kind or (wrong and RuntimeError), value, trace)
        if kind is None and wrong:
            verbs.fail(wrong)


def record(node, nodes, key, job="test", listen="127.0.0.1:0", more=()):
    lines = [f"job {job}", f"node {node}", f"nodes {nodes}", f"key {key}", f"listen {listen}", *more]
    return "\n".join(lines) + "\n"


def new_key():
    return secrets.token_hex(32)


def start(server, clients, command):
    """A server on one node, and once it listens a client on each of the others."""
    port = verbs.free_port()
    command = command + ["-p", str(port)]
    serving = server.start(command)
    verbs.wait_until(lambda: verbs.listens(port) or serving.poll() is not None, "the server listens")
    return [serving] + [client.start(command + ["127.0.0.1"]) for client in clients]
