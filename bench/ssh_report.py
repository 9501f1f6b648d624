"""Sections and curves of docs/results from the figures that bench/launch_ssh.py measured."""
import launch_report
import plot_svg
from launch_report import spread, table

NAMES = {"ssh": "ssh", "pdsh": "pdsh", "clush": "clush", "hydra": "Hydra", "open_mpi": "Open MPI", "srun": "srun",
         "scela": "scela-run", "flat": "scela-run --flat", "first": "scela-run, first run", "later": "scela-run, later run"}
SSH_BASED = ["pdsh", "clush", "hydra", "open_mpi"]
TURNS = "Median (least; quartiles); contestants in turns."
ACCOUNTED = ("CPU time is what the kernel charges to the control groups of the hosts and of the head: other work on the machine "
             "is not in it.")
BESIDE = ("`ssh` is one OpenSSH client a host in the background of one shell, without a launcher. srun's daemons already run "
          "and need no key exchange, so srun is no peer in the ratios.")


def stated(results, suite):
    run = results["runs"][suite]
    versions, loads = run["versions"], run["loads"]
    others = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()) if name != "scela")
    return launch_report.stated(run["command"], run, run["date"], run["machine"],
                                [f"{versions['scela']}, {others}", f"{run['shares']} CPU shares" if run["shares"] else "",
                                 f"load {loads[0]:.1f} before, {loads[1]:.1f} after"], suite)


def verdict(value, limit, form="{:.2f}"):
    return f"{form.format(value)} (target at most {form.format(limit)}: {'met' if value <= limit else 'missed'})"


def states(rows):
    """What the columns of scela-run mean, if the rows have its states."""
    if "first" not in rows[0]["times"]:
        return ""
    cached = all(row.get("held", {}).get("later", True) for row in rows)
    return (" The agent is installed on the hosts, but for the first run, which sends it, and a later run, which finds it in the cache of "
            "each host" + ("." if cached else "; this scela-run keeps none there and sends it again."))


def median(times, field="wall"):
    return times[field]["median"]


def in_order(times):
    """The contestants, in the order of NAMES."""
    return [name for name in NAMES if name in times]


def by_hosts(rows, cell):
    """A table with a line for each number of hosts and a column for each contestant."""
    names = in_order(rows[0]["times"])
    return table(["hosts", *(NAMES[name] for name in names)],
                 [[row["hosts"], *(cell(row, row["times"][name]) for name in names)] for row in rows])


def best_peer(times, field="wall"):
    return min((name for name in SSH_BASED if name in times), key=lambda name: median(times[name], field))


def share(times, name, peer, field="wall"):
    return median(times[name], field) / median(times[peer], field)


def targets(rows):
    """What issue-sized runs must reach: lines of text."""
    lines = []
    for row in rows:
        times, of = row["times"], f"- {row['hosts']} hosts, "
        wall, busy = best_peer(times), best_peer(times, "machine")
        for name in ("scela", "flat") if row["hosts"] >= 64 else ():
            lines.append(
                f"{of}{NAMES[name]}: wall time over the best ssh-based peer's ({NAMES[wall]}) {verdict(share(times, name, wall), 0.7)}; CPU over "
                f"plain ssh's {verdict(share(times, name, 'ssh', 'machine'), 1.15)}, over the least ssh-based peer's ({NAMES[busy]}) "
                f"{verdict(share(times, name, busy, 'machine'), 1)}; own CPU {verdict(median(times[name], 'launcher'), 0.4)} s.")
        if row["hosts"] >= 16 and "later" in times:
            lines.append(
                f"{of}{NAMES['later']}: wall time over the best ssh-based peer's ({NAMES[wall]}) {verdict(share(times, 'later', wall), 0.7)}; CPU "
                f"over plain ssh's {verdict(share(times, 'later', 'ssh', 'machine'), 0.85)}; wall time over the installed agent's "
                f"{verdict(share(times, 'later', 'scela'), 1.1)}.")
            lines.append(f"{of}{NAMES['first']}: wall time over pdsh's {verdict(share(times, 'first', 'pdsh'), 1)}.")
    return "\n".join(lines) + "\n" if lines else ""


