/* SPDX-License-Identifier: MIT
 *
 * tests/gen_ops_doc.c - prints doc/ops.md from the ops' rows.
 */
#include <stdio.h>
#include <string.h>

#include "graph/op.h"
#include "tensor/dtype.h"

/* Sets of element types that have a name. */
static const struct {
    uint32_t types;
    const char *name;
} sets[] = {
    {TP_ANY, "any"},
    {TP_FIXED, "any but string"},
    {TP_NUMBERS | TP_COMPLEX, "numbers, complex ones too"},
    {TP_NUMBERS, "numbers"},
    {TP_COMPLEX, "complex"},
    {TP_FLOATS, "floats"},
    {TP_INTS, "integers"},
    {TP_SIGNED, "signed integers"},
    {TP_UNSIGNED, "unsigned integers"},
};

static void show_set(uint32_t types, const char **between)
{
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        if ((sets[i].types & types) != sets[i].types) continue;
        printf("%s%s", *between, sets[i].name);
        types &= ~sets[i].types;
        *between = ", ";
    }
    for (int t = 1; t < TP_DTYPES; t++) {
        if (!(types >> t & 1)) continue;
        printf("%s%s", *between, troupe_dtype_name((troupe_dtype)t));
        *between = ", ";
    }
}

static void show_ports(const char *what, const struct tp_port *ports)
{
    for (size_t i = 0; ports[i].name; i++) {
        const char *between = "";
        printf("| %s | `%s` | ", what, ports[i].name);
        show_set(ports[i].types, &between);
        if (ports[i].same) printf("%sT%d", between[0] ? ": " : "", ports[i].same);
        if (!ports[i].types && !ports[i].same) printf("as the op says");
        printf(" | %s%s%s |\n", ports[i].flags & TP_OPTIONAL ? "optional" : "",
               ports[i].flags & TP_VARIADIC ? "one or more" : "",
               ports[i].flags & TP_HOST ? ports[i].flags & (TP_OPTIONAL | TP_VARIADIC)
                                              ? ", in host memory"
                                              : "in host memory"
                                        : "");
    }
}

static void show_attrs(const struct tp_attr_spec *attrs)
{
    for (size_t i = 0; attrs && attrs[i].name; i++)
        printf("| attribute | `%s` | %s | %s |\n", attrs[i].name,
               tp_attr_kind_name(attrs[i].kind), attrs[i].required ? "" : "optional");
}

static void show_op(const struct tp_op *op)
{
    printf("\n## %s\n\n%s.%s%s\n", op->name, op->summary,
           op->stateful ? " Has an effect: it always runs, in program order." : "",
           op->view ? " The result shares the input's memory." : "");
    if (!op->inputs[0].name && !op->results[0].name && (!op->attrs || !op->attrs[0].name))
        return;
    printf("\n| | | | |\n|---|---|---|---|\n");
    show_ports("input", op->inputs);
    show_ports("result", op->results);
    show_attrs(op->attrs);
}

int main(void)
{
    size_t n = 0;
    while (tp_op_at(n))
        n++;
    printf(
        "# Operators\n\n"
        "Names and meanings are ONNX's, as of operator set 19, but for `Assert`, `DeviceName` "
        "and\n`Print`. Models of older sets are rewritten to these when they are read. Ports "
        "with the same T\nhave the same element type. Values of 16 bits are computed in f32. "
        "NaN stays NaN.\n\n"
        "`tests/gen_ops_doc` prints this page from the %zu operators' own rows.\n",
        n);
    for (size_t i = 0; i < n; i++)
        show_op(tp_op_at(i));
    return 0;
}
