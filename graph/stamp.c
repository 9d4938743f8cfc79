/* SPDX-License-Identifier: MIT
 *
 * graph/stamp.c - the first and the last line of a text that we write to a file.
 */
#include "graph/stamp.h"

#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "graph/hash.h"

#define MARK "# xxh3 "
enum { MARK_SIZE = sizeof(MARK) - 1, DIGITS = 32 };

static struct tp_hash_text checksum(const char *text, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(text, size);
    return tp_hash_text((const uint64_t[]){hash.high64, hash.low64});
}

void tp_stamp_first(struct tp_text *text)
{
    tp_text_add(text, "troupe %d\n", TP_TEXT_VERSION);
}

void tp_stamp_last(struct tp_text *text)
{
    if (text->failed) return;
    const struct tp_hash_text sum = checksum(text->data, text->size);
    tp_text_add(text, MARK "%s\n", sum.text);
}

/* Where the last line begins that is not blank; *end is behind it. */
static size_t find_last(const char *text, size_t size, size_t *end)
{
    while (size > 0 && strchr(" \t\r\n", text[size - 1]))
        size--;
    *end = size;
    while (size > 0 && text[size - 1] != '\n')
        size--;
    return size;
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t line = 1;
    for (size_t i = 0; i < size; i++)
        line += text[i] == '\n';
    return line;
}

troupe_status tp_stamp_check(const char *source, const char *text, size_t size,
                             troupe_error *err)
{
    size_t end;
    const size_t at = find_last(text, size, &end);
    if (end - at < MARK_SIZE || memcmp(text + at, MARK, MARK_SIZE) != 0)
        return TROUPE_OK; /* it has none */
    const struct tp_hash_text sum = checksum(text, at);
    const char *said = text + at + MARK_SIZE;
    const size_t n = end - at - MARK_SIZE;
    if (n == DIGITS && memcmp(said, sum.text, DIGITS) == 0) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT,
                   "%s:%u:%d: the checksum is %s, not %.*s; leave this line out of a text that "
                   "was changed by hand",
                   source, count_lines(text, at), MARK_SIZE + 1, sum.text, n > 40 ? 40 : (int)n,
                   said);
}
