/* note.c: the line of JSON that says where an incarnation was published, and the texts of open calls and deaths. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable.h"
#include "names.h"
#include "note.h"
#include "utf8.h"

enum { OPEN_TEXT = 4096 };

static void append_text(char *text, size_t size, size_t *used, const char *more, size_t length)
{
    if (*used + 1 >= size)
        return;
    size_t room = size - 1 - *used;
    if (length > room) {
        length = room;
        while (length && ((unsigned char)more[length] & 0xc0) == 0x80) /* not within a character */
            length--;
    }
    memcpy(text + *used, more, length);
    *used += length;
    text[*used] = '\0';
}

__attribute__((format(printf, 4, 5))) static void append_format(char *text, size_t size, size_t *used,
                                                                const char *format, ...)
{
    char part[192];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(part, sizeof part, format, list);
    va_end(list);
    append_text(text, size, used, part, n < (int)sizeof part ? (size_t)n : sizeof part - 1);
}

static void append_region(const struct sp__recording *r, uint32_t region, char *text, size_t size, size_t *used)
{
    size_t low = 0, high = r->row_count; /* rows ascend by region */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->rows[middle].region < region)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < r->row_count && r->rows[low].region == region)
        append_text(text, size, used, r->rows[low].name, r->rows[low].name_length);
    else
        append_format(text, size, used, "(region %" PRIu32 ")", region);
}

/* Open calls stand lane by lane, outermost first: a depth of 0 begins a group. */
static size_t group_end(const struct sp__recording *r, size_t at)
{
    size_t end = at + 1;
    while (end < r->open_call_count && r->open_calls[end].depth > 0)
        end++;
    return end;
}

int sp__open_call_text(const struct sp__recording *r, size_t n, char *ret, size_t size)
{
    size_t at = 0, used = 0;
    for (size_t group = 0; group < n && at < r->open_call_count; group++)
        at = group_end(r, at);
    if (at >= r->open_call_count || size == 0)
        return 0;
    ret[0] = '\0';
    size_t end = group_end(r, at), tail_used = 0;
    const struct sp__open_call *inner = &r->open_calls[end - 1];
    char tail[48];
    append_format(tail, sizeof tail, &tail_used, ", %.1f s", ((double)inner->seen_ns - (double)inner->start_ns) / 1e9);
    size_t room = size > tail_used ? size - tail_used : 1; /* the time is there also where the names are too long */
    append_format(ret, room, &used, "rank %" PRId32 " thread %" PRId64 ": ", r->identity.rank,
                  r->open_calls[at].thread);
    for (size_t i = at; i < end; i++) {
        if (i > at)
            append_text(ret, room, &used, " > ", 3);
        append_region(r, r->open_calls[i].region, ret, room, &used);
    }
    append_text(ret, size, &used, tail, tail_used);
    return 1;
}

int sp__death_text(const struct sp__recording *r, char *ret, size_t size)
{
    if (!r->died)
        return 0;
    double age = ((double)r->end_ns - (double)r->identity.birth.mono_ns) / 1e9;
    snprintf(ret, size, "rank %" PRId32 " on %s (pid %" PRIu32 ") died after %.1f s", r->identity.rank,
             r->identity.hostname, r->identity.pid, age > 0 ? age : 0);
    return 1;
}

static void put_string(FILE *out, const char *text)
{
    size_t length = strlen(text);
    fputc('"', out);
    for (size_t at = 0; at < length;) {
        bool good;
        unsigned char byte = (unsigned char)text[at];
        size_t step = sp__utf8_step(text + at, length - at, &good);
        if (!good)
            fputs(SP__UTF8_REPLACEMENT, out);
        else if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            fprintf(out, "\\u%04x", byte);
        else
            fwrite(text + at, 1, step, out);
        at += step;
    }
    fputc('"', out);
}

static void put_named(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    put_string(out, text);
}

static void put_bool(FILE *out, const char *key, bool value)
{
    fprintf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void put_count(FILE *out, const char *key, uint64_t value)
{
    fprintf(out, ",\"%s\":%" PRIu64, key, value);
}

static void put_signed(FILE *out, const char *key, int64_t value)
{
    fprintf(out, ",\"%s\":%" PRId64, key, value);
}

static void put_identity(FILE *out, const struct sp__identity *id)
{
    char incarnation[33];
    sp__incarnation_text(id->incarnation, incarnation);
    fputs("{\"version\":1", out);
    put_named(out, "session", id->session);
    put_named(out, "prefix", id->prefix);
    put_signed(out, "rank", id->rank);
    put_named(out, "incarnation", incarnation);
    put_named(out, "hostname", id->hostname);
    put_count(out, "pid", id->pid);
    put_count(out, "uid", id->uid);
    put_named(out, "boot_id", id->boot_id);
    put_named(out, "clock", id->clock == SP__CLOCK_TSC ? "tsc" : "monotonic");
    put_named(out, "language", id->language == SP__LANGUAGE_FORTRAN ? "fortran" : "c");
    put_count(out, "part", id->part);
}

static void put_counts(FILE *out, const struct sp__recording *r)
{
    put_count(out, "calls", r->calls);
    put_count(out, "threads", r->thread_count);
    put_count(out, "dropped", r->counters.dropped);
    put_count(out, "waited_ns", r->counters.waited_ns);
    put_count(out, "mended", r->counters.mended);
    put_count(out, "unmatched", r->counters.unmatched);
    put_count(out, "too_deep", r->counters.too_deep);
    put_count(out, "lost_no_lane", r->counters.lost_no_lane);
    put_count(out, "gaps", r->gaps);
    put_count(out, "bad_bytes", r->bad_bytes);
    put_signed(out, "clock_error_ns", r->clock_error_ns);
    put_signed(out, "birth_mono_ns", r->identity.birth.mono_ns);
    put_signed(out, "birth_realtime_ns", r->identity.birth_realtime_ns);
    put_signed(out, "end_mono_ns", r->end_ns);
}

static void put_lists(FILE *out, const struct sp__recording *r)
{
    char text[OPEN_TEXT];
    fputs(",\"deaths\":[", out);
    if (sp__death_text(r, text, sizeof text) == 1)
        put_string(out, text);
    fputs("],\"open_calls\":[", out);
    for (size_t n = 0; sp__open_call_text(r, n, text, sizeof text) == 1; n++) {
        fputs(n ? "," : "", out);
        put_string(out, text);
    }
    fputs("],\"last\":[", out);
    bool any = false;
    for (unsigned lane = 0; lane < SP__LANES; lane++)
        if (r->last[lane]) {
            fprintf(out, "%s[%u,%" PRIu64 "]", any ? "," : "", lane, r->last[lane]);
            any = true;
        }
    fputs("]}\n", out);
}

int sp__note_write(const char *path, const struct sp__recording *recording, const char *file, const char *format,
                   bool final)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return -errno;
    put_identity(out, &recording->identity);
    put_named(out, "file", file);
    put_named(out, "format", format);
    put_bool(out, "final", final);
    put_bool(out, "ended", recording->ended);
    put_bool(out, "died", recording->died);
    put_counts(out, recording);
    put_lists(out, recording);
    int rc = ferror(out) ? -ENOMEM : 0;
    if (fclose(out) != 0 && rc == 0)
        rc = -ENOMEM;
    if (rc == 0)
        rc = final ? sp__durable_write(path, text, length, 0600) : sp__durable_write_soon(path, text, length, 0600);
    free(text);
    return rc;
}
