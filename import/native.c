/* SPDX-License-Identifier: MIT
 *
 * import/native.c - files of our own in binary form.
 *
 * The frames are read, not mapped: a mapped file that becomes shorter ends the process, and one
 * that is written over changes tensors that are immutable. They stay where they were read to, as
 * the elements of tensors that share one buffer. What is not in the file is not allocated for.
 */
#include "import/native.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/outfile.h"
#include "graph/hash.h"

/* Where the parts of the header are. */
enum {
    AT_VERSION = 8,
    AT_HEAD_SIZE = 12,
    AT_FILE_SIZE = 16,
    AT_FORM_SIZE = 24,
    AT_FRAMES = 32,
    AT_RESERVED = 40,
    AT_CHECKSUM = 48,
    HEAD_SIZE = 64
};
#define ALIGN      64
#define FRAME_SIZE 8 /* of the size of a frame */

struct head {
    uint64_t file_size, form_size, frames;
    uint64_t checksum[2];
};

static void put_number(uint8_t *at, uint64_t number, int size)
{
    for (int i = 0; i < size; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get_number(const uint8_t *at, int size)
{
    uint64_t number = 0;
    for (int i = size; i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

/* The bytes from `at` to the next frame. */
static size_t gap(uint64_t at)
{
    return (size_t)(-at % ALIGN);
}

/* Of the header up to it, the sizes of the frames, and the form. */
static troupe_status checksum(const uint8_t *head, const void *table, size_t table_size,
                              const void *form, size_t form_size, uint64_t out[2],
                              troupe_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state) return tp_fail_memory(err, 576);
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, head, AT_CHECKSUM);
    if (table_size) XXH3_128bits_update(state, table, table_size);
    if (form_size) XXH3_128bits_update(state, form, form_size);
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    out[0] = hash.high64;
    out[1] = hash.low64;
    return TROUPE_OK;
}

/* -- Write --------------------------------------------------------------------------------- */

static void make_table(const struct tp_wire *wire, uint8_t *table)
{
    for (size_t i = 0; i < wire->n_frames; i++)
        put_number(table + i * FRAME_SIZE, wire->frames[i].size, FRAME_SIZE);
}

static uint64_t size_of(const struct tp_wire *wire)
{
    uint64_t at = HEAD_SIZE + wire->n_frames * (uint64_t)FRAME_SIZE + wire->head.size;
    for (size_t i = 0; i < wire->n_frames; i++)
        at += gap(at) + wire->frames[i].size;
    return at;
}

static troupe_status make_head(const struct tp_wire *wire, const uint8_t *table,
                               uint8_t head[HEAD_SIZE], troupe_error *err)
{
    uint64_t hash[2];
    memset(head, 0, HEAD_SIZE);
    memcpy(head, TP_NATIVE_MAGIC, TP_NATIVE_MAGIC_SIZE);
    put_number(head + AT_VERSION, TP_NATIVE_VERSION, 4);
    put_number(head + AT_HEAD_SIZE, HEAD_SIZE, 4);
    put_number(head + AT_FILE_SIZE, size_of(wire), 8);
    put_number(head + AT_FORM_SIZE, wire->head.size, 8);
    put_number(head + AT_FRAMES, wire->n_frames, 8);
    TP_TRY(checksum(head, table, wire->n_frames * FRAME_SIZE, wire->head.data, wire->head.size,
                    hash, err));
    put_number(head + AT_CHECKSUM, hash[0], 8);
    put_number(head + AT_CHECKSUM + 8, hash[1], 8);
    return TROUPE_OK;
}

static troupe_status put_frames(struct tp_outfile *file, const struct tp_wire *wire,
                                uint64_t at, troupe_error *err)
{
    static const uint8_t zeros[ALIGN];
    for (size_t i = 0; i < wire->n_frames; i++) {
        const struct tp_wire_frame *frame = &wire->frames[i];
        TP_TRY(tp_outfile_put(file, zeros, gap(at), err));
        TP_TRY(tp_outfile_put(file, frame->data, frame->size, err));
        at += gap(at) + frame->size;
    }
    return TROUPE_OK;
}

static troupe_status put_all(struct tp_outfile *file, const struct tp_wire *wire,
                             troupe_error *err)
{
    uint8_t head[HEAD_SIZE];
    const size_t table_size = wire->n_frames * FRAME_SIZE;
    TP_OWNED(tp_free_at) uint8_t *table = tp_alloc(table_size);
    if (!table) return tp_fail_memory(err, table_size);
    make_table(wire, table);
    TP_TRY(make_head(wire, table, head, err));
    TP_TRY(tp_outfile_put(file, head, sizeof head, err));
    TP_TRY(tp_outfile_put(file, table, table_size, err));
    TP_TRY(tp_outfile_put(file, wire->head.data, wire->head.size, err));
    return put_frames(file, wire, HEAD_SIZE + table_size + wire->head.size, err);
}

troupe_status tp_native_write(const struct tp_bodies *bodies, const char *path,
                              troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    TP_OWNED(tp_outfile_discard) struct tp_outfile file = {NULL, NULL};
    TP_TRY(tp_bodies_encode(bodies, TP_PLACES_DROP, &wire, err));
    TP_TRY(tp_outfile_open(&file, path, err));
    TP_TRY(put_all(&file, &wire, err));
    return tp_outfile_finish(&file, path, err);
}

/* -- Read ---------------------------------------------------------------------------------- */

static troupe_status read_at(int file, uint64_t at, void *bytes, size_t size, troupe_error *err)
{
    for (size_t got = 0; got < size;) {
        const ssize_t n = pread(file, (char *)bytes + got, size - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tp_fail_errno(err, errno, "read");
        if (n == 0)
            return tp_fail(err, TROUPE_CORRUPT, "byte %llu: the file ends here",
                           (unsigned long long)(at + got));
        got += (size_t)n;
    }
    return TROUPE_OK;
}

bool tp_native_begins(const void *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, TP_NATIVE_MAGIC, 4) == 0;
}

static troupe_status check_magic(const uint8_t *head, size_t size, troupe_error *err)
{
    if (memcmp(head, TP_NATIVE_MAGIC, TP_NATIVE_MAGIC_SIZE) != 0)
        return tp_fail(err, TROUPE_CORRUPT,
                       "byte 4: it is damaged, as by a transfer that took it for a text");
    const uint32_t version = (uint32_t)get_number(head + AT_VERSION, 4);
    if (version != TP_NATIVE_VERSION)
        return tp_fail(err, TROUPE_UNSUPPORTED, "a file of version %u; here it is %d", version,
                       TP_NATIVE_VERSION);
    const uint32_t head_size = (uint32_t)get_number(head + AT_HEAD_SIZE, 4);
    if (head_size != HEAD_SIZE)
        return tp_fail(err, TROUPE_CORRUPT, "byte %d: a header of %u bytes, not %d",
                       AT_HEAD_SIZE, head_size, HEAD_SIZE);
    const uint64_t file_size = get_number(head + AT_FILE_SIZE, 8);
    if (file_size == size) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "it has %zu bytes, not %llu as its header says", size,
                   (unsigned long long)file_size);
}

static troupe_status take_head(const uint8_t *at, size_t size, struct head *out,
                               troupe_error *err)
{
    TP_TRY(check_magic(at, size, err));
    *out = (struct head){
        .file_size = size,
        .form_size = get_number(at + AT_FORM_SIZE, 8),
        .frames = get_number(at + AT_FRAMES, 8),
        .checksum = {get_number(at + AT_CHECKSUM, 8), get_number(at + AT_CHECKSUM + 8, 8)},
    };
    const uint64_t left = size - HEAD_SIZE;
    if (out->frames > left / FRAME_SIZE || out->form_size > left - out->frames * FRAME_SIZE)
        return tp_fail(err, TROUPE_CORRUPT,
                       "byte %d: %llu bytes of functions and %llu frames in %zu bytes",
                       AT_FORM_SIZE, (unsigned long long)out->form_size,
                       (unsigned long long)out->frames, size);
    return TROUPE_OK;
}

static troupe_status check_sum(const uint8_t *head, const struct head *h, const uint8_t *rest,
                               troupe_error *err)
{
    uint64_t found[2];
    const size_t table = (size_t)h->frames * FRAME_SIZE;
    TP_TRY(checksum(head, rest, table, rest + table, (size_t)h->form_size, found, err));
    return tp_hash_check("its checksum", h->checksum, found, err);
}

/* The frames as parts of `all`, whose first byte is byte `from` of the file. */
static troupe_status add_frames(const struct head *h, const uint8_t *table,
                                struct tp_buffer *all, uint64_t from, struct tp_wire *wire,
                                troupe_error *err)
{
    uint64_t at = from;
    for (uint64_t i = 0; i < h->frames; i++) {
        const uint64_t size = get_number(table + i * FRAME_SIZE, FRAME_SIZE);
        if (gap(at) > h->file_size - at || size > h->file_size - at - gap(at))
            return tp_fail(err, TROUPE_CORRUPT, "frame %llu of %llu bytes is not whole",
                           (unsigned long long)i, (unsigned long long)size);
        at += gap(at);
        struct tp_buffer *buffer = tp_buffer_retain(all);
        TP_TRY(tp_wire_add(wire, &buffer, (char *)all->data + (at - from), (size_t)size, err));
        at += size;
    }
    if (at == h->file_size) return TROUPE_OK;
    return tp_fail(err, TROUPE_CORRUPT, "byte %llu: something follows the last frame",
                   (unsigned long long)at);
}

/* All at once, into memory that their tensors share. */
static troupe_status read_frames(int file, const struct head *h, const uint8_t *table,
                                 struct tp_wire *wire, troupe_error *err)
{
    TP_OWNED(tp_buffer_release) struct tp_buffer *all = NULL;
    uint64_t from = HEAD_SIZE + h->frames * FRAME_SIZE + h->form_size;
    if (h->frames && gap(from) <= h->file_size - from) from += gap(from);
    const size_t size = (size_t)(h->file_size - from);
    TP_TRY(tp_buffer_new(&all, size, err));
    tp_alloc_expect(all->data, size);
    TP_TRY(read_at(file, from, all->data, size, err));
    return add_frames(h, table, all, from, wire, err);
}

/* The sizes of the frames, and the form. */
static troupe_status read_rest(int file, const uint8_t *head, const struct head *h,
                               struct tp_wire *wire, troupe_error *err)
{
    const size_t table = (size_t)h->frames * FRAME_SIZE;
    const size_t size = table + (size_t)h->form_size;
    TP_OWNED(tp_free_at) uint8_t *rest = tp_alloc(size);
    if (!rest) return tp_fail_memory(err, size);
    TP_TRY(read_at(file, HEAD_SIZE, rest, size, err));
    TP_TRY(check_sum(head, h, rest, err));
    tp_text_add_bytes(&wire->head, rest + table, (size_t)h->form_size);
    if (wire->head.failed) return tp_fail_memory(err, (size_t)h->form_size);
    return read_frames(file, h, rest, wire, err);
}

troupe_status tp_native_read(int file, size_t size, const char *path, struct tp_bodies *out,
                             troupe_error *err)
{
    TP_OWNED(tp_wire_fini) struct tp_wire wire = {.n_frames = 0};
    uint8_t bytes[HEAD_SIZE];
    struct head head;
    if (size < HEAD_SIZE)
        return tp_fail(err, TROUPE_CORRUPT, "it ends in its header, after %zu bytes", size);
    TP_TRY(read_at(file, 0, bytes, sizeof bytes, err));
    TP_TRY(take_head(bytes, size, &head, err));
    TP_TRY(read_rest(file, bytes, &head, &wire, err));
    return tp_bodies_decode(&wire, path, out, err);
}
