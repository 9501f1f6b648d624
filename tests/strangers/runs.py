"""One run of a plan: under which launcher, for how long, and what is to be seen of a rank that hangs."""
import os
import re
import signal
import subprocess
import tempfile
import time

MARK = "SCELA_STRANGER"
GONE_WITHIN_S = 5
LOOKING_S = 60
JOB_S = 900
TROUBLE = re.compile(r"^strangers: (WRONG|HANGS): .*", re.M)
# Ways to start ranks, and what they need (options of scela-run; what is in the environment).
LAUNCHES = {
    "default": [],
    "fd": ["--pmi", "fd"],
    "pmi2": ["--pmi", "fd", "--env", "SCELA_BOOTSTRAP=pmi2"],
    "port": ["--pmi", "port"],
    "unshared": ["--pmi", "fd", "--env", "SCELA_SEGMENT=0"],
    "pmix": ["--pmi", "pmix"],
}


def marked(mark):
    """Processes of a run: (pid, name), zombies left out."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as environment:
                if f"{MARK}={mark}".encode() not in environment.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/comm", encoding="utf-8") as name:
                found.append((int(entry), name.read().strip()))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def stacks_of(mark):
    """Where each rank is: the step that it says, and its stack by gdb, where there is one."""
    text = ""
    for pid, name in marked(mark):
        if name != "stranger":
            continue
        send(pid, signal.SIGUSR1)
        try:
            shown = subprocess.run(["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all backtrace 30"], capture_output=True,
                                   text=True, errors="replace", timeout=LOOKING_S, check=False).stdout
            frames = [line for line in shown.splitlines() if re.match(r"#|Thread ", line)]
        except (FileNotFoundError, subprocess.TimeoutExpired):
            with open(f"/proc/{pid}/wchan", encoding="utf-8") as file:
                frames = [file.read()]
        text += f"-- process {pid}:\n" + "\n".join(frames) + "\n"
    return text


class Shape:
    """Where the ranks of a plan are, and what they run with."""

    def __init__(self, nodes, ranks_of_node, launch="default", environment=()):
        self.nodes, self.ranks_of_node, self.launch, self.environment = nodes, ranks_of_node, launch, tuple(environment)

    @property
    def ranks(self):
        return self.nodes * self.ranks_of_node

    def words(self, tools):
        # The time limit is for a job whose tester was killed.
        words = [tools.scela_run, *LAUNCHES[self.launch], "--on-failure", "wait", "--timeout", str(JOB_S)]
        if self.nodes > 1:
            words += ["--sim-nodes", str(self.nodes), "--ppn", str(self.ranks_of_node), "--env", f"SCELA_CHANNEL_VERBS={tools.verbs}"]
        else:
            words += ["-n", str(self.ranks)]
        for variable in self.environment:
            words += ["--env", variable]
        return words

    def __str__(self):
        return "; ".join([f"{self.nodes}x{self.ranks_of_node}", self.launch, *self.environment])

    @classmethod
    def parse(cls, text):
        place, launch, *environment = text.split("; ")
        nodes, ranks = place.split("x")
        return cls(int(nodes), int(ranks), launch, environment)


class Tools:
    def __init__(self, scela_run, stranger, verbs):
        self.scela_run, self.stranger, self.verbs = scela_run, stranger, verbs

    def stranger_says(self, *words):
        return subprocess.run([self.stranger, *map(str, words)], capture_output=True, text=True, check=True).stdout


def play(tools, plan_file, shape, limit_s, look=True):
    """What is wrong with a run, or None. Afterwards nothing of it is left."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    words = [*shape.words(tools), tools.stranger, "play", plan_file, str(limit_s)]
    ending = int(tools.stranger_says("ends", plan_file))
    found = None
    with tempfile.TemporaryFile() as output:
        job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                               env={**os.environ, MARK: mark})
        until = time.monotonic() + limit_s + 10
        while job.poll() is None and found is None:
            try:
                job.wait(0.2)
            except subprocess.TimeoutExpired:
                text = read(output)
                hung = time.monotonic() > until
                if hung or TROUBLE.search(text):
                    found = f"it is not over after {limit_s + 10} s\n" if hung else ""
                    if look and (hung or "HANGS" in text):
                        found += stacks_of(mark)
        end(job, mark)
        text = read(output)
    well = len(set(re.findall(r"^strangers: rank (\d+) went well$", text, re.M)))
    if found is None and not TROUBLE.search(text) and well == shape.ranks - ending and "killed by signal 11" not in text:
        return None
    return f"{text}{found or ''}{well} of {shape.ranks - ending} ranks went well; status {job.returncode}"


def read(output):
    # By its own offset: the job writes by that of the file.
    return os.pread(output.fileno(), 1 << 24, 0).decode(errors="replace")


def end(job, mark):
    if job.poll() is None:
        job.send_signal(signal.SIGTERM)
    until = time.monotonic() + GONE_WITHIN_S
    while marked(mark) and time.monotonic() < until:
        job.poll()
        time.sleep(0.02)
    for pid, _ in marked(mark):
        send(pid, signal.SIGKILL)
    job.wait()
