#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# peers.sh [FOLDER] - installs the systems that `make bench` measures beside troupe; run by hand.
#
# FOLDER is where the programs look: peers/ in the folder in which `make bench` runs (default:
# build/peers), or what TROUPE_PEERS names. ONNX Runtime comes with the models for it; TensorFlow, which
# takes 1.5 GB, only when WITH_TENSORFLOW=yes. What is there already is left alone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-${TROUPE_PEERS:-$here/../build/peers}}
mkdir -p "$folder"

install() { # VENV PACKAGE...: a Python environment of its own, whole or not there
    local venv=$folder/$1
    shift
    [ -e "$venv/installed" ] && return
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
    touch "$venv/installed"
}
install onnxruntime onnxruntime onnx numpy
"$folder/onnxruntime/bin/python" "$here/peer_models.py" "$folder"
if [ "${WITH_TENSORFLOW:-no}" = yes ]; then
    install tensorflow tensorflow-cpu
fi
echo "peers.sh: installed in $folder"
