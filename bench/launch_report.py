"""Tables, curves and the sections of docs/results: the words that all benchmarks share, and those of the
figures that launch.py measured.

Nothing is typed by hand: the same JSON file gives the same text. Other benchmarks' sections stay.
"""
import glob
import os
import re
import sys
import textwrap

import plot_svg

INTRO = """# Results

Every section is written by the command that it names, from one run, with the machine, the date and the commit.
Simulated nodes share the cores of one machine: compare ratios, not absolute times.
"""
COLUMNS = 150  # of a line of prose; tables stay as wide as they are


def stated(command, commit, date, machine=None, details=(), suite=None):
    """How a section begins: what was measured, when, and on what. `commit` as measure.commit has it."""
    part = f" (suite `{suite}`)" if suite else ""
    modified = " (tree modified)" if commit.get("modified") else ""
    text = f"Command: `{command}`{part}. Date: {date}. Commit: {commit['commit']}{modified}.\n"
    if machine:
        words = "; ".join([f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_gib']} GiB, Linux "
                           f"{machine['kernel']}, {machine['system']}", *filter(None, details)])
        text += f"Machine: {words}.\n"
    return text


def stated_suite(results, suite):
    versions = results["versions"]
    return stated(results["command"], results, results["date"], results["machine"],
                  [f"{versions['scela']}, Hydra {versions['hydra']}",
                   "all contestants in the real-time class" if results.get("realtime") else "",
                   f"load {results['load_before']:.1f} before, {results['load_after']:.1f} after"], suite)


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]) + "\n"


def spread(summary, scale=1e3, digits=0):
    """"median (least; quartile-quartile)"."""
    f = f"{{:.{digits}f}}"
    values = [f.format(summary[k] * scale) for k in ("median", "min", "q1", "q3")]
    return f"{values[0]} ({values[1]}; {values[2]}-{values[3]})"


def verdict(value, limit):
    return f"{value:.2f} (target at most {limit}: {'met' if value <= limit else 'missed'})"


def cpu(own, peer):
    return [f"{own['cpu'] * 1e3:.0f}", f"{peer['cpu'] * 1e3:.0f}", f"{own['cpu'] / peer['cpu']:.2f}"]


def target_section(results):
    def row_of(kind, program, limit):
        times = results["target"][kind]["times"]
        own, peer, name = ((times["scela client"], times["hydra client"], "Hydra") if program == "client" else
                           (times["scela noop"], times["floor"], "floor"))
        ratio = own["median"] / peer["median"]
        what = {"client": "PMI-1 client", "noop": "no-op"}[program]
        return [what + (", bare" if kind == "bare" else ", with C library"), spread(own),
                f"{name} {spread(peer)}", verdict(ratio, limit) if limit else f"{ratio:.2f}", *cpu(own, peer)]

    libc, bare = results["target"]["libc"]["times"], results["target"]["bare"]["times"]
    return "Launch of 512 ranks on 64 nodes", (
        f"Start to end, ms: median (least; quartiles) of {libc['floor']['n']} runs, in turns. CPU: ms of all "
        "processes, median; other work on the machine hardly changes it.\n\n" +
        table(["program", "scela-run", "peer", "ratio", "CPU, scela-run", "CPU, peer", "CPU ratio"], [
            row_of("bare", "client", 0.5), row_of("libc", "client", 0.6),
            row_of("libc", "noop", 1.5), row_of("bare", "noop", None)]) +
        "\nThe client does init, one barrier and finalize; the no-op ends at once, with `--pmi fd`. Each is linked statically, with "
        "and without the C library. Its start-up costs the same under every launcher (bench/programs/tiny.h). The floor "
        f"is 64 execs of `scela-nla {results['agent_noop']}` and 512 posix_spawns of the no-op, the fastest of "
        f"{floor_forms(libc)} with the C library and {floor_forms(bare)} bare (spawners x children unreaped: "
        "ms, medians).\n")


def floor_forms(times):
    forms = sorted(name for name in times if name.startswith("floor "))
    return ", ".join(f"{name.split()[1]}: {times[name]['median'] * 1e3:.0f}" for name in forms)


