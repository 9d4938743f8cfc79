#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# headers.sh - every public header compiles alone, as C11 and as C++17, without a warning.
set -euo pipefail
flags=(-pedantic -Wall -Wextra -Werror -fsyntax-only "-I$TOP/include")
cxx=${CXX:-}
[ -n "$cxx" ] || echo 'headers: no C++ compiler here; checked as C only'
bad=0
for header in "$TOP"/include/troupe/*.h; do
    name=troupe/${header##*/}
    # shellcheck disable=SC2086 # $CC may have options
    $CC -std=c11 "${flags[@]}" -x c - <<<"#include <$name>" || { echo "headers: $name as C11"; bad=1; }
    [ -z "$cxx" ] || $cxx -std=c++17 "${flags[@]}" -x c++ - <<<"#include <$name>" ||
        { echo "headers: $name as C++17"; bad=1; }
done
exit $bad
