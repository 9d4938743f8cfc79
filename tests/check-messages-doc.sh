#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-messages-doc.sh - doc/messages.md is what the code says of messages. `make docs` writes it anew.
set -euo pipefail
[ -x tests/gen_messages_doc ] || { echo 'messages-doc: the generator was not built'; exit 77; }
diff "$TOP/doc/messages.md" <(tests/gen_messages_doc)
