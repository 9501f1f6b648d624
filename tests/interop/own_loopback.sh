#!/bin/sh
# Runs a command in a network namespace of its own. mpirun complains of strangers at its port, and beside other tests there are
# some: who calls an agent or an engine that has ended may find its port given to mpirun.
[ "$(id -u)" -eq 0 ] || exec "$@"  # users cannot make one
exec unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$@"
