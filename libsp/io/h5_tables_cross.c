/* h5_tables_cross.c: tables as bytes and back, from one process to another. Both ways follow one list. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_tables.h"

struct crossing {
    FILE *to;         /* NULL: the other way */
    const char *from; /* `left` bytes more */
    size_t left;
    bool good;
};

static void cross(struct crossing *c, void *value, size_t size)
{
    if (c->to) {
        c->good &= fwrite(value, 1, size, c->to) == size;
    } else if ((c->good &= size <= c->left)) {
        memcpy(value, c->from, size);
        c->from += size;
        c->left -= size;
    }
}

static void cross_flag(struct crossing *c, bool *flag)
{
    unsigned char value = *flag;
    cross(c, &value, sizeof value);
    *flag = value & 1;
}

/* Of each entry at least `least` bytes are still to come. */
static void *room_for(struct crossing *c, uint64_t count, size_t size, size_t least)
{
    void *made = c->good && count <= c->left / least ? calloc(count + 1, size) : NULL;
    c->good &= made != NULL;
    return made;
}

static bool is_there(struct crossing *c, const void *list)
{
    bool there = list != NULL;
    cross_flag(c, &there);
    return c->good && there;
}

static void cross_numbers(struct crossing *c, int64_t **list, uint64_t count)
{
    if (!is_there(c, *list))
        return;
    if (!c->to)
        *list = room_for(c, count, sizeof **list, sizeof **list);
    if (c->good && count)
        cross(c, *list, count * sizeof **list);
}

static void cross_text(struct crossing *c, char **text)
{
    uint64_t size = *text ? strlen(*text) + 1 : 0;
    cross(c, &size, sizeof size);
    if (!c->to && size)
        *text = room_for(c, size, 1, 1);
    if (c->good && size)
        cross(c, *text, size);
    if (c->good && size)
        (*text)[size - 1] = 0;
}

static void cross_texts(struct crossing *c, char ***list, uint64_t count)
{
    if (!is_there(c, *list))
        return;
    /* Twice, for lists that go on to grow: sp__texts_add counts on room up to a power of two. */
    if (!c->to && (c->good = count <= c->left))
        *list = room_for(c, 2 * count, sizeof **list, sizeof count / 2);
    for (uint64_t i = 0; c->good && i < count; i++)
        cross_text(c, &(*list)[i]);
}

static void cross_attribute(struct crossing *c, struct sp__attribute *a)
{
    cross_text(c, &a->name);
    cross_flag(c, &a->number);
    cross(c, &a->value, sizeof a->value);
    cross_flag(c, &a->list);
    cross(c, &a->text_count, sizeof a->text_count);
    cross_texts(c, &a->texts, a->text_count);
}

static void cross_lists(struct crossing *c, struct sp__h5_tables *t)
{
    size_t groups = t->group_count, attributes = t->attribute_count;
    cross(c, &groups, sizeof groups);
    cross(c, &attributes, sizeof attributes);
    if (!c->to) {
        t->groups = room_for(c, groups, sizeof *t->groups, sizeof groups);
        t->attributes = room_for(c, attributes, sizeof *t->attributes, sizeof groups);
    }
    for (size_t i = 0; c->good && i < groups; i++) {
        cross(c, &t->groups[i].rank, sizeof t->groups[i].rank);
        cross_flag(c, &t->groups[i].whole);
        cross_text(c, &t->groups[i].path);
        t->group_count = c->to ? groups : i + 1;
    }
    for (size_t i = 0; c->good && i < attributes; i++) {
        cross_attribute(c, &t->attributes[i]);
        t->attribute_count = c->to ? attributes : i + 1;
    }
}

static void cross_tables(struct crossing *c, struct sp__h5_tables *t)
{
    const struct {
        void *value;
        size_t size;
    } plain[] = {{&t->schema, sizeof t->schema},
                 {&t->names_count, sizeof t->names_count},
                 {&t->rows, sizeof t->rows},
                 {&t->events, sizeof t->events},
                 {&t->threads, sizeof t->threads},
                 {&t->unsupported_count, sizeof t->unsupported_count},
                 {&t->warning_count, sizeof t->warning_count}};
    bool *const flags[] = {&t->aggregate, &t->deltas, &t->thread_ids, &t->ids};
    int64_t **const of_rows[] = {&t->region_ids, &t->ranks, &t->offsets, &t->counts, &t->lines, &t->exclusive};
    int64_t **const of_threads[] = {&t->thread_ranks, &t->thread_index, &t->thread_ident, &t->thread_native,
                                    &t->thread_start, &t->thread_end,   &t->thread_cpu,   &t->thread_daemon};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        cross(c, plain[i].value, plain[i].size);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        cross_flag(c, flags[i]);
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++)
        cross_numbers(c, of_rows[i], t->rows);
    for (size_t i = 0; i < sizeof of_threads / sizeof *of_threads; i++)
        cross_numbers(c, of_threads[i], t->threads);
    if (is_there(c, t->summaries)) {
        if (!c->to)
            t->summaries = room_for(c, t->rows, sizeof *t->summaries, sizeof *t->summaries);
        if (c->good && t->rows)
            cross(c, t->summaries, t->rows * sizeof *t->summaries);
    }
    cross_texts(c, &t->names, t->names_count);
    char ***const texts[] = {&t->places, &t->files, &t->texts, &t->tags};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cross_texts(c, texts[i], t->rows);
    cross_texts(c, &t->thread_names, t->threads);
    cross_texts(c, &t->unsupported, t->unsupported_count);
    cross_texts(c, &t->warnings, t->warning_count);
    cross_lists(c, t);
}

bool sp__h5_tables_pack(struct sp__h5_tables *tables, char **ret, size_t *ret_length)
{
    char *bytes = NULL;
    size_t length = 0;
    struct crossing c = {.to = open_memstream(&bytes, &length), .good = true};
    if (!c.to)
        return false;
    cross_tables(&c, tables);
    if (fclose(c.to) || !c.good) {
        free(bytes);
        return false;
    }
    *ret = bytes;
    *ret_length = length;
    return true;
}

bool sp__h5_tables_unpack(struct sp__h5_tables *ret, const char *bytes, size_t length)
{
    struct sp__h5_tables tables = {0};
    struct crossing c = {.from = bytes, .left = length, .good = true};
    cross_tables(&c, &tables);
    if (!c.good)
        sp__h5_tables_finish(&tables);
    else
        *ret = tables;
    return c.good;
}
