#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# examples.sh - every example that was built runs and ends with status 0.
set -euo pipefail
top=${TOP:-$(dirname "$0")/..}
bad=0
try() { # WORD PROGRAM ARGUMENT... - it succeeds, and says WORD
    local word=$1 said
    shift
    [ -x "$1" ] || { echo "examples: $1 was not built"; return 0; }
    said=$(timeout 60 "$@" 2>&1) && [[ $said == *"$word"* ]] && return 0
    printf 'examples: %s failed, or did not say "%s":\n%s\n' "$*" "$word" "$said"
    bad=1
}
try 'y = f32[4] [2, 8, 18, 0.5]' examples/hello
try ' 0 of them wrong' examples/epoll
try 'y = f32[4] [1, -4, 6, 0.5]' examples/operator
try '4000 of 4000 ' examples/threads
try '100 of 100 ' examples/zmq_poll
said=$(./troupe show "$top/examples/fashion/fashion_mnist_cnn.onnx" 2>&1 || true)
if [[ $said == *'without ONNX'* ]]; then
    echo 'examples: built without ONNX, so the picture classifier was not run'
else
    try '10 of 10 are right' examples/fashion/classify "$top/examples/fashion"
fi
exit $bad
