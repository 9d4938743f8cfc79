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
cp "$TOP/examples/hello.c" "$TOP/examples/operator.c" "$dest"
cd "$dest"
# shellcheck disable=SC2086 # $CC may have options
$CC -o hello hello.c "${flags[@]}"
./hello
tool=$(find "$dest" -name troupe -type f -perm -u+x)
"$tool" --version

# A plugin is built against the same, and the tool runs its operator.
# shellcheck disable=SC2086
$CC -shared -fPIC -o operator.so operator.c "${flags[@]}" -lm
cat >gate.troupe <<'END'
function gate(x: f32[3]) -> (y: f32[3])
    y = com.example.Gate(x, level=0.25)
END
"$tool" show --operators --plugin operator.so | grep -q '^com.example.Gate  *What is larger'
"$tool" show --operators --plugin operator.so --json | grep -q '"com.example.Gate"'
"$tool" show gate.troupe --plugin ./operator.so | grep -q 'com.example.Gate'
"$tool" run gate.troupe --plugin operator.so -i x=zeros | grep -q 'f32\[3\] \[0, 0, 0\]'
"$tool" convert gate.troupe --plugin operator.so -o gate.bin.troupe
"$tool" run gate.bin.troupe --plugin operator.so -i x=zeros | grep -q 'f32\[3\] \[0, 0, 0\]'
said=$("$tool" run gate.troupe -i x=zeros 2>&1) && exit 1
[[ $said == *"no operator or function 'com.example.Gate'"* ]]
said=$("$tool" run gate.troupe --plugin operator.so --plugin operator.so -i x=zeros 2>&1) && exit 1
[[ $said == *"operator 'com.example.Gate' is there already"* ]]
cd ..
rm -rf "$dest"
