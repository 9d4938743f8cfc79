#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-ops-doc.sh - doc/ops.md is what the operators' rows say. `make docs` writes it anew.
set -euo pipefail
[ -x tests/gen_ops_doc ] || { echo 'ops-doc: the generator was not built'; exit 77; }
diff "$TOP/doc/ops.md" <(tests/gen_ops_doc)
