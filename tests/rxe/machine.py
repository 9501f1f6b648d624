"""An emulated machine of one processor with Debian's kernel and two soft-RoCE devices, rxe0 and rxe1.

It has no network and no disk: programs travel in its initramfs, and their output comes back by the serial
console. Emulated in software (TCG), so that it runs wherever the tests run.
"""
import gzip
import os
import shutil
import stat
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
# What a program loads without naming it in its header.
PROVIDER = "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so"
APPLETS = ("sh", "mount", "mkdir", "insmod", "ip", "echo", "stty", "sync", "poweroff", "sleep", "kill", "cat")


def libraries(program):
    ldd = subprocess.run(("ldd", program), capture_output=True, text=True)
    if "not a dynamic executable" in ldd.stderr:  # linked statically
        return set()
    ldd.check_returncode()
    lines = ldd.stdout.splitlines()
    paths = (word for line in lines for word in line.split() if word.startswith("/"))
    return {path for path in paths if os.path.exists(path)}


class Image:
    """The files of an initramfs, gathered below a folder."""

    def __init__(self, root):
        self.root = root
        shutil.rmtree(root, ignore_errors=True)
        for folder in ("bin", "dev", "proc", "sys", "modules", "tmp"):
            os.makedirs(os.path.join(root, folder))

    def add(self, source, target):
        path = os.path.join(self.root, target.lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            shutil.copy(source, path)

    def add_program(self, program):
        self.add(program, "bin/" + os.path.basename(program))
        self.add_libraries(program)

    def add_libraries(self, program):
        # What was built here may lie where the machine mounts something.
        for path in libraries(program):
            self.add(path, path if path.startswith(("/lib", "/usr/")) else "lib/" + os.path.basename(path))

    def write(self, target, text):
        path = os.path.join(self.root, target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def pack(self, target):
        names = subprocess.run(("find", ".", "-mindepth", "1"), cwd=self.root, check=True, capture_output=True).stdout
        packed = subprocess.run(("cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"), cwd=self.root, input=names,
                                check=True, capture_output=True).stdout
        with gzip.open(target, "wb", compresslevel=1) as f:
            f.write(packed)


def build(kernel, folder, programs, commands, extra=()):
    """The initramfs for `commands`, pairs of a name without '|' and a line for sh. `extra`: files that programs
    load by name, each with its place."""
    image = Image(os.path.join(folder, "root"))
    shutil.copy(os.path.join(HERE, "init"), os.path.join(image.root, "init"))
    os.chmod(os.path.join(image.root, "init"), stat.S_IRWXU)
    image.add(shutil.which("busybox"), "bin/busybox")
    for applet in APPLETS:
        os.symlink("busybox", os.path.join(image.root, "bin", applet))
    for name in os.listdir(os.path.join(kernel, "modules")):
        image.add(os.path.join(kernel, "modules", name), "modules/" + name)
    for program in (*programs, shutil.which("rdma") or "/usr/sbin/rdma"):
        image.add_program(program)
    for source, target in ((PROVIDER, PROVIDER), *extra):
        image.add(source, target)
        image.add_libraries(source)
    image.write("etc/libibverbs.d/rxe.driver", "driver rxe\n")
    image.write("commands", "".join(f"{name}|{line}\n" for name, line in commands))
    target = os.path.join(folder, "initramfs.gz")
    image.pack(target)
    return target


def boot(kernel, initramfs, console, seconds):
    """Runs the machine until it is off; its console goes to the file `console`. Error after `seconds`."""
    # Its clock counts instructions, so that nothing in it runs out of time because the machine that emulates it
    # has much to do.
    words = ["qemu-system-x86_64", "-accel", "tcg", "-icount", "shift=2,sleep=off", "-cpu", "max", "-m", "1024",
             "-smp", "1", "-nic", "none", "-nographic", "-no-reboot", "-kernel", os.path.join(kernel, "vmlinuz"),
             "-initrd", initramfs, "-append",
             "console=ttyS0 panic=-1 quiet nokaslr mitigations=off no_timer_check"]
    with open(console, "wb") as output:
        machine = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        timer = threading.Timer(seconds, machine.kill)
        timer.start()
        try:
            status = machine.wait()
        finally:
            timer.cancel()
            machine.kill()
            machine.wait()
    if status != 0:
        raise RuntimeError(f"the machine ended with {status}: see {console}")


def parts_of(text):
    """(outputs and exit statuses by the commands' names, what init complained of)."""
    parts, complaints, name, lines, done = {}, [], None, [], False
    for line in text.replace("\r", "").splitlines():
        words = line.split()
        if line.startswith("@@ begin "):
            name, lines = words[2], []
        elif line.startswith("@@ end ") and name == words[2]:
            parts[name] = (int(words[3]), lines)
            name = None
        elif line.startswith("@@ broken "):
            complaints.append(line[10:])
        elif line == "@@ done":
            done = True
        elif name:
            lines.append(line)
    if name:
        complaints.append(f"{name} never ended; its last lines: {lines[-5:]}")
    if not done:
        complaints.append("the machine did not come to its end")
    return parts, complaints
