/* SPDX-License-Identifier: MIT
 *
 * actors/report.c - what does not fit an error's sentence, and what a call cost: text and JSON
 * of one call that ended.
 */
#include "actors/report.h"

#include <inttypes.h>
#include <string.h>

#include "actors/report_json.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fail.h"
#include "exec/device.h"

struct troupe_report {
    struct tp_ref ref;
    char *text, *json;
    uint64_t wall_ns, busy_ns, crossed;
};

/* What both forms are made of. */
struct facts {
    const struct tp_pending *pending;
    const struct tp_block *block;   /* NULL: it never ran */
    const struct troupe_plan *plan; /* NULL: it was never planned */
    struct troupe_report *report;
    uint8_t *crossed; /* of a call that failed, per edge: SENT, TAKEN */
};

enum { SENT = 1, TAKEN = 2 };

static const struct tp_partition *parts(const struct facts *facts)
{
    return facts->plan->partition;
}

static void facts_fini(struct facts *facts)
{
    tp_free(facts->crossed);
}

/* -- Sums ---------------------------------------------------------------------------------- */

static uint64_t shard_ticks(const struct tp_shard_actor *shard)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; shard->frame.profile && i < shard->frame.program->n_steps; i++)
        sum += shard->frame.profile[i];
    return sum;
}

static void add_up(struct facts *facts)
{
    const struct tp_block *block = facts->block;
    struct troupe_report *report = facts->report;
    if (!block || !block->profile) return;
    report->wall_ns = tp_clock_ns() - facts->pending->started_ns;
    for (uint32_t i = 0; i < block->n_shards; i++)
        report->busy_ns += tp_ticks_ns(shard_ticks(&block->shards[i]));
    for (uint32_t i = 0; block->edge_bytes && i < parts(facts)->n_edges; i++)
        report->crossed += block->edge_bytes[i];
}

/* How far each shard came says which values it had sent and taken. */
static troupe_status note_crossed(struct facts *facts, troupe_error *err)
{
    if (!facts->block || !facts->block->count.failed) return TROUPE_OK;
    facts->crossed = tp_alloc_array(parts(facts)->n_edges + (size_t)1, 1);
    if (!facts->crossed) return tp_fail_memory(err, parts(facts)->n_edges);
    for (uint32_t i = 0; i < facts->block->n_shards; i++) {
        const struct tp_frame *frame = &facts->block->shards[i].frame;
        for (uint32_t j = 0; j < frame->pc; j++) {
            const struct tp_step *step = &frame->program->steps[j];
            if (step->kind == TP_STEP_SEND) facts->crossed[step->edge] |= SENT;
            if (step->kind == TP_STEP_WAIT) facts->crossed[step->edge] |= TAKEN;
        }
    }
    return TROUPE_OK;
}

/* A value that was sent and that nobody took before the call ended: it was dropped. */
static bool left_over(const struct facts *facts, uint32_t edge)
{
    return facts->crossed[edge] == SENT && parts(facts)->edges[edge].value != TP_NO_VALUE;
}

static const char *device_of(const struct facts *facts, uint32_t shard)
{
    return tp_plan_device(facts->plan, shard)->brief;
}

static const char *value_name(const struct facts *facts, uint32_t value)
{
    return value == TP_NO_VALUE ? NULL : facts->plan->body->values[value].name;
}

/* A failure of its own that is not the cause. */
static bool failed_too(const struct facts *facts, uint32_t shard)
{
    return shard != facts->block->cause &&
           tp_shard_failed(&facts->block->shards[shard].done.shard_done);
}

/* -- Text ---------------------------------------------------------------------------------- */

static void text_steps(const struct facts *facts, uint32_t shard, struct tp_text *out)
{
    const struct tp_frame *frame = &facts->block->shards[shard].frame;
    tp_text_add(out, "  %s: %.1f us in steps\n", device_of(facts, shard),
                (double)tp_ticks_ns(shard_ticks(&facts->block->shards[shard])) / 1e3);
    for (uint32_t i = 0; frame->profile && i < frame->program->n_steps; i++) {
        const struct tp_step *step = &frame->program->steps[i];
        if (step->kind != TP_STEP_KERNEL && step->kind != TP_STEP_DYNAMIC) continue;
        tp_text_add(out, "    %10.1f us  %-20s %s\n",
                    (double)tp_ticks_ns(frame->profile[i]) / 1e3, step->node->op->name,
                    step->name);
    }
}

static void text_edges(const struct facts *facts, struct tp_text *out)
{
    for (uint32_t i = 0; i < parts(facts)->n_edges; i++) {
        const struct tp_edge *edge = &parts(facts)->edges[i];
        const char *name = value_name(facts, edge->value);
        tp_text_add(out, "    %10" PRIu64 " bytes  %s -> %s  %s\n", facts->block->edge_bytes[i],
                    device_of(facts, edge->from), device_of(facts, edge->to),
                    name ? name : "(order only)");
    }
}

