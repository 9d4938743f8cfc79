/* SPDX-License-Identifier: MIT
 *
 * tests/test_exec_steps.c - programs and frames: where values live, and that random functions give
 * the same bits as one value after the other in memory of its own.
 *
 * Shards are run by hand here, one after the other, without any actor.
 */
#include <stdio.h>

#include "graph/op.h"
#include "tensor/tensor.h"
#include "tests/evaluate.h"
#include "tests/rehearsal.h"
#include "tests/wild.h"

/* -- An instance, and one run of it by hand
 * -------------------------------------------------------------------------------------- */

struct hand;

struct part {
    struct tp_io io;
    struct hand *hand;
    struct tp_frame frame;
    void *memory;
    bool ended;
};

#define PARTS 4
struct hand {
    troupe_runtime *runtime;
    troupe_function *function;
    struct troupe_plan *plan;
    struct tp_instance *instance;
    struct part parts[PARTS];
    uint32_t n;
    atomic_bool stop;
    uint64_t state;
};

static void take_value(struct tp_io *io, uint32_t edge, troupe_tensor **value)
{
    struct part *part = tp_container_of(io, struct part, io);
    const struct tp_edge *e = &part->hand->plan->partition->edges[edge];
    ck_assert_int_eq(*value == NULL, e->value == TP_NO_VALUE);
    ck_assert(tp_frame_arrive(&part->hand->parts[e->to].frame,
                              part->hand->instance->edge_index[edge], value));
    ck_assert_ptr_null(*value);
}

static void make_parts(struct hand *h)
{
    troupe_error err;
    h->n = h->plan->partition->n_shards;
    ck_assert_uint_le(h->n, PARTS);
    for (uint32_t i = 0; i < h->n; i++) {
        struct part *part = &h->parts[i];
        size_t size = tp_frame_size(h->instance->programs[i]);
        *part = (struct part){.io = {.send = take_value, .stop = &h->stop}, .hand = h};
        part->memory = tp_alloc_aligned(64, size + 1);
        memset(part->memory, 0, size);
        ck_ok(tp_frame_init(&part->frame, h->instance->programs[i], part->memory, &err));
    }
}

/* `function` is moved in. */
static struct hand *hand_new(troupe_function *function, const char *devices,
                             const troupe_tensor *const *args, uint64_t seed)
{
    troupe_error err;
    struct tp_request request;
    struct hand *h = tp_alloc(sizeof(*h));
    troupe_options options = TROUPE_OPTIONS_INIT;
    const struct tp_type *types[8];
    options.devices = devices;
    options.workers = 0;
    h->function = function;
    h->state = seed;
    ck_ok(troupe_open(&h->runtime, &options, &err));
    ck_ok(tp_request_make(&request, h->runtime->devices, h->runtime->default_device, function,
                          NULL, &err));
    ck_ok(tp_plan_make(&request, NULL, &h->plan, &err));
    tp_request_fini(&request);
    for (size_t i = 0; i < troupe_function_args(function); i++)
        types[i] = &args[i]->type;
    ck_ok(tp_instance_make(h->plan, h->runtime->device, types, NULL, &h->instance, &err));
    make_parts(h);
    return h;
}

static void hand_free(struct hand *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        tp_frame_fini(&h->parts[i].frame);
        tp_free(h->parts[i].memory);
    }
    tp_instance_release(&h->instance);
    tp_plan_release(&h->plan);
    ck_assert_int_eq(troupe_close(&h->runtime), TROUPE_OK);
    troupe_function_release(&h->function);
    tp_free(h);
}

