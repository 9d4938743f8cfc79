/* SPDX-License-Identifier: MIT
 *
 * tools/cmd_devices.c - troupe devices: what a runtime would have.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools/commands.h"
#include "tools/json.h"
#include "tools/model.h"
#include "tools/say.h"

static void print_limit(size_t limit)
{
    if (limit)
        printf("%15zu", limit);
    else
        printf("%15s", "none");
}

/* What all devices together can have. */
static void print_process(void)
{
    troupe_limits limits = {.size = sizeof(limits)};
    troupe_limits_get(&limits);
    printf("\nThis process may use %d CPU%s of %s, and ", limits.cpus,
           limits.cpus == 1 ? "" : "s", limits.cpu_list[0] ? limits.cpu_list : "all");
    if (limits.memory)
        printf("%" PRIu64 " bytes of memory.\n", limits.memory);
    else
        printf("memory without a limit.\n");
}

static int print_table(const troupe_runtime *runtime)
{
    printf("%-10s %-32s %-8s %-10s %7s %7s %15s\n", "device", "full name", "type", "pin",
           "permits", "threads", "memory limit");
    for (size_t i = 0; i < troupe_devices(runtime); i++) {
        troupe_device device = {.size = sizeof(device)};
        if (troupe_device_at(runtime, i, &device) != TROUPE_OK) continue;
        printf("%-10s %-32s %-8s %-10s %7d %7d ", device.name, device.full_name, device.type,
               device.pin ? device.pin : "-", device.permits, device.threads);
        print_limit(device.memory_limit);
        putchar('\n');
    }
    print_process();
    return TP_EXIT_OK;
}

static json_t *device_json(const troupe_device *device)
{
    json_t *limit =
        device->memory_limit ? json_integer((json_int_t)device->memory_limit) : json_null();
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s?, s:o}", "name", device->name, "full_name",
                     device->full_name, "type", device->type, "threads", device->threads,
                     "permits", device->permits, "pin", device->pin, "memory_limit", limit);
}

static int print_json(const troupe_runtime *runtime)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < troupe_devices(runtime); i++) {
        troupe_device device = {.size = sizeof(device)};
        if (troupe_device_at(runtime, i, &device) != TROUPE_OK) continue;
        if (json_array_append_new(list, device_json(&device)) == 0) continue;
        json_decref(list);
        list = NULL;
    }
    return tp_json_print(&list);
}

int tp_cmd_devices(const struct tp_options *options)
{
    troupe_runtime *runtime = NULL;
    int status = tp_model_runtime(options, NULL, &runtime);
    if (status) return status;
    status = options->json ? print_json(runtime) : print_table(runtime);
    (void)troupe_close(&runtime);
    return status;
}
