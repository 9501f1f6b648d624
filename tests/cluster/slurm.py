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


def start(cluster, popen=None):
    """popen: as cluster's, for the daemons. Returns when all hosts are idle."""
    count = len(cluster.hosts)
    nodes = cluster.hosts[0] if count == 1 else f"node[001-{count:03}]"
    _write(cluster, CONF, f"{SETTINGS}NodeName={nodes} CPUs=2 State=UNKNOWN\n"
           "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:64\n", 0o644)
    _write(cluster, "/srv/munge.key", "0123456789abcdef" * 8, 0o600)
    for host in cluster.everyone:
        daemon = "mkdir -p /run/slurmctld; exec slurmctld -D" if host == "head" else "exec slurmd -D"
        (popen or cluster.popen)(
            host, ["sh", "-c", "mkdir -p /run/munge /run/munge-files; munged --force --key-file=/srv/munge.key "
                   f"--pid-file=/run/munge-files/pid --seed-file=/run/munge-files/seed --log-file=/var/log/munged; {daemon}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    deadline = time.monotonic() + START_S
    idle = ""
    while idle != str(count):
        if time.monotonic() > deadline:
            raise Failed(f"Slurm does not start: {idle or 'no'} hosts of {count} are idle")
        time.sleep(0.2)
        idle = cluster.run("head", ["sinfo", "-h", "-t", "idle", "-o", "%D"], env=ENVIRONMENT).stdout.strip()
