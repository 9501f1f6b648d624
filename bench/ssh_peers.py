"""How each launcher is told to run a command on simulated hosts, and the daemons that Slurm needs there.

Every launcher may open all its sessions at once. Open MPI and Slurm get their cheapest set-up: one network, no
shared memory between "hosts", no accounting, no binding.
"""
import os
import re
import shutil
import subprocess
import sys

import ssh_contest
import measure
import ssh_hosts  # noqa: F401 pylint: disable=unused-import # the path to tests/cluster
import slurm

PACKAGES = {"pdsh": "pdsh", "clush": "clustershell", "mpiexec.hydra": "mpich", "mpirun.openmpi": "openmpi-bin",
            "ssh": "openssh-client", **slurm.PACKAGES}
NETWORK = "10.99.0.0/16"


def check_installed(packages=None):
    """Ends the program if one of the tools is missing, {tool: its package}, or of those that launch_ssh.py compares."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = sorted({package for tool, package in (packages or PACKAGES).items() if not shutil.which(tool, path=path)})
    if missing:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {', '.join(missing)}: not installed; scripts/install-packages bench does it")


def found(pattern, *argv):
    """What a program says of its version."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError:
        return "?"
    match = re.search(pattern, done.stdout + done.stderr)
    return match.group(1) if match else "?"


def versions(scela_run):
    """{name: version} of everything that is compared."""
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

    def first(self, *words, options=()):
        """No agent is where one is looked for on hosts, as in two of the states of ssh_contest."""
        return self.scela(*words, options=["--agent", ssh_contest.NOWHERE, *options])

    later = first

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
    try:
        slurm.start(hosts.cluster, hosts.start)
    except slurm.Failed as error:
        raise measure.Failed(str(error)) from error
    hosts.rest()
