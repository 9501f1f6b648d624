#!/usr/bin/env python3
"""Curves and tables of bench/collective_figures.py, of rows that were made up; and that every call of bench/collectives.py is one
that scela-perf takes.

usage: collective_figures_test.py BENCH [SCELA-PERF]
"""
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
# pylint: disable=wrong-import-position
import collective_figures as figures
import collectives


def row(contestant, size, **more):
    found = {"op": "allgather", "contestant": contestant, "executor": "engine", "bytes": size, "ranks": 16, "pure_us": 10.0 + size,
             "blocking_us": 20.0 + size, "nbcbench_percent": 90.0, "work_us": 10.0, "overhead_us": 5.0, "kib_rank": 3072.0,
             "kib_rank_resident": 2048.0, "kib_rank_shared": 512.0}
    return {**found, **more}


def own(size, **more):
    return row("scela", size, max_engine_queue_pairs=14.0, max_connections=3.0, max_list_queue_pairs=12.0,
               max_list_queue_pairs_off_node=6.0, max_list_tasks=9.0, **more)


def curves(svg):
    """{name: how many points}, in order."""
    tree = xml.etree.ElementTree.fromstring(svg)
    tag = "{http://www.w3.org/2000/svg}"
    lines = [len(line.get("points").split()) for line in tree.iter(tag + "polyline")]
    names = [text.text for text in tree.iter(tag + "text") if text.get("text-anchor") == "start"]
    assert len(lines) == len(names), (lines, names)
    return dict(zip(names, lines))


def test_chapter_four():
    found = [(name, own(size)) for name in [*figures.FLAT, "hierarchical", "bruck radix 4"] for size in (8, 4096)]
    found += [("standard-exchange", row("openmpi", size)) for size in (8, 4096)]
    drawn = figures.chapter_four(found)
    assert sorted(drawn) == [f"figures/offload-fig-4-{n}.svg" for n in (10, 11, 6, 7, 8, 9)], sorted(drawn)
    flat = curves(drawn["figures/offload-fig-4-6.svg"])
    assert flat == {"standard-exchange, engine": 2, "bruck, engine": 2, "ring, engine": 2, "openmpi, blocking": 2}, flat
    ports = curves(drawn["figures/offload-fig-4-11.svg"])
    assert ports == {"bruck, engine": 2, "openmpi, non-blocking": 2}, ports
    assert figures.ported("bruck", 3) == "bruck radix 4" and figures.ported("bruck", 1) == "bruck"
    # Ours is the non-blocking call's, others' the blocking one's.
    assert figures.latency_of(own(8)) == 18 and figures.latency_of(row("openmpi", 8)) == 28


def test_progress():
    rows = [row(who, size, overhead_every_16384_us=1.0, overhead_every_2048_us=size / 1000)
            for size in (8192, 65536) for who in ("scela", "mpich")]
    assert figures.everies(rows[0]) == [2048, 16384]
    text = figures.progress_table(rows)
    assert "| every 2,048 | every 16,384 |" in text and "| scela | allgather | 65536 |" in text and "| 65.5 | 1.00 |" in text, text
    drawn = figures.progress_figures(rows)
    assert list(drawn) == ["figures/progress-allgather.svg"]
    svg = drawn["figures/progress-allgather.svg"]
    assert svg.count("<polyline") == 6 and "allgather, mpich" in svg and "every 16,384 bytes" in svg
    xml.etree.ElementTree.fromstring(svg)


def test_sweep():
    rows = [row(who, size, ranks=ranks, asked_nodes=nodes, median_us=float(ranks))
            for who in ("scela", "openmpi") for size in (8, 65536) for ranks, nodes in ((4, 1), (2, 1), (4, 2))]
    svg = figures.sweep_figures(rows)["figures/sweep-allgather.svg"]
    assert svg.count("<polyline") == 8 and "scela, 1 node<" in svg and "openmpi, 2 nodes<" in svg
    first = re.search(r'points="([\d.]+),[\d.]+ ([\d.]+),', svg)
    assert float(first.group(1)) < float(first.group(2)), "ranks are in order"


