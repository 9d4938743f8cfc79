/* SPDX-License-Identifier: MIT
 *
 * examples/fashion/classify.c - a trained picture classifier over two devices, and what it
 * took.
 *
 * classify FOLDER [TOOL]: FOLDER holds the model, the pictures, their labels and the placement
 * rules; TOOL is how the reader calls the program `troupe`. Status 0 when every step worked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <troupe/troupe.h>

#define DEVICES "cpu:0,cpu:1"
#define MODEL   "fashion_mnist_cnn.onnx"
#define RULES   "two-cpus.place"

enum { KINDS = 10, PATH_SIZE = 512, RULES_SIZE = 4096 };

static const char *const kind_names[KINDS] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                              "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                              "Bag",         "Ankle boot"};

/* All that main has to give back. */
struct classifier {
    const char *folder;
    troupe_runtime *runtime;
    troupe_library *library;
    troupe_function *model;
    troupe_tensor *images, *labels, *probabilities;
    troupe_plan *plan;
    troupe_report *report; /* on the second call */
    uint64_t first_ns;     /* the first call's time */
    char rules[RULES_SIZE];
};

#define TRY(expr)                                                                              \
    do {                                                                                       \
        const troupe_status try_ = (expr);                                                     \
        if (try_ != TROUPE_OK) return try_;                                                    \
    } while (0)

static troupe_status fail(troupe_error *err, const char *what, const char *path)
{
    err->code = TROUPE_INVALID;
    snprintf(err->text, sizeof(err->text), "%.180s: %s", path, what);
    return err->code;
}

static troupe_status path_of(const struct classifier *c, const char *file, char path[PATH_SIZE],
                             troupe_error *err)
{
    const int n = snprintf(path, PATH_SIZE, "%s/%s", c->folder, file);
    return n > 0 && n < PATH_SIZE ? TROUPE_OK : fail(err, "the name is too long", file);
}

static troupe_status read_array(const struct classifier *c, const char *file,
                                troupe_tensor **out, troupe_error *err)
{
    char path[PATH_SIZE];
    TRY(path_of(c, file, path, err));
    return troupe_tensor_read_npy(out, path, err);
}

static troupe_status read_rules(struct classifier *c, troupe_error *err)
{
    char path[PATH_SIZE];
    TRY(path_of(c, RULES, path, err));
    FILE *file = fopen(path, "r");
    if (!file) return fail(err, "it cannot be opened", path);
    const size_t n = fread(c->rules, 1, sizeof(c->rules) - 1, file);
    c->rules[n] = '\0';
    const int whole = feof(file) && !ferror(file);
    fclose(file);
    return whole ? TROUPE_OK : fail(err, "it cannot be read as a whole", path);
}

static troupe_status read_model(struct classifier *c, troupe_error *err)
{
    char path[PATH_SIZE];
    const char *name = NULL;
    TRY(path_of(c, MODEL, path, err));
    TRY(troupe_library_new(&c->library, err));
    TRY(troupe_library_load(c->library, path, &name, err));
    return troupe_library_find(c->library, name, &c->model, err);
}

/* The arrays are what the rest takes them for. */
static troupe_status check_arrays(const struct classifier *c, troupe_error *err)
{
    if (troupe_tensor_dtype(c->labels) != TROUPE_I64 || troupe_tensor_rank(c->labels) != 1)
        return fail(err, "a list of i64 is wanted", "labels.npy");
    if (troupe_tensor_rank(c->images) != 4 ||
        troupe_tensor_dims(c->images)[0] != troupe_tensor_dims(c->labels)[0])
        return fail(err, "as many pictures as labels are wanted", "images.npy");
    return TROUPE_OK;
}

static troupe_status open_all(struct classifier *c, troupe_error *err)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    options.devices = DEVICES;
    TRY(troupe_open(&c->runtime, &options, err));
    TRY(read_model(c, err));
    TRY(read_rules(c, err));
    TRY(read_array(c, "images.npy", &c->images, err));
    TRY(read_array(c, "labels.npy", &c->labels, err));
    return check_arrays(c, err);
}

/* Call the model twice: the first call plans, chooses kernels and packs weights; the second is
 * what every further one costs, and is measured. */