static uint32_t below(struct hand *h, uint32_t n)
{
    uint64_t z = (h->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* A few steps of one shard; true when it did not just wait. */
static bool advance(struct hand *h, struct part *part, troupe_status *status, troupe_error *err)
{
    const uint32_t pc = part->frame.pc;
    if (part->ended) return false;
    *status = tp_frame_run(&part->frame, &part->io, below(h, 200), err);
    part->ended = *status != TROUPE_PENDING;
    return part->ended || part->frame.pc != pc;
}

/* Shards take turns at random; the first failure ends it. */
static troupe_status hand_run(struct hand *h, const troupe_tensor *const *args,
                              troupe_error *err)
{
    const struct tp_partition *partition = h->plan->partition;
    uint32_t idle = 0, ended = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        h->parts[i].ended = false;
        tp_frame_start(&h->parts[i].frame, args, partition->shards[i].args);
    }
    while (ended < h->n) {
        troupe_status status = TROUPE_OK;
        struct part *part = &h->parts[below(h, h->n)];
        const bool moved = advance(h, part, &status, err);
        if (status < 0) return status;
        ended += moved && part->ended;
        idle = moved ? 0 : idle + 1;
        ck_assert_msg(idle < 1000, "all shards wait");
    }
    return TROUPE_OK;
}

static troupe_tensor *take_result(struct hand *h, uint32_t i, const troupe_tensor *const *args)
{
    const struct tp_function *body = h->plan->body;
    const uint32_t shard = h->plan->partition->result_shard[i], value = body->results[i].value;
    if (shard == UINT32_MAX)
        return troupe_tensor_retain(value < body->n_args ? args[value]
                                                         : body->values[value].constant);
    troupe_tensor **at = &h->parts[shard].frame.results[h->instance->result_index[i]];
    troupe_tensor *result = *at;
    *at = NULL;
    return result;
}

/* -- The same bits
 * -------------------------------------------------------------------------------------- */

static void ck_same(struct hand *h, const troupe_tensor *const *args)
{
    troupe_error err;
    troupe_tensor *wanted[WILD_RESULTS];
    size_t ran;
    const size_t n = troupe_function_results(h->function);
    ck_ok(hand_run(h, args, &err));
    ck_ok(evaluate(h->function->body, args, troupe_function_args(h->function), wanted, &ran,
                   &err));
    for (uint32_t i = 0; i < n; i++) {
        troupe_tensor *result = take_result(h, i, args);
        ck_assert_ptr_nonnull(result);
        ck_assert_msg(troupe_tensor_equal(result, wanted[i]), "result %u differs", i);
        troupe_tensor_release(&result);
        troupe_tensor_release(&wanted[i]);
    }
}

static const char *const lists[] = {"cpu:0", "cpu:0,cpu:1", "cpu:0,cpu:1,cpu:2"};

static void random_function(uint64_t seed, int devices)
{
    const troupe_tensor *args[WILD_ARGS];
    wild_args(seed, args);
    struct hand *h = hand_new(wild_function(seed, devices), lists[devices - 1], args, seed);
    for (uint64_t i = 0; i < 3; i++) {
        ck_same(h, args);
        wild_release(args);
        wild_args(seed + i + 1, args);
    }
    hand_free(h);
    wild_release(args);
}

START_TEST(a_random_function_gives_the_same_bits_as_with_memory_for_each_value)
{
    const size_t pieces = tp_alloc_pieces();
    random_function((uint64_t)_i, 1);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_random_function_cut_over_devices_gives_the_same_bits)
{
    const size_t pieces = tp_alloc_pieces();
    random_function((uint64_t)_i, 2);
    random_function((uint64_t)_i, 3);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

/* -- Where values live
 * -------------------------------------------------------------------------------------- */

/* Of a root in the arena: the steps in which it is made and used last, its own and its views'. */
struct span {
    bool used;
    uint32_t made, last;
    size_t size;
    uint32_t taken_over; /* the root that took its place at `last`, or TP_NO_INDEX */
};

static bool is_root(const struct tp_program *program, uint32_t slot)
{
    return program->slots[slot].root == slot && program->slots[slot].storage == TP_STORE_ARENA;
}

static void look_at_inputs(const struct tp_program *program, uint32_t s, struct span *spans)
{
    const struct tp_step *step = &program->steps[s];
    for (uint32_t i = 0; i < step->n_inputs; i++)
        if (step->inputs[i] != TP_NO_VALUE)
            spans[program->slots[step->inputs[i]].root].last = s;
}

static void look_at_results(const struct tp_program *program, uint32_t s, struct span *spans)
{
    const struct tp_step *step = &program->steps[s];
    for (uint32_t i = 0; i < step->n_results; i++) {
        const uint32_t slot = step->results[i];
        if (slot == TP_NO_VALUE || !is_root(program, slot)) continue;
        ck_assert(!spans[slot].used); /* made once */
        spans[slot] =
            (struct span){.used = true, .made = s, .last = s, .taken_over = TP_NO_INDEX};
        troupe_error err;
        ck_ok(tp_type_bytes(program->slots[slot].type, &spans[slot].size, &err));
    }
}

/* b is made in the step in which a is used last, and the op writes in the place of that input. */
static bool may_take(const struct tp_program *program, const struct span *spans, uint32_t a,
                     uint32_t b)
{
    const struct tp_step *step = &program->steps[spans[b].made];
    if (spans[a].last != spans[b].made || step->results[0] != b) return false;
    if (program->slots[a].offset != program->slots[b].offset) return false;
    for (uint32_t i = 0; i < step->n_inputs && i < 8; i++) {
        if (step->inputs[i] == TP_NO_VALUE || !(step->node->op->reuse >> i & 1)) continue;
        const struct tp_slot *slot = &program->slots[step->inputs[i]];
        if (slot->root == a && slot->type->dtype == program->slots[b].type->dtype &&
            tp_shape_equal(&slot->type->shape, &program->slots[b].type->shape))
            return true;
    }
    return false;
}

static bool overlap(const struct tp_program *program, const struct span *spans, uint32_t a,
                    uint32_t b)
{
    const size_t from_a = program->slots[a].offset, from_b = program->slots[b].offset;
    return from_a < from_b + spans[b].size && from_b < from_a + spans[a].size;
}

static void ck_pair(const struct tp_program *program, struct span *spans, uint32_t a,
                    uint32_t b)
{
    if (spans[a].made > spans[b].made || spans[a].last < spans[b].made) return;
    if (!overlap(program, spans, a, b)) return;
    ck_assert_msg(may_take(program, spans, a, b),
                  "slots %u and %u live in one place in step %u", a, b, spans[b].made);
    ck_assert_uint_eq(spans[a].taken_over, TP_NO_INDEX);
    spans[a].taken_over = b;
}

static void ck_layout(const struct tp_program *program)
{
    struct span *spans = tp_alloc_array(program->n_slots + 1u, sizeof(*spans));
    for (uint32_t s = 0; s < program->n_steps; s++) {
        look_at_inputs(program, s, spans);
        look_at_results(program, s, spans);
    }
    for (uint32_t a = 0; a < program->n_slots; a++) {
        if (!spans[a].used) continue;
        ck_assert_uint_eq(program->slots[a].offset % TP_ALIGN, 0);
        ck_assert_uint_le(program->slots[a].offset + spans[a].size, program->workspace_at);
        for (uint32_t b = 0; b < program->n_slots; b++)
            if (a != b && spans[b].used) ck_pair(program, spans, a, b);
    }
    ck_assert_uint_le(program->workspace_at, program->arena_size);
    tp_free(spans);
}

START_TEST(no_two_values_of_an_arena_live_in_one_place_at_once)
{
    const troupe_tensor *args[WILD_ARGS];
    wild_args((uint64_t)_i, args);
    for (int devices = 1; devices <= 3; devices++) {
        struct hand *h =
            hand_new(wild_function((uint64_t)_i, devices), lists[devices - 1], args, 1);
        for (uint32_t i = 0; i < h->n; i++)
            ck_layout(h->instance->programs[i]);
        hand_free(h);
    }
    wild_release(args);
}
END_TEST

/* 100 values, each used by the next alone. */
START_TEST(a_chain_of_values_shares_one_place)
{
    struct tp_text text = {0};
    tp_text_add(&text, "function chain(v0: f32[1000]) -> (r = v100)\n");
    for (int i = 1; i <= 100; i++)
        tp_text_add(&text, "  v%d = Neg(v%d)\n", i, i - 1);
    troupe_tensor *x;
    troupe_error err;
    ck_ok(troupe_tensor_new(&x, TROUPE_F32, 1, (const int64_t[]){1000}, NULL, &err));
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(function_of(text.data, NULL), "cpu:0", args, 1);
    ck_assert_uint_eq(h->instance->programs[0]->arena_size, (4000 + 63) / 64 * 64);
    ck_same(h, args);
    hand_free(h);
    troupe_tensor_release(&x);
    tp_text_fini(&text);
}
END_TEST

/* Max needs both to the end, so b cannot be where a is; without reuse neither can c. */
START_TEST(what_is_still_needed_keeps_its_place)
{
    troupe_tensor *x = value_of("f32[2,2] [[1, 2], [3, 4]]");
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(function_of("function f(x: f32[2,2]) -> (r)\n"
                                          "  a = Neg(x)\n"
                                          "  b = Abs(a)\n"
                                          "  c = Transpose(b, perm=[1, 0])\n"
                                          "  d = Mul(c, b)\n"
                                          "  e = Max(d, a)\n"
                                          "  r = Neg(e)\n",
                                          NULL),
                              "cpu:0", args, 1);
    ck_layout(h->instance->programs[0]);
    ck_same(h, args);
    ck_assert_uint_eq(h->instance->programs[0]->arena_size, 3 * 64);
    hand_free(h);
    troupe_tensor_release(&x);
}
END_TEST

/* -- Views, strings, shapes that are known late
 * -------------------------------------------------------------------------------------- */

static troupe_tensor *run_one(struct hand *h, const troupe_tensor *const *args, uint32_t i)
{
    troupe_error err;
    ck_ok(hand_run(h, args, &err));
    troupe_tensor *result = take_result(h, i, args);
    for (uint32_t j = 0; j < troupe_function_results(h->function); j++) {
        troupe_tensor *other = j == i ? NULL : take_result(h, j, args);
        troupe_tensor_release(&other);
    }
    return result;
}

START_TEST(a_view_that_is_returned_shares_the_memory_of_its_argument)
{
    troupe_tensor *x = value_of("f32[2,3] [[1, 2, 3], [4, 5, 6]]");
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(function_of("function f(x: f32[2,3]) -> (r)\n"
                                          "  c = i64[2] [3, 2]\n"
                                          "  a = Reshape(x, c)\n"
                                          "  b = Flatten(a, axis=0)\n"
                                          "  r = Identity(b)\n",
                                          NULL),
                              "cpu:0", args, 1);
    for (int i = 0; i < 2; i++) {
        troupe_tensor *r = run_one(h, args, 0);
        ck_assert_ptr_eq(troupe_tensor_data(r), troupe_tensor_data(x));
        ck_value(r, "f32[1,6] [[1, 2, 3, 4, 5, 6]]");
        troupe_tensor_release(&r);
    }
    ck_assert_uint_eq(h->instance->programs[0]->arena_size, 0);
    hand_free(h);
    troupe_tensor_release(&x);
}
END_TEST

/* One tensor made, returned three times in two shapes. */
START_TEST(views_of_one_result_share_its_memory)
{
    troupe_error err;
    troupe_tensor *x = value_of("f32[4] [1, 2, 3, 4]");
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(function_of("function f(x: f32[4]) -> (p = a, q = b, r = a)\n"
                                          "  c = i64[2] [2, 2]\n"
                                          "  a = Neg(x)\n"
                                          "  b = Reshape(a, c)\n",
                                          NULL),
                              "cpu:0", args, 1);
    for (int i = 0; i < 3; i++) {
        ck_ok(hand_run(h, args, &err));
        troupe_tensor *p = take_result(h, 0, args), *q = take_result(h, 1, args),
                      *r = take_result(h, 2, args);
        ck_value(p, "f32[4] [-1, -2, -3, -4]");
        ck_value(q, "f32[2,2] [[-1, -2], [-3, -4]]");
        ck_value(r, "f32[4] [-1, -2, -3, -4]");
        ck_assert_ptr_eq(troupe_tensor_data(p), troupe_tensor_data(q));
        ck_assert_ptr_eq(troupe_tensor_data(p), troupe_tensor_data(r));
        troupe_tensor_release(&p);
        troupe_tensor_release(&q);
        troupe_tensor_release(&r);
    }
    hand_free(h);
    troupe_tensor_release(&x);
}
END_TEST

START_TEST(texts_cross_devices_and_come_back)
{
    troupe_tensor *x = value_of("string[2] [\"one\", \"two\"]");
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(function_of("function f(x: string[2]) -> (r, n)\n"
                                          "  c = i64[2] [2, 1]\n"
                                          "  a = Identity(x) @cpu:1\n"
                                          "  r = Reshape(a, c) @cpu:0\n"
                                          "  n = DeviceName() @cpu:1\n",
                                          NULL),
                              "cpu:0,cpu:1", args, 1);
    troupe_tensor *r = run_one(h, args, 0), *n = run_one(h, args, 1);
    ck_value(r, "string[2,1] [[\"one\"], [\"two\"]]");
    ck_value(n, "string[] \"/job:local/task:0/device:cpu:1\"");
    troupe_tensor_release(&r);
    troupe_tensor_release(&n);
    hand_free(h);
    troupe_tensor_release(&x);
}
END_TEST

/* Each run another shape, in one frame. */
START_TEST(shapes_that_depend_on_values_are_worked_out_in_each_run)
{
    static const char *const shapes[] = {"i64[2] [2, 3]", "i64[2] [6, 1]", "i64[2] [1, 6]"};
    static const char *const results[] = {"f32[3,2] [[-1, -4], [-2, -5], [-3, -6]]",
                                          "f32[1,6] [[-1, -2, -3, -4, -5, -6]]",
                                          "f32[6,1] [[-1], [-2], [-3], [-4], [-5], [-6]]"};
    troupe_tensor *x = value_of("f32[6] [1, 2, 3, 4, 5, 6]"), *s = value_of(shapes[0]);
    const troupe_tensor *args[] = {x, s};
    struct hand *h = hand_new(function_of("function f(x: f32[6], s: i64[2]) -> (r)\n"
                                          "  n = Neg(x) @cpu:1\n"
                                          "  a = Reshape(n, s) @cpu:0\n"
                                          "  b = Transpose(a, perm=[1, 0]) @cpu:1\n"
                                          "  r = Identity(b) @cpu:0\n",
                                          NULL),
                              "cpu:0,cpu:1", args, 1);
    for (int i = 0; i < 6; i++) {
        troupe_tensor_release(&s);
        args[1] = s = value_of(shapes[i % 3]);
        troupe_tensor *r = run_one(h, args, 0);
        ck_value(r, results[i % 3]);
        troupe_tensor_release(&r);
    }
    hand_free(h);
    troupe_tensor_release(&x);
    troupe_tensor_release(&s);
}
END_TEST

/* -- Failures
 * -------------------------------------------------------------------------------------- */

START_TEST(a_frame_that_failed_runs_again_and_holds_nothing)
{
    troupe_error err;
    const size_t pieces = tp_alloc_pieces();
    troupe_tensor *x = value_of("f32[6] [1, 2, 3, 4, 5, 6]"), *good = value_of("i64[2] [3, 2]"),
                  *bad = value_of("i64[2] [4, 2]");
    const troupe_tensor *args[] = {x, bad};
    struct hand *h = hand_new(function_of("function f(x: f32[6], s: i64[2]) -> (r, q)\n"
                                          "  q = Neg(x)\n"
                                          "  a = Reshape(q, s)\n"
                                          "  r = Abs(a)\n",
                                          NULL),
                              "cpu:0", args, 1);
    for (int i = 0; i < 4; i++) {
        args[1] = i % 2 ? good : bad;
        if (i % 2) {
            ck_same(h, args);
            continue;
        }
        ck_fails(hand_run(h, args, &err), INVALID, "node 'a' on cpu:0");
        tp_frame_clear(&h->parts[0].frame);
    }
    hand_free(h);
    troupe_tensor_release(&x);
    troupe_tensor_release(&good);
    troupe_tensor_release(&bad);
    ck_assert_uint_eq(tp_alloc_pieces(), pieces);
}
END_TEST

START_TEST(a_frame_stops_between_steps_when_it_is_told_to)
{
    troupe_error err;
    troupe_tensor *x = value_of("f32[2] [1, 2]");
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(
        function_of("function f(x: f32[2]) -> (r)\n  a = Neg(x)\n  r = Abs(a)\n", NULL),
        "cpu:0", args, 1);
    atomic_store(&h->stop, true);
    ck_fails(hand_run(h, args, &err), CANCELLED, "stopped");
    tp_frame_clear(&h->parts[0].frame);
    atomic_store(&h->stop, false);
    ck_same(h, args);
    hand_free(h);
    troupe_tensor_release(&x);
}
END_TEST

START_TEST(a_value_that_comes_twice_is_dropped)
{
    troupe_tensor *x = value_of("f32[1] [1]"), *y = value_of("f32[1] [2]"), *kept = y;
    const troupe_tensor *args[] = {x};
    struct hand *h = hand_new(function_of("function f(x: f32[1]) -> (r)\n"
                                          "  a = Neg(x) @cpu:0\n"
                                          "  r = Neg(a) @cpu:1\n",
                                          NULL),
                              "cpu:0,cpu:1", args, 1);
    const uint32_t to = h->plan->partition->edges[0].to;
    tp_frame_start(&h->parts[to].frame, args, h->plan->partition->shards[to].args);
    troupe_tensor_retain(y);
    ck_assert(tp_frame_arrive(&h->parts[to].frame, 0, &y));
    y = kept;
    troupe_tensor_retain(y);
    ck_assert(!tp_frame_arrive(&h->parts[to].frame, 0, &y));
    ck_assert_ptr_null(y);
    tp_frame_clear(&h->parts[to].frame);
    ck_assert_uint_eq(atomic_load(&kept->ref.count), 1);
    troupe_tensor_release(&kept);
    hand_free(h);
    troupe_tensor_release(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("exec/steps");
    TCase *wild = tcase_create("random"), *places = tcase_create("places"),
          *views = tcase_create("views"), *failing = tcase_create("failures");
    tcase_add_seeds(wild, a_random_function_gives_the_same_bits_as_with_memory_for_each_value);
    tcase_add_seeds(wild, a_random_function_cut_over_devices_gives_the_same_bits);
    tcase_add_seeds(places, no_two_values_of_an_arena_live_in_one_place_at_once);
    tcase_add_test(places, a_chain_of_values_shares_one_place);
    tcase_add_test(places, what_is_still_needed_keeps_its_place);
    tcase_add_test(views, a_view_that_is_returned_shares_the_memory_of_its_argument);
    tcase_add_test(views, views_of_one_result_share_its_memory);
    tcase_add_test(views, texts_cross_devices_and_come_back);
    tcase_add_test(views, shapes_that_depend_on_values_are_worked_out_in_each_run);
    tcase_add_test(failing, a_frame_that_failed_runs_again_and_holds_nothing);
    tcase_add_test(failing, a_frame_stops_between_steps_when_it_is_told_to);
    tcase_add_test(failing, a_value_that_comes_twice_is_dropped);
    suite_add_tcase(s, wild);
    suite_add_tcase(s, places);
    suite_add_tcase(s, views);
    suite_add_tcase(s, failing);
    return s;
}

int main(void)
{
    return rehearsal_run(suite());
}
