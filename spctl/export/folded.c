/* folded.c: the stacks that flame graphs are drawn from, "outer;inner ns", merged over threads and ranks: the paths of
 * "spctl report --tree". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "paths.h"
#include "say.h"

/* ';' parts names and a line end parts stacks: neither may stand in a name. */
static char *escape(const char *s)
{
    char *escaped = malloc(4 * strlen(s) + 1), *to = escaped;
    for (; escaped && *s; ++s) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == 0x7f || c == ';')
            to += snprintf(to, 5, "\\x%02x", c);
        else if (c == '\\')
            to += snprintf(to, 5, "\\\\");
        else
            *to++ = *s;
    }
    if (escaped)
        *to = 0;
    return escaped;
}

static void begin(struct export *e)
{
    e->own = need(calloc(1, sizeof(struct paths)));
}

static int64_t enter(void *context, const sp_walk_call *call)
{
    const struct export *e = context;
    return paths_enter(e->own, call);
}

/* Callers that end before what they called is over, in another thread, have no time of their own. */
static uint64_t shown(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

static void finish(struct export *e)
{
    const struct paths *paths = e->own;
    int64_t further = paths->total;
    size_t *stack = NULL, room = 0;
    for (size_t n = 0; n < paths->count && !e->out->error; ++n) {
        size_t depth = paths->list[n].depth + 1;
        if (depth > room)
            stack = need(realloc(stack, (room = 2 * depth) * sizeof *stack));
        for (size_t at = n, i = depth; i-- > 0; at = paths->list[at].above)
            stack[i] = at;
        for (size_t i = 0; i < depth; ++i) {
            out_text(e->out, e->names[paths->list[stack[i]].region]);
            out_text(e->out, i + 1 < depth ? ";" : " ");
        }
        out_unsigned(e->out, shown(paths->list[n].exclusive));
        out_text(e->out, "\n");
        further = paths_add(further, depth == 1 ? -paths->list[n].total : 0);
    }
    free(stack);
    if (paths->cut == 0)
        return;
    if (further > 0) {
        out_text(e->out, "(other stacks) ");
        out_unsigned(e->out, (uint64_t)further);
        out_text(e->out, "\n");
    }
    say("there are more than %zu different stacks: the time of %" PRIu64
        " calls beyond is given to the calls that hold "
        "them; narrow it with --regions or --ranks",
        paths->count, paths->cut);
    e->partial = true;
}

static void destroy(struct export *e)
{
    paths_finish(e->own);
    free(e->own);
}

const struct export_format export_folded = {
    .name = "folded",
    .help = "a line per stack for flame graphs, \"outer;inner ns\": exclusive time over all threads and ranks; what "
            "would part names or lines stands as \\x3b, \\x0a and the like, a backslash as \\\\",
    .callers = true,
    .encode = escape,
    .begin = begin,
    .enter = enter,
    .finish = finish,
    .destroy = destroy,
};
