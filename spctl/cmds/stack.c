#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"
#include "sessions.h"
#include "stacks.h"
#include "text.h"
#include "units.h"
#include "verbs.h"

enum { ENDS = 10 }; /* of a path that is longer than twice as many, so many at either end are shown */

static bool as_json, full;

/* Ranks whose segment is gone. */
struct ended {
    int rank;
    uint32_t pid;
    enum sp_rank_state state;
    bool died;
    char *open_calls; /* lines, "" none are known */
};

struct view {
    struct stacks stacks;
    struct ended *ended;
    size_t ended_count;
};

static int add_ended(void *context, const sp_rank_info *info)
{
    struct view *view = context;
    if (info->state != SP_RANK_SPOOLED && info->state != SP_RANK_PUBLISHED)
        return 0;
    for (size_t i = 0; i < view->stacks.life_count; ++i)
        if (strcmp(view->stacks.lives[i].incarnation, info->incarnation) == 0)
            return 0; /* it ended between the two looks */
    view->ended = need(realloc(view->ended, (view->ended_count + 1) * sizeof *view->ended));
    view->ended[view->ended_count++] = (struct ended){.rank = info->rank,
                                                      .pid = info->pid,
                                                      .state = info->state,
                                                      .died = info->died,
                                                      .open_calls = need(strdup(info->open_calls))};
    return 0;
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

static void print_clean(const char *text)
{
    char *clean = need(text_clean(text));
    fputs(clean, stdout);
    free(clean);
}

/* A region that calls itself makes one step of the path. The end of those from `at` on that are the same. */
static uint32_t run_end(const struct live_thread *thread, uint32_t at)
{
    uint32_t end = at + 1;
    while (end < thread->count && thread->calls[end].name == thread->calls[at].name)
        ++end;
    return end;
}

static void print_step(const struct stacks *stacks, const struct live_thread *thread, uint32_t at, uint32_t end)
{
    print_clean(stacks_region(stacks, thread->calls[at].name));
    if (end - at > 1)
        printf(" x %" PRIu32, end - at);
}

static void print_path(const struct stacks *stacks, const struct live_thread *thread)
{
    uint32_t steps = 0, step = 0;
    for (uint32_t at = 0; at < thread->count; at = run_end(thread, at))
        ++steps;
    for (uint32_t at = 0, end; at < thread->count; at = end, ++step) {
        end = run_end(thread, at);
        if (steps > 2 * ENDS && step >= ENDS && step < steps - ENDS) {
            if (step == ENDS)
                printf(" > (%" PRIu32 " more)", steps - 2 * ENDS);
            continue;
        }
        fputs(step > 0 ? " > " : "", stdout);
        print_step(stacks, thread, at, end);
    }
    if (thread->changing)
        printf("%s(changing)", thread->count ? " > " : "");
    else if (thread->count == 0)
        fputs("outside any region", stdout);
}

static void print_times(int64_t least, int64_t most, const char *before, const char *after)
{
    units_buffer from, to;
    units_age(least, from);
    units_age(most, to);
    if (strcmp(from, to) == 0)
        printf("%s%s%s", before, from, after);
    else
        printf("%s%s to %s%s", before, from, to, after);
}

static void print_thread(const char *threads, const struct live_thread *thread)
{
    if (thread->signal)
        fputs(" signal handler", stdout);
    else if (*threads)
        printf(" %s %s", strspn(threads, "0123456789") == strlen(threads) ? "thread" : "threads", threads);
    if (!thread->signal && *threads && *thread->name) {
        fputs(" (", stdout);
        print_clean(thread->name);
        fputs(")", stdout);
    }
}

static bool is_one(const char *ranks)
{
    return strspn(ranks, "0123456789") == strlen(ranks);
}

static void print_group(const struct stacks *stacks, const struct stack_group *group)
{
    const struct live_thread *thread = &group->first->thread;
    enum sp_rank_state state = stacks->lives[group->first->life].state;
    printf("%s %s", is_one(group->ranks) ? "rank" : "ranks", group->ranks);
    if (state != SP_RANK_RECORDING)
        printf(" (%s)", rank_state_name(state));
    print_thread(group->threads, thread);
    fputs(": ", stdout);
    print_path(stacks, thread);
    bool dead = state == SP_RANK_DEAD;
    if (thread->count > 0)
        print_times(group->least_ns, group->most_ns, dead ? ", begun " : ", ", dead ? " ago" : "");
    if (dead)
        print_times(group->silent_least_ns, group->silent_most_ns, ", last sign of life ", " ago");
    putchar('\n');
}

static void print_life(const struct stacks *stacks, size_t number, size_t *at)
{
    const struct stack_life *life = &stacks->lives[number];
    units_buffer age;
    printf("rank %" PRIu32, life->rank);
    if (life->part > 0)
        printf(" part %" PRIu32, life->part);
    printf(", %s, pid %" PRIu32 " on ", rank_state_name(life->state), life->pid);
    print_clean(life->hostname);
    if (life->state == SP_RANK_DEAD)
        printf(", last sign of life %s ago", units_age(life->silent_ns, age));
    putchar('\n');
    for (; *at < stacks->count && stacks->all[*at].life == number; ++*at) {
        const struct live_thread *thread = &stacks->all[*at].thread;
        printf("  %s %" PRIu32, thread->signal ? "signal handlers, thread" : "thread", thread->number);
        if (*thread->name) {
            fputs(" (", stdout);
            print_clean(thread->name);
            fputs(")", stdout);
        }
        puts(thread->count == 0 && !thread->changing ? ": outside any region" : "");
        for (uint32_t call = 0, end; call < thread->count; call = end) {
            end = run_end(thread, call);
            units_age(thread->calls[call].ns, age);
            printf(life->state == SP_RANK_DEAD ? "    begun %s ago  " : "    %-8s  ", age);
            print_step(stacks, thread, call, end);
            puts(thread->calls[call].recorded ? "" : " (not recorded: begun in a pause)");
        }
        if (thread->changing)
            puts("    (changing)");
    }
}

/* "ranks 3,5: died, published" and what was open then. */
static void print_ended(const struct view *view)
{
    for (size_t i = 0; i < view->ended_count; ++i) {
        const struct ended *e = &view->ended[i];
        if (!*e->open_calls && !e->died)
            continue;
        for (const char *line = e->open_calls; *line;) {
            size_t length = strcspn(line, "\n");
            char *copy = need(strndup(line, length));
            print_clean(copy);
            free(copy);
            printf(" (%s, when it %s)\n", rank_state_name(e->state), e->died ? "died" : "was published");
            line += length + (line[length] == '\n');
        }
        if (!*e->open_calls)
            printf("rank %d (%s): died outside any region\n", e->rank, rank_state_name(e->state));
    }
}

static void print_head(const struct view *view, const char *session)
{
    size_t states[SP_RANK_UNREADABLE + 1] = {0}, lives = view->stacks.life_count + view->ended_count;
    const char *between = "";
    for (size_t i = 0; i < view->stacks.life_count; ++i)
        states[view->stacks.lives[i].state]++;
    for (size_t i = 0; i < view->ended_count; ++i)
        states[view->ended[i].state]++;
    printf("session %s: %zu %s (", session, lives, lives == 1 ? "rank" : "ranks");
    for (int state = 0; state <= SP_RANK_UNREADABLE; ++state) {
        if (states[state] == 0)
            continue;
        printf("%s%zu %s", between, states[state], rank_state_name((enum sp_rank_state)state));
        between = ", ";
    }
    puts(lives ? ")" : "none that can be read)");
}

static void print_text(const struct view *view, const char *session)
{
    const struct stacks *stacks = &view->stacks;
    size_t at = 0;
    print_head(view, session);
    for (size_t i = 0; full && i < stacks->life_count; ++i)
        print_life(stacks, i, &at);
    for (size_t i = 0; !full && i < stacks->group_count; ++i)
        print_group(stacks, &stacks->groups[i]);
    for (size_t i = 0; i < stacks->life_count; ++i)
        if (stacks->lives[i].threads == 0)
            printf("rank %" PRIu32 " (%s): no thread has begun a call\n", stacks->lives[i].rank,
                   rank_state_name(stacks->lives[i].state));
    print_ended(view);
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static json_t *thread_json(const struct stacks *stacks, const struct live_thread *thread, bool dead)
{
    json_t *object = need(json_object());
    json_put(object, "thread", json_count(thread->number));
    json_put(object, "native_id", json_count(thread->native_id));
    json_put(object, "name", *thread->name ? json_text(thread->name) : json_null());
    json_put(object, "signal_handler", json_boolean(thread->signal));
    json_put(object, "changing", json_boolean(thread->changing));
    json_t *open = json_put(object, "open", json_array());
    for (uint32_t i = 0; i < thread->count; ++i) {
        json_t *call = json_push(open, json_object());
        json_put(call, "region", json_text(stacks_region(stacks, thread->calls[i].name)));
        json_put(call, dead ? "begun_ns_ago" : "open_ns", json_integer(thread->calls[i].ns));
        json_put(call, "recorded", json_boolean(thread->calls[i].recorded));
    }
    return object;
}

static json_t *group_json(const struct stacks *stacks, const struct stack_group *group)
{
    const struct live_thread *thread = &group->first->thread;
    enum sp_rank_state state = stacks->lives[group->first->life].state;
    json_t *object = need(json_object());
    json_put(object, "ranks", json_text(group->ranks));
    json_put(object, "threads", json_text(*group->threads ? group->threads : "0"));
    json_put(object, "count", json_count(group->count));
    json_put(object, "state", json_text(rank_state_name(state)));
    json_put(object, "signal_handler", json_boolean(thread->signal));
    json_put(object, "changing", json_boolean(thread->changing));
    json_t *regions = json_put(object, "regions", json_array());
    for (uint32_t i = 0; i < thread->count; ++i)
        json_push(regions, json_text(stacks_region(stacks, thread->calls[i].name)));
    json_put(object, "least_ns", thread->count ? json_integer(group->least_ns) : json_null());
    json_put(object, "most_ns", thread->count ? json_integer(group->most_ns) : json_null());
    return object;
}

static void print_json(const struct view *view, const char *session)
{
    const struct stacks *stacks = &view->stacks;
    json_t *document = json_document();
    json_put(document, "session", json_text(session));
    json_t *groups = json_put(document, "groups", json_array());
    for (size_t i = 0; i < stacks->group_count; ++i)
        json_push(groups, group_json(stacks, &stacks->groups[i]));
    json_t *ranks = json_put(document, "ranks", json_array());
    size_t at = 0;
    for (size_t i = 0; i < stacks->life_count; ++i) {
        const struct stack_life *life = &stacks->lives[i];
        json_t *object = json_push(ranks, json_object());
        json_put(object, "rank", json_count(life->rank));
        json_put(object, "part", json_count(life->part));
        json_put(object, "state", json_text(rank_state_name(life->state)));
        json_put(object, "pid", json_count(life->pid));
        json_put(object, "hostname", json_text(life->hostname));
        json_put(object, "silent_ns", life->state == SP_RANK_DEAD ? json_integer(life->silent_ns) : json_null());
        json_t *threads = json_put(object, "threads", json_array());
        for (; at < stacks->count && stacks->all[at].life == i; ++at)
            json_push(threads, thread_json(stacks, &stacks->all[at].thread, life->state == SP_RANK_DEAD));
    }
    json_t *ended = json_put(document, "ended", json_array());
    for (size_t i = 0; i < view->ended_count; ++i) {
        const struct ended *e = &view->ended[i];
        json_t *object = json_push(ended, json_object());
        json_put(object, "rank", json_integer(e->rank));
        json_put(object, "state", json_text(rank_state_name(e->state)));
        json_put(object, "pid", json_count(e->pid));
        json_put(object, "died", json_boolean(e->died));
        json_t *open = json_put(object, "open_calls", json_array());
        for (const char *line = e->open_calls; *line; line += strcspn(line, "\n"), line += *line == '\n') {
            char *copy = need(strndup(line, strcspn(line, "\n")));
            json_push(open, json_text(copy));
            free(copy);
        }
    }
    json_print(document);
}

/* ---- the verb ----------------------------------------------------------------------------------------------------- */

static int show(struct view *view, const char *data_dir, const char *session)
{
    const struct stacks *stacks = &view->stacks;
    if (stacks->life_count + view->ended_count + stacks->problems.count == 0) {
        say("%s: there is no such session in %s, and no program records it; \"spctl list\" shows all", session,
            data_dir);
        return END_FAILED;
    }
    if (as_json)
        print_json(view, session);
    else
        print_text(view, session);
    for (uint32_t i = 0; i < stacks->problems.count; ++i)
        say("%s", stacks->problems.keys[i].bytes);
    return stacks->problems.count ? END_LOSS : END_DONE;
}

static int run(const struct arguments *arguments)
{
    char data_dir[SP__PATH_SIZE], session[128];
    const char *name = arguments->operands[0];
    sp_error error = {0};
    struct view view = {.ended = NULL};
    if (!data_dir_of(arguments, data_dir) || session_resolve(data_dir, name, session) < 0)
        return END_FAILED;
    if (strcmp(session, name) != 0)
        say("%s: the newest launch is taken, session %s", name, session);
    stacks_read(&view.stacks, session);
    int status = sp_sessions_each(data_dir, session, add_ended, &view, &error);
    int end = END_FAILED;
    if (status < 0 && status != SP_ERR_NOT_FOUND)
        say("%s", error.text);
    else
        end = show(&view, data_dir, session);
    for (size_t i = 0; i < view.ended_count; ++i)
        free(view.ended[i].open_calls);
    free(view.ended);
    stacks_finish(&view.stacks);
    return end;
}

static const struct option options[] = {
    {'f', "full", NULL, "each rank and thread, with the time of every region", &full},
    {'j', "json", NULL, "print JSON: groups, ranks with their threads, times in ns", &as_json},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_stack = {
    .name = "stack",
    .operands = "SESSION",
    .summary = "show which regions every rank and thread is in now, and for how long",
    .about =
        "One line for the threads that agree: ranks, the open regions from the outermost to the innermost, and\n"
        "how long the innermost has been open, from the shortest to the longest where they differ. A rank's first\n"
        "thread has no number there, further ones have (thread 1 is the second), and a region that calls itself\n"
        "is counted (x 12). Read from shared memory, with spd or without it; nobody is stopped. Of programs that\n"
        "died it says when the innermost region began and when the last sign of life was, since nothing tells\n"
        "when they died; of ranks that were published after that, what their profile says was open.\n"
        "What is shown was open all at once; of a thread that is too fast for that, what lay under its changing\n"
        "calls is shown, and \"(changing)\". One exception: ends out of order move entries of the stack, and a\n"
        "thread that is seen, or died, in that very moment may show a region twice.\n"
        "Exit status 3 where something could not be read.",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
