#!/bin/sh
# Installs a build tree to a new prefix and builds a small program against it, once by find_package and
# once by pkg-config: check.sh BUILD COMPILER
set -eu
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix/usr" > "$prefix/log" || { cat "$prefix/log"; exit 1; }

expected="5 ranks: 0-3,7"
same() {
  [ "$2" = "$expected" ] || { echo "$1: the program printed '$2', not '$expected'"; exit 1; }
  echo "$1: $2"
}

if ! { cmake -S "$here" -B "$prefix/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/usr" &&
  cmake --build "$prefix/build"; } > "$prefix/log" 2>&1; then
  cat "$prefix/log"
  exit 1
fi
same find_package "$("$prefix/build/consumer")"

pc=$(find "$prefix/usr" -name scela.pc)
# It is found where it was installed to, which is not the prefix that was configured.
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs scela)
# shellcheck disable=SC2086
"$compiler" -std=c++20 "$here/consumer.cpp" $flags -o "$prefix/by-pkg-config"
same pkg-config "$("$prefix/by-pkg-config")"

# Whatever the tree builds or holds for users must have arrived.
for program in "$build"/bin/*; do
  [ ! -f "$program" ] || [ -x "$prefix/usr/bin/$(basename "$program")" ] ||
    { echo "not installed: $(basename "$program")"; exit 1; }
done
root=$here/../../..
for example in "$root"/examples/*.c "$root"/examples/*.cpp; do
  [ ! -f "$example" ] || find "$prefix/usr" -name "$(basename "$example")" | grep -q . ||
    { echo "not installed: $(basename "$example")"; exit 1; }
done
for program in "$prefix"/usr/bin/*; do
  [ ! -f "$program" ] || "$program" --version > /dev/null || { echo "$program does not run"; exit 1; }
done
echo "installed: $(find "$prefix/usr" -type f | wc -l) files"
