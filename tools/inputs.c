/* SPDX-License-Identifier: MIT
 *
 * tools/inputs.c - which argument each -i means, and the values: files first, then made ones.
 */
#include "tools/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/say.h"
#include "tools/values.h"

enum { TYPE_SIZE = 512 };

/* What -i gives to one argument. */
struct given {
    const char *value; /* behind the '='; NULL: nothing is given */
    enum { NOTHING, FROM_FILE, ZEROS, RANDOM } how;
    uint64_t seed;
};

struct making {
    const troupe_function *function;
    const char *path;    /* of the model */
    struct given *given; /* one for each argument */
    struct tp_dims dims; /* named dimensions that files have settled */
    struct tp_inputs *inputs;
};

/* -- Which argument ----------------------------------------------------------------------- */

/* The argument that "NAME=VALUE" means; a name may have a '=' of its own, so the longest wins.
 */
static size_t find_argument(const troupe_function *function, const char *input)
{
    const size_t n = troupe_function_args(function);
    size_t best = n, longest = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = troupe_function_arg_name(function, i);
        const size_t size = strlen(name);
        if (strncmp(input, name, size) != 0 || input[size] != '=') continue;
        if (best < n && size < longest) continue;
        best = i;
        longest = size;
    }
    return best;
}

static int no_such_argument(const struct making *m, const char *input)
{
    const size_t n = troupe_function_args(m->function);
    const char **names = calloc(n ? n : 1, sizeof(*names));
    char *word = strndup(input, strcspn(input, "="));
    int status = TP_EXIT_FAILURE;
    for (size_t i = 0; names && i < n; i++)
        names[i] = troupe_function_arg_name(m->function, i);
    const char *closest = names && word ? tp_say_closest(word, names, n) : NULL;
    if (!names || !word)
        status = tp_say_memory();
    else if (n == 0)
        tp_say_failure("%s: it has no arguments, so no '%s'", m->path, word);
    else
        tp_say_failure("%s: there is no argument '%s' (%s '%s'%s)", m->path, word,
                       closest ? "did you mean" : "the first one is",
                       closest ? closest : names[0], closest ? "?" : "");
    free(word);
    free(names);
    return status;
}

static int read_seed(const char *input, const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return tp_say_usage("run", "-i %s: the seed is no number from 0 to 2^64 - 1", input);
    return TP_EXIT_OK;
}

static int read_given(const char *input, const char *value, struct given *out)
{
    if (out->value) return tp_say_usage("run", "-i %s: that argument was given before", input);
    if (!*value) return tp_say_usage("run", "-i %s: nothing stands behind the '='", input);
    out->value = value;
    out->how = FROM_FILE;
    if (strcmp(value, "zeros") == 0) out->how = ZEROS;
    if (strcmp(value, "random") == 0)
        return tp_say_usage("run", "-i %s: a seed is wanted, as in random:1", input);
    if (strncmp(value, "random:", 7) != 0) return TP_EXIT_OK;
    out->how = RANDOM;
    return read_seed(input, value + 7, &out->seed);
}

static int read_line(const struct making *m, const struct tp_options *options)
{
    for (size_t i = 0; i < options->n_inputs; i++) {
        const char *input = options->inputs[i];
        if (!strchr(input, '='))
            return tp_say_usage("run", "-i %s: NAME=VALUE is wanted", input);
        const size_t arg = find_argument(m->function, input);
        if (arg == troupe_function_args(m->function)) return no_such_argument(m, input);
        const size_t name = strlen(troupe_function_arg_name(m->function, arg));
        const int status = read_given(input, input + name + 1, &m->given[arg]);
        if (status) return status;
    }
    return TP_EXIT_OK;
}

static bool is_missing(const struct making *m, size_t i)
{
    return !m->given[i].value && !troupe_function_arg_default(m->function, i);
}

/* One sentence with all arguments that have neither a value nor a default. */
static int find_missing(const struct making *m)
{
    char *list = NULL;
    size_t size = 0, missing = 0;
    FILE *to = open_memstream(&list, &size);
    if (!to) return tp_say_memory();
    for (size_t i = 0; i < m->inputs->n; i++) {
        char type[TYPE_SIZE] = "";
        if (!is_missing(m, i)) continue;
        troupe_function_arg_text(m->function, i, type, sizeof(type));
        fprintf(to, "%s%s: %s", missing++ ? ", " : "", troupe_function_arg_name(m->function, i),
                type);
    }
    int status = fclose(to) == 0 ? TP_EXIT_OK : tp_say_memory();
    if (!status && missing)
        status = tp_say_failure("%s: %zu argument%s without a value, to be given by -i: %s",
                                m->path, missing, missing == 1 ? "" : "s", list);
    free(list);
    return status;
}

