/* SPDX-License-Identifier: MIT
 *
 * base/guest.c - the one word of base/guest.h.
 */
#include "base/guest.h"

_Thread_local enum tp_guest tp_guest_now __attribute__((tls_model("initial-exec")));