static void text_profile(const struct facts *facts, struct tp_text *out)
{
    if (!facts->block || !facts->block->profile) return;
    tp_text_add(out, "time: %.1f us for the call, %.1f us in steps\n",
                (double)facts->report->wall_ns / 1e3, (double)facts->report->busy_ns / 1e3);
    for (uint32_t i = 0; i < facts->block->n_shards; i++)
        text_steps(facts, i, out);
    tp_text_add(out, "crossed between devices: %" PRIu64 " bytes\n", facts->report->crossed);
    if (facts->block->edge_bytes) text_edges(facts, out);
}

static void text_others(const struct facts *facts, struct tp_text *out)
{
    for (uint32_t i = 0; i < facts->block->n_shards; i++) {
        if (!failed_too(facts, i)) continue;
        troupe_error error = tp_shard_error(&facts->block->shards[i].done.shard_done);
        tp_text_add(out, "  failed too, later: %s: %s\n", troupe_status_name(error.code),
                    error.text);
    }
}

static void text_left_over(const struct facts *facts, struct tp_text *out)
{
    for (uint32_t i = 0; i < parts(facts)->n_edges; i++) {
        const struct tp_edge *edge = &parts(facts)->edges[i];
        if (left_over(facts, i))
            tp_text_add(out, "  left over: '%s' from %s, which %s did not take\n",
                        value_name(facts, edge->value), device_of(facts, edge->from),
                        device_of(facts, edge->to));
    }
}

static void text_failure(const struct facts *facts, struct tp_text *out)
{
    const troupe_error *error = &facts->pending->error;
    if (!error->code) return;
    tp_text_add(out, "failed: %s: %s\n", troupe_status_name(error->code), error->text);
    if (!facts->block) return;
    for (uint32_t i = 0; i < facts->block->n_shards; i++)
        tp_text_add(out, "  shard on %s: %s, after %" PRIu32 " graph nodes\n",
                    device_of(facts, i),
                    facts->block->ends[i] == TP_END_WORKED ? "had worked" : "stopped",
                    facts->block->shards[i].frame.ran);
    text_others(facts, out);
    if (facts->crossed) text_left_over(facts, out);
}

static void make_text(const struct facts *facts, struct tp_text *out)
{
    tp_text_add(out, "call of '%s'\n",
                facts->pending->function ? troupe_function_name(facts->pending->function)
                                         : "?");
    text_failure(facts, out);
    for (size_t i = 0; facts->plan && i < facts->plan->placement->n_relaxations; i++)
        tp_text_add(out, "relaxed: %s\n", facts->plan->placement->relaxations[i]);
    text_profile(facts, out);
}

/* -- JSON ---------------------------------------------------------------------------------- */

static json_t *json_error(const struct facts *facts)
{
    const troupe_error *error = &facts->pending->error;
    if (!error->code) return json_null();
    return json_pack("{s:s,s:o}", "code", troupe_status_name(error->code), "text",
                     tp_json_text(error->text));
}

static json_t *json_others(const struct facts *facts)
{
    json_t *list = json_array();
    for (uint32_t i = 0; facts->block && i < facts->block->n_shards; i++) {
        if (!facts->block->count.failed || !failed_too(facts, i)) continue;
        troupe_error error = tp_shard_error(&facts->block->shards[i].done.shard_done);
        tp_json_add(&list, json_pack("{s:s,s:s,s:o}", "device", device_of(facts, i), "code",
                                     troupe_status_name(error.code), "text",
                                     tp_json_text(error.text)));
    }
    return list;
}

static json_t *json_left_over(const struct facts *facts)
{
    json_t *list = json_array();
    for (uint32_t i = 0; facts->crossed && i < parts(facts)->n_edges; i++) {
        const struct tp_edge *edge = &parts(facts)->edges[i];
        if (!left_over(facts, i)) continue;
        tp_json_add(&list,
                    json_pack("{s:o,s:s,s:s}", "value",
                              tp_json_text(value_name(facts, edge->value)), "from",
                              device_of(facts, edge->from), "to", device_of(facts, edge->to)));
    }
    return list;
}

static json_t *json_steps(const struct facts *facts, uint32_t shard)
{
    json_t *list = json_array();
    const struct tp_frame *frame = &facts->block->shards[shard].frame;
    for (uint32_t i = 0; frame->profile && i < frame->program->n_steps; i++) {
        const struct tp_step *step = &frame->program->steps[i];
        if (step->kind != TP_STEP_KERNEL && step->kind != TP_STEP_DYNAMIC) continue;
        tp_json_add(&list, json_pack("{s:o,s:s,s:I}", "node", tp_json_text(step->name), "op",
                                     step->node->op->name, "ns",
                                     (json_int_t)tp_ticks_ns(frame->profile[i])));
    }
    return list;
}

