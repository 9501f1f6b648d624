"""What a round of chaos.py is: a job, a victim, what is done to it and when, all drawn from one seed.

Pure: starts nothing. The names of hosts follow from the tree that scela-run shows for the job (--dry-run).
"""
import dataclasses
import random
import re

HEAD = "head"
HEARTBEAT_S, GRACE_S, ADOPT_S, CONNECT_S = 1, 1, 3, 4
SILENCE_S = 3 * HEARTBEAT_S

# What is done to which victim. `stop` is for good, `stop-go` ends after a while.
FAULTS = {
    "scela-run": ("kill", "stop", "stop-go", "memory", "terminate"),
    "agent": ("kill", "stop", "stop-go", "memory"),
    "guardian": ("kill", "stop", "stop-go", "memory"),
    "sshd": ("kill", "stop", "stop-go"),
    "engine": ("kill", "stop", "stop-go", "memory"),
    "pmix": ("kill", "stop", "stop-go", "memory"),
    "rank": ("kill", "stop", "stop-go", "memory"),
    "host": ("cut", "cut-heal", "freeze", "freeze-thaw", "crash", "kill-all", "disk-full", "processes", "memory"),
    "head": ("cut", "cut-heal"),
}
# Of a host, those that may also be there before the job starts.
AT_START = ("disk-full", "processes", "memory", "cut", "freeze", "crash")
VICTIMS = ("scela-run", "agent", "guardian", "sshd", "engine", "pmix", "rank", "host", "host", "head")


@dataclasses.dataclass(frozen=True)
class Round:
    seed: int
    hosts: int
    ppn: int
    degree: int  # 0: scela-run chooses
    launch: str
    shipped: bool  # the agent is sent to each host
    link: str
    program: str  # plain, mpich, openmpi, library
    executor: str  # of library
    pmi: str
    once: bool  # a command once on each host
    wait: bool  # --on-failure wait
    label: bool
    lines: int
    pause_us: int
    victim: str
    fault: str
    position: str  # leaf, inner
    pick: float  # which of the hosts in that position, and which of its ranks
    when: str  # before, agent (it exists), victim (it exists), line
    line: int
    delay_s: float
    hold_s: float  # until a stop or a cut ends
    amount: float  # of what a limit leaves

    def options(self):
        words = ["-w", f"node[001-{self.hosts:03}]", "--heartbeat", str(HEARTBEAT_S), "--grace", str(GRACE_S),
                 "--adopt-timeout", str(ADOPT_S), "--connect-timeout", str(CONNECT_S), "--launch", self.launch,
                 "--link", self.link]
        words += ["--degree", str(self.degree)] if self.degree else []
        words += ["--agent", "/nonexistent"] if self.shipped else []
        words += [] if self.pmi == "default" else ["--pmi", "fd" if self.pmi == "pmi2" else self.pmi]
        words += [] if self.once else ["--ppn", str(self.ppn), "--on-failure", "wait" if self.wait else "kill"]
        words += ["--label"] if self.label and not self.once else []
        return words

    def ended_by_hand(self):
        """A job that waits for a stopped process waits for ever, until it is told to end."""
        return self.fault == "stop" and self.victim in ("rank", "pmix", "engine")

    def name(self):
        return f"{self.victim}:{self.fault}"

    def text(self):
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return " ".join(f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
                        for name, value in fields.items())


def draw(seed, max_hosts=8, only=None):
    """The round of a seed. only: "VICTIM" or "VICTIM:FAULT", which are drawn otherwise."""
    random_ = random.Random(seed)
    victim = random_.choice(VICTIMS)
    fault = random_.choice(FAULTS[victim])
    if only:
        victim, _, wanted = only.partition(":")
        fault = wanted or random_.choice(FAULTS[victim])
    program = random_.choice({"engine": ("library",), "pmix": ("openmpi", "library")}.get(
        victim, ("plain", "plain", "mpich", "openmpi", "library")))
    if program in ("mpich", "openmpi"):
        max_hosts = min(max_hosts, 4)  # each rank of an MPI computes for a second to begin with
    pmi = {"plain": random_.choice(("none", "fd", "default", "pmix")), "mpich": random_.choice(("fd", "default")),
           "openmpi": random_.choice(("pmix", "default")),
           "library": random_.choice(("fd", "pmi2", "pmix", "default"))}[program]
    once = program == "plain" and random_.random() < 0.5
    return Round(
        seed=seed, hosts=random_.randint(2, max_hosts), ppn=random_.choice((1, 1, 2)),
        degree=random_.choice((0, 1, 2, 3)), launch=random_.choice(("ssh", "ssh", "ssh-exec")),
        shipped=random_.random() < 0.3 and program in ("plain", "mpich") and pmi != "pmix",
        link=random_.choice(("auto", "auto", "ssh")), program=program,
        executor=random_.choice(("at-once", "polled", "thread", "engine")),
        pmi="pmix" if victim == "pmix" else "none" if once and pmi == "pmix" else pmi, once=once,
        wait=program in ("plain", "library") and random_.random() < 0.5, label=random_.random() < 0.3,
        lines=random_.randint(20, 60), pause_us=random_.choice((2000, 10000)), victim=victim, fault=fault,
        position=random_.choice(("leaf", "inner")), pick=random_.random(),
        when=draw_when(random_, victim, fault), line=random_.randint(1, 40),
        delay_s=random_.choice((0.0, 0.0, random_.random() * 0.005, random_.random() * 0.1)),
        hold_s=random_.choice((0.05, 0.5, 1.5, SILENCE_S + 2.0)), amount=random_.random())


def draw_when(random_, victim, fault):
    if fault in AT_START and random_.random() < 0.3:
        return "before"
    return random_.choice(("agent", "victim", "line", "line", "line"))


class Tree:
    """The agents of a job, by what scela-run --dry-run shows."""

    def __init__(self, shown):
        self.parent, self.ranks = {}, {}
        path = []
        for line in shown.splitlines():
            found = re.match(r"((?:\|   |    )*)(?:\|-- |`-- )(\S+)(?:  ranks? ([\d,-]+))?", line)
            if found:
                depth = len(found[1]) // 4
                path[depth:] = [found[2]]
                self.parent[found[2]] = path[depth - 1] if depth else HEAD
                self.ranks[found[2]] = numbers(found[3] or "")

    def children(self, host):
        return [each for each, parent in self.parent.items() if parent == host]

    def below(self, host):
        """The host and all that its agent has started, directly or not."""
        found = [host]
        for each in found:
            found += self.children(each)
        return found

    def host_of(self, rank):
        return next((host for host, ranks in self.ranks.items() if rank in ranks), None)

    def choose(self, round_):
        """The victim's host."""
        if round_.victim in ("scela-run", "head"):
            return HEAD
        wanted = [host for host in self.parent if bool(self.children(host)) == (round_.position == "inner")]
        wanted = wanted or list(self.parent)
        return wanted[int(round_.pick * len(wanted))]


def numbers(text):
    found = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def line_of(rank, number):
    """What chaos_rank.c and chaos_library.cpp write."""
    length = 1 + (rank * 7 + number * 13) % 60
    return f"R{rank} {number} " + "".join(chr(ord("a") + (rank + number + i) % 26) for i in range(length))
