/* SPDX-License-Identifier: MIT
 *
 * bench/bench_codec.c - messages and functions into bytes and back, and the scan of a head
 * alone.
 */
#include "base/fail.h"
#include "bench/bench.h"
#include "messages/codec.h"
#include "messages/function_codec.h"
#include "messages/scan.h"

#define KIB_64 (64 * 1024)

static troupe_status there_and_back(void *arg, uint64_t times, troupe_error *err)
{
    for (; times > 0; times--) {
        struct tp_wire wire = {.n_frames = 0};
        struct tp_message *back = NULL;
        troupe_status status = tp_encode(arg, TP_WIRE_PEER, &wire, err);
        if (status >= 0) status = tp_decode(&back, &wire, TP_WIRE_PEER, err);
        tp_message_destroy(&back);
        tp_wire_fini(&wire);
        if (status < 0) return status;
    }
    return TROUPE_OK;
}

static troupe_status encode(void *arg, uint64_t times, troupe_error *err)
{
    for (; times > 0; times--) {
        struct tp_wire wire = {.n_frames = 0};
        const troupe_status status = tp_encode(arg, TP_WIRE_PEER, &wire, err);
        tp_wire_fini(&wire);
        if (status < 0) return status;
    }
    return TROUPE_OK;
}

/* As TROUPE_WIRE=1 does it: the elements are copied, and compared. */
static troupe_status recode(void *arg, uint64_t times, troupe_error *err)
{
    for (; times > 0; times--)
        TP_TRY(tp_message_recode(arg, err));
    return TROUPE_OK;
}

static troupe_status encode_function(void *arg, uint64_t times, troupe_error *err)
{
    for (; times > 0; times--) {
        TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
        TP_TRY(tp_function_encode(arg, &wire, err));
    }
    return TROUPE_OK;
}

static troupe_status function_and_back(void *arg, uint64_t times, troupe_error *err)
{
    for (; times > 0; times--) {
        TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
        TP_OWNED(troupe_function_release) troupe_function *back = NULL;
        TP_TRY(tp_function_encode(arg, &wire, err));
        TP_TRY(tp_function_decode(&wire, &back, err));
    }
    return TROUPE_OK;
}

static troupe_status scan(void *arg, uint64_t times, troupe_error *err)
{
    const struct tp_wire *wire = arg;
    for (; times > 0; times--)
        TP_TRY(tp_scan(wire->head.data, wire->head.size, err));
    return TROUPE_OK;
}

static void measure(struct bench *b, const char *name, bench_fn *fn, void *arg)
{
    bench_time(b, &(struct bench_work){.name = name, .unit = "ns", .fn = fn, .arg = arg});
}

static void measure_scan(struct bench *b, const struct tp_message *message)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    troupe_error err;
    if (tp_encode(message, TP_WIRE_PEER, &wire, &err) < 0)
        bench_failed(b, "scan/failure", &err);
    else
        measure(b, "scan/failure", scan, &wire);
}

/* y = x + 1 + 1 + ..., of n graph nodes. */
static troupe_status make_function(uint32_t n, troupe_library **library, troupe_function **out,
                                   troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text text = {.size = 0};
    tp_text_add(&text, "function f(x0: f32[n]) -> (x%u)\n    k = f32[1] [1]\n", n);
    for (uint32_t i = 1; i <= n; i++)
        tp_text_add(&text, "    x%u = Add(x%u, k) @cpu:%u\n", i, i - 1, i % 2);
    if (text.failed) return tp_fail_memory(err, text.size);
    TP_TRY(troupe_library_new(library, err));
    TP_TRY(troupe_library_read(*library, NULL, text.data, text.size, err));
    return troupe_library_find(*library, "f", out, err);
}

static void measure_function(struct bench *b, uint32_t n)
{
    TP_OWNED(troupe_library_destroy) troupe_library *library = NULL;
    TP_OWNED(troupe_function_release) troupe_function *f = NULL;
    troupe_error err;
    char name[2][64];
    snprintf(name[0], sizeof name[0], "codec/function/%u", n);
    snprintf(name[1], sizeof name[1], "codec/function/%u/encode", n);
    if (make_function(n, &library, &f, &err) < 0) {
        bench_failed(b, name[0], &err);
        return;
    }
    measure(b, name[0], function_and_back, f);
    measure(b, name[1], encode_function, f);
}

static void measure_all(struct bench *b, struct tp_message *done, struct tp_message *failed,
                        struct tp_message *tensor)
{
    measure(b, "codec/shard_done", there_and_back, done);
    measure(b, "codec/shard_done/encode", encode, done);
    measure(b, "codec/failure", there_and_back, failed);
    measure_scan(b, failed);
    measure(b, "codec/tensor/64KiB", there_and_back, tensor);
    measure(b, "codec/tensor/64KiB/encode", encode, tensor);
    measure(b, "codec/tensor/64KiB/wire", recode, tensor);
    measure_function(b, 3);
    measure_function(b, 1000);
}

int main(int argc, char **argv)
{
    struct bench b;
    troupe_error err;
    troupe_error failure = {TROUPE_DEVICE,
                            "function 'over', node 'mul_3' on cpu:1: shapes [2,3] and [4] do "
                            "not broadcast"};
    const int64_t dims[] = {KIB_64 / sizeof(float)};
    struct tp_message done = {.kind = TP_SHARD_DONE, .fixed = true, .shard_done.shard = 3};
    struct tp_message failed = done;
    struct tp_message tensor = {.kind = TP_TENSOR, .fixed = true, .tensor.edge = 7};
    failed.shard_done.code = failure.code;
    failed.shard_done.error = &failure;
    bench_open(&b, argc, argv);
    if (troupe_tensor_new(&tensor.tensor.value, TROUPE_F32, 1, dims, NULL, &err) < 0)
        bench_failed(&b, "codec/tensor/64KiB", &err);
    else
        measure_all(&b, &done, &failed, &tensor);
    tp_message_drop(&tensor);
    return bench_close(&b);
}