/* -- Values ------------------------------------------------------------------------------- */

/* A file's tensor fits the argument's element type and its fixed dimensions; the library checks
 * the rest, but does not know the file's name. */
static int check_file(const struct making *m, size_t i)
{
    const troupe_tensor *tensor = m->inputs->list[i];
    char wanted[TYPE_SIZE] = "", has[TYPE_SIZE] = "";
    if (tp_values_fit(m->function, i, tensor)) return TP_EXIT_OK;
    troupe_function_arg_text(m->function, i, wanted, sizeof(wanted));
    tp_values_type(tensor, has, sizeof(has));
    return tp_say_failure("%s: argument '%s' is %s, but the file has %s", m->given[i].value,
                          troupe_function_arg_name(m->function, i), wanted, has);
}

/* What NumPy has no type for is in its files as bytes: the element types of a byte that came
 * after STRING. */
static troupe_status read_as(troupe_dtype wanted, const char *path, troupe_tensor **out,
                             troupe_error *err)
{
    troupe_tensor *bytes = NULL;
    troupe_status status = troupe_tensor_read_npy(&bytes, path, err);
    if (status < 0) return status;
    const troupe_dtype has = troupe_tensor_dtype(bytes);
    if (has == wanted || (has != TROUPE_U8 && has != TROUPE_I8) || wanted <= TROUPE_STRING ||
        troupe_dtype_size(wanted) != 1) {
        *out = bytes;
        return TROUPE_OK;
    }
    status = troupe_tensor_retype(out, bytes, wanted, err);
    troupe_tensor_release(&bytes);
    return status;
}

static int read_file(struct making *m, size_t i)
{
    troupe_error err;
    int rank;
    int64_t dims[TROUPE_MAX_RANK];
    const troupe_dtype wanted = troupe_function_arg_type(m->function, i, &rank, dims);
    if (read_as(wanted, m->given[i].value, &m->inputs->list[i], &err) < 0)
        return tp_say_failure("argument '%s': %s", troupe_function_arg_name(m->function, i),
                              err.text);
    return check_file(m, i);
}

/* What stands already settles named dimensions: a file's tensor, or the default that is taken.
 */
static int learn_dims(struct making *m, size_t i)
{
    const troupe_tensor *tensor = m->inputs->list[i];
    if (m->given[i].how == NOTHING) tensor = troupe_function_arg_default(m->function, i);
    if (!tensor || tp_dims_learn(&m->dims, m->function, i, tensor)) return TP_EXIT_OK;
    return tp_say_memory();
}

static int make_value(struct making *m, size_t i)
{
    troupe_error err;
    const struct given *given = &m->given[i];
    const uint64_t *seed = given->how == RANDOM ? &given->seed : NULL;
    if (tp_values_make(m->function, i, &m->dims, seed, &m->inputs->list[i], &err) == TROUPE_OK)
        return TP_EXIT_OK;
    return tp_say_failure("%s: argument '%s' cannot be made up: %s", m->path,
                          troupe_function_arg_name(m->function, i), err.text);
}

static int make_all(struct making *m)
{
    for (int files = 1; files >= 0; files--) { /* files first: they settle dimensions */
        for (size_t i = 0; i < m->inputs->n; i++) {
            int status = TP_EXIT_OK;
            if (m->given[i].how == FROM_FILE && files) status = read_file(m, i);
            if (!status && files) status = learn_dims(m, i);
            if (m->given[i].how >= ZEROS && !files) status = make_value(m, i);
            if (status) return status;
        }
    }
    return TP_EXIT_OK;
}

int tp_inputs_make(const troupe_function *function, const char *path,
                   const struct tp_options *options, struct tp_inputs *out)
{
    const size_t n = troupe_function_args(function);
    struct making m = {.function = function, .path = path, .inputs = out};
    m.given = calloc(n ? n : 1, sizeof(*m.given));
    out->list = calloc(n ? n : 1, sizeof(*out->list));
    out->n = out->list ? n : 0;
    int status = m.given && out->list ? read_line(&m, options) : tp_say_memory();
    if (!status) status = find_missing(&m);
    if (!status) status = make_all(&m);
    tp_dims_fini(&m.dims);
    free(m.given);
    return status;
}

void tp_inputs_fini(struct tp_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        troupe_tensor_release(&inputs->list[i]);
    free(inputs->list);
    *inputs = (struct tp_inputs){0};
}
