# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# build.sh - for scripts that build a program anew with a fault in it; they source it.
#
# Only the files that know the fault are compiled again; the other objects are those that make left. make
# gives TOP, COMPILE, LINK and LINK_LIBS, and the script $work, a folder for what is built.

# compile FILE OBJECT OPTION... - COMPILE is make's own command, with its quotes.
compile() { eval "$COMPILE -fPIC -UTP_MUTANT ${*:3} -c -o '$2' '$TOP/$1'"; }

# files_with PATTERN - the sources that have it, or include a header that does.
files_with() {
    local file
    (cd "$TOP" && grep -lrE --include='*.[ch]' "$1" \
        base tensor graph rewrite kernels exec messages actors) |
        while IFS= read -r file; do
            case $file in
            base/probe.h) ;;
            *.c) echo "$file" ;;
            *) grep -lrF --include='*.Plo' "/$file" . | sed 's|^\./||; s|\.deps/||; s|\.Plo$|.c|' ;;
            esac
        done | sort -u
}

# fault_pattern NUMBER - how a source says that it knows the fault.
fault_pattern() { printf '%s\n' "TP_MUTANT [!=]= $1\\b|TP_FAULT\\($1\\)"; }

# objects_of PROGRAM - what make links it of.
objects_of() {
    sed -e ':a' -e '/\\$/N; s/\\\n//; ta' Makefile |
        sed -n "s/^\(am_\)\{0,1\}${1//[!a-z0-9]/_}_OBJECTS = //p" | sed -n '1s,[.][$][(]OBJEXT),.o,gp'
}

# link_anew PROGRAM OUT OBJECT... - the program with these objects in place of those of the same names.
link_anew() {
    eval "$LINK -o '$2' $(objects_of "$1") ${*:3} tests/.libs/libhelp.a .libs/libtroupe_core.a $LINK_LIBS"
}
