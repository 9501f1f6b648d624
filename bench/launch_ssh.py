#!/usr/bin/env python3
"""Launch over ssh on simulated hosts: scela-run beside pdsh, clush, Hydra, Open MPI's mpirun, srun and plain ssh.

  bench/launch_ssh.py [--run SCELA-RUN] [--suites equal,defaults,...] [--repeat N] [--hosts 1,8,...] [--quick]
                      [--shares N] [--results FILE.json] [--docs docs/results]
  bench/launch_ssh.py --render FILE.json --docs docs/results

Contestants take turns within one run, on the same hosts (tests/cluster), each with a real sshd. All hosts see the folder of
scela-run, so its agent is installed there; `first` and `later` are the other states of bench/ssh_contest.py, in the suites that time
launches (equal to mpi, and delay). Suites:
  equal     hostname on N hosts; sshd takes one key exchange only, curve25519-sha256
  defaults  the same with everyone's own choice of key exchange
  floor     what N sessions of libssh cost in client and server, without any launcher
  idle      one host
  mpi       an unmodified MPICH program on 32 hosts with 4 ranks each
  output    64 ranks on 16 hosts write 10 MB each
  delay     128 hosts behind links of 20 ms
  dead      one host of 32 is dead before the launch
  slow      one host of 16 answers late
  end       from Ctrl-C, or SIGKILL to the launcher, until 32 hosts are empty
  latency   a line to a rank at depth 2 and back
Needs root, control groups of version 2 and the packages that scripts/install-packages bench installs.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

import contest
import measure
import ssh_contest
import ssh_peers
import ssh_report
from contest import say
from ssh_contest import FORCED, PEER_TRIES, failures, in_turns, summaries, tried
from ssh_hosts import Hosts

HOSTS = [1, 8, 16, 32, 64, 128]
DEFAULT_HOSTS = [1, 16, 64, 128]
SUITES = ["equal", "defaults", "floor", "idle", "mpi", "output", "delay", "dead", "slow", "end", "latency"]
CONTESTANTS = ["ssh", "pdsh", "clush", "hydra", "open_mpi", "srun", "scela", "flat", "first", "later"]
OWN = ("scela", "flat", "first", "later")
OUTPUT_BYTES = 10_000_000
OUTPUT_DEGREE = 4
LINK_MS = 20
FANOUT = 8
CONNECT_S = 2
SLOW_MS, SLOW_DEGREE = 100, 4
KEY = "/root/.ssh/id_ed25519"


def show(title, row):
    for name, times in row.items():
        say(f"  {title} {name}: {times['wall']['median'] * 1e3:.0f} ms, CPU {times['machine']['median'] * 1e3:.0f} ms, "
            f"launcher {times['launcher']['median'] * 1e3:.0f} ms")


def greeting(hosts, names, argv, spared=False):
    """A contestant that runs hostname on these hosts. A peer is spared: it is asked again when it fails, and the failures
    are counted."""
    def once():
        sample = hosts.time(argv)
        if sorted(sample.output.split()) != names:
            raise measure.Failed(f"{argv[0]} printed {len(sample.output.split())} host names of {len(names)} that it should")
        return sample

    return tried(once, PEER_TRIES if spared else 1)


def hostname_rounds(options, hosts, contestants, counts, repeat_of):
    rows = []
    for count in counts:
        launchers = ssh_peers.Launchers(hosts, options.run, count)
        load = measure.load()
        runs = {name: greeting(hosts, launchers.names, getattr(launchers, name)("hostname"), name not in OWN)
                for name in contestants}
        results, held = in_turns(hosts, launchers.names, runs, repeat_of(count), 1 if count == counts[0] else 0)
        times = summaries(results)
        rows.append({"hosts": count, "load": load, "times": times, "held": held, "failures": failures(runs)})
        show(f"{count} hosts,", times)
    return rows


def suite_equal(options):
    with Hosts(max(options.hosts), FORCED) as hosts:
        ssh_peers.start_slurm(hosts)
        return hostname_rounds(options, hosts, CONTESTANTS, options.hosts, options.repeat_of)


def suite_defaults(options):
    """The ssh-based peers take tens of seconds of CPU here; so fewer rounds."""
    contestants = [name for name in CONTESTANTS if name != "srun"]
    counts = [count for count in DEFAULT_HOSTS if count <= max(options.hosts)]
    with Hosts(max(counts), None) as hosts:
        return hostname_rounds(options, hosts, contestants, counts, lambda count: min(3 if count < 64 else 2, options.repeat))


def suite_floor(options):
    floor = os.path.join(options.programs, "ssh_floor")
    rows = []
    with Hosts(max(options.hosts), FORCED) as hosts:
        for count in options.hosts[-3:]:
            names = hosts.names[:count]
            argv = [floor, 8, KEY, *[hosts.cluster.address(name) for name in names], "--", "hostname"]
            times = summaries(measure.alternate({"floor": greeting(hosts, names, argv)}, options.repeat_of(count), 0))
            rows.append({"hosts": count, "times": times})
            show(f"{count} hosts,", times)
    return rows


def suite_idle(options):
    with Hosts(1, FORCED) as hosts:
        ssh_peers.start_slurm(hosts)
        contestants = [name for name in CONTESTANTS if name != "flat"]
        return hostname_rounds(options, hosts, contestants, [1], lambda _: 3 if options.quick else 9)


def suite_mpi(options):
    """Ranks enter one namespace for shared memory, where UCX takes all hosts for one: over TCP, MPICH 4.0.2 hangs in
    MPI_Finalize in every other run, under any launcher."""
    count, ppn = (4, 2) if options.quick else (32, 4)
    program = ssh_contest.compiled(options, "mpicc.mpich", "hello_mpi", "examples/hello_mpi.c")
    with Hosts(count, FORCED, own_processes=False) as hosts:
        launchers = ssh_peers.Launchers(hosts, options.run, ppn=ppn)
        words = (shutil.which("nsenter"), "--ipc", "--target", "1", program)

        def hello(argv):
            def run():
                sample = hosts.time(argv)
                if sample.output.count("hello from rank") != count * ppn:
                    raise measure.Failed(f"{argv[0]}: not every rank said hello")
                return sample
            return run

        runs = {name: hello(getattr(launchers, name)(*words)) for name in ("scela", "first", "later", "hydra")}
        results, held = in_turns(hosts, hosts.names, runs, min(3, options.repeat))
        times = summaries(results)
    show(f"{count} x {ppn}", times)
    return {"hosts": count, "ppn": ppn, "times": times, "held": held}


def suite_output(options):
    """Hydra is the fastest of all peers here; Open MPI and srun take four times as long."""
    count, ppn = (4, 2) if options.quick else (16, 4)
    lines = os.path.join(options.programs, "lines")
    with Hosts(count, FORCED, disk="2g") as hosts:
        launchers = ssh_peers.Launchers(hosts, options.run, ppn=ppn)
        words, said = (lines, "write", OUTPUT_BYTES), {}
        tree = ["--degree", OUTPUT_DEGREE]  # the default on so few hosts is flat
        plain = {"scela": launchers.scela(*words), "tree": launchers.scela(*words, options=tree), "hydra": launchers.hydra(*words),
                 "ssh": launchers.ssh_ranks(*words)}
        labelled = {"scela label": launchers.scela(*words, options=["--label"]),
                    "tree label": launchers.scela(*words, options=[*tree, "--label"]),
                    "hydra label": launchers.hydra(*words, options=["-prepend-rank"])}

        def writing(name, argv):
            def run():
                sample = hosts.time(argv, output="/dev/shm/output")
                with open(hosts.cluster.path("head", "/dev/shm/output"), "rb") as f:
                    checked = subprocess.run([lines, "check", str(count * ppn), str(OUTPUT_BYTES),
                                              *(["label"] if name in labelled else [])], stdin=f, capture_output=True,
                                             text=True, check=False)
                said.setdefault(name, []).append([checked.returncode == 0, checked.stdout.strip()])
                return sample
            return run

        # Hydra takes ten seconds to label the lines.
        taken = measure.alternate({name: writing(name, argv) for name, argv in plain.items()}, 1 if options.quick else 3 * options.repeat, 0)
        taken |= measure.alternate({name: writing(name, argv) for name, argv in labelled.items()}, min(3, options.repeat), 0)
        times = summaries(taken)
    for name, checks in said.items():
        times[name]["intact"] = all(good for good, _ in checks)
        times[name]["checked"] = checks[-1][1]
    show("output,", times)
    return {"hosts": count, "ppn": ppn, "bytes": OUTPUT_BYTES, "degree": OUTPUT_DEGREE, "times": times}


def suite_delay(options):
    """Half of the delay in either host's cable, so that every link between two of them has all of it."""
    count = min(128, max(options.hosts))
    with Hosts(count, FORCED) as hosts:
        hosts.cluster.delay(LINK_MS / 2, *hosts.cluster.everyone)
        hosts.rest()
        launchers = ssh_peers.Launchers(hosts, options.run)
        bound = ["--fanout", FANOUT]
        first, later = launchers.first("hostname"), launchers.later("hostname")
        argvs = {"first": first, "later": later, "tree, fanout": launchers.scela("hostname", options=bound),
                 "flat, fanout": launchers.scela("hostname", options=[*bound, "--flat"]),
                 "pdsh, fanout": launchers.pdsh("hostname", fanout=FANOUT),
                 "tree": launchers.scela("hostname"), "flat": launchers.flat("hostname"), "hydra": launchers.hydra("hostname"),
                 "pdsh": launchers.pdsh("hostname")}
        runs = {name: greeting(hosts, hosts.names, argv) for name, argv in argvs.items()}
        results, held = in_turns(hosts, hosts.names, runs, min(3, options.repeat))
        times = summaries(results)
    show(f"{count} hosts,", times)
    return {"held": held, "hosts": count, "fanout": FANOUT, "link_ms": LINK_MS, "times": times}