def failures(rows):
    """Runs of peers that failed and were made again."""
    found = [f"{NAMES[name]} on {row['hosts']} hosts {count}" for row in rows for name, count in row.get("failures", {}).items()]
    return f"\nRuns that failed and were made again: {', '.join(found)}.\n" if found else ""


def three_tables(rows):
    return ("Wall time, s:\n\n" + by_hosts(rows, lambda row, times: spread(times["wall"], 1, 2)) +
            "\nCPU of hosts and head, ms a host, medians:\n\n" +
            by_hosts(rows, lambda row, times: f"{median(times, 'machine') * 1e3 / row['hosts']:.1f}") +
            "\nThe launcher's own CPU with whatever it starts on the head, s, medians:\n\n" +
            by_hosts(rows, lambda row, times: f"{median(times, 'launcher'):.3f}") + failures(rows))


def runs(rows):
    counts = sorted({row["times"]["scela"]["wall"]["n"] for row in rows})
    return f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else f"{counts[0]} runs"


def equal_section(results):
    rows = results["equal"]
    own = [row for row in rows if row["hosts"] >= 16]
    floor = floor_text(results)
    flatness = ""
    if len(own) > 1:
        flatness = (f"\nscela-run's own CPU from {own[0]['hosts']} to {own[-1]['hosts']} hosts: in the tree x "
                    f"{median(own[-1]['times']['scela'], 'launcher') / median(own[0]['times']['scela'], 'launcher'):.1f}, with "
                    f"--flat x {median(own[-1]['times']['flat'], 'launcher') / median(own[0]['times']['flat'], 'launcher'):.1f}.\n")
    return "Launch over ssh with one key exchange for all", (
        f"`hostname` on each of N hosts; every sshd takes {'curve25519-sha256'} only. {TURNS} {runs(rows)}. {ACCOUNTED} {BESIDE}"
        f"{states(rows)}\n\n" +
        three_tables(rows) + "\n" + targets(rows) + flatness + floor + "\n![Launch over ssh](launch-ssh.svg)\n")


def floor_text(results):
    if "floor" not in results:
        return ""
    cores = results["runs"]["floor"]["machine"]["cores"]
    rows = [[row["hosts"], f"{median(row['times']['floor'], 'launcher') * 1e3 / row['hosts']:.1f}",
             f"{(median(row['times']['floor'], 'machine') - median(row['times']['floor'], 'launcher')) * 1e3 / row['hosts']:.1f}",
             f"{median(row['times']['floor'], 'machine') / cores:.2f}"] for row in results["floor"]]
    return ("\nThe floor: as many sessions of libssh that run `hostname`, and nothing else (bench/programs/ssh_floor.c).\n\n" +
            table(["hosts", "client CPU, ms a host", "server CPU, ms a host", f"both over {cores} cores, s"], rows))


def defaults_section(results):
    rows = results["defaults"]
    lines = []
    for row in rows:
        times = row["times"]
        peer = best_peer(times)
        if row["hosts"] >= 64:
            ratio = median(times[peer]) / median(times["scela"])
            lines.append(f"- {row['hosts']} hosts: {ratio:.1f} x faster than the best ssh-based peer, {NAMES[peer]} (target at least "
                         f"3: {'met' if ratio >= 3 else 'missed'}).")
    return "Launch over ssh with default key exchanges", (
        f"As above, but every sshd has its default key exchanges: OpenSSH's clients choose the post-quantum sntrup761x25519. {TURNS} "
        f"{runs(rows)}.{states(rows)}\n\n" + three_tables(rows) + "\n" + "\n".join(lines) + "\n")


def idle_section(results):
    times = results["idle"][0]["times"]
    own = median(times["scela"]) * 1e3
    return "One idle host over ssh", (
        f"`hostname` on one host. ms, {TURNS} {times['scela']['wall']['n']} runs."
        f"{states(results['idle'])}\n\n" +
        table(["launcher", "start to end", "CPU", "CPU of the head"],
              [[NAMES[name], spread(times[name]["wall"], digits=1), f"{median(times[name], 'machine') * 1e3:.1f}",
                f"{median(times[name], 'launcher') * 1e3:.1f}"] for name in in_order(times)]) +
        f"\nscela-run: {own:.0f} ms (target under 80: {'met' if own < 80 else 'missed'}).\n")


