#!/usr/bin/env python3
"""Debian's kernel, unpacked into a folder and installed nowhere: its image, and the modules of soft-RoCE.

usage: kernel.py FOLDER       does nothing if FOLDER has them
"""
import glob
import os
import re
import shutil
import subprocess
import sys

# rxe computes its checksums by the kernel's crypto interface: without crc32_generic there is no device.
MODULES = ("crc32_generic", "rdma_rxe", "ib_uverbs", "dummy")
PARTS = ("./boot/vmlinuz-*", "./lib/modules/*/modules.*", "./lib/modules/*/kernel/*")


def run(*words, **options):
    # depmod and modprobe are not on every user's path.
    places = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": places},
                          **options).stdout


def package():
    """The package that linux-image-amd64 stands for today."""
    depends = run("apt-cache", "depends", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-[0-9][^ ]*-amd64)$", depends, re.M)
    if not found:
        raise RuntimeError("apt-cache knows no kernel behind linux-image-amd64")
    return found.group(1)


def download(folder):
    """The package as a file in folder. The lists may be older than what the mirror has: once anew."""
    for attempt in ("these lists", "new lists"):
        try:
            # Not as apt's own user, who cannot write here.
            run("apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package(), cwd=folder)
            break
        except (RuntimeError, subprocess.CalledProcessError):
            if attempt == "new lists":
                raise
            run(*([] if os.getuid() == 0 else ["sudo"]), "apt-get", "update", "-q")
    return glob.glob(os.path.join(folder, "linux-image-*.deb"))[0]


def unpack(archive, folder):
    contents = subprocess.Popen(("dpkg-deb", "--fsys-tarfile", archive), stdout=subprocess.PIPE)
    run("tar", "-x", "-C", folder, "--wildcards", *PARTS, stdin=contents.stdout)
    contents.stdout.close()
    if contents.wait() != 0:
        raise RuntimeError(f"dpkg-deb cannot read {archive}")


def modules_of(folder):
    """Files of the modules in the order in which they must be loaded."""
    release = os.path.basename(glob.glob(os.path.join(folder, "lib", "modules", "*"))[0])
    run("depmod", "-b", folder, release)
    ordered = []
    for module in MODULES:
        lines = run("modprobe", "-d", folder, "-S", release, "--show-depends", module).splitlines()
        for kind, path in (line.split()[:2] for line in lines):
            if kind == "insmod" and path not in ordered:
                ordered.append(path)
    return ordered


def prepare(folder):
    """vmlinuz, modules/NUMBER-NAME.ko and the file `release`, which is written last."""
    if os.path.exists(os.path.join(folder, "release")):
        return
    shutil.rmtree(folder, ignore_errors=True)
    work = os.path.join(folder, "work")
    os.makedirs(work)
    os.makedirs(os.path.join(folder, "modules"))
    archive = download(work)
    unpack(archive, work)
    os.rename(glob.glob(os.path.join(work, "boot", "vmlinuz-*"))[0], os.path.join(folder, "vmlinuz"))
    for number, path in enumerate(modules_of(work)):
        shutil.copy(path, os.path.join(folder, "modules", f"{number:02}-{os.path.basename(path)}"))
    shutil.rmtree(work)
    with open(os.path.join(folder, "release"), "w", encoding="utf-8") as f:
        f.write(os.path.basename(archive) + "\n")


if __name__ == "__main__":
    prepare(sys.argv[1])
