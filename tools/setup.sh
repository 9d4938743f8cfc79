# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# tools/setup.sh - what ./quickstart, ./check and .ci/run share: packages, configure, make.
#
# It is sourced, from the top of the tree. Each stage is one line on the terminal; what the programs say
# goes to build/*.log and is shown when a stage fails. What is done already is not done again.
export LC_ALL=C

# shellcheck disable=SC2034 # those who source this file use the lists
build_packages=(gcc make autoconf automake libtool pkg-config libc6-dev uthash-dev libxxhash-dev
    libjansson-dev libmsgpack-dev libprotobuf-c-dev protobuf-c-compiler libdnnl-dev libhwloc-dev)
# shellcheck disable=SC2034
check_packages=(check g++ binutils libzmq3-dev libonnx-testdata)

say() { printf '%s\n' "$*"; }
die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# stage TITLE LOG COMMAND... - runs the command and says in one line how long it took.
stage() {
    local title=$1 log=$2 start=$SECONDS
    shift 2
    mkdir -p "${log%/*}"
    printf '%s ... ' "$title"
    if "$@" >"$log" 2>&1 </dev/null; then
        printf '%d s\n' $((SECONDS - start))
        return 0
    fi
    printf 'failed\n'
    tail -n 40 "$log" >&2
    die "the whole output is in $log"
}

missing_packages() {
    local package
    for package; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            printf '%s\n' "$package"
    done
}

apt_install() {
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get update
        apt-get install -y --no-install-recommends "$@"' sh "$@"
}

# need_packages PACKAGE... - installs those that are missing; says the command when it may not.
need_packages() {
    command -v dpkg-query >/dev/null ||
        { say 'This is no Debian system: configure will say what is missing.' && return 0; }
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        # Ask for the password, where one is wanted, before the output goes to a file.
        { command -v sudo >/dev/null && sudo -v; } || {
            say 'Packages are missing, and only root may install them. Run this, then come back:'
            die "apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        }
    fi
    stage "installing ${#missing[@]} packages" build/apt.log apt_install "${missing[@]}"
}

# build_in FOLDER CONFIGURE-ARGUMENT... - configures where the arguments are new, and makes.
build_in() {
    local folder=$1 name=${1//\//-} up
    shift
    [ -x configure ] || stage 'preparing configure' build/autoreconf.log autoreconf -fi
    mkdir -p "$folder"
    up=$(realpath --relative-to="$folder" .)
    if [ ! -e "$folder/Makefile" ] || [ "$*" != "$(cat "$folder/.arguments" 2>/dev/null)" ]; then
        stage "configuring $folder" "build/$name-configure.log" \
            env -C "$folder" "$up/configure" --quiet "$@"
        printf '%s' "$*" >"$folder/.arguments"
    fi
    stage "building $folder" "build/$name-make.log" make -C "$folder" -j"$(nproc)"
}

# check_in FOLDER TARGET - builds the suites, runs the target, and shows what it says. Make stops at a
# failure before it comes to the closing lines, so they are shown here then.
check_in() {
    local folder=$1 name=${1//\//-} status=0
    stage "building the suites in $folder" "build/$name-suites.log" \
        make -C "$folder" -j"$(nproc)" check TESTS=
    VERBOSE=1 make -s -C "$folder" -j2 --no-print-directory "$2" || status=$?
    [ $status = 0 ] || sed -n -e '/^[0-9]*%: Checks:/p' -e '/[0-9] passed, /p' "$folder"/tests/*.log
    return $status
}