def mpi_section(results):
    row = results["mpi"]
    times = row["times"]
    ratio = median(times["scela"]) / median(times["hydra"])
    return "An MPICH program over ssh", (
        f"examples/hello_mpi.c, which calls MPI_Init, MPI_Barrier and MPI_Finalize, on {row['hosts']} hosts with {row['ppn']} ranks "
        f"each. s, start to end. {TURNS} {times['scela']['wall']['n']} runs. Ranks share memory across hosts (`nsenter --ipc`): over TCP "
        f"this MPICH hangs in MPI_Finalize in every other run, under either launcher.{states([row])}\n\n" +
        table(["launcher", "wall time", "CPU"], [[NAMES[name], spread(times[name]["wall"], 1, 2), f"{median(times[name], 'machine'):.2f}"]
                                                  for name in in_order(times)]) +
        f"\nRatio {ratio:.2f} (target below 1: {'met' if ratio < 1 else 'missed'}).\n")


def output_section(results):
    row = results["output"]
    times = row["times"]
    tree = f"--degree {row['degree']}"
    names = {**NAMES, "tree": f"scela-run {tree}", "scela label": "scela-run --label", "tree label": f"scela-run {tree} --label",
             "hydra label": "Hydra -prepend-rank"}
    plain = [median(times[one]) / median(times["hydra"]) for one in ("scela", "tree")]
    label = [median(times[one]) / median(times["hydra label"]) for one in ("scela label", "tree label")]
    total = row["hosts"] * row["ppn"] * row["bytes"] / 1e6
    return "Output over ssh", (
        f"{row['hosts']} hosts x {row['ppn']} ranks write {row['bytes'] / 1e6:.0f} MB each by stdio, to a file in memory; every byte "
        f"and its place in its stream is checked afterwards (bench/programs/lines.c). ssh and scela-run encrypt, Hydra, the fastest peer, does not. "
        f"{TURNS} {times['scela']['wall']['n']} runs, and {times['scela label']['wall']['n']} with labels.\n\n" +
        table(["launcher", "s", "MB/s", "CPU, s", "intact", "what the check says"],
              [[names[name], spread(each["wall"], 1, 2), f"{total / median(each):.0f}", f"{median(each, 'machine'):.2f}",
                "yes" if each["intact"] else "NO", each["checked"]] for name, each in times.items()]) +
        f"\nOver Hydra's: plain {verdict(plain[0], 1.2)}, and {verdict(plain[0], 1)}; labelled {verdict(label[0], 1)}. The default on 16 hosts is flat. With {tree}: plain "
        f"{plain[1]:.2f}, labelled {label[1]:.2f}. An agent inside the tree decrypts and encrypts again the output that passes through it, here "
        "on the same two cores as all other processes.\n")


def delay_section(results):
    row = results["delay"]
    times = row["times"]
    names = {**NAMES, "tree, fanout": f"scela-run --fanout {row['fanout']}", "flat, fanout": f"scela-run --fanout {row['fanout']} --flat",
             "pdsh, fanout": f"pdsh -f {row['fanout']}", "tree": "scela-run", "flat": "scela-run --flat", "hydra": "Hydra", "pdsh": "pdsh"}
    ratio = median(times["tree, fanout"]) / median(times["flat, fanout"])
    return "Launch over slow links", (
        f"`hostname` on {row['hosts']} hosts; every link, between head and host and between two hosts, takes {row['link_ms']} ms each "
        f"way. s. {TURNS} {times['tree']['wall']['n']} runs. Without a bound on sessions a tree adds one session's latency a "
        f"level, and cannot win on shared cores.{states([row])}\n\n" +
        table(["launcher", "wall time", "own CPU"], [[names[name], spread(each["wall"], 1, 2), f"{median(each, 'launcher'):.2f}"]
                                                      for name, each in times.items()]) +
        f"\nTree over flat, both with --fanout {row['fanout']}: {ratio:.2f} (target below 1: {'met' if ratio < 1 else 'missed'}).\n")