def test_tables():
    found = [("standard-exchange", own(1024)), ("standard-exchange", row("openmpi", 1024)), ("hierarchical", own(1024))]
    flat = figures.queue_table(found, figures.FLAT, False).splitlines()
    assert flat[2] == "| standard-exchange | engine | 2.0 / 0.5 | 3.0 | 14.0 | 3.00 | 12 | 9 | 105 / 1 | 21 |", flat[2]
    assert flat[3].startswith("| openmpi |  | 2.0 / 0.5 |") and len(flat) == 4, flat
    leaders = figures.queue_table(found, figures.HIERARCHICAL, True).splitlines()
    assert leaders[2].endswith("| 6 | 9 | 201 / 161 | 12 |") and len(leaders) == 3, leaders
    counted = [{"algorithm": "bruck", "max_list_peers": 13.0, "list_ranks_off_node": 128.0, "max_list_queue_pairs": 39.0,
                "max_list_queue_pairs_off_node": 24.0},
               {"algorithm": "hierarchical-ring", "max_list_peers": 9.0, "list_ranks_off_node": 16.0, "max_list_queue_pairs": 27.0,
                "max_list_queue_pairs_off_node": 6.0}]
    lists = figures.list_table(counted)
    assert "| bruck | 13 | 128 | 39 | 42 |" in lists and "| hierarchical-ring | 9 | 16 | 6 | 6 |" in lists, lists


def test_targets():
    text = figures.targets([own(65536, nbcbench_percent=84.0), own(262144, nbcbench_percent=97.0), own(1 << 20, nbcbench_percent=95.5),
                            row("mpich", 65536, nbcbench_percent=1.0)])
    assert "| 16 ranks, 64 KiB | 84.0 | 85 | missed |" in text and "| 16 ranks, 256 KiB and more | 95.5 | 95 | met |" in text, text
    assert figures.targets([row("mpich", 65536)]) == ""


def test_page():
    """All suites together: what is put into the page names the pictures that are drawn, and no others."""
    call = {"command": "scela-perf coll", "nodes": "1"}
    more = {"min_us": 1.0, "max_us": 9.0, "median_us": 5.0, "processor_taken_us": 1.0, "overhead_every_2048_us": 1.0}
    results = {"sweep": [dict(call, rows=[own(8, **more)])], "progress": [dict(call, rows=[own(8, **more)])],
               "chapter4": [dict(call, algorithm="ring", rows=[own(8, **more)])],
               "census": [dict(call, algorithm="ring", rows=[own(8, **more)]), dict(call, rows=[])],
               "sort": [dict(command="scela-run radix_sort", plain={"median": 8.0, "min": 7.0}, overlapped={"median": 6.0, "min": 5.0})]}
    for suite, write in collectives.SPECIAL.items():
        named = set(re.findall(r"\]\((figures/.*?)\)", write(results)))
        assert named == set(collectives.pictures(results, suite)), (suite, named)
        assert suite in ("census", "sort") or named, suite
    assert "| `scela-run radix_sort` | 8.0 (7.0) | 6.0 (5.0) | 0.75 |" in collectives.sort_body(results)


def test_calls(perf):
    """--census reads the same command line and runs nothing; it is refused with peers, so these are left out."""
    for suite in collectives.SUITES:
        if suite in ("posting", "sort"):
            continue
        for quick in (False, True):
            for words in collectives.commands(suite, quick):
                if "--vs" in words:
                    at = words.index("--vs")
                    words = words[:at] + words[at + 2:]
                done = subprocess.run([perf, *words, "--census"], capture_output=True, text=True, check=False)
                assert done.returncode == 0 and done.stdout.count("\n") > 2, (words, done.stderr)


def main():
    test_chapter_four()
    test_progress()
    test_sweep()
    test_tables()
    test_targets()
    test_page()
    if len(sys.argv) > 2:
        test_calls(sys.argv[2])
    print("figures of collective operations: fine")


main()
