#include "flush.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

struct flush *flush_create(struct client *client, bool has_id, json_int_t id)
{
    struct flush *flush = calloc(1, sizeof *flush);
    if (!flush)
        return NULL;
    *flush = (struct flush){.client = client, .has_id = has_id, .id = id, .pending = 1, .files = json_array()};
    if (!flush->files) {
        free(flush);
        return NULL;
    }
    return flush;
}

int flush_join(struct flush *flush, struct flush_link **list)
{
    struct flush_link *link = malloc(sizeof *link);
    if (!link)
        return -ENOMEM;
    *link = (struct flush_link){.flush = flush, .next = *list};
    *list = link;
    ++flush->pending;
    return 0;
}

static bool listed(const json_t *files, const char *file)
{
    size_t n;
    json_t *item;
    json_array_foreach(files, n, item)
    {
        if (!strcmp(json_string_value(item), file))
            return true;
    }
    return false;
}

void flush_complete(struct flush_link **list, const struct flush_part *part)
{
    while (*list) {
        struct flush_link *link = *list;
        struct flush *flush = link->flush;
        *list = link->next;
        free(link);
        if (part->error && !flush->error) {
            flush->error = part->error;
            snprintf(flush->why, sizeof flush->why, "%s", part->why ? part->why : strerror(part->error));
        }
        if (part->file && *part->file && !listed(flush->files, part->file))
            json_array_append_new(flush->files, json_string(part->file));
        flush->ranks += part->ranks;
        flush->dropped += part->dropped;
        flush_release(flush);
    }
}

void flush_release(struct flush *flush)
{
    if (--flush->pending)
        return;
    control_flushed(flush);
    json_decref(flush->files);
    free(flush);
}