def suite_dead(options):
    count = 8 if options.quick else 32
    if "--min-nodes" not in measure.run([options.run, "--help"]).output:
        say("  left out: this scela-run has no --min-nodes")
        return None
    with Hosts(count, FORCED) as hosts:
        inner, leaf = hosts.names[0], hosts.names[-1]
        argv = [options.run, "-w", f"node[001-{count:03}]", "--ppn", 1, "--min-nodes", count - 1, "--connect-timeout", CONNECT_S,
                "hostname"]

        def without(dead):
            expected = [name for name in hosts.names if name != dead]

            def run():
                if dead:
                    hosts.cluster.crash(dead)
                hosts.rest()
                try:
                    return greeting(hosts, expected, argv)()
                finally:
                    if dead:
                        hosts.cluster.boot(dead)
                        hosts.rest()
            return run

        times = summaries(measure.alternate({"healthy": without(None), "leaf": without(leaf), "inner": without(inner)},
                                            min(5, options.repeat), 0))
    show(f"{count} hosts,", times)
    return {"hosts": count, "connect_s": CONNECT_S, "times": times}


def suite_slow(options):
    with Hosts(16, FORCED) as hosts:
        inner, leaf = hosts.names[0], hosts.names[1]
        launchers = ssh_peers.Launchers(hosts, options.run)
        argv = launchers.scela("hostname", options=["--degree", SLOW_DEGREE])

        def beside(slow):
            def run():
                hosts.cluster.delay(SLOW_MS if slow else None, slow or leaf)
                hosts.rest()
                try:
                    return greeting(hosts, hosts.names, argv)()
                finally:
                    hosts.cluster.delay(None, slow or leaf)
            return run

        times = summaries(measure.alternate({"none": beside(None), "leaf": beside(leaf), "inner": beside(inner)},
                                            min(5, options.repeat), 0))
    show("16 hosts, slow:", times)
    return {"hosts": 16, "degree": SLOW_DEGREE, "slow_ms": SLOW_MS, "times": times}