def dead_section(results):
    row = results["dead"]
    times = row["times"]
    healthy = median(times["healthy"])
    limit = row["connect_s"] + healthy
    lines = [[f"the {name} is dead", spread(times[name]["wall"], 1, 2), verdict(median(times[name]) - healthy, limit)]
             for name in ("leaf", "inner")]
    return "A host that is dead before the launch", (
        f"`hostname` on {row['hosts']} hosts with --min-nodes {row['hosts'] - 1} --connect-timeout {row['connect_s']}; the dead "
        f"host does not answer. s. {TURNS} {times['healthy']['wall']['n']} runs. The delay may be the connect timeout and one session's "
        "time, here the healthy launch's.\n\n" +
        table(["hosts", "start to end", "delay"], [["all live", spread(times["healthy"]["wall"], 1, 2), ""], *lines]))


def slow_section(results):
    row = results["slow"]
    times = row["times"]
    names = {"none": "none", "leaf": "a leaf of the tree", "inner": f"an inner node, which is to start {row['degree'] - 1} others"}
    return "A host that answers late", (
        f"`hostname` on {row['hosts']} hosts in a tree of degree {row['degree']}; every frame to and from the slow host takes "
        f"{row['slow_ms']} ms. s. {TURNS} {times['none']['wall']['n']} runs. When all others have been ready for a second, the hosts "
        "below the slow one are started by its parent.\n\n" +
        table(["slow host", "start to end"], [[names[name], spread(times[name]["wall"], 1, 2)] for name in names]) +
        f"\nInner node over leaf: {median(times['inner']) / median(times['leaf']):.2f}; sessions one after the other would give 2 or more.\n")


def end_section(results):
    row = results["end"]
    worst = max(each["max"] for name, each in row["times"].items() if "hydra" not in name)
    return "Time until the hosts are empty", (
        f"ms from the signal until no process of the job is left on {row['hosts']} hosts and on the head; a rank a host sleeps. "
        f"{TURNS} {next(iter(row['times'].values()))['n']} runs. SIGINT goes to the launcher's process group, as Ctrl-C does.\n\n" +
        table(["cause, launcher", "ms", "longest"],
              [[f"{name.split()[0]} to {NAMES[name.split()[1]]}", spread(each), f"{each['max'] * 1e3:.0f}"]
               for name, each in row["times"].items()]) +
        f"\nLongest of scela-run {verdict(worst, 0.5)} s.\n")


def latency_section(results):
    times = results["latency"]["times"]
    names = {"ssh": "ssh", "depth 1": "scela-run, rank at depth 1", "depth 2": "scela-run, rank at depth 2"}
    added = (times["depth 2"]["median"] - times["ssh"]["median"]) * 1e3
    return "Latency of a line over ssh", (
        f"ms from a line's writing to scela-run's standard input until `cat` at the other end has sent it back; the same line to "
        f"each in turn, {times['ssh']['n']} times. Median (least; quartiles).\n\n" +
        table(["by way of", "there and back", "longest"],
              [[names[name], spread(each, digits=2), f"{each['max'] * 1e3:.2f}"] for name, each in times.items()]) +
        f"\nAdded to ssh's at depth 2, both ways: {added:.2f} ms (target under 20: {'met' if added < 20 else 'missed'}).\n")


SECTIONS = {"equal": equal_section, "defaults": defaults_section, "idle": idle_section, "mpi": mpi_section, "output": output_section,
            "delay": delay_section, "dead": dead_section, "slow": slow_section, "end": end_section, "latency": latency_section}


def sections(results):
    for suite, section in SECTIONS.items():
        if suite in results:
            heading, body = section(results)
            yield heading, stated(results, suite) + "\n" + body


def curves(results):
    """{file name: SVG text}: wall time and the launcher's own CPU over the number of hosts."""
    if len(results.get("equal", [])) < 2:
        return {}
    shown = [name for name in ("ssh", "pdsh", "hydra", "open_mpi", "scela", "flat") if name in results["equal"][0]["times"]]

    def chart(title, y_label, field):
        return plot_svg.line_chart(title, "hosts", y_label, {
            NAMES[name]: [(row["hosts"], max(median(row["times"][name], field), 1e-4)) for row in results["equal"]] for name in shown})

    return {"launch-ssh.svg": plot_svg.beside(chart("Launch over ssh: wall time", "s, start to end", "wall"),
                                              chart("Launch over ssh: the launcher's own CPU", "s", "launcher"))}
