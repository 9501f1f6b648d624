"""Timing of whole commands: start to end, alternating contestants, medians and spread.

Python's standard library only. Knows no launcher. A command is started with posix_spawn in a process group
of its own, without a shell, and waited for through a pidfd, so that the harness adds no polling delay.
"""
import collections
import datetime
import os
import platform
import re
import select
import signal
import statistics
import subprocess
import tempfile
import time

Run = collections.namedtuple("Run", "seconds cpu_seconds status output errors")


class Failed(Exception):
    """A contestant did not end with status 0 in time: the measurement means nothing."""


def run(argv, timeout=120, env=None, output=None):
    """Runs one command to its end. `status` is the exit code, or minus the signal. Standard output goes to the file
    `output` if one is named."""
    with open(output, "w+b") if output else tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, env or os.environ, setpgroup=0, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        ended = wait_for(pid, timeout)
        if not ended:
            os.killpg(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        if not ended:
            raise Failed(f"{' '.join(argv)[:200]}: not ended after {timeout} s")
        out.seek(0)
        err.seek(0)
        return Run(seconds, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status),
                   "" if output else out.read().decode(errors="replace"), err.read().decode(errors="replace"))


def wait_for(pid, timeout):
    fd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(timeout * 1000))
    finally:
        os.close(fd)


def run_ok(argv, timeout=120):
    result = run(argv, timeout)
    if result.status != 0:
        raise Failed(f"{' '.join(argv)[:200]}: status {result.status}: {result.errors.strip()[-300:]}")
    return result


def summary(values):
    """Median, least, quartiles and count of a list of numbers."""
    ordered = sorted(values)
    quarters = statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    return {"median": statistics.median(ordered), "min": ordered[0], "q1": quarters[0], "q3": quarters[2],
            "max": ordered[-1], "n": len(ordered)}


def alternate(contestants, repeat, warm_up=1):
    """Runs each contestant once per round, the order turning with every round; {name: [result...]}.

    `contestants`: {name: function without arguments that returns a result}. The warm-up rounds count for
    nothing. Alternating spreads whatever else the machine does over all of them alike.
    """
    results = {name: [] for name in contestants}
    names = list(contestants)
    for turn in range(-warm_up, repeat):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            result = contestants[name]()
            if turn >= 0:
                results[name].append(result)
    return results


def first_line(argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip().split("\n")[0]
    except OSError:
        return ""


def machine():
    """What the figures depend on, without the machine's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*:\s*(.*)", f.read())
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory = int(re.search(r"MemTotal:\s*(\d+)", f.read()).group(1))
    system = re.search(r'PRETTY_NAME="(.*)"', open("/etc/os-release", encoding="utf-8").read())
    return {"cpu": model.group(1) if model else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory / 2**20), "kernel": platform.release().split("-")[0],
            "system": system.group(1) if system else ""}


def busy_seconds():
    """CPU time of the whole machine since it started, without idling and what a hypervisor took."""
    with open("/proc/stat", encoding="utf-8") as f:
        user, nice, system, _, _, irq, softirq = (int(word) for word in f.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def load():
    return os.getloadavg()[0]


def commit(root):
    """The commit that is measured, marked if the tree differs from it."""
    named = first_line(["git", "-C", root, "rev-parse", "--short=10", "HEAD"])
    dirty = subprocess.run(["git", "-C", root, "diff", "--quiet", "HEAD"], check=False).returncode != 0
    return {"commit": named, "modified": dirty}


def today():
    return datetime.date.today().isoformat()
