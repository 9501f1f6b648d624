"""Slurm on simulated hosts: slurmctld on the head, slurmd on every host, munged on both.

    with cluster.Cluster(2) as c:
        slurm.start(c)
        c.run("head", ["srun", "-n", "4", "hostname"], env=slurm.ENVIRONMENT)

Its cheapest set-up: no accounting, no binding, no limits. The daemons stay as long as the hosts.
"""
import os
import shutil
import subprocess
import time

START_S = 60
CONF = "/srv/slurm.conf"
ENVIRONMENT = {"SLURM_CONF": CONF}
PACKAGES = {"srun": "slurm-client", "slurmd": "slurmd", "slurmctld": "slurmctld", "munged": "munge"}

SETTINGS = """ClusterName=simulated
SlurmctldHost=head
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=600
SlurmdParameters=config_overrides
"""


class Failed(Exception):
    pass


def missing():
    """Packages that Slurm needs and this machine lacks."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return sorted({package for tool, package in PACKAGES.items() if not shutil.which(tool, path=path)})


def _write(cluster, path, text, mode):
    """A file below /srv, which all hosts share."""
    real = cluster.path("head", path)
    with open(real, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(real, mode)


def start_daemons(cluster, host, popen=None):
    """Those of one host: munged with slurmd, on the head with slurmctld."""
    daemon = "mkdir -p /run/slurmctld; exec slurmctld -D" if host == "head" else "exec slurmd -D"
    (popen or cluster.popen)(
        host, ["sh", "-c", "mkdir -p /run/munge /run/munge-files; munged --force --key-file=/srv/munge.key "
               f"--pid-file=/run/munge-files/pid --seed-file=/run/munge-files/seed --log-file=/var/log/munged; {daemon}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)


def await_idle(cluster):
    """Returns when all hosts are idle."""
    count = len(cluster.hosts)
    deadline = time.monotonic() + START_S
    idle = ""
    while idle != str(count):
        if time.monotonic() > deadline:
            raise Failed(f"Slurm does not start: {idle or 'no'} hosts of {count} are idle")
        time.sleep(0.2)
        idle = cluster.run("head", ["sinfo", "-h", "-t", "idle", "-o", "%D"], env=ENVIRONMENT).stdout.strip()


def start(cluster, popen=None, settings=None, processors=2):
    """popen: as cluster's, for the daemons. settings: more of slurm.conf, or others. processors: of each host, as Slurm has it.
    Returns when all hosts are idle."""
    count = len(cluster.hosts)
    nodes = cluster.hosts[0] if count == 1 else f"node[001-{count:03}]"
    lines = dict(line.split("=", 1) for line in SETTINGS.splitlines()) | (settings or {})
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    _write(cluster, CONF, f"{text}NodeName={nodes} CPUs={processors} State=UNKNOWN\n"
           "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:64\n", 0o644)
    _write(cluster, "/srv/munge.key", "0123456789abcdef" * 8, 0o600)
    for host in cluster.everyone:
        start_daemons(cluster, host, popen)
    await_idle(cluster)
