#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [MODEL] - Spin looks at the models, finds each fault that is built in, and the code follows what it found.
#
# `make check-models` runs it; tests/models/faults.tsv says what is looked at, doc/decisions/0016 why.
set -euo pipefail
export LC_ALL=C
command -v spin >/dev/null || { echo 'models: Spin is not installed (Debian: spin)'; exit 77; }
[ "${SANITIZE:-no}" = no ] || { echo 'models: one build of them is enough'; exit 77; }
[ -e tests/models/replay ] || { echo 'models: the suites were not built'; exit 77; }
only=${1:-}
here=$TOP/tests/models
work=models.d
rm -rf "$work"
mkdir "$work"
# shellcheck source=tests/mutants/build.sh
. "$TOP/tests/mutants/build.sh"
bad=0
complain() { echo "models: $*"; bad=1; }

# checker MODEL OUT OPTION... - the program that searches; `--` before options of its compilation.
checker() {
    local out=$2 model=$1 defines=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do defines+=("$1") && shift; done
    mkdir -p "$out"
    (cd "$out" && spin -a "${defines[@]}" "$here/$model.pml" >spin.log 2>&1 &&
        gcc -w -O2 -DSAFETY -DMEMLIM=1000 "${@:2}" -o pan pan.c) || { cat "$out/spin.log"; return 1; }
}

# figures LOG - states, time and memory of a search.
figures() {
    awk '/states, stored/ { s = $1 } /total actual memory/ { m = $1 } /elapsed time/ { t = $4 }
        END { printf "%d states, %.1f s, %.0f MB", s, t, m }' "$1"
}

# schedule MODEL - what `spin` printed on its way, and the points that it has steps for.
schedule() {
    echo WATCH "$(grep -o 'STEP([a-z_]*)' "$here/$1.pml" | sed 's/STEP(//; s/)//; /^point$/d' | sort -u | tr '\n' ' ')"
    grep -E '^ *(STEP|SET) '
}

# program NUMBER - the replay with all points, and that fault; prints its name.
program() {
    local file object objects=() known out=$work/replay-$1
    [ ! -e "$out" ] || { echo "$out"; return; }
    known=" $(files_with "$(fault_pattern "$1")" | tr '\n' ' ')"
    while IFS= read -r file; do
        object=$work/0-${file//\//-}.o
        if [ "$1" != 0 ] && [[ $known = *" $file "* ]]; then object=$work/$1-${file//\//-}.o; fi
        [ -e "$object" ] || compile "$file" "$object" "-DTP_PACED -DTP_MUTANT=$1"
        objects+=("$object")
    done < <(files_with 'TP_PACE\(|TP_FAULT\(' | grep -v '^tests/')
    link_anew tests/models/replay "$out" "${objects[@]}"
    echo "$out"
}

# play NUMBER MODEL SCHEDULE - replays it, status as the scene's; what it says stands in $3.log.
play() {
    local replay status=0
    replay=$(program "$1")
    timeout 60 "$replay" "$2" "$3" >"$3.log" 2>&1 </dev/null || status=$?
    return $status
}

followed() { grep -qE '^followed ([0-9]+) of \1 steps' "$1.log"; }
said() { grep -vE '^followed' "$1.log" | tail -n 2 | tr '\n' ' ' || true; }

# sound MODEL WALKS OPTION... - nothing is to be found; the code follows the model's random walks.
sound() {
    local model=$1 walks=$2 dir=$work/$1-0-${*:3} seed
    shift 2
    dir=${dir// /}
    checker "$model" "$dir" "$@" -- -DCOLLAPSE || { complain "$model does not compile"; return; }
    (cd "$dir" && ./pan -m1000000 >log 2>&1) || true
    if ! grep -q 'errors: 0' "$dir/log" || grep -qE 'max search depth too small|out of memory' "$dir/log"; then
        complain "$model $*: $(grep -E '^pan' "$dir/log" | head -n 1)"
        return
    fi
    for ((seed = 1; seed <= walks; seed++)); do
        (cd "$dir" && spin -T -n$seed "$@" "$here/$model.pml") | schedule "$model" >"$dir/walk-$seed"
        if ! play 0 "$model" "$dir/walk-$seed" || ! followed "$dir/walk-$seed"; then
            complain "$model $*: the code does not follow walk $seed: $(cat "$dir/walk-$seed.log")"
            return
        fi
    done
    echo "$model $*: holds, $(figures "$dir/log"); the code follows $walks random walks"
}

# faulty MODEL NUMBER WHAT OPTION... - it is to be found, and to come true in the code that has it.
faulty() {
    local model=$1 number=$2 what=$3 dir=$work/$1-$2 trail status=0
    shift 3
    trail=$dir/trail
    checker "$model" "$dir" "-DFAULT=$number" "$@" -- -DBFS || { complain "$model does not compile"; return; }
    (cd "$dir" && ./pan -m1000000 >log 2>&1) || true
    if [ ! -e "$dir/$model.pml.trail" ]; then
        complain "$model does not find fault $number, \"$what\""
        return
    fi
    (cd "$dir" && spin -T -t -k "$model.pml.trail" "-DFAULT=$number" "$@" "$here/$model.pml") |
        schedule "$model" >"$trail"
    play 0 "$model" "$trail" || complain "fault $number: the code without it fails, too: $(said "$trail")"
    play "$number" "$model" "$trail" || status=$?
    if [ $status = 0 ]; then
        complain "fault $number, \"$what\": the code that has it does not fail: $(cat "$trail.log")"
    elif ! followed "$trail"; then
        complain "fault $number, \"$what\": the code does not follow: $(cat "$trail.log")"
    else
        echo "$model finds fault $number, \"$what\"; $(grep -c STEP "$trail") steps, which the code follows: $(said "$trail")"
    fi
}

while IFS=$'\t' read -r model fault options walks what; do
    case $model in '#'* | '') continue ;; esac
    [ -z "$only" ] || [ "$only" = "$model" ] || continue
    read -ra options <<<"$options"
    if [ "$fault" = 0 ]; then
        sound "$model" "$walks" "${options[@]}"
    else
        faulty "$model" "$fault" "$what" "${options[@]}"
    fi
done < <(sed 's/\t\t/\t \t/g' "$here/faults.tsv")
[ $bad = 1 ] || rm -rf "$work"
exit $bad
