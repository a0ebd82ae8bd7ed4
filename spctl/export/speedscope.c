/* speedscope.c: speedscope's file format, evented, one profile a lane.
 *
 * A profile's events stand together in the file, while lanes are walked all at once: what does not fit a lane's block
 * goes to a scratch file, block by block, each of which knows the next. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "env.h"
#include "export.h"
#include "names.h"
#include "say.h"
#include "scope_profiler.h"

enum { EVENTS = 1022 }; /* of a block, so that it fills pages */

struct event {
    uint64_t at;
    uint32_t region;
    uint32_t open;
};

struct block {
    int64_t next; /* its number; -1 the last one */
    uint64_t used;
    struct event events[EVENTS];
};

struct lane {
    struct block *block;
    int64_t first, number; /* blocks of it; number: where `block` goes */
    uint64_t begin, end;
    lane_buffer name;
};

struct speedscope {
    int scratch; /* -1: none yet */
    int64_t blocks;
    struct lane *lanes;
    size_t lane_count, room;
    bool some; /* profiles */
};

static bool open_scratch(const struct export *e, struct speedscope *s)
{
    char folder[SP__PATH_SIZE];
    const char *path = e->out->path, *base = path ? sp__base_name(path) : NULL;
    if (path)
        snprintf(folder, sizeof folder, "%.*s", base == path ? 1 : (int)(base - path), base == path ? "." : path);
    else
        snprintf(folder, sizeof folder, "%s", sp__temporary_dir());
    s->scratch = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->scratch < 0)
        say("cannot make a scratch file in %s: %s; %s", folder, strerror(errno),
            path ? "choose another place with -o" : "set TMPDIR to another folder");
    return s->scratch >= 0;
}

static bool moved_whole(const char *what, ssize_t moved)
{
    if (moved == (ssize_t)sizeof(struct block))
        return true;
    say("cannot %s the scratch file: %s; make room", what, moved < 0 ? strerror(errno) : "no space left on device");
    return false;
}

static bool put_block(struct speedscope *s, const struct block *block, int64_t number)
{
    return moved_whole("write", pwrite(s->scratch, block, sizeof *block, number * (int64_t)sizeof *block));
}

static bool get_block(struct speedscope *s, struct block *ret, int64_t number)
{
    return moved_whole("read", pread(s->scratch, ret, sizeof *ret, number * (int64_t)sizeof *ret));
}

static void begin(struct export *e)
{
    struct speedscope *s = need(calloc(1, sizeof *s));
    struct out *out = e->out;
    e->own = s;
    s->scratch = -1;
    out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"spctl " SP_VERSION
                  "\",\"name\":");
    export_put_json(out, sp_results_label(e->results));
    out_text(out, ",\"shared\":{\"frames\":[");
    for (size_t i = 0; e->names[i]; ++i) {
        out_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        out_text(out, e->names[i]);
        out_text(out, "}");
    }
    out_text(out, "\n]},\"profiles\":[");
}

static void rank(struct export *e, uint32_t number)
{
    struct speedscope *s = e->own;
    (void)number;
    s->blocks = 0;
    s->lane_count = 0;
}

static struct lane *lane_of(struct speedscope *s, const sp_walk_call *call, uint64_t at)
{
    if (call->lane == s->room) {
        s->room = s->room * 2 + 4;
        s->lanes = need(realloc(s->lanes, s->room * sizeof *s->lanes));
        memset(s->lanes + call->lane, 0, (s->room - call->lane) * sizeof *s->lanes);
    }
    struct lane *lane = &s->lanes[call->lane];
    if (call->lane == s->lane_count) {
        s->lane_count++;
        if (!lane->block)
            lane->block = need(malloc(sizeof *lane->block));
        lane->block->next = -1;
        lane->block->used = 0;
        lane->first = lane->number = -1;
        lane->begin = at;
        export_lane_name(call, lane->name);
    }
    return lane;
}

static int put(struct export *e, const sp_walk_call *call, int64_t time, bool open)
{
    struct speedscope *s = e->own;
    uint64_t at = (uint64_t)time - (uint64_t)e->first;
    struct lane *lane = lane_of(s, call, at);
    if (lane->block->used == EVENTS) {
        if (s->scratch < 0 && !open_scratch(e, s))
            return -1;
        if (lane->first < 0)
            lane->first = lane->number = s->blocks++;
        lane->block->next = s->blocks++;
        if (!put_block(s, lane->block, lane->number))
            return -1;
        lane->number = lane->block->next;
        lane->block->next = -1;
        lane->block->used = 0;
    }
    lane->end = at;
    lane->block->events[lane->block->used++] = (struct event){.at = at, .region = (uint32_t)call->region, .open = open};
    return 0;
}

static int64_t enter(void *context, const sp_walk_call *call)
{
    return put(context, call, call->start, true);
}

static int leave(void *context, const sp_walk_call *call)
{
    return put(context, call, call->end, false);
}

static void put_events(struct out *out, const struct block *block, bool first)
{
    for (uint64_t i = 0; i < block->used; ++i) {
        const struct event *event = &block->events[i];
        out_text(out, first && !i ? "\n" : ",\n");
        out_text(out, event->open ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
        out_unsigned(out, event->region);
        out_text(out, ",\"at\":");
        out_unsigned(out, event->at);
        out_text(out, "}");
    }
}

static bool put_lane(struct export *e, uint32_t number, struct lane *lane)
{
    struct speedscope *s = e->own;
    char name[sizeof(lane_buffer) + 32];
    snprintf(name, sizeof name, "rank %u %s", (unsigned)number, lane->name);
    out_text(e->out, s->some ? ",\n" : "\n");
    s->some = true;
    out_text(e->out, "{\"type\":\"evented\",\"name\":");
    export_put_json(e->out, name);
    out_text(e->out, ",\"unit\":\"nanoseconds\",\"startValue\":");
    out_unsigned(e->out, lane->begin);
    out_text(e->out, ",\"endValue\":");
    out_unsigned(e->out, lane->end);
    out_text(e->out, ",\"events\":[");
    if (lane->first >= 0 && !put_block(s, lane->block, lane->number))
        return false;
    for (int64_t at = lane->first; at >= 0; at = lane->block->next) {
        if (!get_block(s, lane->block, at))
            return false;
        put_events(e->out, lane->block, at == lane->first);
    }
    if (lane->first < 0)
        put_events(e->out, lane->block, true);
    out_text(e->out, "\n]}");
    return true;
}

static int rank_end(struct export *e, uint32_t number)
{
    struct speedscope *s = e->own;
    for (size_t i = 0; i < s->lane_count; ++i)
        if (!put_lane(e, number, &s->lanes[i]))
            return -1;
    return 0;
}

static void finish(struct export *e)
{
    out_text(e->out, "\n]}\n");
}

static void destroy(struct export *e)
{
    struct speedscope *s = e->own;
    for (size_t i = 0; i < s->room; ++i)
        free(s->lanes[i].block);
    free(s->lanes);
    if (s->scratch >= 0)
        close(s->scratch);
    free(s);
}

const struct export_format export_speedscope = {
    .name = "speedscope",
    .help = "speedscope's own file format, one profile a lane",
    .encode = export_json_string,
    .begin = begin,
    .rank = rank,
    .enter = enter,
    .leave = leave,
    .rank_end = rank_end,
    .finish = finish,
    .destroy = destroy,
};
