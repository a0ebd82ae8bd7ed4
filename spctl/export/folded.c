/* folded.c: the stacks that flame graphs are drawn from, "outer;inner ns", merged over threads and ranks. Paths are few
 * where calls are many: those are held, and no more than a limit of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "say.h"

enum { MOST_PATHS = 1 << 20, NONE = 0 };

struct path {
    uint32_t parent, region, next; /* next: another one of the same slot */
    bool called;
    uint64_t exclusive;
};

struct tree {
    struct path *paths; /* [0] the root */
    uint32_t count, room;
    uint32_t *slots;
    uint32_t slot_count; /* a power of two */
    struct {
        uint32_t path;
        uint64_t beyond; /* open calls of paths that found no room: theirs is the path that holds them */
    } * lanes;
    size_t lane_room;
    uint64_t refused;
};

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
    struct tree *tree = need(calloc(1, sizeof *tree));
    e->own = tree;
    tree->room = 1024;
    tree->count = 1;
    tree->paths = need(calloc(tree->room, sizeof *tree->paths));
    tree->slot_count = 1024;
    tree->slots = need(calloc(tree->slot_count, sizeof *tree->slots));
}

static uint32_t slot_of(const struct tree *tree, uint32_t parent, uint32_t region)
{
    uint64_t mixed = ((uint64_t)parent << 32 | region) * 0x9e3779b97f4a7c15U;
    return (uint32_t)(mixed >> 32) & (tree->slot_count - 1);
}

static void grow(struct tree *tree)
{
    tree->room *= 2;
    tree->slot_count *= 2;
    tree->paths = need(realloc(tree->paths, tree->room * sizeof *tree->paths));
    tree->slots = need(realloc(tree->slots, tree->slot_count * sizeof *tree->slots));
    memset(tree->slots, 0, tree->slot_count * sizeof *tree->slots);
    for (uint32_t n = 1; n < tree->count; ++n) {
        uint32_t slot = slot_of(tree, tree->paths[n].parent, tree->paths[n].region);
        tree->paths[n].next = tree->slots[slot];
        tree->slots[slot] = n;
    }
}

/* NONE: there is no room for another one. */
static uint32_t path_below(struct tree *tree, uint32_t parent, uint32_t region)
{
    for (uint32_t n = tree->slots[slot_of(tree, parent, region)]; n; n = tree->paths[n].next)
        if (tree->paths[n].parent == parent && tree->paths[n].region == region)
            return n;
    if (tree->count == MOST_PATHS)
        return NONE;
    if (tree->count == tree->room)
        grow(tree);
    uint32_t slot = slot_of(tree, parent, region);
    tree->paths[tree->count] = (struct path){.parent = parent, .region = region, .next = tree->slots[slot]};
    tree->slots[slot] = tree->count;
    return tree->count++;
}

static int enter(void *context, const sp_walk_call *call)
{
    struct export *e = context;
    struct tree *tree = e->own;
    if (call->lane >= tree->lane_room) {
        size_t room = 2 * call->lane + 16;
        tree->lanes = need(realloc(tree->lanes, room * sizeof *tree->lanes));
        memset(tree->lanes + tree->lane_room, 0, (room - tree->lane_room) * sizeof *tree->lanes);
        tree->lane_room = room;
    }
    uint32_t path =
        tree->lanes[call->lane].beyond ? NONE : path_below(tree, tree->lanes[call->lane].path, (uint32_t)call->region);
    if (path == NONE) {
        tree->lanes[call->lane].beyond++;
        tree->refused++;
    } else {
        tree->lanes[call->lane].path = path;
    }
    return 0;
}

static int leave(void *context, const sp_walk_call *call)
{
    struct export *e = context;
    struct tree *tree = e->own;
    struct path *path = &tree->paths[tree->lanes[call->lane].path];
    path->exclusive += (uint64_t)call->exclusive;
    path->called = true;
    if (tree->lanes[call->lane].beyond)
        tree->lanes[call->lane].beyond--;
    else
        tree->lanes[call->lane].path = path->parent;
    return 0;
}

static void finish(struct export *e)
{
    struct tree *tree = e->own;
    uint32_t *stack = NULL;
    size_t room = 0;
    for (uint32_t n = 0; n < tree->count && !e->out->error; ++n) {
        size_t depth = 0;
        if (!tree->paths[n].called)
            continue;
        for (uint32_t at = n; at; at = tree->paths[at].parent) {
            if (depth == room) {
                room = 2 * room + 64;
                stack = need(realloc(stack, room * sizeof *stack));
            }
            stack[depth++] = tree->paths[at].region;
        }
        if (!n)
            out_text(e->out, "(other stacks) ");
        while (depth) {
            out_text(e->out, e->names[stack[--depth]]);
            out_text(e->out, depth ? ";" : " ");
        }
        out_unsigned(e->out, tree->paths[n].exclusive);
        out_text(e->out, "\n");
    }
    free(stack);
    if (tree->refused) {
        say("there are more than %d different stacks: the time of %llu calls beyond is given to the calls that hold "
            "them; narrow it with --regions or --ranks",
            MOST_PATHS - 1, (unsigned long long)tree->refused);
        e->partial = true;
    }
}

static void destroy(struct export *e)
{
    struct tree *tree = e->own;
    free(tree->paths);
    free(tree->slots);
    free(tree->lanes);
    free(tree);
}

const struct export_format export_folded = {
    .name = "folded",
    .help = "a line per stack for flame graphs, \"outer;inner ns\": exclusive time over all threads and ranks; what "
            "would part names or lines stands as \\x3b, \\x0a and the like, a backslash as \\\\",
    .encode = escape,
    .begin = begin,
    .enter = enter,
    .leave = leave,
    .finish = finish,
    .destroy = destroy,
};
