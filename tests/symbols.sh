#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbols.sh - the library exports what the headers declare, and nothing else; the tool has no
# name that a static library has, too.
set -euo pipefail
export LC_ALL=C
library=.libs/libtroupe.so
[ -e "$library" ] || { echo "symbols: no shared library was built"; exit 77; }

exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
declared=$(cat "$TOP"/include/troupe/*.h | tr '\n' ' ' | grep -oE 'TROUPE_EXPORT[^;{(]*\(' |
    grep -oE 'troupe_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u)
bad=0
while read -r name; do
    echo "symbols: $name is exported, but no header declares it"
    bad=1
done < <(comm -23 <(echo "$exported") <(echo "$declared") | grep .)
while read -r name; do
    echo "symbols: $name is declared, but not exported"
    bad=1
done < <(comm -13 <(echo "$exported") <(echo "$declared") | grep .)
names() { nm -g --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u; }
while read -r name; do
    echo "symbols: $name is in the tool and in the library: they do not link statically"
    bad=1
done < <(comm -12 <(names tools/*.o) <(names .libs/libtroupe_core.a))
[ "${SANITIZE:-no}" = no ] || exit $bad

# A library neither ends the program nor writes to its standard output.
if nm -D --undefined-only "$library" | grep -wE '(exit|_exit|printf|puts|putchar)(@.*)?$'; then
    echo 'symbols: a library has no business with these'
    bad=1
fi
if readelf -dW "$library" | grep -E 'TEXTREL|RPATH|RUNPATH'; then
    echo 'symbols: the library is not relocatable'
    bad=1
fi
exit $bad
