"""Sections of docs/results from the figures that bench/operator measured."""
from launch_report import spread, table
from ssh_report import TURNS, median, stated

NAMES = {"first": "scela-run -b, first run", "later": "scela-run -b, later run", "installed": "scela-run -b, agent installed",
         "uncached": "scela-run -b, no cache", "pdsh": "pdsh, dshbak -c", "clush": "clush -b", "taktuk": "taktuk", "taktuk_s": "taktuk -s",
         "parallel": "parallel", "hydra": "Hydra", "ssh": "ssh"}
OWN = ("first", "later", "installed", "uncached")
HEADINGS = {"equal": "Commands of operators with one key exchange for all", "defaults": "Commands of operators with default key exchanges"}
HOW = {"equal": "Every sshd takes curve25519-sha256 only.",
       "defaults": "Every sshd has its default key exchanges: OpenSSH's clients choose the post-quantum sntrup761x25519."}


def by_contestants(rows, cell):
    """A table with a line for each contestant and a column for each number of hosts."""
    names = [name for name in NAMES if name in rows[0]["times"]]
    return table(["command", *(f"{row['hosts']} hosts" if row["hosts"] > 1 else "1 host" for row in rows)],
                 [[NAMES[name], *(cell(row["times"][name]) for row in rows)] for name in names])


def ratios(rows):
    """The best peer of each number of hosts, and each state's wall time over it."""
    lines = []
    for row in rows:
        times = row["times"]
        peers = [name for name in times if name not in (*OWN, "ssh")]
        if peers:
            best = min(peers, key=lambda name: median(times[name]))
            lines.append([row["hosts"], f"{NAMES[best]}: {median(times[best]):.2f} s",
                          *(f"{median(times[name]) / median(times[best]):.2f}" for name in OWN if name in times)])
    own = [NAMES[name].split(", ")[1] for name in OWN if name in rows[0]["times"]]
    return "\nWall time over that of the fastest peer:\n\n" + table(["hosts", "fastest peer", *own], lines) if lines else ""


def states(rows):
    if all(row["held"].get("later", True) for row in rows):
        later = "a later run finds the agent in the cache of each host"
    else:
        later = "a later run sends it again, because this scela-run leaves no agent in a cache on the hosts"
    return f"The first run sends the agent to hosts whose cache is empty; {later}; an installed agent is named by `--agent`."


def section(results, suite):
    rows = results[suite]
    count = next(iter(rows[0]["times"].values()))["wall"]["n"]
    return HEADINGS[suite], (
        f"`uptime` on each of N hosts that share no file of ScELA with the head. {HOW[suite]} {TURNS} Runs of each: {count}. {states(rows)} "
        "`taktuk -s` sends itself, `taktuk` and Hydra find their programs on the hosts; TakTuk has `-g 0.01`, without which it takes up to a "
        "second more. `ssh` is one OpenSSH client a host in the "
        "background of one shell. Output of dshbak, clush and scela-run is folded, that of the others is not.\n\n"
        "Wall time, s:\n\n" + by_contestants(rows, lambda times: spread(times["wall"], 1, 2)) +
        "\nCPU of the head, the command with all that it starts there, s:\n\n" +
        by_contestants(rows, lambda times: spread(times["launcher"], 1, 3)) +
        "\nCPU of a host with its sshd, ms: mean of all hosts (the host with the most), medians of the runs:\n\n" +
        by_contestants(rows, lambda times: f"{median(times, 'host') * 1e3:.1f} ({median(times, 'host_max') * 1e3:.1f})") + ratios(rows))


def sections(results):
    for suite in HEADINGS:
        if suite in results:
            heading, body = section(results, suite)
            yield heading, stated(results, suite) + "\n" + body
