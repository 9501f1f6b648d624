#!/bin/sh
# Installs a build tree to a new prefix, and builds the MPI of examples/mpi from the installed sources, headers and library alone, by
# pkg-config. MPI programs that nothing was changed in are compiled with its mpi.h. As ranks of the installed scela-run, on one node and
# on several, they must end and print as MPICH's do:
# check_mpi_layer.sh BUILD C++-COMPILER C-COMPILER MPICC
set -eu
build=$1 compiler=$2 c_compiler=$3 mpicc=$4
programs=$(cd "$(dirname "$0")/../../interop/programs/mpi" && pwd)
examples=$(cd "$(dirname "$0")/../../../examples" && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
die() { echo "check_mpi_layer: $*"; exit 1; }

cmake --install "$build" --prefix "$prefix/usr" > "$prefix/log" || { cat "$prefix/log"; exit 1; }
layer=$(find "$prefix/usr" -path '*/examples/mpi/mpi.h')
[ -n "$layer" ] || die "examples/mpi is not installed"
layer=$(dirname "$layer")
library=$(find "$prefix/usr" -name libscela.so)
PKG_CONFIG_PATH=$(dirname "$(find "$prefix/usr" -name libscela.pc)")
LD_LIBRARY_PATH=$(dirname "$library")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# The layer, with nothing of this tree in reach: its headers are its own and the installed ones.
flags=$(pkg-config --cflags libscela)
libs=$(pkg-config --libs libscela)
mkdir "$prefix/mpi" "$prefix/mpich"
for source in "$layer"/*.cpp; do
  # shellcheck disable=SC2086
  "$compiler" -std=c++20 -O2 -Wall -Wextra -Wpedantic -Werror $flags -c "$source" \
    -o "$prefix/mpi/$(basename "$source").o"
done

compile() {  # NAME SOURCE FLAGS...
  name=$1 source=$2
  shift 2
  "$c_compiler" -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror "$@" -I "$layer" -c "$source" -o "$prefix/$name.o"
  # shellcheck disable=SC2086
  "$compiler" "$prefix/$name.o" "$prefix"/mpi/*.cpp.o $libs -o "$prefix/mpi/$name"
  "$mpicc" -std=c11 -D_GNU_SOURCE -O2 "$@" "$source" -o "$prefix/mpich/$name"
}
for name in beside_mpi collectives echo_args failing init_mpi point_to_point subset; do
  compile "$name" "$programs/$name.c"
done
compile chaos_rank "$programs/chaos_rank.c" -DCHAOS_MPI
compile hello_mpi "$examples/hello_mpi.c"
compile ring_mpi "$examples/ring_mpi.c"

# Lines come in any order from several ranks. A time is not compared.
run_of() {  # MPI NAME OPTIONS... -- ARGUMENTS...: prints the output and the exit status
  which=$1 name=$2 options=
  shift 2
  while [ "$1" != -- ]; do options="$options $1"; shift; done
  shift
  status=0
  # shellcheck disable=SC2086
  "$prefix/usr/bin/scela-run" $options --env INTEROP=yes "$prefix/$which/$name" "$@" > "$prefix/out" 2> "$prefix/err" || status=$?
  sed 's/[0-9.]* s$/a time/' "$prefix/out" | sort
  echo "status $status"
}
compared=0
same() {  # NAME OPTIONS... -- ARGUMENTS...
  expected=$(run_of mpich "$@")
  found=$(run_of mpi "$@")
  if [ "$found" != "$expected" ]; then
    echo "$expected" > "$prefix/expected"
    echo "$found" > "$prefix/found"
    cat "$prefix/err"
    die "'$*' differs from MPICH: $(diff "$prefix/expected" "$prefix/found" || true)"
  fi
  compared=$((compared + $(echo "$found" | wc -l)))
}
between="--env SCELA_CHANNEL_VERBS=scela"
for name in beside_mpi collectives echo_args hello_mpi init_mpi point_to_point ring_mpi; do
  same "$name" -n 4 -- 5
  # shellcheck disable=SC2086
  same "$name" --sim-nodes 2 --ppn 2 $between -- 5
done
same collectives -n 1 --
same ring_mpi -n 1 --
same chaos_rank -n 3 -- 5 100
for ranks in 2 3 5; do
  same subset -n "$ranks" --
done
# shellcheck disable=SC2086
same subset --sim-nodes 2 --ppn 2 $between --
# shellcheck disable=SC2086
same subset --sim-nodes 3 --ppn 2 -n 5 $between --
for how in abort segfault leave exit early; do
  same failing -n 3 -- "$how"
done
[ "$compared" -gt 1400 ] || die "only $compared lines were compared"
echo "$compared lines are those of MPICH"