static troupe_status classify(struct classifier *c, troupe_error *err)
{
    troupe_call_options options = TROUPE_CALL_OPTIONS_INIT;
    options.rules = c->rules;
    options.rules_source = RULES;
    TRY(troupe_plan_make(c->runtime, c->model, &options, &c->plan, err));

    const troupe_tensor *args[] = {c->images};
    options.profile = true;
    for (int i = 0; i < 2; i++) {
        if (c->report) c->first_ns = troupe_report_wall_ns(c->report);
        troupe_tensor_release(&c->probabilities);
        troupe_report_release(&c->report);
        options.report = &c->report;
        TRY(troupe_run(c->runtime, c->model, args, 1, &c->probabilities, 1, &options, err));
    }
    if (troupe_tensor_count(c->probabilities) != KINDS * troupe_tensor_count(c->labels))
        return fail(err, "it gave another number of probabilities", MODEL);
    return TROUPE_OK;
}

static int likeliest(const float *probabilities)
{
    int best = 0;
    for (int i = 1; i < KINDS; i++)
        if (probabilities[i] > probabilities[best]) best = i;
    return best;
}

static void show_kinds(const struct classifier *c)
{
    const float *probabilities = troupe_tensor_data(c->probabilities);
    const int64_t *labels = troupe_tensor_data(c->labels);
    const size_t n = troupe_tensor_count(c->labels);
    size_t right = 0;
    printf("picture  is           taken for    sure\n");
    for (size_t i = 0; i < n; i++, probabilities += KINDS) {
        const int kind = likeliest(probabilities);
        const char *label = labels[i] >= 0 && labels[i] < KINDS ? kind_names[labels[i]] : "?";
        right += labels[i] == kind;
        printf("%7zu  %-11s  %-11s  %3.0f %%%s\n", i, label, kind_names[kind],
               100 * (double)probabilities[kind], labels[i] == kind ? "" : "  wrong");
    }
    printf("%zu of %zu are right.\n\n", right, n);
}

static void show_placement(const struct classifier *c)
{
    printf("graph node  operator  device  because\n");
    for (size_t i = 0; i < troupe_plan_nodes(c->plan); i++) {
        troupe_plan_node node = {.size = sizeof(node)};
        if (troupe_plan_node_at(c->plan, i, &node) != TROUPE_OK) continue;
        printf("%-10s  %-8s  %-6s  %s\n", node.name, node.op ? node.op : "(call)", node.device,
               node.reason);
    }
    printf("\n");
}

static void show_costs(const struct classifier *c)
{
    printf("The first call took %.1f ms: it was planned, kernels were chosen, weights packed.\n"
           "The second, of %" PRIu64 " bytes between devices:\n\n%s\n",
           (double)c->first_ns / 1e6, troupe_report_crossed(c->report),
           troupe_report_text(c->report, TROUPE_TEXT));
}

static void show_next(const struct classifier *c, const char *tool)
{
    const char *const f = c->folder;
    printf("Try next:\n"
           "  %s show %s/" MODEL " --devices " DEVICES " --place %s/" RULES "\n"
           "  %s explain %s/" MODEL " conv2 --devices " DEVICES " --place %s/" RULES "\n"
           "  %s run %s/" MODEL " -i image=%s/images.npy --devices " DEVICES " --repeat 100\n",
           tool, f, f, tool, f, f, tool, f, f);
}

static void close_all(struct classifier *c)
{
    troupe_report_release(&c->report);
    troupe_plan_release(&c->plan);
    troupe_tensor_release(&c->probabilities);
    troupe_tensor_release(&c->labels);
    troupe_tensor_release(&c->images);
    troupe_function_release(&c->model);
    troupe_library_destroy(&c->library);
    if (c->runtime) troupe_close(&c->runtime);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: classify FOLDER [TOOL]\n");
        return 2;
    }
    struct classifier c = {.folder = argv[1]};
    troupe_error err = {TROUPE_OK, ""};
    troupe_status status = open_all(&c, &err);
    if (status == TROUPE_OK) status = classify(&c, &err);
    if (status == TROUPE_OK) {
        show_kinds(&c);
        show_placement(&c);
        show_costs(&c);
        show_next(&c, argc > 2 ? argv[2] : "troupe");
    } else {
        fprintf(stderr, "classify: %s\n", err.text);
    }
    close_all(&c);
    return status == TROUPE_OK ? 0 : 1;
}