def grid_section(results):
    rows = []
    for row in results["grid"]:
        times = row["times"]
        rows.append([f"{row['nodes']} x {row['ppn']}", spread(times["scela client"]),
                     spread(times["hydra client"]), f"{row['client_ratio']:.2f}", spread(times["scela noop"]),
                     spread(times["floor"]), f"{row['noop_ratio']:.2f}"])
    return "Launch of n nodes with c ranks each", (
        f"Start to end, ms: median (least; quartiles) of {results['grid'][0]['times']['floor']['n']} runs, in "
        "turns. Client: PMI-1 init, barrier, finalize, bare. No-op: with the C library.\n\n" +
        table(["n x c", "client, scela-run", "client, Hydra", "ratio", "no-op, scela-run", "no-op, floor",
               "ratio"], rows) +
        "\n![PMI-1 client](launch-client.svg)\n\n![No-op](launch-noop.svg)\n")


def beyond_floor(results, nodes):
    """[(ranks per node, ms beyond the floor)] of the no-op."""
    cells = [row for row in results["grid"] if row["nodes"] == nodes]
    return [(row["ppn"], (row["times"]["scela noop"]["median"] - row["times"]["floor"]["median"]) * 1e3)
            for row in cells]


def slope_per_rank(points, nodes):
    """Least squares of ms beyond the floor over the number of ranks."""
    xs = [ppn * nodes for ppn, _ in points]
    ys = [y for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return (sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) /
            sum((x - mean_x) ** 2 for x in xs))


def flat_section(results):
    rows = []
    for nodes in sorted({row["nodes"] for row in results["grid"]}):
        points = beyond_floor(results, nodes)
        slope = slope_per_rank(points, nodes)
        met = "met" if slope <= 0.1 else "missed"
        rows.append([nodes, *[f"{y:.1f}" for _, y in points], f"{slope:.3f} ({met})"])
    ppns = [ppn for ppn, _ in beyond_floor(results, results["grid"][0]["nodes"])]
    return "Launch time beyond the floor by ranks per node", (
        "No-op, medians: scela-run minus floor, ms, and its growth by least squares, ms a rank (target: at most "
        "0.1). Thesis section 2.3: spawn time stays flat in ranks per node.\n\n" +
        table(["nodes", *[f"c = {c}" for c in ppns], "growth, ms a rank"], rows) +
        f"\n![Time beyond the floor on {flat_at(results)} nodes](launch-flat.svg)\n")


def barrier_section(results):
    row = results["barrier"]
    return f"One PMI barrier of {row['nodes'] * row['ppn']} ranks on {row['nodes']} nodes", (
        f"Microseconds as rank 0 sees them: the median of {row['barriers']} barriers in a row, its median "
        f"(least; quartiles) over {row['scela']['median']['n']} runs in turns.\n\n" +
        table(["launcher", "median barrier", "least barrier"], [
            [name, spread(row[key]["median"], 1), spread(row[key]["least"], 1)]
            for name, key in (("scela-run", "scela"), ("Hydra", "hydra"))]) +
        f"\nRatio of the medians: {row['ratio']:.2f}.\n")


def memory_section(results):
    rows = []
    for row in results["memory"]:
        for kind, name in (("private", "private"), ("pss", "proportional"), ("rss", "resident")):
            sizes = row[kind]
            rows.append([f"{row['nodes']} x {row['ppn']}", name, sizes["median"], sizes["max"],
                         sizes["guardian_max"], f"{sizes['per_node']:.0f}", row["launcher_kib"][kind]])
    largest = max(row["private"]["max"] for row in results["memory"])
    proportional = max(row["pss"]["max"] for row in results["memory"])
    own = [f"{row['stats']['max_private_bytes'] / 1024:.0f} ({row['nodes']} nodes)"
           for row in results["memory"] if row.get("stats")]
    return "Memory of an agent", (
        "KiB while all ranks sleep in a barrier after each has put 488 bytes and got its neighbour's, from "
        "smaps_rollup of every agent, its guardian and scela-run.\n\n" +
        table(["n x c", "memory", "agent, median", "agent, largest", "guardian, largest", "sum per node",
               "scela-run"], rows) +
        f"\nLargest private memory of an agent {largest / 1024:.2f} MiB (target at most 2: "
        f"{'met' if largest <= 2048 else 'missed'}); largest proportional set {proportional / 1024:.2f} MiB "
        f"(target at most 4: {'met' if proportional <= 4096 else 'missed'}). As `--stats=json` reports it, the "
        f"largest private memory is {', '.join(own)} KiB.\n")


