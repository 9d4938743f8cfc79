/* SPDX-License-Identifier: MIT
 *
 * tools/progress.c - the progress line.
 */
#include "tools/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "troupe/status.h"

static const uint64_t second_ns = 1000000000, renewal_ns = 200000000;

uint64_t tp_progress_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

void tp_progress_begin(struct tp_progress *progress)
{
    const uint64_t now = tp_progress_now();
    *progress = (struct tp_progress){
        .terminal = isatty(STDERR_FILENO) == 1, .start_ns = now, .next_ns = now + second_ns};
}

bool tp_progress_due(const struct tp_progress *progress)
{
    return progress->terminal && tp_progress_now() >= progress->next_ns;
}

/* Begin the line anew; the cursor stays behind what is printed now. */
static double renew(struct tp_progress *progress)
{
    const uint64_t now = tp_progress_now();
    progress->next_ns = now + renewal_ns;
    progress->shown = true;
    fputs("\r\033[K", stderr);
    return (double)(now - progress->start_ns) / (double)second_ns;
}

void tp_progress_calls(struct tp_progress *progress, uint64_t k, uint64_t n)
{
    const double seconds = renew(progress), rate = (double)k / seconds;
    fprintf(stderr, "call %" PRIu64 " of %" PRIu64, k, n);
    if (k > 0) fprintf(stderr, ", %.3g a second, %.0f s left", rate, (double)(n - k) / rate);
    fflush(stderr);
}

void tp_progress_steps(struct tp_progress *progress, uint64_t k, uint64_t n)
{
    const double seconds = renew(progress);
    if (n == 0)
        fprintf(stderr, "making ready, %.0f s", seconds);
    else
        fprintf(stderr, "step %" PRIu64 " of %" PRIu64 ", %.0f s", k, n, seconds);
    fflush(stderr);
}

void tp_progress_end(struct tp_progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}
