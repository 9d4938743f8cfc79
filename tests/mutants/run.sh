#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh - builds in one fault after the other and sees that a suite catches it.
#
# Only the suites that are to catch it are linked again. A test that hangs has caught the fault, too.
set -euo pipefail
[ "${SANITIZE:-no}" = no ] || { echo 'mutants: one build of them is enough'; exit 77; }
# shellcheck disable=SC2153 # make sets SUITES
[ -e "${SUITES%% *}" ] || { echo 'mutants: the suites were not built'; exit 77; }
table=$TOP/tests/mutants/mutants.tsv
work=mutants.d
rm -rf "$work"
mkdir "$work"

# shellcheck source=tests/mutants/build.sh
. "$TOP/tests/mutants/build.sh"

# caught_by PROGRAM CASE - runs it, or only that case of it. 0 when a test fails, or none ends for 20 seconds; why
# stands in $verdict. The suite says through a pipe what became of each test, and need not go on after that.
caught_by() {
    local suite caught=1 status=0 only=()
    [ -z "$2" ] || only=("CK_RUN_CASE=$2")
    rm -f "$1.tap"
    mkfifo "$1.tap"
    env CK_FORK=yes "${only[@]}" CK_TAP_LOG_FILE_NAME="$1.tap" timeout 200 "$1" >"$1.log" 2>&1 </dev/null &
    suite=$!
    while read -r -t 20 verdict || { status=$?; false; }; do
        [[ $verdict != 'not ok'* ]] || { caught=0 && break; }
    done <"$1.tap"
    [ $status -le 128 ] || { verdict='a test that hangs' && caught=0; }
    kill $suite 2>/dev/null
    wait $suite || true
    return $caught
}

bad=0
while IFS=$'\t' read -r number fault suites; do
    case $number in '#'* | '') continue ;; esac
    mapfile -t files < <(files_with "$(fault_pattern "$number")")
    if [ ${#files[@]} = 0 ]; then
        echo "mutants: no file has fault $number, \"$fault\""
        bad=1
        continue
    fi
    objects=()
    for file in "${files[@]}"; do
        object=$work/$number-${file//\//-}.o
        compile "$file" "$object" "-DTP_MUTANT=$number"
        objects+=("$object")
    done
    by=
    for suite in $suites; do
        program=$work/$number-${suite##*/}
        program=${program%%:*}
        link_anew "${suite%%:*}" "$program" "${objects[@]}" ||
            { echo "mutants: fault $number does not link with $suite"; exit 1; }
        case $suite in *:*) part=${suite#*:} ;; *) part= ;; esac
        caught_by "$program" "$part" || continue
        by=$suite
        break
    done
    if [ -n "$by" ]; then
        echo "fault $number, \"$fault\", is caught by $by: ${verdict##*/}"
    else
        echo "mutants: fault $number, \"$fault\", is caught by none of $suites"
        bad=1
    fi
done <"$table"
[ $bad = 1 ] || rm -rf "$work"
exit $bad
