"""How each launcher is told to run a command on simulated hosts, and the daemons that Slurm needs there.

Every launcher may open all its sessions at once. Open MPI and Slurm get their cheapest set-up: one network, no
shared memory between "hosts", no accounting, no binding.
"""
import os
import re
import shutil
import subprocess
import sys
import time

import measure

PACKAGES = {"pdsh": "pdsh", "clush": "clustershell", "mpiexec.hydra": "mpich", "mpirun.openmpi": "openmpi-bin",
            "srun": "slurm-client", "slurmd": "slurmd", "slurmctld": "slurmctld", "munged": "munge", "ssh": "openssh-client"}
NETWORK = "10.99.0.0/16"
SLURM_START_S = 60

SLURM_CONF = f"""ClusterName=bench
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


def check_installed():
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = sorted({package for tool, package in PACKAGES.items() if not shutil.which(tool, path=path)})
    if missing:
        sys.exit(f"launch_ssh.py: {', '.join(missing)}: not installed; scripts/install-packages bench does it")


def versions(scela_run):
    """{name: version} of everything that is compared."""
    def found(pattern, *argv):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        match = re.search(pattern, done.stdout + done.stderr)
        return match.group(1) if match else "?"

    return {"scela": measure.first_line([scela_run, "--version"]),
            "OpenSSH": found(r"OpenSSH_([\w.]+)", "ssh", "-V"), "pdsh": found(r"pdsh-([\d.]+)", "pdsh", "-V"),
            "ClusterShell": found(r"clush ([\d.]+)", "clush", "--version"),
            "MPICH": found(r"Version:\s*(\S+)", "mpiexec.hydra", "--version"),
            "Open MPI": found(r"\(OpenRTE\) ([\d.]+)", "mpirun.openmpi", "--version"),
            "Slurm": found(r"slurm-wlm ([\d.]+)", "/usr/sbin/slurmd", "-V")}


class Launchers:
    """Command lines on the first `count` of the hosts, `ppn` ranks on each: functions of the program's words."""

    def __init__(self, hosts, scela_run, count=None, ppn=1):
        self._run = scela_run
        self.names = hosts.names[:count]
        self._ranks = len(self.names) * ppn
        self._ppn = ppn
        self._folded = f"node[001-{len(self.names):03}]"
        self._file = hosts.write(f"/srv/hosts-{len(self.names)}", "\n".join(self.names) + "\n")

    def scela(self, *words, options=()):
        return [self._run, "-w", self._folded, "-n", self._ranks, "--ppn", self._ppn, *options, *words]

    def flat(self, *words):
        return self.scela(*words, options=["--flat"])

    def ssh(self, *words):
        """No launcher: one ssh a host in the background of one shell. What the others are measured against."""
        return ["sh", "-c", f"for h in {' '.join(self.names)}; do ssh -n -o BatchMode=yes $h {' '.join(words)} & done; wait"]

    def ssh_ranks(self, *words):
        """The same with all ranks of each host, and their numbers."""
        program = " ".join(map(str, words))
        each = [f"ssh -n -o BatchMode=yes {name} 'for i in {' '.join(str(index * self._ppn + i) for i in range(self._ppn))}; do "
                f"PMI_RANK=$i {program} & done; wait' & " for index, name in enumerate(self.names)]
        return ["sh", "-c", "".join(each) + "wait"]

    def pdsh(self, *words, fanout=None):
        return ["pdsh", "-R", "ssh", "-f", fanout or len(self.names), "-N", "-w", self._folded, *words]

    def clush(self, *words):
        return ["clush", "-N", "-f", len(self.names), "-w", self._folded, *words]

    def hydra(self, *words, options=()):
        return ["mpiexec.hydra", "-launcher", "ssh", "-f", self._file, "-ppn", self._ppn, "-n", self._ranks, *options, *words]

    def open_mpi(self, *words):
        return ["mpirun.openmpi", "--allow-run-as-root", "--mca", "oob_tcp_if_include", NETWORK, "--mca", "btl", "self,vader,tcp",
                "--mca", "pml", "ob1", "--hostfile", self._file, "--map-by", f"ppr:{self._ppn}:node", "--bind-to", "none",
                "--oversubscribe", "-np", self._ranks, *words]

    def srun(self, *words, options=()):
        return ["env", "SLURM_CONF=/srv/slurm.conf", "srun", "-Q", "-w", self._folded, "-N", len(self.names), "-n", self._ranks,
                "--overcommit", "--mpi=none", *options, *words]


def start_slurm(hosts):
    """munged and slurmd on every host, slurmctld on the head; they stay as long as the hosts."""
    conf = SLURM_CONF + (f"NodeName={hosts.names[0]}" if len(hosts.names) == 1 else f"NodeName=node[001-{len(hosts.names):03}]")
    hosts.write("/srv/slurm.conf", conf + " CPUs=2 State=UNKNOWN\n"
                "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:64\n")
    hosts.write("/srv/munge.key", "0123456789abcdef" * 8)
    os.chmod(hosts.cluster.path("head", "/srv/munge.key"), 0o600)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": {"SLURM_CONF": "/srv/slurm.conf"}}
    for host in hosts.cluster.everyone:
        daemon = "mkdir -p /run/slurmctld; exec slurmctld -D" if host == "head" else "exec slurmd -D"
        hosts.start(host, ["sh", "-c", "mkdir -p /run/munge /run/munge-files; munged --force --key-file=/srv/munge.key "
                           f"--pid-file=/run/munge-files/pid --seed-file=/run/munge-files/seed --log-file=/var/log/munged; {daemon}"],
                    **quiet)
    deadline = time.monotonic() + SLURM_START_S
    idle = ""
    while idle != str(len(hosts.names)):
        if time.monotonic() > deadline:
            raise measure.Failed(f"Slurm does not start: {idle or 'no'} hosts of {len(hosts.names)} are idle")
        time.sleep(0.2)
        idle = hosts.cluster.run("head", ["sinfo", "-h", "-t", "idle", "-o", "%D"],
                                 env={"SLURM_CONF": "/srv/slurm.conf"}).stdout.strip()
    hosts.rest()
