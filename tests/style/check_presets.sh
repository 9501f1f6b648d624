#!/bin/sh
# Every preset of CMakePresets.json configures, in a folder that is thrown away: check_presets.sh ROOT
set -eu
cd "$1"
trees=$(mktemp -d)
trap 'rm -rf "$trees"' EXIT
for preset in release debug asan tsan; do
  cmake --preset "$preset" -B "$trees/$preset" > "$trees/log" 2>&1 || {
    cat "$trees/log"
    echo "preset $preset does not configure"
    exit 1
  }
  echo "$preset configures"
done
