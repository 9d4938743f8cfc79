/* SPDX-License-Identifier: MIT
 *
 * kernels/effects.c - Assert, Print and DeviceName: what a call does besides its results.
 */
#include "base/log.h"
#include "kernels/kernel.h"
#include "kernels/ops.h"

static const struct tp_attr_spec message_attrs[] = {{"message", TROUPE_ATTR_STRING, false},
                                                    TP_LAST};

/* --- Assert ------------------------------------------------------------------------- */
static troupe_status infer_nothing(struct tp_infer *infer, troupe_error *err)
{
    (void)infer;
    (void)err;
    return TROUPE_OK;
}

static troupe_status run_assert(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *given = tp_in(launch, 0);
    const char *message = tp_attr_text(launch->attrs, launch->n_attrs, "message", NULL);
    const uint8_t *values = given->data;
    const size_t n = tp_view_count(given);
    for (size_t i = 0; i < n; i++) {
        if (values[i]) continue;
        if (message) return tp_fail(err, TROUPE_INVALID, "%s", message);
        return tp_fail(err, TROUPE_INVALID, "the assertion is false at element %zu", i);
    }
    return TROUPE_OK;
}

static const struct tp_port assert_inputs[] = {{"given", TP_TYPE(BOOL), 0, 0}, TP_LAST};
static const struct tp_port no_results[] = {TP_LAST};
static const struct tp_sample assert_samples[] = {
    TP_WORKS("bool[2]=[true,true]", "message=\"never\"", NULL),
    TP_WORKS("bool[0]", NULL, NULL),
    TP_FAILS("bool[2]=[true,false]", "message=\"the lights are out\"", "the lights are out"),
    TP_FAILS("bool[2]=[true,false]", NULL, "element 1"),
    {0},
};
const struct tp_op tp_op_Assert = {
    .name = "Assert",
    .summary = "fails with message unless every element is true",
    .inputs = assert_inputs,
    .results = no_results,
    .attrs = message_attrs,
    .infer = infer_nothing,
    .cpu = run_assert,
    .stateful = true,
    .samples = assert_samples,
};

/* --- Print -------------------------------------------------------------------------- */
#define SHOWN 64 /* elements of a dimension's middle are left out above so many in all */

static troupe_status take_texts(const struct tp_view *x, troupe_tensor **out, troupe_error *err)
{
    TP_OWNED(tp_strings_fini) struct tp_strings strings = {0};
    const struct tp_string *from = x->data;
    const size_t n = tp_view_count(x);
    TP_TRY(tp_strings_init(&strings, n, err));
    for (size_t i = 0; i < n; i++) {
        tp_text_add_bytes(&strings.bytes, (const char *)from + from[i].at, from[i].size);
        TP_TRY(tp_strings_end(&strings, err));
    }
    return tp_strings_take(&strings, &x->type->shape, out, err);
}

/* The value as a tensor, for as long as the launch. */
static troupe_status take(const struct tp_view *x, troupe_tensor **out, troupe_error *err)
{
    const struct tp_shape *shape = &x->type->shape;
    if (x->type->dtype == TROUPE_STRING) return take_texts(x, out, err);
    return troupe_tensor_take(out, x->type->dtype, shape->rank, shape->dims, x->data, NULL,
                              NULL, err);
}

static troupe_status print(const struct tp_launch *launch, troupe_error *err)
{
    const struct tp_view *x = tp_in(launch, 0);
    const char *message = tp_attr_text(launch->attrs, launch->n_attrs, "message", launch->node);
    TP_OWNED(troupe_tensor_release) troupe_tensor *shown = NULL;
    char text[2048];
    TP_TRY(take(x, &shown, err));
    (void)troupe_tensor_show(shown, SHOWN, text, sizeof(text));
    tp_log(INFO, "print", "%s: %s", message, text);
    return TROUPE_OK;
}

static troupe_status run_print(const struct tp_launch *launch, troupe_error *err)
{
    if (tp_log_wanted(TP_LOG_INFO)) TP_TRY(print(launch, err));
    return tp_out(launch, 0) ? tp_kernel_copy(launch, err) : TROUPE_OK;
}

static const struct tp_port print_inputs[] = {{"x", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_port print_results[] = {{"y", TP_ANY, 1, 0}, TP_LAST};
static const struct tp_sample print_samples[] = {
    TP_WORKS("f32[2]=[1,2]", "message=\"x\"", "f32[2] [1, 2]"),
    TP_WORKS("f32[0,2]", NULL, NULL),
    TP_WORKS("string[2]=[\"a\",\"\"]", NULL, "string[2] [\"a\", \"\"]"),
    {0},
};
const struct tp_op tp_op_Print = {
    .name = "Print",
    .summary =
        "writes message and x as a line of the log (level INFO, id print); the result is x",
    .inputs = print_inputs,
    .results = print_results,
    .attrs = message_attrs,
    .infer = tp_infer_same,
    .cpu = run_print,
    .reuse = 1,
    .stateful = true,
    .samples = print_samples,
};

/* --- DeviceName --------------------------------------------------------------------- */
static troupe_status infer_name(struct tp_infer *infer, troupe_error *err)
{
    (void)err;
    infer->results[0].shape = (struct tp_shape){.rank = 0};
    return TROUPE_OK;
}

static troupe_status run_name(const struct tp_launch *launch, troupe_error *err)
{
    struct tp_string *to = tp_out(launch, 0)->data;
    const size_t size = strlen(launch->device);
    if (size >= TP_STRING_ROOM)
        return tp_fail(err, TROUPE_EXHAUSTED, "a device's name has %zu bytes", size);
    *to = (struct tp_string){.at = sizeof(*to), .size = size};
    memcpy(to + 1, launch->device, size + 1);
    return TROUPE_OK;
}

static const struct tp_port no_inputs[] = {TP_LAST};
static const struct tp_port name_results[] = {{"name", TP_TYPE(STRING), 0, TP_HOST}, TP_LAST};
static const struct tp_sample name_samples[] = {TP_WORKS("", NULL, NULL), {0}};
const struct tp_op tp_op_DeviceName = {
    .name = "DeviceName",
    .summary = "the name of the device that runs it",
    .inputs = no_inputs,
    .results = name_results,
    .infer = infer_name,
    .cpu = run_name,
    .samples = name_samples,
};
