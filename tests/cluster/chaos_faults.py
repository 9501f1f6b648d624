"""What chaos.py does to a victim: finds its process, and harms it. The faults of hosts are the cluster's own (faults.py)."""
import contextlib
import os
import resource
import signal
import time

PIDS_GROUPS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")  # version 1, version 2
OURS = "scela-chaos-"
PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1 << 20


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return int(f.read().rpartition(")")[2].split()[1])


def runs(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def agents(processes):
    """Guardian and agent, of a host's processes; only the guardian while it has started nothing."""
    pids = [each.pid for each in processes if " --stdio" in each.words and "scela-nla" in each.words.split()[0]]
    own = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            own.append((parent_of(pid) in pids, pid))
    return [pid for _, pid in sorted(own)]


def named(processes, name):
    return [each.pid for each in processes if os.path.basename(each.words.split()[0]).startswith(name)]


def session(processes, pids):
    """The process of sshd above the guardian."""
    words = {each.pid: each.words for each in processes}
    for pid in pids[:1]:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while pid > 1:
                pid = parent_of(pid)
                if words.get(pid, "").startswith("sshd: root@"):
                    return [pid]
    return []


def find(cluster, victim, host, pick):
    """The victim's process, or None if there is none now."""
    processes = cluster.processes(host)
    pids = agents(processes)
    found = {"agent": lambda: pids[1:2], "guardian": lambda: pids[:1], "sshd": lambda: session(processes, pids),
             "engine": lambda: named(processes, "scela-hca"), "pmix": lambda: named(processes, "scela-pmix"),
             "rank": lambda: named(processes, "chaos_")}[victim]()
    return found[int(pick * len(found))] if found else None


def strike(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def limit_memory(pid, amount):
    """It may map a little more than it has."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        with open(f"/proc/{pid}/statm", encoding="ascii") as f:
            now = int(f.read().split()[0]) * PAGE
        most = now + int(amount * amount * 4 * MB)
        resource.prlimit(pid, resource.RLIMIT_AS, (most, most))


def limit_host_memory(cluster, host, amount):
    """Whoever logs in: from too little for a login to too little for the job's programs."""
    sshd = cluster.listener(host)
    most = int((6 + 60 * amount) * MB)
    resource.prlimit(sshd, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

    def undo():
        resource.prlimit(sshd, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return undo


def pids_folder():
    for folder in PIDS_GROUPS:
        if os.path.exists(f"{folder}/cgroup.procs") and (folder.endswith("/pids") or _delegates_pids(folder)):
            return folder
    raise RuntimeError("this machine has no control group that limits processes")


def _delegates_pids(folder):
    with contextlib.suppress(OSError):
        with open(f"{folder}/cgroup.subtree_control", "w", encoding="ascii") as f:
            f.write("+pids")
    with open(f"{folder}/cgroup.subtree_control", encoding="ascii") as f:
        return "pids" in f.read().split()


def _write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(text))


def limit_processes(cluster, host, amount, pids=()):
    """The host's logins, or these processes, may start a few more processes together, threads counted."""
    base = pids_folder()
    folder = f"{base}/{OURS}{os.getpid()}-{host}"
    os.mkdir(folder)
    for pid in pids or [cluster.listener(host)]:
        with contextlib.suppress(ProcessLookupError):
            _write(f"{folder}/cgroup.procs", pid)
    with open(f"{folder}/pids.current", encoding="ascii") as f:
        now = int(f.read())
    _write(f"{folder}/pids.max", now + int(amount * 12))

    def undo():
        for _ in range(1000):
            with open(f"{folder}/cgroup.procs", encoding="ascii") as f:
                left = f.read().split()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    _write(f"{base}/cgroup.procs", pid)
            with contextlib.suppress(OSError):
                os.rmdir(folder)
                return
            time.sleep(0.005)  # its last process is ending
        raise RuntimeError(f"{folder} cannot be removed")
    return undo


def clear_groups():
    """Those of runs that were killed."""
    base = pids_folder()
    for name in os.listdir(base):
        owner = name[len(OURS):].partition("-")[0]
        if name.startswith(OURS) and not os.path.exists(f"/proc/{owner}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{base}/{name}")


def harm_process(round_, pid):
    """Returns what ends it again, or None."""
    if round_.fault in ("kill", "terminate"):
        strike(pid, signal.SIGKILL if round_.fault == "kill" else signal.SIGTERM)
    elif round_.fault in ("stop", "stop-go"):
        strike(pid, signal.SIGSTOP)
        return lambda: strike(pid, signal.SIGCONT)
    elif round_.fault == "memory":
        limit_memory(pid, round_.amount)
    return None


def harm_host(cluster, round_, host):
    """Returns what ends it again. The faults of the cluster are also ended by undo()."""
    fault = round_.fault
    if fault in ("cut", "cut-heal"):
        cluster.cut(host)
        return lambda: cluster.heal(host)
    if fault in ("freeze", "freeze-thaw"):
        cluster.freeze(host)
        return lambda: cluster.thaw(host)
    if fault == "crash":
        cluster.crash(host)
        return lambda: cluster.boot(host)
    if fault == "kill-all":
        cluster.kill_processes(host)
        return None
    if fault == "disk-full":
        folders = (("/tmp",), ("/dev/shm",), ("/tmp", "/dev/shm"), ())[int(round_.amount * 4)]
        cluster.disk_full(host, *folders)
        return lambda: cluster.disk_empty(host)
    if fault == "processes":
        own = [each.pid for each in cluster.processes(host)] if round_.when != "before" else ()
        return limit_processes(cluster, host, round_.amount, own)
    return limit_host_memory(cluster, host, round_.amount)
