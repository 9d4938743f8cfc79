/* SPDX-License-Identifier: MIT
 *
 * exec/cpu.c - the host as a device: every op with CPU code, values by pointer.
 */
#include "exec/device.h"

static int kernel(const struct tp_op *op)
{
    return op->cpu || op->prepare ? 0 : -1;
}

const struct tp_device_kind tp_cpu_kind = {
    .type = "cpu",
    .priority = 50,
    .host = true,
    .kernel = kernel,
};
