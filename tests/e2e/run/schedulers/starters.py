"""Stand-ins for the commands by which schedulers and containers start a program on a host. Each has the arguments, the quoting, the
standard input and the own words of the real command, and runs the program on this machine.

What they follow: qrsh of Grid Engine 8.1.9 and podman 4.3, as they were seen to behave; blaunch as Hydra calls it, with a shell at the
far end; condor_ssh and kubectl as their manuals say.
"""
import os

# Joins its words with blanks, as ssh does; a shell parses them again. The far side has variables of its own task.
QRSH = """[ "$1" = -inherit ] || { echo "qrsh: no stand-in for: $*" >&2; exit 1; }
shift; host=$1; shift
grep -q "^$host " "$PE_HOSTFILE" || {
  echo "error: executing task of job $JOB_ID failed: host \\"$host\\" is not in the list of hosts" >&2; exit 1; }
text="$*"
echo "$host" >> "$CALLS"
exec env -u PE_HOSTFILE JOB_NAME=petask QRSH_COMMAND="$text" QRSH_PORT=head:1 sh -c "$text"
"""

BLAUNCH = """[ "$1" = -n ] && { shift; exec < /dev/null; }
[ -n "$LSB_JOBID" ] || { echo "blaunch: LSB_JOBID is not defined" >&2; exit 255; }
host=$1; shift
echo "$host" >> "$CALLS"
text="$*"
exec env LSF_PM_TASKID=2 sh -c "$text"
"""

# Finds the host in the contact file, and uses ssh, which joins its words.
CONDOR_SSH = """host=$1; shift
grep -q "^[0-9]* $host " "$CONDOR_CONTACT_FILE" || { echo "condor_ssh: $host is no host of this job" >&2; exit 1; }
echo "$host" >> "$CALLS"
text="$*"
exec env _CONDOR_PROCNO=1 sh -c "$text"
"""

# Starts its last words without a shell. Without -i there is no standard input.
KUBECTL = """[ "$1" = exec ] || exit 1
shift
[ "$1" = -i ] && shift || exec < /dev/null
pod=$1; shift
[ "$1" = -- ] || { echo "error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead" >&2; exit 1; }
shift
case $pod in worker-*) ;; *) echo "Error from server (NotFound): pods \\"$pod\\" not found" >&2; exit 1;; esac
echo "$pod" >> "$CALLS"
exec "$@"
"""

PODMAN = """[ "$1" = exec ] || exit 125
shift
[ "$1" = -i ] && shift || exec < /dev/null
name=$1; shift
case $name in worker-*) ;; *) echo "Error: no container with name or ID \\"$name\\" found: no such container" >&2; exit 125;; esac
echo "$name" >> "$CALLS"
exec "$@"
"""

# Starts one task for each host of its list; each has a copy of standard input. It ends when its tasks have. NOT_HERE has hosts on
# which no task starts, and OTHER_BUILD the build that agents are asked for. AT_FIRST, WHILE_THEY_RUN and AT_END are commands of the test's
# own: they run before the tasks start, meanwhile, and when the tasks have ended. The test writes these, and CALLS, to a file, since scela-run
# hands srun few variables.
SRUN = """. "${0%/*}/srun.settings"
echo "$*" >> "$CALLS"
input=$(cat)
eval "$AT_FIRST"
while :; do
  case $1 in --nodelist=*) hosts=${1#*=};; --*) ;; *) break;; esac
  shift
done
task=0
for host in $(echo "$hosts" | tr , ' '); do
  case " $NOT_HERE " in *" $host "*) echo "srun: error: Task launch for StepId=1.0 failed on node $host: Communication connection failure" >&2; continue;; esac
  echo "$input" | SLURMD_NODENAME=$host SLURM_PROCID=$task SLURM_STEP_ID=0 SLURM_NTASKS_PER_NODE=1 "$1" "$2" "$3" "$4" "$5" "$6" "${OTHER_BUILD:-$7}" &
  task=$((task + 1))
done
eval "$WHILE_THEY_RUN"
wait
eval "$AT_END"
"""

TEXTS = {"srun": SRUN, "qrsh": QRSH, "blaunch": BLAUNCH, "condor_ssh": CONDOR_SSH, "kubectl": KUBECTL, "podman": PODMAN, "docker": PODMAN}


def install(test, *names):
    """Writes stand-ins into a folder of the test, and returns the variables with which they are found. They write each host that they are
    called for as a line of the file CALLS."""
    folder = os.path.join(test.folder, "bin")
    os.makedirs(folder, exist_ok=True)
    for name in names:
        test.script(os.path.join("bin", name), TEXTS[name])
    return {"PATH": f"{folder}:/usr/bin:/bin", "CALLS": os.path.join(test.folder, "calls")}


def calls(test):
    with open(os.path.join(test.folder, "calls"), encoding="utf-8") as f:
        return f.read().split()
