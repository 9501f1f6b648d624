"""System calls that Python 3.11 lacks: namespaces, mounts, process flags and inotify, by ctypes.

Every function raises OSError with the call's name. The C library is loaded once, before any fork, and called
with the interpreter's lock held: safe between fork and exec.
"""
import ctypes
import os
import platform

NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x00020000, 0x04000000, 0x08000000, 0x20000000, 0x40000000
CLONE_PARENT = 0x00008000
MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x8, 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
_IN_CLOSE_WRITE = 0x8
_SIGCHLD = 17
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
_libc = ctypes.PyDLL(None, use_errno=True)


def _call(name, *arguments):
    result = getattr(_libc, name)(*arguments)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _long(value):
    return ctypes.c_long(value)


def clone(flags):
    """fork with namespaces or another parent: 0 in the child, its process ID in the caller's namespace outside."""
    return _call("syscall", _long(_SYS_CLONE), _long(flags | _SIGCHLD), _long(0), _long(0), _long(0), _long(0))


def setns(pidfd, flags):
    """Enters the namespaces of the process; the one of process IDs counts from the next child on."""
    _call("setns", pidfd, flags)


def mount(source, target, kind=None, flags=0, data=None):
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, data)]
    try:
        _call("mount", words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}: {target}") from None


def bind(source, target, flags=0):
    """Shows source at target; flags, such as MS_NOEXEC, need a second call."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if flags:
        mount(None, target, flags=MS_BIND | MS_REMOUNT | flags)


def umount(target):
    _call("umount2", os.fsencode(target), MNT_DETACH)


def set_host_name(name):
    _call("sethostname", name.encode(), ctypes.c_size_t(len(name.encode())))


def die_with_parent():
    """SIGKILL to the caller when the thread that started it ends."""
    _call("prctl", _PR_SET_PDEATHSIG, _long(9), _long(0), _long(0), _long(0))


def adopt_orphans():
    _call("prctl", _PR_SET_CHILD_SUBREAPER, _long(1), _long(0), _long(0), _long(0))


def set_process_name(name):
    _call("prctl", _PR_SET_NAME, ctypes.c_char_p(name.encode()), _long(0), _long(0), _long(0))


def watch_closed_writes(folder):
    """An inotify descriptor that becomes readable when a file in the folder was written and closed."""
    fd = _call("inotify_init1", os.O_CLOEXEC | os.O_NONBLOCK)
    _call("inotify_add_watch", fd, os.fsencode(folder), ctypes.c_uint32(_IN_CLOSE_WRITE))
    return fd
