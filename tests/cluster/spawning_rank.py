"""A rank that spawns, for the tests beside it. PMI-1 on PMI_FD.

The first rank takes arguments "RANKS HOSTS WORD", one spawn each, and shows the answer of each as "spawn N RC MSG". The
ranks that it spawns exchange pairs, show "up N NAME" and do WORD: "end", or "stay" until they are ended. It goes on when
all have shown that.
"""
import os
import socket
import sys
import time

_agent = socket.socket(fileno=int(os.environ["PMI_FD"])).makefile("rwb", buffering=0)


def hear():
    line = b""
    while not line.endswith(b"\n"):
        line += _agent.read(1)
    return dict(word.partition("=")[::2] for word in line.decode().split())


def ask(*lines):
    _agent.write("".join(line + "\n" for line in lines).encode())
    return hear()


def show(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def spawn(number, ranks, hosts, word):
    answer = ask("mcmd=spawn", f"nprocs={ranks}", f"execname={sys.executable}", "totspawns=1", "spawnssofar=1", "argcnt=3",
                 f"arg1={os.path.abspath(__file__)}", f"arg2={number}", f"arg3={word}", "preput_num=0", "info_num=1",
                 "info_key_0=host", f"info_val_0={hosts}", "endcmd")
    while answer["rc"] == "0" and ask(f"cmd=lookup_name service=up{number}")["rc"] != "0":
        time.sleep(0.01)
    show("spawn", number, answer["rc"], answer.get("msg", ""))


def work(number, word):
    space, rank, size = ask("cmd=get_my_kvsname")["kvsname"], int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
    assert ask(f"cmd=put kvsname={space} key=k{rank} value=v{rank}")["rc"] == "0"
    assert ask("cmd=barrier_in")["rc"] == "0"
    for other in range(size):
        assert ask(f"cmd=get kvsname={space} key=k{other}")["value"] == f"v{other}"
    show("up", number, os.uname().nodename)
    assert ask("cmd=barrier_in")["rc"] == "0"
    if rank == 0:
        assert ask(f"cmd=publish_name service=up{number} port=here")["rc"] == "0"
    if word == "stay":
        time.sleep(1000)


assert ask("cmd=init pmi_version=1 pmi_subversion=1")["rc"] == "0"
if os.environ.get("PMI_SPAWNED") == "1":
    work(*sys.argv[1:])
else:
    for i, argument in enumerate(sys.argv[1:]):
        spawn(i, *argument.split())
assert ask("cmd=finalize")["rc"] == "0"
