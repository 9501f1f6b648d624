"""A client of PMGR, protocol 8, flat and with a tree among the ranks, and of MVAPICH 1's dialect.

Written from the protocol's description, as LLNL's pmgr_collective speaks it. For ranks that behave and for those
that do not: `send` takes any bytes.
"""
import os
import socket
import struct

OPEN, CLOSE, ABORT, BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL = range(9)
HANDSHAKE = 2238503211
DATA, GIVEN_UP = 1, 0


def ints(*values):
    return struct.pack(f"={len(values)}i", *values)


def read_all(connection, size):
    """Exactly that many bytes; EOFError if the other side ends before."""
    found = bytearray()
    while len(found) < size:
        some = connection.recv(min(size - len(found), 1 << 20))
        if not some:
            raise EOFError(f"the connection ended after {len(found)} of {size} bytes")
        found += some
    return bytes(found)


class Client:
    """A rank's connection to the process that serves the protocol."""

    def __init__(self, version=8, rank=None, greet=True):
        self.rank = int(os.environ["MPIRUN_RANK"]) if rank is None else rank
        self.size = int(os.environ["MPIRUN_NPROCS"])
        assert int(os.environ["MPIRUN_ID"]) != 0
        self.socket = self.connect()
        if greet:
            self.send(ints(version, self.rank))

    @staticmethod
    def connect():
        return socket.create_connection((os.environ["MPIRUN_HOST"], int(os.environ["MPIRUN_PORT"])))

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, size):
        return read_all(self.socket, size)

    def barrier(self):
        self.send(ints(BARRIER))
        assert self.receive(4) == ints(BARRIER)

    def bcast(self, root, size, data=b""):
        self.send(ints(BCAST, root, size) + data)
        return self.receive(size)

    def gather(self, root, data):
        """All blocks at the root, nothing elsewhere."""
        self.send(ints(GATHER, root, len(data)) + data)
        return self.receive(self.size * len(data)) if self.rank == root else b""

    def scatter(self, root, size, data=b""):
        self.send(ints(SCATTER, root, size) + data)
        return self.receive(size)

    def allgather(self, data):
        self.send(ints(ALLGATHER, len(data)) + data)
        return self.receive(self.size * len(data))

    def alltoall(self, data):
        self.send(ints(ALLTOALL, len(data) // self.size) + data)
        return self.receive(len(data))

    def close(self):
        """Says CLOSE and ends, as LLNL's client does."""
        self.send(ints(CLOSE))
        self.socket.close()

    def leave(self):
        """Says CLOSE and waits until the other side has ended too."""
        self.send(ints(CLOSE))
        assert self.socket.recv(1) == b""

    def abort(self, code, text):
        """Closes, then says why on a connection of its own and ends that at once."""
        self.close()
        with self.connect() as line:
            message = text.encode() + b"\0"
            line.sendall(ints(code, self.rank, len(message)) + message)


class Tree:
    """Connections among the ranks; the server sees a GATHER and a CLOSE."""

    def __init__(self, client):
        self.rank, self.size = client.rank, client.size
        self.word = f"{os.environ['MPIRUN_ID']}::ALL".encode() + b"\0"
        self.parent, children = self.neighbours()
        door = socket.create_server(("127.0.0.1", 0))
        address, port = door.getsockname()
        table = client.gather(0, socket.inet_aton(address) + struct.pack("=H", port))
        self.up = None
        if self.parent is not None:
            self.up = self.accept(door)
            assert self.read(self.up, 4) == ints(DATA)
            table = self.read(self.up, 6 * self.size)
        self.down = []
        for child in children:
            entry = table[6 * child:6 * child + 6]
            self.down.append(self.join(socket.inet_ntoa(entry[:4]), struct.unpack("=H", entry[4:])[0]))
            self.down[-1].sendall(ints(DATA) + table)
        door.close()
        client.close()

    read = staticmethod(read_all)

    def neighbours(self):
        """The parent (None at the root) and the children by repeated splitting of the ranks."""
        low, high, parent, children = 0, self.size - 1, None, []
        while high > low:
            middle = (high - low) // 2 + (high - low) % 2 + low
            if self.rank == low:
                children.append(middle)
            if self.rank == middle:
                parent = low
            low, high = (middle, high) if self.rank >= middle else (low, middle - 1)
        return parent, children

    def greeting(self):
        return struct.pack("=II", HANDSHAKE, len(self.word)) + self.word

    def accept(self, door):
        line, _ = door.accept()
        assert self.read(line, len(self.greeting())) == self.greeting()
        line.sendall(self.greeting())
        assert self.read(line, 4) == ints(1)
        return line

    def join(self, address, port):
        line = socket.create_connection((address, port))
        line.sendall(self.greeting())
        assert self.read(line, len(self.greeting())) == self.greeting()
        line.sendall(ints(1))
        return line

    def give(self, line, data):
        line.sendall(ints(DATA) + data)

    def take(self, line, size):
        assert self.read(line, 4) == ints(DATA), "a rank of the tree gave up"
        return self.read(line, size)

    def bcast(self, size, data=b""):
        """From rank 0 to all."""
        if self.up:
            data = self.take(self.up, size)
        for line in self.down:
            self.give(line, data)
        return data

    def gather(self, data):
        """Blocks of all to rank 0: each with its rank, since subtrees come as they come."""
        blocks = {self.rank: data}
        for line in self.down:
            count, = struct.unpack("=i", self.take(line, 4))
            for _ in range(count):
                rank, = struct.unpack("=i", self.read(line, 4))
                blocks[rank] = self.read(line, len(data))
        if self.up:
            self.give(self.up, ints(len(blocks)) + b"".join(ints(rank) + blocks[rank] for rank in blocks))
        return b"".join(blocks[rank] for rank in sorted(blocks))

    def barrier(self):
        self.gather(b"")
        self.bcast(0)


class Mvapich1(Client):
    """The three exchanges of MVAPICH 1."""

    def hosts(self, host, adapter):
        self.send(ints(4, host, adapter))
        same, *hosts = struct.unpack(f"={self.size + 1}i", self.receive(4 * (self.size + 1)))
        return same, hosts

    def addresses(self, address, pid):
        """`address`: queue pairs by rank, the own LID at the own rank, a host id last. Four lists come back."""
        self.send(ints(4 * len(address), *address, 4, pid))
        table = struct.unpack(f"={4 * self.size}i", self.receive(16 * self.size))
        return [list(table[i * self.size:(i + 1) * self.size]) for i in range(4)]

    def barrier(self):
        self.send(ints(self.rank))
        assert self.receive(4) == ints(self.rank)
        assert self.socket.recv(1) == b""
