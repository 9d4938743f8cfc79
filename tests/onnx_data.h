/* SPDX-License-Identifier: MIT
 *
 * tests/onnx_data.h - ONNX's backend-test folders: find them, read a test, compare with its
 * outputs.
 */
#ifndef TP_TESTS_ONNX_DATA_H
#define TP_TESTS_ONNX_DATA_H

#include "troupe/function.h"

#define ONNX_VALUES 64 /* inputs or outputs of a test, at most */

/* One test, read: a function, its arguments, the results that it should give. */
struct onnx_test {
    troupe_library *library;
    troupe_function *function;
    troupe_tensor *inputs[ONNX_VALUES], *outputs[ONNX_VALUES];
    size_t n_inputs, n_outputs;
};

/* The test in a folder: model.onnx and test_data_set_0/{input,output}_N.pb. Data of f16 and
 * bf16 that are said to be u16 become what the function says. */
troupe_status onnx_test_read(struct onnx_test *test, const char *folder,
                             troupe_error *err) TROUPE_MUST_CHECK;
void onnx_test_fini(struct onnx_test *test);

/* ONNX's own rule: types and shapes equal, strings equal, numbers within 1e-7 + 1e-3 of the
 * expected one, NaN where NaN is, infinities equal. False: `why` says the first difference. */
bool onnx_close(const troupe_tensor *given, const troupe_tensor *expected, char *why,
                size_t size);

/* Call `each` for every test folder below `suite`, in order of names. Returns how many, or
 * below 0 when there is no such folder. */
int onnx_suite_each(const char *suite, void (*each)(void *arg, const char *folder), void *arg);

#endif
