"""What docs/faults.md promises of a round of chaos.py, held against what happened. Pure."""
import re

import chaos_plan
from chaos_plan import ADOPT_S, CONNECT_S, GRACE_S, HEAD, SILENCE_S

SLACK_S = 15  # for a machine that has other work
LAUNCH_S = 3 * CONNECT_S  # the phases of reaching a host
UNREACHABLE, NOT_STARTED = 68, 71
INTERRUPTED, KILLED = 143, 137
# A host that is silent is noticed by that; everything else at once.
SILENT = {("host", "cut"), ("host", "freeze"), ("host", "crash"), ("host", "cut-heal"), ("host", "freeze-thaw"),
          ("head", "cut"), ("head", "cut-heal"), ("sshd", "stop"), ("sshd", "stop-go"), ("agent", "stop"),
          ("agent", "stop-go"), ("guardian", "stop"), ("guardian", "stop-go"), ("scela-run", "stop-go")}
LIMITS = ("memory", "processes", "disk-full")  # the job may live with them, or whatever meets them fails
# What the network library of MPICH has to say of missing memory it writes to standard output.
MESSAGES = {("memory", "mpich"), ("processes", "mpich"), ("disk-full", "mpich")}
# MPICH's network library creates a segment, gives it its size and removes its name. A rank that is killed in between leaves
# the name, on any host, and no launcher can know whose it is.
UNFINISHED = "/dev/shm/ucx_shm_posix_"


def complaints(round_, outcome):
    """Sentences; none: all is as promised."""
    if outcome.hung:
        return [f"the job hangs:\n{outcome.hung}"]
    found = wrong_lines(round_, outcome) + wrong_status(round_, outcome) + wrong_names(round_, outcome)
    if outcome.left:
        found.append(f"something is left:\n{outcome.left}")
    limit = longest(round_)
    if outcome.status != 0 and outcome.struck and outcome.to_end_s > limit:
        found.append(f"the job ended {outcome.to_end_s:.1f} s after the fault, not within {limit} s")
    return found


def is_unfinished(round_, what):
    return round_.program == "mpich" and what.startswith(UNFINISHED)


def longest(round_):
    """Seconds from the fault to the end of a job that it ends."""
    seconds = SLACK_S + 2 * GRACE_S
    if (round_.victim, round_.fault) in SILENT:
        seconds += SILENCE_S + (ADOPT_S if round_.wait or round_.once else 0)
    if round_.when != "line":  # the job may still be reaching its hosts: the head exists before any other host is reached
        seconds += LAUNCH_S
    return seconds


# Output.

def lines_by_rank(round_, outcome):
    """What each rank has written, without labels; and what no rank can have written."""
    found, wrong = {}, []
    for line in outcome.out:
        match = re.fullmatch(r"(?:(\S+): )?(R(\d+) (\d+) [a-z]+)\n", line)
        rank = int(match[3]) if match else -1
        label = outcome.tree.host_of(rank) if round_.once else str(rank) if round_.label else None
        if not match and (round_.fault, round_.program) in MESSAGES and re.match(r"(\S+: )?\[\d+\.\d+\] \[node", line):
            continue
        if not match or match[2] != chaos_plan.line_of(rank, int(match[4])) or outcome.tree.host_of(rank) is None or \
                (match[1] or "").lstrip("0") != (label or "").lstrip("0"):
            wrong.append(line)
        else:
            found.setdefault(rank, []).append(int(match[4]))
    return found, wrong


def wrong_lines(round_, outcome):
    found, wrong = lines_by_rank(round_, outcome)
    said = [f"a line that no rank has written: {line!r}" for line in wrong]
    for rank, numbers in sorted(found.items()):
        if numbers != list(range(1, len(numbers) + 1)) or len(numbers) > round_.lines:
            said.append(f"rank {rank}'s lines are lost, doubled or out of order: {numbers}")
    short = {rank for rank in all_ranks(outcome) if len(found.get(rank, ())) < round_.lines}
    if short & must_finish(round_, outcome):
        said.append(f"ranks {sorted(short & must_finish(round_, outcome))} have not written all of their lines")
    return said


def all_ranks(outcome):
    return {rank for ranks in outcome.tree.ranks.values() for rank in ranks}


def must_finish(round_, outcome):
    """Ranks that the fault does not concern."""
    if outcome.status == 0:
        return all_ranks(outcome)
    waits = round_.program == "plain" and (round_.once or (round_.wait and round_.when == "line"))
    if not waits or not outcome.struck or round_.victim in ("scela-run", "head"):
        return set()
    if round_.ended_by_hand():
        return set()
    concerned = concerned_hosts(round_, outcome)
    return {rank for rank in all_ranks(outcome) if outcome.tree.host_of(rank) not in concerned}


