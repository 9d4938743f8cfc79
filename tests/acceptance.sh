#!/bin/sh
# SPDX-License-Identifier: MIT
# acceptance.sh - after all suites: compares tests/acceptance.tsv with what they said.
set -eu
# shellcheck disable=SC2046 # one word for each suite
exec "$TOP/tests/check-acceptance" "$TOP/tests/acceptance.tsv" \
    $(for suite in $SUITES; do [ -e "$suite.results" ] && echo "$suite.results"; done)
