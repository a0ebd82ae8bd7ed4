/* metadata.c: /metadata of a profile, from what its inputs know. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "write.h"

/* A list attribute is an array of 16-byte references in an object header, which holds 64 KiB. */
enum { MOST_TEXTS = 4000 };

/* Two boots of one machine, or two machines: their CLOCK_MONOTONIC is that much apart from the time of day. */
static const int64_t same_boot_ns = 10000000000;

static int add(struct sp__metadata *metadata, const char *name, struct sp__attribute attribute)
{
    if ((metadata->count & (metadata->count - 1)) == 0) {
        size_t room = metadata->count ? metadata->count * 2 : 1;
        struct sp__attribute *more = realloc(metadata->attributes, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        metadata->attributes = more;
    }
    attribute.name = strdup(name);
    if (!attribute.name)
        return -ENOMEM;
    metadata->attributes[metadata->count++] = attribute;
    return 0;
}

static int add_number(struct sp__metadata *metadata, const char *name, int64_t value)
{
    return add(metadata, name, (struct sp__attribute){.number = true, .value = value});
}

static int add_list(struct sp__metadata *metadata, const char *name)
{
    return add(metadata, name, (struct sp__attribute){.list = true});
}

static int add_text(struct sp__metadata *metadata, const char *name, const char *text)
{
    int result = add(metadata, name, (struct sp__attribute){0});
    if (result < 0)
        return result;
    struct sp__attribute *last = &metadata->attributes[metadata->count - 1];
    return sp__texts_add(&last->texts, &last->text_count, text);
}

static int append(struct sp__attribute *list, char *const *texts, size_t count)
{
    for (size_t i = 0; i < count && list->text_count <= MOST_TEXTS; i++) {
        int result = sp__texts_add(&list->texts, &list->text_count,
                                   list->text_count < MOST_TEXTS ? texts[i] : "... and more, which are left out here");
        if (result < 0)
            return result;
    }
    return 0;
}

const struct sp__attribute *sp__metadata_find(const struct sp__metadata *metadata, const char *name)
{
    for (size_t i = 0; i < metadata->count; i++)
        if (!strcmp(metadata->attributes[i].name, name))
            return &metadata->attributes[i];
    return NULL;
}

void sp__metadata_finish(struct sp__metadata *metadata)
{
    for (size_t i = 0; i < metadata->count; i++) {
        struct sp__attribute *attribute = &metadata->attributes[i];
        for (size_t k = 0; k < attribute->text_count; k++)
            free(attribute->texts[k]);
        free(attribute->texts);
        free(attribute->name);
    }
    free(metadata->attributes);
    *metadata = (struct sp__metadata){0};
}

/* What all parts say together. */
struct gathered {
    const struct sp__source *first;
    const char *hostname, *language, *session, *timestamp;
    int64_t clock_error_ns, end_ns, birth_realtime_ns;
    int64_t began_ns; /* of parts without events, which have no first call; INT64_MAX none */
    uint64_t dropped;
};

/* What the profile that a part was read from says; NULL: nothing. */
static const struct sp__attribute *said(const struct sp__source *source, const char *name)
{
    for (size_t i = 0; i < source->attribute_count; i++)
        if (!strcmp(source->attributes[i].name, name))
            return &source->attributes[i];
    return NULL;
}

static const char *text_of(const struct sp__source *source, const char *name)
{
    const struct sp__attribute *attribute = said(source, name);
    return attribute && attribute->text_count == 1 ? attribute->texts[0] : "";
}

static int64_t clock_error(const struct sp__source *source)
{
    const struct sp__attribute *attribute = said(source, "sp_clock_error_ns");
    return source->clock_error_ns < 0 && attribute && attribute->number ? attribute->value : source->clock_error_ns;
}

static struct gathered gather(struct sp__rank *const *ranks, size_t rank_count)
{
    struct gathered all = {.hostname = "",
                           .language = "",
                           .session = "",
                           .timestamp = "",
                           .clock_error_ns = -1,
                           .end_ns = -1,
                           .birth_realtime_ns = -1,
                           .began_ns = INT64_MAX};
    for (size_t r = 0; r < rank_count; r++)
        for (size_t p = 0; p < ranks[r]->part_count; p++) {
            const struct sp__source *part = ranks[r]->parts[p];
            all.hostname = all.hostname[0] ? all.hostname : part->hostname;
            all.language = all.language[0] ? all.language : part->language;
            all.session = all.session[0] ? all.session : part->session;
            all.timestamp = all.timestamp[0] ? all.timestamp : text_of(part, "timestamp");
            all.birth_realtime_ns = all.birth_realtime_ns >= 0 ? all.birth_realtime_ns : part->birth_realtime_ns;
            all.clock_error_ns = clock_error(part) > all.clock_error_ns ? clock_error(part) : all.clock_error_ns;
            all.end_ns = part->end_mono_ns > all.end_ns ? part->end_mono_ns : all.end_ns;
            if (part->aggregate && part->birth_mono_ns >= 0 && part->birth_mono_ns < all.began_ns)
                all.began_ns = part->birth_mono_ns;
            all.dropped += part->dropped;
        }
    return all;
}

static bool another_host(const char **first, const char *host, char ret_hosts[256])
{
    if (host[0] && !*first)
        *first = host;
    if (!host[0] || !strcmp(*first, host))
        return false;
    snprintf(ret_hosts, 256, "%.120s and %.120s", *first, host);
    return true;
}

/* A profile that was merged has the hosts and the clocks of all that went into it. */
static bool apart_already(const struct sp__source *part, const char **first, char ret_hosts[256])
{
    const struct sp__attribute *hosts = said(part, "sp_hosts");
    if (another_host(first, part->hostname, ret_hosts))
        return true;
    for (size_t i = 0; hosts && i < hosts->text_count; i++)
        if (another_host(first, hosts->texts[i], ret_hosts))
            return true;
    if (strncmp(text_of(part, "sp_clock_alignment"), "none", 4) != 0)
        return false;
    snprintf(ret_hosts, 256, "the ranks of %.200s", part->path);
    return true;
}

bool sp__one_clock(struct sp__rank *const *ranks, size_t rank_count, char ret_hosts[256])
{
    const char *first = NULL;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t r = 0; r < rank_count; r++)
        for (size_t p = 0; p < ranks[r]->part_count; p++) {
            const struct sp__source *part = ranks[r]->parts[p];
            if (part->birth_mono_ns >= 0 && part->birth_realtime_ns >= 0) {
                int64_t apart = part->birth_realtime_ns - part->birth_mono_ns;
                least = apart < least ? apart : least;
                most = apart > most ? apart : most;
            }
            if (apart_already(part, &first, ret_hosts))
                return false;
        }
    if (most > least && most - least > same_boot_ns) {
        snprintf(ret_hosts, 256, "different boots of %.120s", first ? first : "a machine");
        return false;
    }
    return true;
}

