"""Grid Engine on simulated hosts: sge_qmaster on the head, sge_execd on every host, one queue and one parallel environment.

    with cluster.Cluster(2) as c:
        gridengine.start(c)
        gridengine.run(c, ["qsub", "-sync", "y", "-pe", "scela", "4", "-b", "y", "hostname"])

Debian's daemons with files of their own below /srv; of the machine's SGE_ROOT only programs are used. Grid Engine runs no jobs of root, so
jobs are of the user "worker". The daemons stay as long as the hosts. Their packages want a mail agent, of which dma is the smallest; no
mail is sent.
"""
import os
import shutil
import subprocess
import time

START_S = 120
ROOT, SPOOL, HOME = "/srv/gridengine", "/srv/gridengine-spool", "/srv/worker"
PROGRAMS = "/usr/lib/gridengine"
ENVIRONMENT = {"SGE_ROOT": ROOT, "SGE_CELL": "default", "SGE_QMASTER_PORT": "6444", "SGE_EXECD_PORT": "6445"}
PACKAGES = {"sge_qmaster": "gridengine-master", "sge_execd": "gridengine-exec", "qsub": "gridengine-client"}
USER, UID, GID = "worker", 1234, 65534  # a group of the machine: Grid Engine looks its name up
SLOTS = 2  # of each host

BOOTSTRAP = f"""admin_user none
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {ROOT}/default/common;{SPOOL}/qmaster
binary_path {PROGRAMS}
qmaster_spool_dir {SPOOL}/qmaster
security_mode none
listener_threads 1
worker_threads 1
scheduler_threads 1
"""

# The scheduler looks every second, and the hosts report every two.
SCHEDULER = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}

PARALLEL_ENVIRONMENT = """pe_name scela
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $round_robin
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""


class Failed(Exception):
    pass


def missing():
    """Packages that Grid Engine needs and this machine lacks."""
    return sorted({package for tool, package in PACKAGES.items() if not shutil.which(tool, path=PROGRAMS)})


def run(cluster, argv, *, host="head", user=True, **options):
    """What a command on a host returns: of the user who has jobs, or of root, who manages."""
    env = {**ENVIRONMENT, "PATH": f"{PROGRAMS}:/usr/bin:/bin", **options.pop("env", {})}
    if user:
        argv = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups", "--reset-env", "env",
                *(f"{name}={value}" for name, value in env.items()), f"HOME={HOME}", f"USER={USER}", f"LOGNAME={USER}", *argv]
        options.setdefault("cwd", HOME)
    return cluster.run(host, argv, env=env, **options)


def _manage(cluster, *argv):
    done = run(cluster, argv, user=False)
    if done.returncode:
        raise Failed(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return done.stdout


def write(cluster, path, text, mode=0o644):
    """A file below /srv, which all hosts share."""
    real = cluster.path("head", path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    with open(real, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(real, mode)
    return path


def _configure(cluster, show, change, name, values):
    """Changes single lines of what "qconf -sX" shows by "qconf -MX FILE"."""
    lines = [line for line in _manage(cluster, "qconf", show, *name).splitlines() if line and not line.startswith("#")]
    text = "".join(f"{line.split()[0]} {values[line.split()[0]]}\n" if line.split()[0] in values else line + "\n" for line in lines)
    # The file of a host's configuration has its name.
    _manage(cluster, "qconf", change, write(cluster, f"/srv/qconf/{name[0] if name else 'scheduler'}", text))


def _prepare(cluster):
    for name in ("bin", "lib", "util", "utilbin"):
        target = os.path.realpath(f"/var/lib/gridengine/{name}")
        os.makedirs(cluster.path("head", ROOT), exist_ok=True)
        os.symlink(target, cluster.path("head", f"{ROOT}/{name}"))
    write(cluster, f"{ROOT}/default/common/bootstrap", BOOTSTRAP)
    write(cluster, f"{ROOT}/default/common/act_qmaster", "head\n")
    for folder in (f"{SPOOL}/qmaster", f"{SPOOL}/execd", HOME):
        os.makedirs(cluster.path("head", folder))
    os.chown(cluster.path("head", HOME), UID, GID)
    for host in cluster.everyone:
        with open(cluster.path(host, "/etc/passwd"), "a", encoding="utf-8") as f:
            f.write(f"{USER}:x:{UID}:{GID}::{HOME}:/bin/sh\n")
    _manage(cluster, f"{PROGRAMS}/spoolinit", "classic", "libspoolc", f"{ROOT}/default/common;{SPOOL}/qmaster", "init")
    with open("/usr/share/gridengine/default-configuration", encoding="utf-8") as f:
        lines = [line for line in f if not line.startswith(("execd_spool_dir", "mailer"))]
    settings = write(cluster, "/srv/qconf/configuration",
                      "".join(lines) + f"execd_spool_dir {SPOOL}/execd\nmailer /bin/true\n")
    _manage(cluster, f"{PROGRAMS}/spooldefaults", "configuration", settings)
    for kind, folder in (("complexes", "centry"), ("usersets", "usersets")):
        _manage(cluster, f"{PROGRAMS}/spooldefaults", kind, f"/usr/share/gridengine/util/resources/{folder}")
    _manage(cluster, f"{PROGRAMS}/spooldefaults", "managers", "root")


def until(cluster, what, *argv, holds):
    """Runs the command again and again until holds() says yes to what it returns."""
    deadline = time.monotonic() + START_S
    while True:
        done = run(cluster, argv, user=False)
        if holds(done):
            return
        if time.monotonic() > deadline:
            raise Failed(f"Grid Engine: {what}: {done.stdout}{done.stderr}")
        time.sleep(0.1)


def _queue(cluster):
    lines = _manage(cluster, "qconf", "-sq").splitlines()
    values = {"qname": "all.q", "hostlist": " ".join(cluster.hosts), "pe_list": "scela", "slots": str(SLOTS), "shell": "/bin/sh",
              "load_thresholds": "NONE", "shell_start_mode": "unix_behavior"}
    text = "".join(f"{line.split()[0]} {values.get(line.split()[0], line.partition(' ')[2].strip())}\n" for line in lines if line.strip())
    _manage(cluster, "qconf", "-Aq", write(cluster, "/srv/qconf/queue", text))


def start(cluster):
    """Returns when all hosts offer their slots."""
    _prepare(cluster)

    def daemon(host, name):
        cluster.popen(host, [f"{PROGRAMS}/{name}"], env={**ENVIRONMENT, "SGE_ND": "1"}, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL)

    daemon("head", "sge_qmaster")
    until(cluster, "the master does not answer", "qconf", "-ss", holds=lambda done: "error" not in done.stderr)
    for host in cluster.hosts:
        _manage(cluster, "qconf", "-ah", host)
    for host in cluster.everyone:
        _manage(cluster, "qconf", "-as", host)
    _configure(cluster, "-sconf", "-Mconf", ("global",), {"load_report_time": "00:00:02"})
    _configure(cluster, "-ssconf", "-Msconf", (), SCHEDULER)
    _manage(cluster, "qconf", "-Ap", write(cluster, "/srv/qconf/pe", PARALLEL_ENVIRONMENT))
    for host in cluster.hosts:
        daemon(host, "sge_execd")
    _queue(cluster)
    # A state, such as "au", is shown as long as a host does not report.
    until(cluster, "hosts do not report", "qstat", "-f", holds=lambda done: done.stdout.count("all.q@") == len(cluster.hosts)
           and all(len(line.split()) == 5 for line in done.stdout.splitlines() if line.startswith("all.q@")))
