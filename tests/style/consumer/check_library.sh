#!/bin/sh
# Installs a build tree to a new prefix, builds the examples of channel and communicator against the installed library,
# once by find_package and once by pkg-config, and runs them as ranks of the installed scela-run, on one node and on two:
# check_library.sh BUILD COMPILER
set -eu
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../../examples
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
die() { echo "check_library: $*"; exit 1; }

cmake --install "$build" --prefix "$prefix/usr" > "$prefix/log" || { cat "$prefix/log"; exit 1; }
library=$(find "$prefix/usr" -name libscela.so)
[ -n "$library" ] || die "libscela.so is not installed"

# What programs are bound to, and what they can reach: what the installed headers declare, and nothing else.
soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
case $soname in
  libscela.so.[0-9]*) [ -f "$(dirname "$library")/$soname" ] || die "there is no $soname" ;;
  *) die "the library is called '$soname' to those that link it" ;;
esac
public='scela::(Channel|ProbedMessage|Request|Status|Communicator|Messages|Collective)::|scela::(wait_any|wait_all)\('
public="$public|scela::name_of\\(scela::Code\\)|scela_[a-z_]+\$"
exported=$(nm -DC --defined-only "$library" | cut -c20-)
others=$(echo "$exported" | grep -vE "^($public)" || true)
[ -z "$others" ] || die "exported, though no header declares it: $others"
inner=$(echo "$exported" | grep -E '::(State|Inside)::' || true)
[ -z "$inner" ] || die "exported, though it is the library's own: $inner"
[ "$(echo "$exported" | wc -l)" -gt 70 ] || die "of the library are exported only: $exported"
needed=$(readelf -d "$library" | grep -E 'NEEDED.*(ibverbs|pmi|scela)' || true)
[ -z "$needed" ] || die "it is to be loaded where it is needed, not linked: $needed"

if ! { cmake -S "$here/library" -B "$prefix/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/usr" -DSOURCES="$examples" \
  -DCMAKE_CXX_COMPILER="$compiler" && cmake --build "$prefix/build"; } > "$prefix/log" 2>&1; then
  cat "$prefix/log"
  exit 1
fi
pc=$(find "$prefix/usr" -name libscela.pc)
# It is found where it was installed to, which is not the prefix that was configured.
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs libscela)
mkdir "$prefix/by-pkg-config"
for program in ring_channel radix_sort; do
  # shellcheck disable=SC2086
  "$compiler" -std=c++20 -Wall -Wextra -Werror "$examples/$program.cpp" $flags -o "$prefix/by-pkg-config/$program"
done

same() {
  [ "$3" = "$2" ] || die "$1: the ranks said '$3', not '$2'"
  echo "$1: $2"
}
# Rank 0 says that keys of all ranks were sorted, and checked, by both ways to do it.
sorts() {
  echo "$3" | grep -qE "^radix sort of .* on 4 ranks, $2 nodes, polled: plain .* ms, overlapped .* ms, .*; sorted\$" ||
    die "$1: the ranks said '$3'"
  echo "$1: $3"
}
sort_keys="radix_sort --keys 3000 --rounds 1"
run=$prefix/usr/bin/scela-run
same find_package "6 went round 4 ranks on 1 nodes" "$("$run" -n 4 "$prefix/build/ring_channel")"
# shellcheck disable=SC2086
sorts find_package 1 "$("$run" -n 4 "$prefix/build/"$sort_keys)"
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH
same pkg-config "6 went round 4 ranks on 1 nodes" "$("$run" -n 4 "$prefix/by-pkg-config/ring_channel")"
same "two nodes" "6 went round 4 ranks on 2 nodes" \
  "$("$run" --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=scela "$prefix/by-pkg-config/ring_channel")"
# shellcheck disable=SC2086
sorts "two nodes" 2 "$("$run" --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=scela "$prefix/by-pkg-config/"$sort_keys)"