# Status.

def wrong_status(round_, outcome):
    status, said = outcome.status, outcome.err.strip()
    if status == 0:
        # A launcher that ends a job, or a host's end, may come too late to matter; a death may not.
        dies = outcome.struck and round_.when == "line" and (round_.victim, round_.fault) == ("rank", "kill")
        return ["the status is 0, though a rank was killed"] if dies and outcome.rank >= 0 else []
    if not outcome.struck:
        return [f"the status is {status} without a fault"]
    if round_.victim == "scela-run" and round_.fault in ("kill", "stop"):
        return [] if status == -9 else [f"the status of a killed scela-run is {status}"]
    if status == -15 and round_.fault == "terminate":
        return []  # the signal came before scela-run had begun to wait for it
    if not said:
        return [f"the status is {status}, and nothing says why"]
    allowed = statuses(round_)
    return [] if allowed is None or status in allowed else [f"the status is {status}, not one of {sorted(allowed)}"]


def statuses(round_):
    """Of a job that failed; None: any, as whatever meets a limit says what it will."""
    if round_.fault in LIMITS:
        return None
    if round_.victim == "scela-run":
        return {INTERRUPTED} if round_.fault == "terminate" else set()
    if round_.victim == "rank":
        return {KILLED} if round_.fault == "kill" else {INTERRUPTED} if round_.fault == "stop" else set()
    lost = {UNREACHABLE, NOT_STARTED}
    if round_.ended_by_hand():
        lost.add(INTERRUPTED)
    # Ranks that need each other may notice a lost node first, and end by themselves.
    return lost | ({4} if round_.program == "library" else {1, 14, 15} if round_.program == "mpich" else
                   {1} if round_.program == "openmpi" else set())


# Names.

def concerned_hosts(round_, outcome):
    """Hosts that may be named, and whose ranks may be lost."""
    host, tree = outcome.host, outcome.tree
    if round_.victim in ("scela-run", "head"):
        return set(tree.parent)
    if round_.victim in ("rank", "engine", "pmix"):
        return {host}
    adopted = round_.wait and not round_.once and round_.when == "line" and round_.victim in ("agent", "host")
    return {host} if adopted else set(tree.below(host))


def wrong_names(round_, outcome):
    if outcome.status == 0:
        told = re.findall(r"^scela-run: .*$", outcome.err, re.M)
        return [f"the status is 0, but something is told: {told}"] if told and not outcome.struck else []
    named, missing_others = set(), set()
    for line in outcome.err.splitlines():
        # Ranks of the library need each other, and have said which rank they miss.
        ends_for_others = round_.program == "library" and re.search(r"exited with code 4(:|$)", line)
        (missing_others if ends_for_others else named).update(named_in(line, outcome.tree))
    wrong = {host for host in named if host != HEAD} - concerned_hosts(round_, outcome)
    said = [f"{', '.join(sorted(wrong))} named, which the fault does not concern"] if wrong else []
    if not named | missing_others and round_.victim not in ("scela-run", "head") and not round_.ended_by_hand():
        said.append("no host is named")
    return said


def named_in(line, tree):
    """Hosts that a line of standard error holds to have failed."""
    found = re.match(r"scela-run: (?:  )?(node\d+)[: ]", line)
    if found:
        return {found[1]}
    found = re.match(r"scela-run: rank (\d+) on (node\d+) ", line)
    if found:
        return {found[2], tree.host_of(int(found[1]))}
    hosts = set()
    for words in re.findall(r"(?:failed nodes: |(?:lost|unreachable|killed by \S+|exit \d+:?) \d+ \()([^ )]+)", line):
        hosts |= expand(words)
    ranks = re.match(r"scela-run:   \d+ ranks? (?:lost|killed|not started|exited with code [1-9]).*: ([\d,-]+)$", line)
    if ranks:
        hosts |= {tree.host_of(rank) for rank in chaos_plan.numbers(ranks[1])}
    return hosts


def expand(words):
    """node[001-003,5] and single names, without a program."""
    hosts = set()
    for inner, single in re.findall(r"node\[([\d,-]+)\]|(node\d+)", words):
        hosts |= {f"node{number:03}" for number in chaos_plan.numbers(inner)} if inner else {single}
    return hosts
