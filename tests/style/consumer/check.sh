#!/bin/sh
# Installs a build tree to a new prefix, builds small programs against it, by find_package and by pkg-config, and runs them. The
# programs, manual pages and examples of the tree must have arrived, and libscela.pc must be the only file for pkg-config:
# check.sh BUILD C++-COMPILER
set -eu
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix/usr" > "$prefix/log" || { cat "$prefix/log"; exit 1; }

expected="rank 0 of 1"
same() {
  [ "$2" = "$expected" ] || { echo "$1: the program printed '$2', not '$expected'"; exit 1; }
  echo "$1: $2"
}

if ! { cmake -S "$here" -B "$prefix/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/usr" -DCMAKE_CXX_COMPILER="$compiler" &&
  cmake --build "$prefix/build"; } > "$prefix/log" 2>&1; then
  cat "$prefix/log"
  exit 1
fi
same "find_package, C++" "$("$prefix/build/consumer")"
same "find_package, C" "$("$prefix/build/consumer_of_c")"

pc=$(cd "$prefix/usr" && find . -name '*.pc')
[ "$(basename "$pc")" = libscela.pc ] || { echo "the files for pkg-config are '$pc', not libscela.pc alone"; exit 1; }
pc=$prefix/usr/$pc
# It is found where it was installed to, which is not the prefix that was configured.
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs libscela)
# shellcheck disable=SC2086
"$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Werror "$here/consumer.cpp" $flags -o "$prefix/by-pkg-config"
library=$(find "$prefix/usr" -name libscela.so)
same pkg-config "$(LD_LIBRARY_PATH=$(dirname "$library") "$prefix/by-pkg-config")"
for pmi in libpmi.so.0 libpmi2.so.0; do
  [ -f "$(dirname "$library")/scela/$pmi" ] || { echo "there is no scela/$pmi beside libscela.so"; exit 1; }
done

# Whatever the tree builds or holds for users must have arrived.
arrived() {
  find "$prefix/usr" -name "$(basename "$1")" | grep -q . || { echo "not installed: $(basename "$1")"; exit 1; }
}
for program in "$build"/bin/*; do
  if [ -x "$program" ]; then
    [ ! -f "$program" ] || [ -x "$prefix/usr/bin/$(basename "$program")" ] ||
      { echo "not installed: $(basename "$program")"; exit 1; }
  else
    arrived "$program"  # what programs read, which is not installed beside them
  fi
done
root=$here/../../..
for file in "$root"/examples/*.c "$root"/examples/*.cpp "$root"/examples/*/* "$root"/man/*.in; do
  [ ! -f "$file" ] || arrived "${file%.in}"
done
for program in "$prefix"/usr/bin/*; do
  [ ! -f "$program" ] || "$program" --version > /dev/null || { echo "$program does not run"; exit 1; }
done
echo "installed: $(find "$prefix/usr" -type f | wc -l) files"
