/* SPDX-License-Identifier: MIT
 *
 * examples/hello.c - the shortest way: a function from text, run over two devices.
 */
#include <stdio.h>

#include <troupe/troupe.h>

static const char text[] = "function blend(x: f32[n], w: f32[n]) -> (y: f32[n])\n"
                           "    a = Mul(x, w)    @cpu:0\n"
                           "    b = Add(a, a)    @cpu:1\n"
                           "    y = Relu(b)      @cpu:0\n";

int main(void)
{
    troupe_options options = TROUPE_OPTIONS_INIT;
    troupe_runtime *runtime = NULL;
    troupe_library *library = NULL;
    troupe_function *blend = NULL;
    troupe_tensor *x = NULL, *y = NULL;
    troupe_error err;
    char shown[200];

    options.devices = "cpu:0,cpu:1";
    if (troupe_open(&runtime, &options, &err) || troupe_library_new(&library, &err) ||
        troupe_library_read(library, "hello", text, sizeof(text) - 1, &err) ||
        troupe_library_find(library, "blend", &blend, &err) ||
        troupe_tensor_parse(&x, "f32[4] [1, -2, 3, 0.5]", &err) ||
        troupe_run(runtime, blend, (const troupe_tensor *[]){x, x}, 2, &y, 1, NULL, &err)) {
        fprintf(stderr, "hello: %s\n", err.text);
        return 1;
    }
    troupe_tensor_show(y, 0, shown, sizeof(shown));
    printf("y = %s\n", shown);

    troupe_tensor_release(&y);
    troupe_tensor_release(&x);
    troupe_function_release(&blend);
    troupe_library_destroy(&library);
    return troupe_close(&runtime) == TROUPE_OK ? 0 : 1;
}