static json_t *json_shards(const struct facts *facts)
{
    json_t *list = json_array();
    for (uint32_t i = 0; facts->block && i < facts->block->n_shards; i++)
        tp_json_add(&list, json_pack("{s:s,s:b,s:i,s:o}", "device", device_of(facts, i),
                                     "worked", facts->block->ends[i] == TP_END_WORKED, "nodes",
                                     (int)facts->block->shards[i].frame.ran, "steps",
                                     json_steps(facts, i)));
    return list;
}

static json_t *json_edges(const struct facts *facts)
{
    json_t *list = json_array();
    for (uint32_t i = 0; facts->block && facts->block->edge_bytes && i < parts(facts)->n_edges;
         i++) {
        const struct tp_edge *edge = &parts(facts)->edges[i];
        tp_json_add(&list, json_pack("{s:s,s:s,s:o,s:I}", "from", device_of(facts, edge->from),
                                     "to", device_of(facts, edge->to), "value",
                                     tp_json_text(value_name(facts, edge->value)), "bytes",
                                     (json_int_t)facts->block->edge_bytes[i]));
    }
    return list;
}

static json_t *json_relaxed(const struct facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; facts->plan && i < facts->plan->placement->n_relaxations; i++)
        tp_json_add(&list, tp_json_text(facts->plan->placement->relaxations[i]));
    return list;
}

static troupe_status make_json(const struct facts *facts, struct tp_text *out,
                               troupe_error *err)
{
    const struct tp_pending *pending = facts->pending;
    const char *name = pending->function ? troupe_function_name(pending->function) : NULL;
    json_t *root = json_pack(
        "{s:i,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:o,s:o}", "format", TROUPE_JSON_FORMAT,
        "function", tp_json_text(name), "error", json_error(facts), "failed_too",
        json_others(facts), "left_over", json_left_over(facts), "relaxed", json_relaxed(facts),
        "wall_ns", (json_int_t)facts->report->wall_ns, "busy_ns",
        (json_int_t)facts->report->busy_ns, "crossed_bytes", (json_int_t)facts->report->crossed,
        "shards", json_shards(facts), "edges", json_edges(facts));
    return tp_json_write(root, out, err);
}

/* -- Make, share --------------------------------------------------------------------------- */

static bool worth_it(const struct facts *facts)
{
    return facts->pending->error.code || facts->pending->profile ||
           (facts->plan && facts->plan->placement->n_relaxations);
}

static troupe_status fill(struct facts *facts, troupe_error *err)
{
    TP_OWNED(tp_text_fini) struct tp_text text = {0}, json = {0};
    add_up(facts);
    TP_TRY(note_crossed(facts, err));
    make_text(facts, &text);
    TP_TRY(tp_text_take(&text, &facts->report->text, err));
    TP_TRY(make_json(facts, &json, err));
    return tp_text_take(&json, &facts->report->json, err);
}

troupe_status tp_report_make(const struct tp_pending *pending, struct troupe_report **out,
                             troupe_error *err)
{
    TP_OWNED(facts_fini)
    struct facts facts = {.pending = pending, .block = pending->block};
    if (facts.block) facts.plan = facts.block->instance->plan;
    if (!worth_it(&facts)) return TROUPE_OK;
    TP_OWNED(troupe_report_release) struct troupe_report *report = tp_alloc(sizeof *report);
    if (!report) return tp_fail_memory(err, sizeof *report);
    tp_ref_init(&report->ref);
    facts.report = report;
    TP_TRY(fill(&facts, err));
    *out = report;
    report = NULL;
    return TROUPE_OK;
}

troupe_report *troupe_report_retain(const troupe_report *report)
{
    if (!report) return NULL;
    struct troupe_report *mine = (struct troupe_report *)report; /* only the count changes */
    tp_ref_retain(&mine->ref);
    return mine;
}

void troupe_report_release(troupe_report **at)
{
    if (!at) return;
    struct troupe_report *report = *at;
    *at = NULL;
    if (!report || !tp_ref_release(&report->ref)) return;
    tp_free(report->text);
    tp_free(report->json);
    tp_free(report);
}

const char *troupe_report_text(const troupe_report *report, troupe_format format)
{
    if (!report) return NULL;
    return format == TROUPE_JSON ? report->json : report->text;
}

uint64_t troupe_report_wall_ns(const troupe_report *report)
{
    if (!report) return 0;
    return report->wall_ns;
}

uint64_t troupe_report_busy_ns(const troupe_report *report)
{
    if (!report) return 0;
    return report->busy_ns;
}

uint64_t troupe_report_crossed(const troupe_report *report)
{
    if (!report) return 0;
    return report->crossed;
}
