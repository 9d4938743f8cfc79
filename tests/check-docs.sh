#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-docs.sh - the pages of doc/ that are printed from tables say what the tables say now. `make docs`
# writes them anew.
set -euo pipefail
[ -x tests/gen_ops_doc ] || { echo 'docs: the generators were not built'; exit 77; }
bad=0
for generator in tests/gen_*_doc; do
    page=${generator#tests/gen_}
    diff "$TOP/doc/${page%_doc}.md" <("$generator") || bad=1
done
exit $bad
