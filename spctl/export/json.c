/* json.c: one array, one call an element and a line. */
#include "export.h"

static void begin(struct export *e)
{
    out_text(e->out, "[");
}

static int leave(void *context, const sp_walk_call *call)
{
    struct export *e = context;
    out_text(e->out, e->own ? ",\n{\"rank\":" : "\n{\"rank\":");
    e->own = e;
    out_unsigned(e->out, call->rank);
    out_text(e->out, ",\"thread\":");
    if (call->thread >= 0)
        out_signed(e->out, call->thread);
    else
        out_text(e->out, "null");
    out_text(e->out, ",\"lane\":");
    out_unsigned(e->out, call->lane);
    out_text(e->out, ",\"region\":");
    out_text(e->out, e->names[call->region]);
    out_text(e->out, ",\"start_ns\":");
    out_signed(e->out, call->start);
    out_text(e->out, ",\"end_ns\":");
    out_signed(e->out, call->end);
    out_text(e->out, ",\"depth\":");
    out_unsigned(e->out, call->depth);
    out_text(e->out, ",\"exclusive_ns\":");
    out_signed(e->out, call->exclusive);
    out_text(e->out, "}");
    return 0;
}

static void finish(struct export *e)
{
    out_text(e->out, "\n]\n");
}

const struct export_format export_json = {
    .name = "json",
    .help = "one array with an object per call and line; keys as the columns of csv, thread null where unknown",
    .encode = export_json_string,
    .begin = begin,
    .leave = leave,
    .finish = finish,
};
