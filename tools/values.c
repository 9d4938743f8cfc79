/* SPDX-License-Identifier: MIT
 *
 * tools/values.c - made-up values, and the dimensions that named ones share.
 */
#include "tools/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_SIZE = 1024, ALIGNMENT = 64 };

/* -- Named dimensions --------------------------------------------------------------------- */

/* The type of argument i as its parts: "f32[n,3]" gives rank 2 and "n", "3". Rank -1: unknown,
 * or a text that does not say it in this form. `text` is written over. */
static int split_type(const troupe_function *function, size_t i, char text[TYPE_SIZE],
                      char *parts[TROUPE_MAX_RANK])
{
    int rank = -1, n = 0;
    int64_t dims[TROUPE_MAX_RANK];
    troupe_function_arg_type(function, i, &rank, dims);
    if (rank <= 0 || troupe_function_arg_text(function, i, text, TYPE_SIZE) >= TYPE_SIZE)
        return -1;
    char *at = strchr(text, '['), *end = strrchr(text, ']');
    if (!at || !end) return -1;
    *end = '\0';
    for (at++; at && n < TROUPE_MAX_RANK; n++)
        parts[n] = strsep(&at, ",");
    return n == rank && !at ? rank : -1;
}

static const struct tp_dim *find_dim(const struct tp_dims *dims, const char *name)
{
    for (size_t i = 0; i < dims->n; i++)
        if (strcmp(dims->list[i].name, name) == 0) return &dims->list[i];
    return NULL;
}

static bool add_dim(struct tp_dims *dims, const char *name, int64_t size)
{
    struct tp_dim *grown = reallocarray(dims->list, dims->n + 1, sizeof(*grown));
    if (!grown) return false;
    dims->list = grown;
    grown[dims->n] = (struct tp_dim){strdup(name), size};
    return grown[dims->n].name && ++dims->n;
}

bool tp_dims_learn(struct tp_dims *dims, const troupe_function *function, size_t i,
                   const troupe_tensor *tensor)
{
    char text[TYPE_SIZE], *parts[TROUPE_MAX_RANK];
    const int rank = split_type(function, i, text, parts);
    if (rank != troupe_tensor_rank(tensor)) return true; /* its type names no dimensions */
    for (int d = 0; d < rank; d++) {
        if (find_dim(dims, parts[d])) continue;
        if (!add_dim(dims, parts[d], troupe_tensor_dims(tensor)[d])) return false;
    }
    return true;
}

void tp_dims_fini(struct tp_dims *dims)
{
    for (size_t i = 0; i < dims->n; i++)
        free(dims->list[i].name);
    free(dims->list);
    *dims = (struct tp_dims){0};
}

/* Rank and dimensions to make argument i with: fixed ones, then those that a file has settled,
 * then 1. */
static int choose_dims(const troupe_function *function, size_t i, const struct tp_dims *known,
                       int64_t dims[TROUPE_MAX_RANK])
{
    char text[TYPE_SIZE], *parts[TROUPE_MAX_RANK];
    int rank = -1;
    troupe_function_arg_type(function, i, &rank, dims);
    const int named = split_type(function, i, text, parts);
    for (int d = 0; d < rank; d++) {
        if (dims[d] >= 0) continue;
        const struct tp_dim *dim =
            named == rank && strcmp(parts[d], "?") != 0 ? find_dim(known, parts[d]) : NULL;
        dims[d] = dim ? dim->size : 1;
    }
    return rank < 0 ? 0 : rank;
}

/* -- Types -------------------------------------------------------------------------------- */

bool tp_values_fit(const troupe_function *function, size_t i, const troupe_tensor *tensor)
{
    int rank = -1;
    int64_t dims[TROUPE_MAX_RANK];
    const troupe_dtype dtype = troupe_function_arg_type(function, i, &rank, dims);
    if (dtype != TROUPE_DTYPE_NONE && dtype != troupe_tensor_dtype(tensor)) return false;
    if (rank >= 0 && rank != troupe_tensor_rank(tensor)) return false;
    for (int d = 0; d < rank; d++)
        if (dims[d] >= 0 && dims[d] != troupe_tensor_dims(tensor)[d]) return false;
    return true;
}

void tp_values_type(const troupe_tensor *tensor, char *text, size_t size)
{
    const char *name = troupe_dtype_name(troupe_tensor_dtype(tensor));
    size_t at = (size_t)snprintf(text, size, "%s[", name ? name : "?");
    for (int d = 0; d < troupe_tensor_rank(tensor) && at < size; d++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", d ? "," : "",
                               (long long)troupe_tensor_dims(tensor)[d]);
    if (at < size) snprintf(text + at, size - at, "]");
}

/* -- Values ------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned below(unsigned n, uint64_t random)
{
    return (unsigned)((random >> 32) * n >> 32);
}

static unsigned digit(uint64_t random)
{
    return below(10, random);
}

/* The bits of a binary16 in [0, 1): 11 random bits over 2048. */
static uint16_t half(uint64_t random)
{
    unsigned n = (unsigned)(random >> 53);
    if (n == 0) return 0;
    unsigned exponent = 14; /* of [1/2, 1) */
    for (; !(n & 0x400); n <<= 1)
        exponent--;
    return (uint16_t)(exponent << 10 | (n & 0x3ff));
}

