#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# consumer.sh - a program outside the tree builds against what `make install` installs, and runs.
set -euo pipefail
[ "${SANITIZE:-no}" = no ] || { echo 'consumer: the sanitizers are not for strangers'; exit 77; }
dest=$PWD/consumer.d
rm -rf "$dest"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "$MAKE" install DESTDIR="$dest" >/dev/null

pc=$(find "$dest" -name libtroupe.pc)
lib=$(dirname "$(find "$dest" -name libtroupe.so)")
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$dest LD_LIBRARY_PATH=$lib
read -ra flags < <("$PKG_CONFIG" --cflags --libs libtroupe)
for flag in "${flags[@]}"; do
    case $flag in
    -I"$dest"/* | -L"$dest"/* | -ltroupe) ;;
    *) echo "consumer: pkg-config gives $flag to everyone"; exit 1 ;;
    esac
done
cp "$TOP/examples/hello.c" "$dest/hello.c"
cd "$dest"
# shellcheck disable=SC2086 # $CC may have options
$CC -o hello hello.c "${flags[@]}"
./hello
"$(find "$dest" -name troupe -type f -perm -u+x)" --version
cd ..
rm -rf "$dest"
