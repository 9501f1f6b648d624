"""A root that holds a few Debian packages of this machine and what these depend on, and nothing else.

A test installs packages there by dpkg and runs them by chroot: what they need and do not name is missing there.
"""
import glob
import os
import re
import shutil
import subprocess

MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
FILES = ("etc/passwd", "etc/group", "etc/hosts", "etc/nsswitch.conf", "var/lib/dpkg/triggers/ldconfig")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Installed:
    """The packages of this machine."""

    def __init__(self):
        self.depends, self.providers, self.essential = {}, {}, []
        shown = output("dpkg-query", "-W", "-f", r"${db:Status-Status}\t${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n")
        for line in shown.splitlines():
            status, package, essential, depends, provides = line.split("\t")
            if status != "installed":
                continue
            self.depends[package] = depends
            if essential == "yes":
                self.essential.append(package)
            for name in names(provides):
                self.providers.setdefault(name[0], []).append(package)

    def closure(self, depends):
        """The essential packages, and those that the field `depends` names, with what they depend on."""
        found, waiting = set(), [", ".join(self.essential), depends]
        while waiting:
            for alternatives in names(waiting.pop()):
                known = [each for name in alternatives for each in ([name] if name in self.depends else self.providers.get(name, []))]
                if known and not found.intersection(known):
                    found.add(known[0])
                    waiting.append(self.depends[known[0]])
        return sorted(found)


def names(field):
    """The names of a dependency field: for each dependency, its alternatives."""
    return [[re.match(r"[a-z0-9.+-]+", each.strip())[0] for each in dependency.split("|")]
            for dependency in field.split(",") if dependency.strip()]


def make(root, depends):
    """Fills the folder; the packages that it has."""
    packages = Installed().closure(depends)
    for folder in ("usr", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc", "dev", "proc", "sys", "tmp", "run", "root"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    # The folders that Debian has merged into /usr are links of no package.
    for folder in MERGED:
        if os.path.islink(f"/{folder}"):
            os.makedirs(f"{root}/usr/{folder}", exist_ok=True)
            os.symlink(f"usr/{folder}", f"{root}/{folder}")
    paths = [path for path in output("dpkg-query", "-L", *packages).splitlines()
             if os.path.lexists(path) and path.startswith("/") and path.lstrip("/") not in (*MERGED, ".") and not path.startswith("/usr/share/doc/")]
    with open(f"{root}/paths", "w", encoding="utf-8") as file:
        file.writelines(path.lstrip("/") + "\n" for path in dict.fromkeys(paths) if path != "/.")
    subprocess.run(f"tar -C / --no-recursion -T '{root}/paths' -cf - | tar -C '{root}' --keep-directory-symlink -xf -", shell=True, check=True)
    os.remove(f"{root}/paths")
    for path in FILES:
        shutil.copy(f"/{path}", f"{root}/{path}")
    for package in packages:
        for path in glob.glob(f"/var/lib/dpkg/info/{package}.list") + glob.glob(f"/var/lib/dpkg/info/{package}:*.list"):
            shutil.copy(path, f"{root}/var/lib/dpkg/info/")
    for name, text in (("status", output("dpkg-query", "-s", *packages)), ("available", "")):
        with open(f"{root}/var/lib/dpkg/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    return packages
