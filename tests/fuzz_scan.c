/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz_scan.c - the scan of any bytes: what it lets through, msgpack-c takes to the same
 * end.
 */
#include <msgpack.h>

#include "messages/scan.h"
#include "tests/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    troupe_error err = {.code = TROUPE_OK};
    msgpack_unpacked value;
    size_t end = 0, judged = 0;
    if (tp_scan_value(data, size, &end, &err)) {
        FUZZ_ASSERT(err.code == TROUPE_CORRUPT && err.text[0]);
        return 0;
    }
    msgpack_unpacked_init(&value);
    const msgpack_unpack_return got =
        msgpack_unpack_next(&value, (const char *)data, size, &judged);
    FUZZ_ASSERT(got == MSGPACK_UNPACK_SUCCESS || got == MSGPACK_UNPACK_EXTRA_BYTES);
    FUZZ_ASSERT(judged == end);
    msgpack_unpacked_destroy(&value);
    FUZZ_ASSERT((tp_scan(data, size, &err) == TROUPE_OK) == (end == size));
    return 0;
}
