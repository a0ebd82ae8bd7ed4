/* chrome.c: the trace event format of Perfetto and chrome://tracing. A process is a rank, a thread of it a lane. */
#include <inttypes.h>
#include <stdio.h>

#include "export.h"
#include "scope_profiler.h"

static void next_event(struct export *e)
{
    out_text(e->out, e->own ? ",\n" : "\n");
    e->own = e;
}

/* Thread 0 is the idle one to Perfetto: lanes count from 1. */
static void metadata(struct export *e, const char *what, uint32_t rank, size_t lane)
{
    next_event(e);
    out_text(e->out, "{\"ph\":\"M\",\"name\":\"");
    out_text(e->out, what);
    out_text(e->out, "\",\"pid\":");
    out_unsigned(e->out, rank);
    out_text(e->out, ",\"tid\":");
    out_unsigned(e->out, lane + 1);
    out_text(e->out, ",\"args\":{");
}

static void begin(struct export *e)
{
    out_text(e->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"spctl " SP_VERSION
                     "\",\"clock\":\"CLOCK_MONOTONIC\",\"start_time_ns\":\"");
    out_signed(e->out, e->first);
    out_text(e->out, "\"},\"traceEvents\":[");
}

static void rank(struct export *e, uint32_t number)
{
    metadata(e, "process_name", number, 0);
    out_text(e->out, "\"name\":\"rank ");
    out_unsigned(e->out, number);
    out_text(e->out, "\"}}");
    metadata(e, "process_sort_index", number, 0);
    out_text(e->out, "\"sort_index\":");
    out_unsigned(e->out, number);
    out_text(e->out, "}}");
}

static void name_lane(struct export *e, const sp_walk_call *call)
{
    lane_buffer name;
    metadata(e, "thread_name", call->rank, call->lane);
    out_text(e->out, "\"name\":");
    export_put_json(e->out, export_lane_name(call, name));
    out_text(e->out, "}}");
    metadata(e, "thread_sort_index", call->rank, call->lane);
    out_text(e->out, "\"sort_index\":");
    out_unsigned(e->out, call->thread < 0 ? call->lane : (uint64_t)call->thread);
    out_text(e->out, "}}");
}

static int64_t enter(void *context, const sp_walk_call *call)
{
    struct export *e = context;
    if (call->lane == e->lanes)
        name_lane(e, call);
    next_event(e);
    out_text(e->out, "{\"ph\":\"X\",\"name\":");
    out_text(e->out, e->names[call->region]);
    out_text(e->out, ",\"cat\":\"region\",\"pid\":");
    out_unsigned(e->out, call->rank);
    out_text(e->out, ",\"tid\":");
    out_unsigned(e->out, call->lane + 1);
    out_text(e->out, ",\"ts\":");
    out_decimal(e->out, (uint64_t)call->start - (uint64_t)e->first, 3);
    out_text(e->out, ",\"dur\":");
    out_decimal(e->out, (uint64_t)call->end - (uint64_t)call->start, 3);
    out_text(e->out, "}");
    return 0;
}

static void finish(struct export *e)
{
    out_text(e->out, "\n]}\n");
}

const struct export_format export_chrome = {
    .name = "chrome",
    .help = "the trace event format of Perfetto and chrome://tracing: a process is a rank, a thread one of its lanes",
    .encode = export_json_string,
    .begin = begin,
    .rank = rank,
    .enter = enter,
    .finish = finish,
};
