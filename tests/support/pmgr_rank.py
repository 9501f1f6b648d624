"""One rank of a PMGR job: pmgr_rank.py WHAT ARGUMENTS... What it finds wrong ends it with a trace and status 1."""
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import pmgr  # noqa: E402 (the path above)
from pmgr import ints  # noqa: E402

RANK = int(os.environ["MPIRUN_RANK"])
SIZE = int(os.environ["MPIRUN_NPROCS"])


def tell(*words):
    with open(os.environ["E2E_READY"], "w", encoding="ascii") as ready:
        print(*words, file=ready)


def block(source, destination, size):
    """What one rank gives another."""
    return bytes((source * 31 + destination * 7 + i) % 251 for i in range(min(size, 251))) * (size // 251 + 1)


def part(source, destination, size):
    return block(source, destination, size)[:size]


def check_round(client, root, size):
    everybody = range(SIZE)
    is_root = RANK == root
    client.barrier()
    assert client.bcast(root, size, part(root, 0, size) if is_root else b"") == part(root, 0, size)
    gathered = client.gather(root, part(RANK, root, size))
    assert gathered == (b"".join(part(r, root, size) for r in everybody) if is_root else b"")
    row = b"".join(part(root, r, size) for r in everybody) if is_root else b""
    assert client.scatter(root, size, row) == part(root, RANK, size)
    assert client.allgather(part(RANK, 0, size)) == b"".join(part(r, 0, size) for r in everybody)
    told = client.alltoall(b"".join(part(RANK, r, size) for r in everybody))
    assert told == b"".join(part(r, RANK, size) for r in everybody)


def check_all():
    """Every operation, with several roots and sizes, against what is expected."""
    client = pmgr.Client()
    for root in sorted({0, SIZE // 2, SIZE - 1}):
        for size in (1, 6, 70000):
            check_round(client, root, size)
    client.leave()
    print("fine")


def check_tree():
    """What LLNL's client does by default: a tree of the ranks' own, then operations over that."""
    tree = pmgr.Tree(pmgr.Client())
    tree.barrier()
    assert tree.bcast(5, b"hello" if RANK == 0 else b"") == b"hello"
    gathered = tree.gather(part(RANK, 0, 100))
    assert RANK > 0 or gathered == b"".join(part(r, 0, 100) for r in range(SIZE))
    tree.barrier()
    print("fine")


def check_mvapich1():
    client = pmgr.Mvapich1()
    same, hosts = client.hosts(1000 + RANK, 3)
    assert same == 1 and hosts == [1000 + r for r in range(SIZE)]
    address = [100 * RANK + r for r in range(SIZE)] + [2000 + RANK]
    address[RANK] = 7 + RANK
    lids, pairs, hosts, pids = client.addresses(address, 5000 + RANK)
    assert lids == [7 + r for r in range(SIZE)]
    assert pairs == [-1 if r == RANK else 100 * r + RANK for r in range(SIZE)]
    assert hosts == [2000 + r for r in range(SIZE)]
    assert pids == [5000 + r for r in range(SIZE)]
    client.barrier()
    print("fine")


def largest(size):
    """One operation with as many bytes as are served."""
    client = pmgr.Client()
    size = int(size)
    assert client.bcast(0, size, b"x" * size if RANK == 0 else b"") == b"x" * size
    client.leave()
    print("fine")


def wait_for_the_end():
    while True:
        signal.pause()


def die(when):
    """Rank 1 is killed in the midst of a GATHER, or with a BARRIER before it."""
    client = pmgr.Client()
    client.barrier()
    if RANK == 1:
        if when == "half":
            client.send(ints(pmgr.GATHER, 0, 1000) + b"x" * 500)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        client.gather(0, b"x" * 1000)
        client.barrier()
    except EOFError:
        tell("ended", RANK)  # only who waits for others lives to see it
        sys.exit(0)
    wait_for_the_end()


def abort(how, code):
    """Rank 1 gives the job up while the others are in a barrier."""
    client = pmgr.Client()
    client.barrier()
    if RANK == 1:
        if how == "stream":
            client.send(ints(pmgr.BARRIER, pmgr.ABORT, int(code)))
        else:
            client.abort(int(code), "no more sorry")
        if how == "exit":
            sys.exit(3)
        wait_for_the_end()
    client.send(ints(pmgr.BARRIER))
    wait_for_the_end()


def disagree(about):
    """Rank 1 asks for something else than the others."""
    client = pmgr.Client()
    client.barrier()
    odd = RANK == 1
    client.send({
        "kind": ints(pmgr.BARRIER) if odd else ints(pmgr.ALLGATHER, 1) + b"x",
        "root": ints(pmgr.BCAST, 1 if odd else 0, 1) + b"x",
        "size": ints(pmgr.ALLGATHER, 2 if odd else 1) + (b"xx" if odd else b"x"),
        "close": ints(pmgr.CLOSE if odd else pmgr.BARRIER),
    }[about])
    wait_for_the_end()


def misbehave(how):
    """Rank 1 does what no client may."""
    client = pmgr.Client()
    client.barrier()
    if RANK == 1:
        if how == "opcode":
            client.send(ints(77))
        elif how == "huge":
            client.send(ints(pmgr.ALLGATHER, 2 ** 31 - 1))
        elif how == "negative":
            client.send(ints(pmgr.GATHER, 0, -1))
        elif how == "twice":
            again = pmgr.Client()
            again.socket.shutdown(socket.SHUT_WR)  # so that it is no abort
        elif how in ("another", "number"):
            again = pmgr.Client(rank=0 if how == "another" else SIZE)
        elif how == "leave":
            client.socket.close()
    else:
        client.send(ints(pmgr.BARRIER))
    wait_for_the_end()


def serve_visitors():
    """Tells where the port is, and goes on when the test has played the visitor."""
    tell(RANK, os.environ["MPIRUN_PORT"])
    with open(f"{os.environ['GO']}.{RANK}", "rb"):
        pass
    check_all()


def flood():
    """Sends operations without waiting for answers, until it is stopped from sending more."""
    client = pmgr.Client()
    if RANK == 1:
        client.socket.setblocking(False)
        sent = 0
        try:
            while sent < 1 << 30:
                sent += client.socket.send(ints(pmgr.BARRIER) * 10000)
        except BlockingIOError:
            pass
        tell("stopped", sent)
    wait_for_the_end()


if __name__ == "__main__":
    {"all": check_all, "tree": check_tree, "mvapich1": check_mvapich1, "largest": largest, "die": die, "abort": abort,
     "disagree": disagree, "misbehave": misbehave, "visitors": serve_visitors, "flood": flood}[sys.argv[1]](*sys.argv[2:])