/* The upper half of the float32 with 8 random bits over 256. */
static uint16_t brain(uint64_t random)
{
    const float f = (float)(random >> 56) / 256;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

/* Codes of the floats of a byte or less that are at least 0 and below 1: those below that of 1. */
static unsigned code_of_one(troupe_dtype dtype)
{
    switch (dtype) {
    case TROUPE_F8E4M3FN:
        return 0x38;
    case TROUPE_F8E5M2:
        return 0x3c;
    case TROUPE_F8E8M0:
        return 0x7f;
    case TROUPE_F4E2M1:
        return 0x02;
    default: /* the two without -0 */
        return 0x40;
    }
}

static void fill_one(void *data, troupe_dtype dtype, size_t i, uint64_t r)
{
    switch (dtype) {
    case TROUPE_F32:
        ((float *)data)[i] = (float)(r >> 40) / 0x1p24f;
        return;
    case TROUPE_F64:
        ((double *)data)[i] = (double)(r >> 11) / 0x1p53;
        return;
    case TROUPE_C64:
        ((float *)data)[2 * i] = (float)(r >> 40) / 0x1p24f;
        ((float *)data)[2 * i + 1] = (float)(r & 0xffffff) / 0x1p24f;
        return;
    case TROUPE_C128:
        ((double *)data)[2 * i] = (double)(r >> 32) / 0x1p32;
        ((double *)data)[2 * i + 1] = (double)(r & 0xffffffff) / 0x1p32;
        return;
    case TROUPE_F16:
        ((uint16_t *)data)[i] = half(r);
        return;
    case TROUPE_BF16:
        ((uint16_t *)data)[i] = brain(r);
        return;
    case TROUPE_I8:
    case TROUPE_U8:
    case TROUPE_U4:
        ((uint8_t *)data)[i] = (uint8_t)digit(r);
        return;
    case TROUPE_I4:
        ((uint8_t *)data)[i] = (uint8_t)below(8, r);
        return;
    case TROUPE_U2:
        ((uint8_t *)data)[i] = (uint8_t)below(4, r);
        return;
    case TROUPE_I2:
        ((uint8_t *)data)[i] = (uint8_t)below(2, r);
        return;
    case TROUPE_I16:
    case TROUPE_U16:
        ((uint16_t *)data)[i] = (uint16_t)digit(r);
        return;
    case TROUPE_I32:
    case TROUPE_U32:
        ((uint32_t *)data)[i] = digit(r);
        return;
    case TROUPE_I64:
    case TROUPE_U64:
        ((uint64_t *)data)[i] = digit(r);
        return;
    case TROUPE_BOOL:
        ((uint8_t *)data)[i] = (uint8_t)(r >> 63);
        return;
    case TROUPE_F8E4M3FN:
    case TROUPE_F8E4M3FNUZ:
    case TROUPE_F8E5M2:
    case TROUPE_F8E5M2FNUZ:
    case TROUPE_F8E8M0:
    case TROUPE_F4E2M1:
        ((uint8_t *)data)[i] = (uint8_t)below(code_of_one(dtype), r);
        return;
    case TROUPE_STRING: /* not made here */
    case TROUPE_DTYPE_NONE:
        return;
    }
}

static void fill(void *data, troupe_dtype dtype, size_t n, uint64_t state)
{
    for (size_t i = 0; i < n; i++)
        fill_one(data, dtype, i, next_random(&state));
}

static troupe_status fail(troupe_error *err, troupe_status code, const char *text)
{
    err->code = code;
    snprintf(err->text, sizeof(err->text), "%s", text);
    return code;
}

/* Elements of the shape; false when there are more than memory could hold. */
static bool count_elements(int rank, const int64_t *dims, size_t *out)
{
    *out = 1;
    for (int d = 0; d < rank; d++)
        if (__builtin_mul_overflow(*out, (uint64_t)dims[d], out)) return false;
    return *out <= SIZE_MAX / 64;
}

static troupe_status make_strings(int rank, const int64_t *dims, size_t n, const uint64_t *seed,
                                  troupe_tensor **out, troupe_error *err)
{
    static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    uint64_t state = seed ? *seed : 0;
    const char **texts = calloc(n ? n : 1, sizeof(*texts));
    if (!texts) return fail(err, TROUPE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < n; i++)
        texts[i] = seed ? digits[digit(next_random(&state))] : "";
    const troupe_status status = troupe_tensor_new_strings(out, rank, dims, texts, NULL, err);
    free(texts);
    return status;
}

static void free_data(void *arg, void *data)
{
    (void)arg;
    free(data);
}

static troupe_status make_random(troupe_dtype dtype, int rank, const int64_t *dims, size_t n,
                                 uint64_t seed, troupe_tensor **out, troupe_error *err)
{
    const size_t size = n * troupe_dtype_size(dtype);
    void *data = aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 1) * ALIGNMENT);
    if (!data) return fail(err, TROUPE_EXHAUSTED, "out of memory");
    fill(data, dtype, n, seed);
    const troupe_status status =
        troupe_tensor_take(out, dtype, rank, dims, data, free_data, NULL, err);
    if (status < 0) free(data);
    return status;
}

troupe_status tp_values_make(const troupe_function *function, size_t i,
                             const struct tp_dims *dims, const uint64_t *seed,
                             troupe_tensor **out, troupe_error *err)
{
    int rank = -1;
    int64_t chosen[TROUPE_MAX_RANK];
    size_t n = 0;
    const troupe_dtype dtype = troupe_function_arg_type(function, i, &rank, chosen);
    rank = choose_dims(function, i, dims, chosen);
    if (dtype == TROUPE_DTYPE_NONE)
        return fail(err, TROUPE_INVALID, "its element type is unknown, give it a file");
    if (!count_elements(rank, chosen, &n))
        return fail(err, TROUPE_EXHAUSTED, "it has more elements than memory could hold");
    if (dtype == TROUPE_STRING) return make_strings(rank, chosen, n, seed, out, err);
    if (seed) return make_random(dtype, rank, chosen, n, *seed, out, err);
    return troupe_tensor_new(out, dtype, rank, chosen, NULL, err);
}
