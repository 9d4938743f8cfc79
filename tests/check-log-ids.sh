#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-log-ids.sh - doc/log-ids.md lists the ids of log lines, each with its level, and no others.
set -euo pipefail
cd "${TOP:-$(dirname "$0")/..}"
export LC_ALL=C

in_sources() { # a call may be broken over lines, so all is one line here
    find base tensor graph rewrite kernels import exec messages actors -name '*.c' -exec cat {} + |
        tr '\n' ' ' | { grep -oE 'tp_log\( *[A-Z]+, *"[^"]*"' || true; } |
        sed -E 's/tp_log\( *([A-Z]+), *"([^"]*)"/\2 \1/' | sort -u
}
in_list() {
    # shellcheck disable=SC2016 # the backquotes are the table's
    sed -nE 's/^\| `([^`]*)` \| ([A-Z]+) \|.*/\1 \2/p' doc/log-ids.md | sort
}
differ=$(diff <(in_sources) <(in_list)) || {
    printf 'log-ids: the sources (<) and doc/log-ids.md (>) differ:\n%s\n' "$differ"
    exit 1
}
