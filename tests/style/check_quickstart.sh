#!/usr/bin/env bash
# Runs scripts/quickstart on a copy of the tree, as a newcomer would on a fresh clone, and looks at what it
# shows: check_quickstart.sh ROOT FOLDER. Installs nothing where the packages are there.
set -euo pipefail
root=$1 copy=$2/quickstart
rm -rf "$copy"
mkdir -p "$copy"
git -C "$root" ls-files -co --exclude-standard -z | tar -C "$root" --null --ignore-failed-read -T - -cf - | tar -C "$copy" -xf -

out=$("$copy/scripts/quickstart" 2>&1) || { echo "$out"; echo "quickstart ended with an error"; exit 1; }
hellos=$(grep -cE '^ ?[0-9]+: hello from rank [0-9]+ of 16 on ' <<< "$out" || true)
ranks=$(sed -nE 's/^ ?0?([0-9]+): hello from rank \1 of 16 on .*/\1/p' <<< "$out" | sort -nu | wc -l)
phases=$(grep -cE '^scela-run:   (prepare|tree|launch|run|leave|total) ' <<< "$out" || true)
played=$(grep -cE '^rank [01] on node [01] of 2: [0-9]+ messages there and back with rank [01]$' <<< "$out" || true)
if [ "$played" -ne 2 ] || [ "$hellos" -ne 16 ] || [ "$ranks" -ne 16 ] || [ "$phases" -ne 6 ]; then
  echo "$out" | tail -n 40
  echo "expected 2 ranks over the adapter, found $played"
  echo "expected 16 labelled ranks and 6 phases, found $hellos lines of $ranks ranks and $phases phases"
  exit 1
fi
if grep -iq 'warning' <<< "$out" || [ "$(grep -c '^Built [0-9]' <<< "$out")" -ne 1 ] || [ "$(wc -l <<< "$out")" -gt 60 ]; then
  echo "$out" | head -n 40
  echo "quickstart shows warnings, or more of its build than one line"
  exit 1
fi

# What it says at the end is so.
for said in "The programs are in build-release/bin" "cmake --install build-release"; do
  grep -q "$said" <<< "$out" || { echo "quickstart does not say '$said'"; exit 1; }
done
cmake --install "$copy/build-release" --prefix "$copy/installed" > "$copy/install.log" || { cat "$copy/install.log"; exit 1; }
hosts=$(env PATH="$copy/installed/bin:$PATH" scela-run --sim-nodes 2 --ppn 1 sh -c 'echo installed' | grep -c '^installed$')
[ "$hosts" -eq 2 ] || { echo "the installed scela-run ran $hosts ranks of 2"; exit 1; }
echo "2 ranks over the adapter; 16 ranks, each labelled with its number; 6 phases"