def exchange_section(results):
    row = results["exchange"]
    ranks = row["nodes"] * row["ppn"]
    return f"Exchange of {ranks:,} ranks on {row['nodes']} agents", (
        "Start to end, ms: every rank puts 488 bytes, all meet in a barrier, every rank gets its neighbour's "
        f"value and checks it. Median (least; quartiles) of {row['scela']['n']} runs, in turns.\n\n" +
        table(["scela-run", "Hydra", "ratio", "CPU, scela-run", "CPU, Hydra", "CPU ratio"],
              [[spread(row["scela"]), spread(row["hydra"]), f"{row['ratio']:.2f}",
                *cpu(row["scela"], row["hydra"])]]))


SECTIONS = [("target", target_section), ("grid", grid_section), ("grid", flat_section),
            ("barrier", barrier_section), ("memory", memory_section), ("exchange", exchange_section)]


def sections(results):
    for suite, section in SECTIONS:
        if suite in results:
            heading, body = section(results)
            yield heading, stated_suite(results, suite) + "\n" + body


def flat_at(results):
    """The number of nodes whose flatness is drawn: 64, as in the target, if it was measured."""
    nodes = {row["nodes"] for row in results["grid"]}
    return 64 if 64 in nodes else max(nodes)


def curves(results):
    """{file name: SVG text} of the grid."""
    if "grid" not in results:
        return {}
    most = max(row["ppn"] for row in results["grid"])
    full = [row for row in results["grid"] if row["ppn"] == most]

    def curve(name):
        return [(row["nodes"], row["times"][name]["median"] * 1e3) for row in full]

    flat_nodes = flat_at(results)
    return {
        "launch-client.svg": plot_svg.line_chart(
            f"PMI-1 client, {most} ranks a node", "nodes", "ms, start to end",
            {"scela-run": curve("scela client"), "Hydra": curve("hydra client")}),
        "launch-noop.svg": plot_svg.line_chart(
            f"No-op, {most} ranks a node", "nodes", "ms, start to end",
            {"scela-run": curve("scela noop"), "floor": curve("floor")}),
        "launch-flat.svg": plot_svg.line_chart(
            f"No-op on {flat_nodes} nodes: time beyond the floor", "ranks per node", "ms beyond the floor",
            {"scela-run": beyond_floor(results, flat_nodes)}, log_x=False, log_y=False),
    }


def wrapped(text):
    """The Markdown text with its long lines of prose broken. A date, a commit and a command stay on the line of the word that
    names them, where tests/style/check_coverage.py looks for them."""
    lines = []
    for line in text.splitlines():
        if len(line) <= COLUMNS or line.startswith(("|", "!", "#", "    ")):
            lines.append(line)
            continue
        kept = re.sub(r"\b(Date|Commit|Command): (?=\S)", "\\1:\0", line)
        lines += [part.replace("\0", " ") for part in textwrap.wrap(
            kept, COLUMNS, break_long_words=False, break_on_hyphens=False, subsequent_indent="  " if line.startswith("- ") else "")]
    return "\n".join(lines) + "\n"


def replace_section(text, heading, body):
    """The Markdown text with this section's body, at its old place or at the end."""
    block = f"## {heading}\n\n{wrapped(body)}"
    pattern = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.M | re.S)
    if pattern.search(text):
        return pattern.sub(lambda _: block + "\n", text).rstrip("\n") + "\n"
    return text.rstrip("\n") + "\n\n" + block


def page_with(folder, heading):
    """The page of the folder that has this section."""
    for path in sorted(glob.glob(os.path.join(folder, "*.md"))):
        with open(path, encoding="utf-8") as f:
            if f"\n## {heading}\n" in f.read():
                return path
    sys.exit(f"cannot write the section '{heading}': no page of {folder} has it (write this heading into the page where it belongs)")


def put_sections(named, path=None, pictures=None):
    """Prints the sections, [(heading, body)], or puts them into the page at `path`, and pictures, {file name: SVG
    text}, beside it. If `path` is a folder, each section goes into the page of the folder that has it."""
    if not path:
        print("\n".join(f"## {heading}\n\n{body}" for heading, body in named))
        return
    if os.path.isdir(path):
        pages = {}
        for heading, body in named:
            pages.setdefault(page_with(path, heading), []).append((heading, body))
        for page, parts in pages.items():
            put_sections(parts, page, pictures)
        return
    text = INTRO
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            text = f.read()
    for heading, body in named:
        text = replace_section(text, heading, body)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    for name, svg in (pictures or {}).items():
        picture = os.path.join(os.path.dirname(path), name)
        os.makedirs(os.path.dirname(picture) or ".", exist_ok=True)
        with open(picture, "w", encoding="utf-8") as f:
            f.write(svg)
