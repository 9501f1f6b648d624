#!/bin/sh
# Installs a build tree to a new prefix. The headers there must be those of public_headers.txt and no others, and no archive may be
# there. Each header must compile as the only include, in the languages that the list names:
# check_public_headers.sh BUILD C++-COMPILER C-COMPILER
set -eu
build=$1 cxx=$2 cc=$3
list=$(cd "$(dirname "$0")" && pwd)/public_headers.txt
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix/usr" > "$prefix/log" || { cat "$prefix/log"; exit 1; }

sed -n 's,^\([^# ]*\) .*,include/scela/\1,p' "$list" | sort > "$prefix/listed"
# The files below share/scela/perf are sources, which scela-perf compiles, and the examples are sources for users.
(cd "$prefix/usr" && find . ! -type d ! -path './share/scela/perf/*' ! -path '*/scela/examples/*' \( -path './include/*' -o -name '*.h' -o -name '*.a' \)) |
  sed 's,^\./,,' | sort > "$prefix/installed"
if ! diff "$prefix/listed" "$prefix/installed" > "$prefix/difference"; then
  sed -n -e 's/^< /not installed, though public_headers.txt lists it: /p' \
    -e 's/^> /installed, though public_headers.txt does not list it: /p' "$prefix/difference"
  exit 1
fi

alone() {
  echo "#include <scela/$1>" |
    "$2" -x "$3" -std="$4" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$prefix/usr/include" - ||
    { echo "scela/$1 does not compile alone as $4"; exit 1; }
}
compiled=0
while read -r header languages; do
  for language in $languages; do
    case $language in
      c++) alone "$header" "$cxx" c++ c++20 ;;
      c) alone "$header" "$cc" c c11 ;;
      *) echo "public_headers.txt: '$language' of $header is neither c nor c++"; exit 1 ;;
    esac
    compiled=$((compiled + 1))
  done
done <<EOT
$(grep -v '^#' "$list")
EOT
echo "$(wc -l < "$prefix/listed") public headers; $compiled compilations of one header alone"
