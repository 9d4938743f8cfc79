/* SPDX-License-Identifier: MIT
 *
 * actors/stage_rehearsal.c - the same actors, run by one thread and a seed.
 *
 * All messages are in one bag. Each step a seeded choice names a (sender, receiver) pair and
 * delivers that pair's oldest message. That is every order that threads could produce, and the
 * same one again for the same seed. A message to an actor that only its owner runs goes into
 * that actor's own box when it is delivered.
 */
#include "actors/stage.h"

#include <string.h>

#include "base/alloc.h"

struct letter {
    struct tp_actor *from, *to;
    struct tp_message *message;
};

struct tp_rehearsal {
    struct letter *bag; /* in the order of posting */
    size_t n, capacity;
    uint64_t state; /* of the generator */
};

troupe_status tp_rehearsal_new(struct tp_rehearsal **out, uint64_t seed, troupe_error *err)
{
    struct tp_rehearsal *rehearsal = tp_alloc(sizeof *rehearsal);
    if (!rehearsal) return tp_fail_memory(err, sizeof *rehearsal);
    rehearsal->state = seed * 2 + 1;
    *out = rehearsal;
    return TROUPE_OK;
}

void tp_rehearsal_destroy(struct tp_rehearsal **at)
{
    struct tp_rehearsal *rehearsal = *at;
    *at = NULL;
    if (!rehearsal) return;
    for (size_t i = 0; i < rehearsal->n; i++)
        tp_message_destroy(&rehearsal->bag[i].message);
    tp_free(rehearsal->bag);
    tp_free(rehearsal);
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_below(struct tp_rehearsal *rehearsal, uint64_t n)
{
    uint64_t z = rehearsal->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

void tp_rehearsal_post(struct tp_rehearsal *rehearsal, struct tp_actor *from,
                       struct tp_actor *to, struct tp_message *message)
{
    troupe_error error;
    if (tp_grow(&rehearsal->bag, rehearsal->n, &rehearsal->capacity, sizeof *rehearsal->bag,
                &error))
        tp_assert(!"a rehearsal needs memory");
    rehearsal->bag[rehearsal->n++] = (struct letter){from, to, message};
}

/* The oldest letter of the same pair as letter i. */
static size_t oldest_of_pair(const struct tp_rehearsal *rehearsal, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (rehearsal->bag[j].from == rehearsal->bag[i].from &&
            rehearsal->bag[j].to == rehearsal->bag[i].to)
            return j;
    return i;
}

static struct letter take(struct tp_rehearsal *rehearsal)
{
    size_t i = oldest_of_pair(rehearsal, random_below(rehearsal, rehearsal->n));
    struct letter letter = rehearsal->bag[i];
    memmove(&rehearsal->bag[i], &rehearsal->bag[i + 1], (--rehearsal->n - i) * sizeof letter);
    return letter;
}

bool tp_rehearsal_step(struct tp_rehearsal *rehearsal, struct tp_seat *seat)
{
    if (!rehearsal->n) return false;
    struct letter letter = take(rehearsal);
    if (letter.to->role->mail) {
        letter.to->role->mail(letter.to, seat, letter.message);
        return true;
    }
    seat->running = letter.to;
    tp_stage_handle(seat, letter.to, letter.message);
    tp_stage_last_word(seat);
    seat->running = NULL;
    return true;
}
