#!/usr/bin/env python3
"""The table of another tool's options has each option that the installed tool lists in its help.

usage: check_peer_options.py NAME SCELA-RUN PROGRAM | check_peer_options.py --self-test
"""
import os
import re
import subprocess
import sys
import tempfile

# How each tool is asked, and the form of a line of its help that begins with an option.
OPTION = r"--?[A-Za-z][\w-]*"
ASKED = {
    "mpiexec.hydra": ([["--help"]], rf"^ +({OPTION}(?:/{OPTION})*)"),
    "mpirun.openmpi": ([["--help", "full"]], rf"^ {{0,3}}({OPTION}(?:\|{OPTION})*) "),
    "srun": ([["--help"], ["--usage"]], rf"^ +({OPTION}(?:, *{OPTION}|  {OPTION})*)|\[(?:--[a-z][\w-]*|-[A-Za-z])(?=[\s=\[\]])"),
    "pdsh": ([["-h"]], r"^(-[A-Za-z])\b"),
    "pdcp": ([["-h"]], r"^(-[A-Za-z])\b"),
    "clush": ([["--help"]], rf"^ +({OPTION}(?:[ =][A-Z_]+=?[A-Z_]*)?(?:, {OPTION})*)"),
    "dshbak": ([["-h"]], r"^ (-[A-Za-z])\b"),
}
# Misprints in help, and options that the same help writes in two ways.
OTHERWISE = {"--slurmd_debug": "--slurmd-debug"}
FEWEST = {"mpiexec.hydra": 40, "mpirun.openmpi": 90, "srun": 100, "pdsh": 20, "pdcp": 20, "clush": 35, "dshbak": 4}


def options_in(name, text):
    """Each option that the help of a tool lists."""
    found = set()
    for line in text.splitlines():
        for match in re.finditer(ASKED[name][1], line):
            found.update(re.findall(rf"(?<![\w-]){OPTION}", match.group(0)))
    return {OTHERWISE.get(option, option) for option in found}


def known_in(text):
    """Each option of scela-run's own help for the tool."""
    return {word for line in text.splitlines() if re.match(r"  -", line) for word in re.findall(rf"(?<![\w-]){OPTION}", line)}


def missing(name, listed, known):
    if name.startswith("mpi"):
        known = {option.lstrip("-") for option in known}
        return sorted(option for option in listed if option.lstrip("-") not in known)
    return sorted(listed - known)


def help_of(name, program):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/slurm.conf", "w", encoding="ascii") as f:
            f.write("ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=localhost\n")
        environment = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf", "LC_ALL": "C", "COLUMNS": "200",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return "".join(subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, env=environment, timeout=60, check=False).stdout for words in ASKED[name][0])


def self_test():
    assert options_in("srun", "  -c, --cpus-per-task=n  x\n      --exact  use --not-this\n   -B  --extra=S\n [--mpi=type] [-x h] [--f=a[-max]]") == {
        "-c", "--cpus-per-task", "--exact", "-B", "--extra", "--mpi", "-x", "--f"}
    assert options_in("mpirun.openmpi", "-c|-np|--np <arg0>   Number\n   -x <arg0>  as -y\n") == {"-c", "-np", "--np", "-x"}
    assert options_in("clush", "  -s GROUP, --groupsource=GROUP\n    -O KEY=VALUE, --option=KEY=VALUE\n    -S, --maxrc  x") == {
        "-s", "--groupsource", "-O", "--option", "-S", "--maxrc"}
    assert options_in("mpiexec.hydra", "    -n/-np {value}   number\n    {exec_name} {args}  -none") == {"-n", "-np"}
    assert missing("srun", {"-a", "--b"}, {"--b"}) == ["-a"]
    assert missing("mpirun.openmpi", {"-np", "--mp"}, {"--np"}) == ["--mp"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    name, scela_run, program = sys.argv[1:]
    listed = options_in(name, help_of(name, program))
    if len(listed) < FEWEST[name]:
        sys.exit(f"the help of {program} lists {len(listed)} options, fewer than {FEWEST[name]}: {sorted(listed)}")
    known = known_in(subprocess.run([scela_run, "--as", name, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    found = missing(name, listed, known)
    if found:
        sys.exit(f"no row of the table has these options of {name}: {', '.join(found)}")
    print(f"{len(listed)} options of {name} are in the table")


if __name__ == "__main__":
    main()
