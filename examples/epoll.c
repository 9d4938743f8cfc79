/* SPDX-License-Identifier: MIT
 *
 * examples/epoll.c - calls from an epoll loop, several in flight at once.
 *
 * A timer starts a few calls at each tick; troupe's descriptor says when some have ended. The
 * loop itself never waits for a call. Status 0 when every call gave what it should.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <troupe/troupe.h>

enum { TICKS = 10, CALLS_A_TICK = 4, CALLS = TICKS * CALLS_A_TICK };

static const char text[] = "function square(x: f32[]) -> (y: f32[])\n"
                           "    s = Mul(x, x)       @cpu:0\n"
                           "    y = Identity(s)     @cpu:1\n";

/* What the loop owns. */
struct server {
    troupe_runtime *runtime;
    troupe_library *library;
    troupe_function *square;
    int epoll, timer;
    int started, ended, wrong, most; /* calls; `most`: in flight at once */
};

/* One call; its number is its argument. */
struct request {
    struct server *server;
    int number;
};

static void on_done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                    size_t n)
{
    struct request *request = arg;
    const float wanted = (float)request->number * (float)request->number;
    const bool right = error->code == TROUPE_OK && n == 1 &&
                       *(const float *)troupe_tensor_data(results[0]) == wanted;
    if (error->code) fprintf(stderr, "epoll: call %d: %s\n", request->number, error->text);
    request->server->ended++;
    request->server->wrong += !right;
}

static troupe_status start_call(struct server *s, struct request *request, troupe_error *err)
{
    const float number = (float)request->number;
    troupe_tensor *x = NULL;
    troupe_status status = troupe_tensor_new(&x, TROUPE_F32, 0, NULL, &number, err);
    if (status) return status;
    const troupe_tensor *args[] = {x};
    status = troupe_call(s->runtime, s->square, args, 1, NULL, on_done, request, NULL, err);
    troupe_tensor_release(&x); /* the call keeps it as long as it needs it */
    if (status == TROUPE_OK) s->started++;
    return status;
}

/* The timer has gone off: start some calls; after the last tick stop it. */
static troupe_status on_tick(struct server *s, struct request requests[CALLS],
                             troupe_error *err)
{
    uint64_t ticks = 0;
    if (read(s->timer, &ticks, sizeof(ticks)) != sizeof(ticks)) return TROUPE_OK;
    for (int i = 0; i < CALLS_A_TICK && s->started < CALLS; i++) {
        struct request *request = &requests[s->started];
        *request = (struct request){s, s->started};
        const troupe_status status = start_call(s, request, err);
        if (status) return status;
    }
    if (s->started - s->ended > s->most) s->most = s->started - s->ended;
    return TROUPE_OK;
}

static troupe_status run_loop(struct server *s, struct request requests[CALLS],
                              troupe_error *err)
{
    while (s->ended < CALLS) {
        struct epoll_event event;
        const int n = epoll_wait(s->epoll, &event, 1, -1);
        if (n < 0 && errno != EINTR) return TROUPE_INTERNAL;
        if (n < 1) continue;
        if (event.data.fd == s->timer) {
            const troupe_status status = on_tick(s, requests, err);
            if (status) return status;
        } else {
            troupe_dispatch(s->runtime); /* runs on_done for each call that has ended */
        }
    }
    return TROUPE_OK;
}

static troupe_status watch(struct server *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? TROUPE_OK : TROUPE_INTERNAL;
}

static troupe_status open_all(struct server *s, troupe_error *err)
{
    const struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_status status = TROUPE_OK;
    options.devices = "cpu:0,cpu:1";
    if ((status = troupe_open(&s->runtime, &options, err)) ||
        (status = troupe_library_new(&s->library, err)) ||
        (status = troupe_library_read(s->library, "epoll", text, sizeof(text) - 1, err)) ||
        (status = troupe_library_find(s->library, "square", &s->square, err)))
        return status;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    timerfd_settime(s->timer, 0, &often, NULL);
    if ((status = watch(s, s->timer))) return status;
    return watch(s, troupe_fd(s->runtime));
}

static void close_all(struct server *s)
{
    if (s->runtime) troupe_close(&s->runtime); /* ends what is still in flight */
    troupe_function_release(&s->square);
    troupe_library_destroy(&s->library);
    close(s->timer);
    close(s->epoll);
}

int main(void)
{
    struct server server = {.epoll = -1, .timer = -1};
    struct request requests[CALLS];
    troupe_error err = {TROUPE_OK, "the system refused"};
    troupe_status status = open_all(&server, &err);
    if (status == TROUPE_OK) status = run_loop(&server, requests, &err);
    if (status) fprintf(stderr, "epoll: %s\n", err.text);
    printf("%d calls ended, %d of them wrong, at most %d in flight\n", server.ended,
           server.wrong, server.most);
    close_all(&server);
    return status == TROUPE_OK && server.wrong == 0 ? 0 : 1;
}
