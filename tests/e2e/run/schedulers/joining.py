"""Agents that join a job by themselves, for tests."""
import os
import select
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import job  # noqa: E402

AGENT = os.environ["SCELA_AGENT"]
KEY = "0123456789abcdef0123456789abcdef\n"
SHOW = 'echo "$SCELA_RANK $SCELA_NODE"'


class JoiningTest(job.JobTest):
    """A test with a key and a port."""
    def setUp(self):
        super().setUp()
        self.agents = []
        self.addCleanup(self.end_agents)
        self.key = self.file("key", KEY)
        os.chmod(self.key, 0o600)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def end_agents(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.kill()
            agent.wait()
            agent.stderr.close()

    def agent(self, name, *words, key=None, host="127.0.0.1", program=AGENT):
        command = [program, "--join", f"{host}:{self.port}", "--key-file", key or self.key, *words]
        if name:
            command += ["--name", name]
        self.agents.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True, preexec_fn=job.end_with_parent))
        return self.agents[-1]

    def end_of(self, agent):
        """The exit status and the words of an agent."""
        _, err = agent.communicate(timeout=job.DEADLINE_S)
        return agent.returncode, err

    def listen(self, *words, **options):
        return self.start("--listen", f"127.0.0.1:{self.port}", "--key-file", self.key, *words, **options)

    def wait_for(self, run, text, behind=0):
        """Waits until scela-run has written this, behind so many characters."""
        deadline = time.monotonic() + job.DEADLINE_S
        while text not in run.err()[behind:]:
            self.assertLess(time.monotonic(), deadline, run.err())
            select.select([], [], [], 0.01)
