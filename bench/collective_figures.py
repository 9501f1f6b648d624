"""Curves and tables of what bench/collectives.py has measured: overhead by progress (N5), ranks and nodes, the figures of
chapter 4 of the offload thesis drawn again, and its Tables 4.2 and 4.3. Pure: rows of scela-perf in, text out.
"""
import plot_svg
from launch_report import table

FLAT = ["standard-exchange", "bruck", "ring"]
HIERARCHICAL = ["hierarchical", "hierarchical-bruck", "hierarchical-ring"]
# Number, what, whose curves, y, the axis. Ports are radix - 1.
LATENCY, OVERLAP = "latency", "overlap"
FIGURES = [("4.6", "flat", FLAT, 1, LATENCY), ("4.7", "hierarchical", HIERARCHICAL, 1, LATENCY),
           ("4.8", "flat", FLAT, 1, OVERLAP), ("4.9", "hierarchical", HIERARCHICAL, 1, OVERLAP),
           ("4.10", "flat, 3 ports", FLAT[:2], 3, LATENCY), ("4.11", "flat, 3 ports", FLAT[:2], 3, OVERLAP),
           ("4.12", "hierarchical, 3 ports", HIERARCHICAL[:2], 3, LATENCY),
           ("4.13", "hierarchical, 3 ports", HIERARCHICAL[:2], 3, OVERLAP)]
# MB of a process, resident and shared, of 128 ranks on 16 nodes; queue pairs of a process that has most (section 4.5.2).
THESIS = {"standard-exchange": ("105 / 1", 21), "bruck": ("160 / 1", 42), "ring": ("60 / 1", 6), "hierarchical": ("201 / 161", 12),
          "hierarchical-bruck": ("201 / 161", 24), "hierarchical-ring": ("201 / 161", 6)}
BEFORE = "overhead_every_"


def ported(algorithm, ports):
    """As --algorithm says it."""
    return algorithm if ports == 1 else f"{algorithm} radix {ports + 1}"


def all_of(results, suite):
    """[(algorithm as its call has said it, row)] of all calls."""
    return [(call.get("algorithm", ""), row) for call in results[suite] for row in call["rows"]]


def figure_name(number):
    return f"figures/offload-fig-{number.replace('.', '-')}.svg"


def latency_of(row):
    """Non-blocking, as the thesis's offloaded ones are; others' blocking calls, which they are compared with."""
    return row["pure_us"] if row["contestant"] == "scela" else row["blocking_us"]


def overlap_of(row):
    return row["nbcbench_percent"]


def chapter_four(found):
    """{file name: SVG text} of those figures whose rows are there. `found`: as all_of() has it."""
    pictures = {}
    for number, what, algorithms, ports, kind in FIGURES:
        value = latency_of if kind == LATENCY else overlap_of
        series = {}
        for algorithm in algorithms:
            for said, row in found:
                if row["contestant"] == "scela" and said == ported(algorithm, ports):
                    series.setdefault(f"{algorithm}, engine", []).append((row["bytes"], value(row)))
        if not series:
            continue
        for said, row in found:  # those that are measured beside all of them count once
            if row["contestant"] != "scela" and said == FLAT[0]:
                name = row["contestant"] + (", blocking" if kind == LATENCY else ", non-blocking")
                series.setdefault(name, []).append((row["bytes"], value(row)))
        pictures[figure_name(number)] = plot_svg.line_chart(
            f"Fig. {number}: allgather, {what}, {kind}", "bytes of a rank", "us" if kind == LATENCY else "percent hidden",
            series, log_y=kind == LATENCY)
    return pictures


def everies(row):
    """Numbers of bytes after which an operation was helped on, of a row."""
    return sorted(int(name[len(BEFORE):-len("_us")]) for name in row if name.startswith(BEFORE))


def progress_figures(rows):
    """{file name: SVG text}: for each operation the overhead over sizes, of each contestant beside the others, a curve for each
    number of bytes."""
    pictures = {}
    for op in dict.fromkeys(row["op"] for row in rows):
        charts = []
        for contestant in dict.fromkeys(row["contestant"] for row in rows):
            own = [row for row in rows if row["op"] == op and row["contestant"] == contestant]
            series = {"no help": [(row["bytes"], row["overhead_us"]) for row in own]}
            for every in everies(own[0]):
                series[f"every {every:,} bytes"] = [(row["bytes"], row[f"{BEFORE}{every}_us"]) for row in own]
            charts.append(plot_svg.line_chart(f"{op}, {contestant}: what is not hidden", "bytes", "us", series, log_y=False))
        pictures[f"figures/progress-{op}.svg"] = plot_svg.beside(*charts)
    return pictures