/* How the clocks of the one profile that all ranks are from were aligned; "" unknown, or there are more inputs. */
static const char *alignment_of_one_input(struct sp__rank *const *ranks, size_t rank_count)
{
    const char *path = NULL, *text = "";
    for (size_t r = 0; r < rank_count; r++)
        for (size_t p = 0; p < ranks[r]->part_count; p++) {
            const struct sp__source *part = ranks[r]->parts[p];
            if (path && strcmp(path, part->path) != 0)
                return "";
            path = part->path;
            text = text[0] ? text : text_of(part, "sp_clock_alignment");
        }
    return text;
}

static int add_clock(struct sp__metadata *metadata, struct sp__rank *const *ranks, size_t rank_count, int64_t error_ns)
{
    char text[512], hosts[256];
    const char *kept = alignment_of_one_input(ranks, rank_count);
    if (!sp__one_clock(ranks, rank_count, hosts))
        snprintf(text, sizeof text, "none: %s keep clocks of their own", hosts);
    else if (error_ns >= 0)
        snprintf(text, sizeof text, "same clock: one node, error at most %lld ns", (long long)error_ns);
    else
        snprintf(text, sizeof text, "same clock: one node");
    int result = add_text(metadata, "sp_clock_alignment", kept[0] ? kept : text);
    return result < 0 || error_ns < 0 ? result : add_number(metadata, "sp_clock_error_ns", error_ns);
}

static int add_timestamp(struct sp__metadata *metadata, const struct gathered *all)
{
    if (all->timestamp[0])
        return add_text(metadata, "timestamp", all->timestamp);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (all->birth_realtime_ns >= 0)
        now = (struct timespec){.tv_sec = all->birth_realtime_ns / 1000000000,
                                .tv_nsec = all->birth_realtime_ns % 1000000000};
    struct tm utc;
    char date[64], text[96];
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof text, "%s.%06ld+00:00", date, now.tv_nsec / 1000);
    return add_text(metadata, "timestamp", text);
}

static int add_hostname(struct sp__metadata *metadata, const char *known)
{
    char own[256] = "";
    if (!known[0] && (gethostname(own, sizeof own - 1) < 0 || !own[0]))
        snprintf(own, sizeof own, "localhost");
    return add_text(metadata, "hostname", known[0] ? known : own);
}

static int name_hosts(struct sp__name_set *hosts, const struct sp__source *part)
{
    const struct sp__attribute *more = said(part, "sp_hosts");
    int64_t number = part->hostname[0] ? sp__name_set_add(hosts, part->hostname) : 0;
    for (size_t i = 0; number >= 0 && more && i < more->text_count; i++)
        number = more->texts[i][0] ? sp__name_set_add(hosts, more->texts[i]) : 0;
    return number < 0 ? -ENOMEM : 0;
}

