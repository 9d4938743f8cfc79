/* SPDX-License-Identifier: MIT
 *
 * examples/zmq_poll.c - a ZeroMQ service that computes by troupe on its own thread.
 *
 * The loop serves its own ROUTER socket and troupe's descriptor side by side. The runtime has
 * no worker threads (workers = 0): all its work runs inside troupe_dispatch, on the loop's
 * thread. A client on a thread of its own sends requests over inproc and checks the answers.
 * Status 0 when all are right.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <troupe/troupe.h>

#define ENDPOINT "inproc://squares"
enum { REQUESTS = 100, VALUES = 8, ENVELOPE = 256, IN_FLIGHT = 10, PATIENCE_MS = 30000 };

static const char text[] = "function squares(x: f32[n]) -> (y: f32[n])\n"
                           "    s = Mul(x, x)       @cpu:0\n"
                           "    y = Identity(s)     @cpu:1\n";

/* -- The service -------------------------------------------------------------------------- */

struct service {
    void *socket; /* ROUTER */
    troupe_runtime *runtime;
    troupe_library *library;
    troupe_function *squares;
    int answered;
};

/* Who asked, until the answer goes out. */
struct request {
    struct service *service;
    size_t size;
    unsigned char envelope[ENVELOPE];
};

/* A call has ended: answer with its result, or with nothing when it failed. */
static void on_done(void *arg, const troupe_error *error, const troupe_tensor *const *results,
                    size_t n)
{
    struct request *request = arg;
    struct service *s = request->service;
    const void *data = n ? troupe_tensor_data(results[0]) : NULL;
    const size_t size = n ? troupe_tensor_size(results[0]) : 0;
    if (error->code) fprintf(stderr, "zmq_poll: %s\n", error->text);
    zmq_send(s->socket, request->envelope, request->size, ZMQ_SNDMORE);
    zmq_send(s->socket, data ? data : "", size, 0);
    s->answered++;
    free(request);
}

/* Start the call that a request asks for; on_done owns the request from then on. */
static int start_call(struct service *s, struct request *request, const float *values, size_t n)
{
    const int64_t dims[] = {(int64_t)n};
    troupe_tensor *x = NULL;
    troupe_error err;
    troupe_status status = troupe_tensor_new(&x, TROUPE_F32, 1, dims, values, &err);
    if (status == TROUPE_OK) {
        const troupe_tensor *args[] = {x};
        status =
            troupe_call(s->runtime, s->squares, args, 1, NULL, on_done, request, NULL, &err);
    }
    troupe_tensor_release(&x);
    if (status < 0) fprintf(stderr, "zmq_poll: %s\n", err.text);
    return status == TROUPE_OK ? 0 : -1;
}

/* Two frames have come: who asks, and the values. */
static int on_request(struct service *s)
{
    float values[VALUES];
    struct request *request = calloc(1, sizeof(*request));
    if (!request) return -1;
    request->service = s;
    const int who = zmq_recv(s->socket, request->envelope, ENVELOPE, 0);
    const int size = zmq_recv(s->socket, values, sizeof(values), 0);
    if (who > 0 && who <= ENVELOPE && size >= 0 && (size_t)size <= sizeof(values)) {
        request->size = (size_t)who;
        if (start_call(s, request, values, (size_t)size / sizeof(float)) == 0) return 0;
    }
    free(request);
    return -1;
}

static int serve(struct service *s)
{
    zmq_pollitem_t items[] = {
        {.socket = s->socket, .events = ZMQ_POLLIN},
        {.fd = troupe_fd(s->runtime), .events = ZMQ_POLLIN},
    };
    while (s->answered < REQUESTS) {
        if (zmq_poll(items, 2, PATIENCE_MS) < 1) return -1; /* the client is gone */
        if (items[0].revents && on_request(s) != 0) return -1;
        if (items[1].revents) troupe_dispatch(s->runtime);
    }
    return 0;
}

static int open_service(struct service *s, void *context)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_error err;
    options.devices = "cpu:0,cpu:1";
    options.workers = 0;
    s->socket = zmq_socket(context, ZMQ_ROUTER);
    if (!s->socket || zmq_bind(s->socket, ENDPOINT) != 0) return -1;
    if (troupe_open(&s->runtime, &options, &err) || troupe_library_new(&s->library, &err) ||
        troupe_library_read(s->library, "zmq_poll", text, sizeof(text) - 1, &err) ||
        troupe_library_find(s->library, "squares", &s->squares, &err)) {
        fprintf(stderr, "zmq_poll: %s\n", err.text);
        return -1;
    }
    return 0;
}

static void close_service(struct service *s)
{
    if (s->runtime) troupe_close(&s->runtime); /* may still answer, so before the socket */
    troupe_function_release(&s->squares);
    troupe_library_destroy(&s->library);
    if (s->socket) zmq_close(s->socket);
}

/* -- The client --------------------------------------------------------------------------- */

struct client {
    void *context;
    int right;
};

/* Request r asks for the squares of r, r + 1, ... */
static int ask(void *socket, int r)
{
    float x[VALUES];
    for (int i = 0; i < VALUES; i++)
        x[i] = (float)(r + i);
    return zmq_send(socket, x, sizeof(x), 0) == (int)sizeof(x) ? 0 : -1;
}

/* The first value tells which request is answered; answers may come in any order. */
static int check_answer(void *socket)
{
    float y[VALUES] = {0};
    if (zmq_recv(socket, y, sizeof(y), 0) != (int)sizeof(y)) return 0;
    for (int r = 0; r < REQUESTS; r++) {
        int equal = 0;
        for (int i = 0; i < VALUES; i++)
            equal += y[i] == (float)(r + i) * (float)(r + i);
        if (equal == VALUES) return 1;
    }
    return 0;
}

static void *run_client(void *arg)
{
    struct client *client = arg;
    void *socket = zmq_socket(client->context, ZMQ_DEALER);
    if (!socket || zmq_connect(socket, ENDPOINT) != 0) return NULL;
    for (int r = 0; r < REQUESTS; r++) { /* up to IN_FLIGHT are asked before one is read */
        if (ask(socket, r) != 0) break;
        if (r >= IN_FLIGHT - 1) client->right += check_answer(socket);
    }
    for (int r = 0; r < IN_FLIGHT - 1; r++)
        client->right += check_answer(socket);
    zmq_close(socket);
    return NULL;
}

int main(void)
{
    void *context = zmq_ctx_new();
    struct service service = {0};
    struct client client = {.context = context};
    pthread_t thread;
    int status = context ? open_service(&service, context) : -1;
    const int started = status == 0 && pthread_create(&thread, NULL, run_client, &client) == 0;
    if (started) status = serve(&service);
    if (started && status == 0) pthread_join(thread, NULL);
    printf("%d of %d answers are right\n", client.right, REQUESTS);
    close_service(&service);
    if (status) return 1; /* the client may still wait: the process ends with it */
    zmq_ctx_term(context);
    return client.right == REQUESTS ? 0 : 1;
}
