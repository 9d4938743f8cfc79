/* SPDX-License-Identifier: MIT
 *
 * tests/stand.c - a runtime with what its last run gave, and arguments as text.
 */
#include "tests/stand.h"

#include <stdio.h>

#include "actors/plan.h"

struct stand stand_open(const char *devices, int workers)
{
    troupe_error err;
    struct stand s = {0};
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = devices;
    options.workers = workers;
    ck_ok(troupe_open(&s.runtime, &options, &err));
    return s;
}

static void stand_clear(struct stand *s)
{
    for (size_t i = 0; i < s->n; i++)
        troupe_tensor_release(&s->results[i]);
    s->n = 0;
}

void stand_close(struct stand *s)
{
    stand_clear(s);
    ck_assert_int_eq(troupe_close(&s->runtime), TROUPE_OK);
}

troupe_status run_texts(struct stand *s, const troupe_function *f, const char *const *texts,
                        size_t n_texts, const troupe_call_options *options)
{
    troupe_tensor *args[STAND_RESULTS] = {NULL};
    stand_clear(s);
    for (size_t i = 0; i < n_texts; i++)
        args[i] = texts[i][0] ? value_of(texts[i]) : NULL;
    const size_t n = troupe_function_results(f);
    troupe_status status = troupe_run(s->runtime, f, (const troupe_tensor *const *)args,
                                      n_texts, s->results, n, options, &s->err);
    if (!status) s->n = n;
    for (size_t i = 0; i < n_texts; i++)
        troupe_tensor_release(&args[i]);
    return status;
}
void ck_ran(const struct stand *s, troupe_status status)
{
    ck_assert_msg(!status, "%s: %s", troupe_status_name(status), s->err.text);
}

void ck_text(const troupe_tensor *value, const char *text)
{
    ck_assert_ptr_nonnull(value);
    ck_assert_str_eq(troupe_tensor_string(value, 0, NULL), text);
}

uint64_t stand_planned(const struct stand *s)
{
    troupe_statistics figures = {.size = sizeof(figures)};
    troupe_statistics_get(s->runtime, &figures);
    return figures.planned;
}

const char *stand_result_device(const struct stand *s, const troupe_function *f,
                                const troupe_call_options *options, uint32_t i)
{
    static char name[64];
    troupe_error err;
    troupe_plan *plan;
    ck_ok(troupe_plan_make(s->runtime, f, options, &plan, &err));
    const uint32_t shard = plan->partition->result_shard[i];
    if (shard != UINT32_MAX)
        snprintf(name, sizeof(name), "%s", tp_plan_device(plan, shard)->brief);
    troupe_plan_release(&plan);
    return shard == UINT32_MAX ? NULL : name;
}