def short(value):
    return "" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def progress_table(rows):
    every = everies(rows[0])
    heads = ["contestant", "op", "bytes", "blocking_us", "work_us", "overhead, no help", *(f"every {each:,}" for each in every)]
    return table(heads, [[row["contestant"], row["op"], row["bytes"], short(row["blocking_us"]), short(row["work_us"]),
                          short(row["overhead_us"]), *(short(row[f"{BEFORE}{each}_us"]) for each in every)] for row in rows])


def sweep_figures(rows):
    """{file name: SVG text}: for each operation the time over ranks, a chart for each size, a curve for each contestant and number of
    nodes."""
    pictures = {}
    for op in dict.fromkeys(row["op"] for row in rows):
        charts = []
        own = [row for row in rows if row["op"] == op]
        for size in dict.fromkeys(row["bytes"] for row in own):
            series = {}
            for row in own:
                if row["bytes"] == size:
                    nodes = row["asked_nodes"]
                    series.setdefault(f"{row['contestant']}, {nodes} node{'s' if nodes > 1 else ''}", []).append(
                        (row["ranks"], row["median_us"]))
            charts.append(plot_svg.line_chart(f"{op}, {size:,} bytes", "ranks", "us",
                                              {name: sorted(points) for name, points in series.items()}))
        pictures[f"figures/sweep-{op}.svg"] = plot_svg.beside(*charts)
    return pictures


def megabytes(row):
    return f"{row['kib_rank_resident'] / 1024:.1f} / {row['kib_rank_shared'] / 1024:.1f}"


def queue_table(found, algorithms, off_node):
    """Table 4.2 or 4.3: `found` as all_of() has it, those of one suite. By leaders, only what leaves a node counts, as there."""
    lists = "max_list_queue_pairs_off_node" if off_node else "max_list_queue_pairs"
    lines = []
    for algorithm in algorithms:
        for said, row in found:
            if row["contestant"] != "scela" or said != algorithm:
                continue
            memory, queue_pairs = THESIS[algorithm]
            lines.append([algorithm, row["executor"], megabytes(row), f"{row['kib_rank'] / 1024:.1f}",
                          short(row.get("max_engine_queue_pairs")), short(row.get("max_connections")), f"{row[lists]:.0f}",
                          f"{row['max_list_tasks']:.0f}", memory, queue_pairs])
    for said, row in found:
        if row["contestant"] != "scela" and said == FLAT[0] and not off_node:
            lines.append([row["contestant"], "", megabytes(row), f"{row['kib_rank'] / 1024:.1f}", "", "", "", "", "", ""])
    return table(["algorithm", "executor", "RSS / shared, MB", "whole job by rank, MB", "queue pairs of the adapter, most",
                  "connections of the channel, most", "queue pairs by lists", "tasks, most", "thesis: MB", "thesis: queue pairs"], lines)


def list_table(counted):
    """What lists need, of as many ranks as the thesis has; `counted`: objects of scela-perf coll --census --json."""
    lines = []
    for algorithm in [*FLAT, *HIERARCHICAL]:
        for row in counted:
            if row["algorithm"] == algorithm:
                leaders = algorithm in HIERARCHICAL
                name = "max_list_queue_pairs_off_node" if leaders else "max_list_queue_pairs"
                lines.append([algorithm, f"{row['max_list_peers']:.0f}", f"{row['list_ranks_off_node']:.0f}", f"{row[name]:.0f}",
                              THESIS[algorithm][1]])
    return table(["algorithm", "peers, most", "ranks with peers off their node", "queue pairs (by leaders: off the node)", "thesis"], lines)


def targets(rows):
    """Overlap by NBCBench of the engine's rows against what is to be reached: [[what, least, limit, verdict]]."""
    lines = []
    for ranks in sorted({row["ranks"] for row in rows}):
        for least, most, limit in ((65536, 65536, 85), (262144, 1 << 62, 95)):
            found = [row["nbcbench_percent"] for row in rows
                     if row["contestant"] == "scela" and row["ranks"] == ranks and least <= row["bytes"] <= most]
            if found:
                size = "64 KiB" if least == most else "256 KiB and more"
                lines.append([f"{ranks} ranks, {size}", short(min(found)), limit, "met" if min(found) >= limit else "missed"])
    return table(["layout", "least of all operations, percent", "target, at least", ""], lines) if lines else ""
