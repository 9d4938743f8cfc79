/* SPDX-License-Identifier: MIT
 *
 * tools/calls.c - calls one after the other.
 *
 * A call is started and waited for in slices, so that between two of them Ctrl-C is seen and
 * the progress line is renewed. The waiting thread runs the call's work, so slices cost it
 * nothing.
 */
#include "tools/calls.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "tools/progress.h"
#include "tools/say.h"

enum { SLICE_MS = 50 };

/* Set by Ctrl-C. A signal handler has no argument, so this is the tool's one global variable.
 */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* From now on Ctrl-C is noted, once: the next one ends the process as usual. A process that was
 * told to ignore it (nohup) goes on to do so. */
static void watch_interrupts(struct sigaction *before)
{
    struct sigaction note = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&note.sa_mask);
    sigaction(SIGINT, NULL, before);
    if (before->sa_handler != SIG_IGN) sigaction(SIGINT, &note, NULL);
}

static void keep_results(struct tp_calls *calls, const troupe_tensor *const *results, size_t n)
{
    calls->results = calloc(n ? n : 1, sizeof(*calls->results));
    calls->n_results = calls->results ? n : 0;
    for (size_t i = 0; i < calls->n_results; i++)
        calls->results[i] = troupe_tensor_retain(results[i]);
}

static void on_done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                    size_t n)
{
    struct tp_calls *calls = arg;
    calls->error = *error;
    calls->ended = true;
    if (error->code == TROUPE_OK && calls->last) keep_results(calls, results, n);
}

struct making {
    const struct tp_model *model;
    const struct tp_inputs *inputs;
    uint64_t wanted; /* calls */
    bool profile;
    struct tp_calls *out;
    struct tp_progress progress;
};

static void show_progress(struct making *m, uint64_t call)
{
    uint64_t steps = 0, all = 0;
    if (!tp_progress_due(&m->progress)) return;
    if (m->wanted > 1) {
        tp_progress_calls(&m->progress, m->out->made, m->wanted);
        return;
    }
    if (troupe_progress(m->model->runtime, call, &steps, &all) == TROUPE_OK)
        tp_progress_steps(&m->progress, steps, all);
}

/* Until the call has ended, well or not. */
static troupe_status wait_for(struct making *m, uint64_t call)
{
    while (!m->out->ended) {
        if (interrupted) troupe_cancel(m->model->runtime, call);
        const troupe_status status = troupe_wait(m->model->runtime, call, SLICE_MS);
        if (status < 0) return status;
        show_progress(m, call);
    }
    return TROUPE_OK;
}

static troupe_status start(struct making *m, uint64_t *out_call, troupe_error *err)
{
    struct tp_calls *calls = m->out;
    troupe_call_options how = m->model->how;
    calls->ended = false;
    calls->last = calls->made + 1 == m->wanted;
    how.profile = m->profile && calls->last;
    troupe_report_release(&calls->report);
    how.report = &calls->report;
    return troupe_call(m->model->runtime, m->model->function,
                       (const troupe_tensor *const *)m->inputs->list, m->inputs->n, &how,
                       on_done, calls, out_call, err);
}

/* The exit status for how the call ended, after a sentence where it is a failure. */
static int judge(const struct tp_calls *calls)
{
    if (calls->error.code == TROUPE_CANCELLED && interrupted) return TP_EXIT_INTERRUPTED;
    if (calls->error.code < 0) return tp_say_error(&calls->error);
    return calls->last && !calls->results ? tp_say_memory() : TP_EXIT_OK;
}

static int call_once(struct making *m, uint64_t *ns)
{
    troupe_error err = {0};
    uint64_t call = 0;
    const uint64_t before = tp_progress_now();
    troupe_status status = start(m, &call, &err);
    if (status < 0) return tp_say_error(&err);
    if (status == TROUPE_BUSY) return tp_say_failure("the runtime takes no more calls");

    status = wait_for(m, call);
    *ns = tp_progress_now() - before;
    if (status < 0 || m->out->error.code < 0) tp_progress_end(&m->progress);
    if (status < 0) return tp_say_failure("waiting: %s", troupe_status_name(status));
    return judge(m->out);
}

static void note_time(struct tp_calls *calls, uint64_t ns, bool only)
{
    if (calls->made++ == 0) calls->first_ns = ns;
    if (calls->made > 1 || only) tp_times_add(&calls->times, ns);
}

static int make_calls(struct making *m)
{
    while (m->out->made < m->wanted) {
        uint64_t ns = 0;
        const int status = interrupted ? TP_EXIT_INTERRUPTED : call_once(m, &ns);
        if (status) return status;
        note_time(m->out, ns, m->wanted == 1);
    }
    return TP_EXIT_OK;
}

int tp_calls_make(const struct tp_model *model, const struct tp_inputs *inputs,
                  const struct tp_options *options, struct tp_calls *out)
{
    struct making m = {.model = model,
                       .inputs = inputs,
                       .wanted = options->repeat ? options->repeat : 1,
                       .profile = options->profile,
                       .out = out};
    struct sigaction before;
    watch_interrupts(&before);
    tp_progress_begin(&m.progress);
    const int status = make_calls(&m);
    tp_progress_end(&m.progress);
    sigaction(SIGINT, &before, NULL);
    if (status == TP_EXIT_INTERRUPTED)
        tp_say_failure("cancelled by Ctrl-C after %" PRIu64 " of %" PRIu64 " calls", out->made,
                       m.wanted);
    return status;
}

void tp_calls_fini(struct tp_calls *calls)
{
    for (size_t i = 0; i < calls->n_results; i++)
        troupe_tensor_release(&calls->results[i]);
    free(calls->results);
    troupe_report_release(&calls->report);
    *calls = (struct tp_calls){0};
}