static int add_hosts(struct sp__metadata *metadata, struct sp__rank *const *ranks, size_t rank_count)
{
    struct sp__name_set hosts = {0};
    int result = 0;
    for (size_t r = 0; result == 0 && r < rank_count; r++)
        for (size_t p = 0; result == 0 && p < ranks[r]->part_count; p++)
            result = name_hosts(&hosts, ranks[r]->parts[p]);
    if (result == 0 && hosts.count > 1)
        result = add_list(metadata, "sp_hosts");
    for (size_t i = 0; result == 0 && hosts.count > 1 && i < hosts.count; i++) {
        struct sp__attribute *list = &metadata->attributes[metadata->count - 1];
        result = list->text_count < MOST_TEXTS ? sp__texts_add(&list->texts, &list->text_count, hosts.names[i]) : 0;
    }
    sp__name_set_finish(&hosts);
    return result;
}

/* Open calls and deaths of all parts. */
static int add_lists(struct sp__metadata *metadata, struct sp__rank *const *ranks, size_t rank_count)
{
    int result = add_list(metadata, "sp_open_calls");
    if (result == 0)
        result = add_list(metadata, "sp_deaths");
    for (size_t r = 0; result == 0 && r < rank_count; r++)
        for (size_t p = 0; result == 0 && p < ranks[r]->part_count; p++) {
            const struct sp__source *part = ranks[r]->parts[p];
            struct sp__attribute *lists = &metadata->attributes[metadata->count - 2];
            result = append(&lists[0], part->open_calls, part->open_call_count);
            if (result == 0)
                result = append(&lists[1], part->deaths, part->death_count);
        }
    return result;
}

static int take_over(struct sp__metadata *metadata, size_t own, const struct sp__source *part)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < part->attribute_count; i++) {
        const struct sp__attribute *from = &part->attributes[i];
        struct sp__attribute *there = NULL;
        size_t at = 0;
        while (at < metadata->count && strcmp(metadata->attributes[at].name, from->name) != 0)
            at++;
        if (at < own || !strcmp(from->name, "mpi_rank"))
            continue;
        if (at < metadata->count && !(metadata->attributes[at].list && from->list))
            continue;
        if (at == metadata->count)
            result = add(metadata, from->name,
                         (struct sp__attribute){.number = from->number, .value = from->value, .list = from->list});
        if (result == 0) {
            there = &metadata->attributes[at];
            result = append(there, from->texts, from->text_count);
        }
    }
    return result;
}

int sp__metadata_make(struct sp__metadata *ret, struct sp__rank *const *ranks, size_t rank_count,
                      const struct sp__metadata_facts *facts)
{
    struct sp__metadata made = {0};
    struct gathered all = gather(ranks, rank_count);
    const char *session = facts->session && facts->session[0] ? facts->session : all.session;
    int64_t start = facts->start_ns < all.began_ns ? facts->start_ns : all.began_ns;
    start = start == INT64_MAX ? 0 : start;
    int64_t end = facts->start_ns == INT64_MAX || all.end_ns > facts->end_ns ? all.end_ns : facts->end_ns;
    int result = 0;
#define ADD(call) result = result < 0 ? result : (call)
    ADD(add_text(&made, "source", "native"));
    ADD(add_text(&made, "source_language", all.language[0] ? all.language : "c"));
    ADD(add_number(&made, "trace_format_version", 2));
    ADD(add_hostname(&made, all.hostname));
    ADD(add_hosts(&made, ranks, rank_count));
    ADD(add_timestamp(&made, &all));
    ADD(add_text(&made, "label", facts->label));
    ADD(add_number(&made, "start_time_ns", start));
    ADD(add_number(&made, "finalize_time_ns", end < 0 ? start : end));
    ADD(add_number(&made, "mpi_size", rank_count ? (int64_t)ranks[rank_count - 1]->rank + 1 : 0));
    if (rank_count == 1)
        ADD(add_number(&made, "mpi_rank", ranks[0]->rank));
    ADD(add_text(&made, "sp_session", session));
    ADD(add_number(&made, "sp_dropped_records", all.dropped > INT64_MAX ? INT64_MAX : (int64_t)all.dropped));
    ADD(add_lists(&made, ranks, rank_count));
    ADD(add_clock(&made, ranks, rank_count, all.clock_error_ns));
#undef ADD
    size_t own = made.count;
    for (size_t r = 0; result == 0 && r < rank_count; r++)
        for (size_t p = 0; result == 0 && p < ranks[r]->part_count; p++)
            result = take_over(&made, own, ranks[r]->parts[p]);
    if (result < 0) {
        sp__metadata_finish(&made);
        return result;
    }
    *ret = made;
    return 0;
}
