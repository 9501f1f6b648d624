"""A program of mpi4py: sums the ranks of all; "raise": rank 1 raises an exception while the others wait for the sum."""
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
sys.stdout.write(f"hello from rank {world.rank} of {world.size}\n")  # in one piece, which print() does not promise
sys.stdout.flush()
world.Barrier()
if sys.argv[1:] == ["raise"] and world.rank == 1:
    raise ValueError("no more of this")
total = world.allreduce(world.rank)
if world.rank == 0:
    sys.stdout.write(f"mpi4py: {world.size} ranks, sum {total}\n")
