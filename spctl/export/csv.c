/* csv.c: a row per call, as RFC 4180 has it save for the ends of lines, which are those of Unix. */
#include <stdlib.h>
#include <string.h>

#include "export.h"

static char *quote(const char *s)
{
    char *quoted = malloc(2 * strlen(s) + 3), *to = quoted;
    if (!quoted)
        return NULL;
    *to++ = '"';
    for (; *s; ++s) {
        if (*s == '"')
            *to++ = '"';
        *to++ = *s;
    }
    *to++ = '"';
    *to = 0;
    return quoted;
}

static void begin(struct export *e)
{
    out_text(e->out, "rank,thread,lane,region,start_ns,end_ns,depth,exclusive_ns\n");
}

static int leave(void *context, const sp_walk_call *call)
{
    struct export *e = context;
    out_unsigned(e->out, call->rank);
    out_text(e->out, ",");
    if (call->thread >= 0)
        out_signed(e->out, call->thread);
    out_text(e->out, ",");
    out_unsigned(e->out, call->lane);
    out_text(e->out, ",");
    out_text(e->out, e->names[call->region]);
    out_text(e->out, ",");
    out_signed(e->out, call->start);
    out_text(e->out, ",");
    out_signed(e->out, call->end);
    out_text(e->out, ",");
    out_unsigned(e->out, call->depth);
    out_text(e->out, ",");
    out_signed(e->out, call->exclusive);
    out_text(e->out, "\n");
    return 0;
}

const struct export_format export_csv = {
    .name = "csv",
    .help = "a row per call: rank, thread, lane, region, start_ns, end_ns, depth, exclusive_ns",
    .encode = quote,
    .begin = begin,
    .leave = leave,
};
