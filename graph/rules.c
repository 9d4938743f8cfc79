/* SPDX-License-Identifier: MIT
 *
 * graph/rules.c - the caller's rules: read them from text, and find the first that matches.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "graph/placer.h"
#include "graph/placing.h"

struct reader {
    struct tp_rules *rules;
    size_t capacity;
    uint32_t line;
    troupe_error *err;
};

void tp_rules_destroy(struct tp_rules **rules)
{
    if (!rules || !*rules) return;
    tp_free((*rules)->list);
    tp_free((*rules)->text);
    tp_free((*rules)->source);
    tp_free(*rules);
    *rules = NULL;
}

/* Cut the next word off *text: words stand apart by blanks, and "#" ends the line. */
static char *next_word(char **text)
{
    char *word = *text + strspn(*text, " \t\r");
    if (*word == 0 || *word == '#') return NULL;
    const size_t n = strcspn(word, " \t\r");
    *text = word + n + (word[n] != 0);
    word[n] = 0;
    return word;
}

static troupe_status refuse(const struct reader *r, const char *why, const char *word)
{
    return tp_fail(r->err, TROUPE_INVALID, "%.80s:%u: %s%.80s", r->rules->source, r->line, why,
                   word);
}

static troupe_status read_line(struct reader *r, char *line)
{
    struct tp_rules *rules = r->rules;
    const char *pattern = next_word(&line), *device = pattern ? next_word(&line) : NULL;
    if (!pattern) return TROUPE_OK; /* a blank line or a comment */
    if (!device) return refuse(r, "a rule needs a pattern and a device, not only ", pattern);
    const char *more = next_word(&line);
    if (more) return refuse(r, "nothing may follow the device but a comment, not ", more);
    TP_TRY(tp_grow(&rules->list, rules->n, &r->capacity, sizeof(*rules->list), r->err));
    struct tp_rule *rule = &rules->list[rules->n];
    *rule = (struct tp_rule){.pattern = pattern, .line = r->line};
    const troupe_status status = tp_name_parse(device, &rule->device, r->err);
    if (status < 0) {
        if (r->err) tp_fail_in(r->err, "%.80s:%u", rules->source, r->line);
        return status;
    }
    rules->n++;
    return TROUPE_OK;
}

static troupe_status read_lines(struct reader *r, size_t size)
{
    char *at = r->rules->text, *const end = at + size;
    while (at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end; /* where the zero byte is */
        r->line++;
        if (memchr(at, 0, (size_t)(stop - at))) return refuse(r, "a zero byte", "");
        *stop = 0;
        TP_TRY(read_line(r, at));
        at = stop + 1;
    }
    return TROUPE_OK;
}

/* tp_strndup would stop at a zero byte, which is to be refused instead. */
static troupe_status copy_text(const char *text, size_t size, char **out, troupe_error *err)
{
    char *copy = size == SIZE_MAX ? NULL : tp_alloc(size + 1);
    if (!copy) return tp_fail_memory(err, size);
    if (size > 0) memcpy(copy, text, size);
    *out = copy;
    return TROUPE_OK;
}

troupe_status tp_rules_read(const char *source, const char *text, size_t size,
                            struct tp_rules **out, troupe_error *err)
{
    TP_OWNED(tp_rules_destroy) struct tp_rules *rules = tp_alloc(sizeof(*rules));
    if (!rules) return tp_fail_memory(err, sizeof(*rules));
    rules->source = tp_strdup(source ? source : "rules");
    if (!rules->source) return tp_fail_memory(err, strlen(source ? source : "rules") + 1);
    TP_TRY(copy_text(text, size, &rules->text, err));
    struct reader r = {.rules = rules, .err = err};
    TP_TRY(read_lines(&r, size));
    *out = rules;
    rules = NULL;
    return TROUPE_OK;
}

static bool matches(const char *pattern, const char *name)
{
    const size_t plain = strcspn(pattern, "*?[\\"); /* most names are told apart by these */
    if (strncmp(pattern, name, plain) != 0) return false;
    return pattern[plain] == 0 ? name[plain] == 0 : fnmatch(pattern, name, 0) == 0;
}

uint32_t tp_rule_find(const struct tp_rules *rules, const struct tp_node *node)
{
    if (!rules) return TP_NO_RULE;
    for (size_t i = 0; i < rules->n; i++) {
        const char *pattern = rules->list[i].pattern;
        const bool by_op = strncmp(pattern, "op:", 3) == 0;
        if (by_op ? matches(pattern + 3, node->op->name) : matches(pattern, node->name))
            return (uint32_t)i;
    }
    return TP_NO_RULE;
}
