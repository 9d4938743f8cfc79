#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh - builds in one fault after the other and sees that a suite catches it.
#
# Only the files that know the fault are compiled again, and only the suites that are to catch it are
# linked again: their objects are there. A test that hangs has caught the fault, too.
set -euo pipefail
[ "${SANITIZE:-no}" = no ] || { echo 'mutants: one build of them is enough'; exit 77; }
# shellcheck disable=SC2153 # make sets SUITES
[ -e "${SUITES%% *}" ] || { echo 'mutants: the suites were not built'; exit 77; }
table=$TOP/tests/mutants/mutants.tsv
work=mutants.d
rm -rf "$work"
mkdir "$work"

# compile NUMBER FILE OBJECT - COMPILE is make's own command, with its quotes.
compile() { eval "$COMPILE -fPIC -UTP_MUTANT -DTP_MUTANT=$1 -c -o '$3' '$2'"; }

# files_with NUMBER - the sources that know the fault, or include a header that does.
files_with() {
    local file
    (cd "$TOP" && grep -lrE --include='*.[ch]' "TP_MUTANT [!=]= $1\b" \
        base tensor graph rewrite kernels exec messages actors) |
        while IFS= read -r file; do
            case $file in
            *.c) echo "$file" ;;
            *) grep -lrF --include='*.Plo' "/$file" . | sed 's|^\./||; s|\.deps/||; s|\.Plo$|.c|' ;;
            esac
        done | sort -u
}

# objects_of SUITE - what make links it of.
objects_of() {
    sed -e ':a' -e '/\\$/N; s/\\\n//; ta' Makefile |
        sed -n "s/^\(am_\)\{0,1\}${1//[!a-z0-9]/_}_OBJECTS = //p" | sed -n '1s,[.][$][(]OBJEXT),.o,gp'
}

# build NUMBER SUITE OBJECT... - the suite with these objects in place of the right ones; prints its name.
build() {
    local program=$work/$1-${2##*/}
    eval "$LINK -o '$program' $(objects_of "$2") ${*:3} tests/.libs/libhelp.a .libs/libtroupe_core.a $LINK_LIBS" &&
        echo "$program"
}

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
    mapfile -t files < <(files_with "$number")
    if [ ${#files[@]} = 0 ]; then
        echo "mutants: no file has fault $number, \"$fault\""
        bad=1
        continue
    fi
    objects=()
    for file in "${files[@]}"; do
        object=$work/$number-${file//\//-}.o
        compile "$number" "$TOP/$file" "$object"
        objects+=("$object")
    done
    by=
    for suite in $suites; do
        program=$(build "$number" "${suite%%:*}" "${objects[@]}") ||
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