def suite_end(options):
    count = 8 if options.quick else 32
    with Hosts(count, FORCED) as hosts:
        launchers = ssh_peers.Launchers(hosts, options.run)
        sleeping = ("sh", "-c", "echo up; exec sleep 1000")
        argvs = {"scela": launchers.scela(*sleeping), "flat": launchers.flat(*sleeping), "hydra": launchers.hydra(*sleeping)}

        def ending(argv, signo):
            def run():
                job = hosts.launch(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                for _ in range(count):
                    if not job.stdout.readline():
                        raise measure.Failed(f"{argv[0]}: ended before all ranks were up")
                (os.killpg if signo == signal.SIGINT else os.kill)(job.pid, signo)
                start = time.monotonic()
                job.wait()
                job.stdout.close()
                hosts.wait_empty()
                seconds = time.monotonic() - start
                found = hosts.cluster.files(*hosts.names)
                if found and argv[0] == options.run:
                    raise measure.Failed(f"{argv[0]}: {len(found)} files are left, such as {found[0]}")
                return seconds
            return run

        results = measure.alternate({f"{kind} {name}": ending(argv, signo) for name, argv in argvs.items()
                                     for kind, signo in (("SIGINT", signal.SIGINT), ("SIGKILL", signal.SIGKILL))},
                                    options.repeat, 0)
    row = {"hosts": count, "times": {name: measure.summary(values) for name, values in results.items()}}
    for name, times in row["times"].items():
        say(f"  {name}: {times['median'] * 1e3:.0f} ms, at most {times['max'] * 1e3:.0f} ms")
    return row


def suite_latency(options):
    """The same line goes to each in turn. The three jobs run at once, and are idle otherwise."""
    turns = 20 if options.quick else 200
    with Hosts(6, FORCED) as hosts:
        names = ",".join(hosts.names)
        deep = [options.run, "-w", names, "-n", 6, "--ppn", 1, "--degree", 2, "--stdin", 2, "cat"]
        shown = subprocess.run([*map(str, deep[:-1]), "--dry-run", "cat"], capture_output=True, text=True, check=False).stdout
        if f"|   |-- {hosts.names[2]}" not in shown and f"|   `-- {hosts.names[2]}" not in shown:
            raise measure.Failed(f"rank 2 is not at depth 2:\n{shown}")
        argvs = {"ssh": ["ssh", "-o", "BatchMode=yes", hosts.names[2], "cat"],
                 "depth 1": [options.run, "-w", hosts.names[2], "-n", 1, "cat"], "depth 2": deep}
        jobs = {name: hosts.launch(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name, argv in argvs.items()}

        def there_and_back(job):
            def run():
                start = time.perf_counter()
                job.stdin.write(b"word\n")
                job.stdin.flush()
                if job.stdout.readline() != b"word\n":
                    raise measure.Failed("a line did not come back")
                return time.perf_counter() - start
            return run

        results = measure.alternate({name: there_and_back(job) for name, job in jobs.items()}, turns, 5)
        for job in jobs.values():
            job.stdin.close()
            job.wait()
    row = {"times": {name: measure.summary(values) for name, values in results.items()}}
    for name, times in row["times"].items():
        say(f"  {name}: {times['median'] * 1e3:.2f} ms, at most {times['max'] * 1e3:.2f} ms")
    return row


def arguments():
    parser = ssh_contest.with_hosts(contest.parser(__doc__, SUITES, 5, "rounds; 3 at most for 64 hosts and more"), HOSTS)
    options = ssh_contest.options_of(parser, SUITES)
    if options.quick:
        options.hosts = [count for count in options.hosts if count <= 8]
    options.repeat_of = lambda count: options.repeat if count < 64 else min(3, options.repeat)
    return options


def prepare(options):
    ssh_peers.check_installed()
    return ssh_peers.versions(options.run)


def main():
    return ssh_contest.recorded(arguments(), lambda name: globals()[f"suite_{name}"], prepare,
                                lambda results: (list(ssh_report.sections(results)), ssh_report.curves(results)))


if __name__ == "__main__":
    sys.exit(main())
