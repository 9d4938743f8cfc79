/* SPDX-License-Identifier: MIT
 *
 * tensor/utf8.c - code points in and out of UTF-8.
 */
#include "tensor/utf8.h"

bool tp_utf8_valid(uint32_t code)
{
    return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/* From a first byte; 0: it is none. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first < 0xc0) return 0;
    if (first < 0xe0) return 2;
    if (first < 0xf0) return 3;
    return first < 0xf8 ? 4 : 0;
}

size_t tp_utf8_get(const char *text, size_t size, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t n = size ? length_of(bytes[0]) : 0;
    if (n == 0 || n > size) return 0;
    uint32_t value = n == 1 ? bytes[0] : bytes[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < least[n] || !tp_utf8_valid(value)) return 0;
    *code = value;
    return n;
}

size_t tp_utf8_put(char *text, uint32_t code)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    text[0] = (char)(first[n] | code);
    return n;
}

void tp_utf8_fit(const char *text, size_t size, struct tp_text *out)
{
    for (size_t i = 0, n; i < size; i += n) {
        uint32_t code;
        n = tp_utf8_get(text + i, size - i, &code);
        tp_text_add_bytes(out, n ? text + i : "\xef\xbf\xbd", n ? n : 3);
        if (!n) n = 1;
    }
}
