/* walk: kills programs, spds and merges at every labelled instant, alone and in pairs, and compares what is published
 * with what was called, to the last call.
 *
 *   walk                   every label alone, at several of its passings, each of these in one way, and a sample of pairs
 *   walk FAMILY KEY=VALUE  one run, as a failure names it: program= spd= spd2= merge= (LABEL:HIT), gone= at-once= (0, 1)
 *
 * Environment: SP_WALK=all walks every label in every way, and all pairs; SP_WALK_JOBS=N runs N at once; SP_WALK_KEEP=1 leaves the folders of runs.
 * Exit status: 0 all exact and every label reached; 1 not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "walk.h"

#define LABEL(identifier, label, place) label,
const char *const instant_labels[SP__INSTANT_COUNT] = {SP__INSTANTS_EACH(LABEL)};

#define PLACE(identifier, label, place) place,
static const char *const places[SP__INSTANT_COUNT] = {SP__INSTANTS_EACH(PLACE)};

static const struct family families[] = {
    {.name = "spd", .scripts = {"cFcc", "c"}, .spd = "auto", .strict = true},
    {.name = "alone", .scripts = {"cFcc", "c"}, .strict = true},
    {.name = "reset", .scripts = {"cRc", "c"}, .spd = "auto", .strict = true},
    {.name = "reset-alone", .scripts = {"cRc", "c"}, .strict = true},
    {.name = "threads", .scripts = {"cTt", "c"}, .spd = "auto"},
    {.name = "threads-alone", .scripts = {"cTt", "c"}},
    {.name = "later", .scripts = {"cFc"}, .spd = "auto", .spd_later = true, .strict = true},
    {.name = "dead", .scripts = {"ck"}, .killed = LIVES, .spd = "auto", .spd_later = true},
    {.name = "merged", .scripts = {"cFc", "c"}, .spd = "merged", .strict = true},
    {.name = "merged-once", .scripts = {"cFc"}, .spd = "merged", .strict = true},
    {.name = "fork", .scripts = {"cfc", "c"}, .spd = "auto"},
    {.name = "fork-alone", .scripts = {"cfc", "c"}},
    {.name = "explicit", .scripts = {"cdc", "c"}, .spd = "auto"},
    {.name = "explicit-alone", .scripts = {"cdc", "c"}},
    {.name = "exit", .scripts = {"cx", "c"}, .spd = "auto", .strict = true},
    {.name = "stop", .scripts = {"cFwc", "c"}, .spd = "auto", .strict = true}, /* SIGTERM comes while it waits */
    {.name = "drops", .scripts = {"cFwcc", "c"}, .spd = "auto", .drops = true, .strict = true},
    {.name = "restart", .scripts = {"ck", "c", "c"}, .killed = 1, .strict = true},
    {.name = "recover", .scripts = {"ck"}, .killed = LIVES},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* What is only passed where somebody died within a block, or right after it: by a second spd, by the program. */
static const struct {
    const char *family, *first, *spd, *program;
} chains[] = {
    {"dead", "spool.write.half", "spool.cut", ""},
    {"dead", "spool.write.half", "spool.cut.after", ""},
    {"dead", "spool.write.head", "spool.write.half", ""},
    {"dead", "tail.before", "takeover.before", ""},
    {"dead", "tail.before", "takeover.after", ""},
    {"dead", "tail.before", "tail.before", ""},
    {"spd", "spool.write.half", "", "spool.cut"},
    {"spd", "spool.write.half", "", "spool.cut.after"},
    {"spd", "tail.before", "", "takeover.before"},
    {"spd", "tail.before", "", "takeover.after"},
    {"spd", "spool.made", "spool.write.half", ""},
    {"spd", "attach.naming", "attach.spool", ""},
    {"spd", "rank.state", "name.locked", ""},
    {"spd", "rank.name", "attach.locked", ""},
    {"spd", "publish.written", "publish.written", ""},
    {"spd", "answer", "answer", ""},
    {"merged", "merged.renamed", "merged.written", ""},
};
enum { CHAINS = sizeof chains / sizeof *chains };

static struct run *runs;
static size_t run_count, run_room;
static uint32_t passed[FAMILIES][ROLES][SP__INSTANT_COUNT];

static struct run *add_run(const struct family *family)
{
    if (run_count == run_room) {
        run_room = run_room ? 2 * run_room : 1024;
        runs = realloc(runs, run_room * sizeof *runs);
        if (!runs)
            abort();
    }
    runs[run_count] = (struct run){.family = family};
    return &runs[run_count++];
}

/* The same numbers each time. */
static uint32_t random_below(uint32_t n)
{
    static uint64_t state = 0x9e3779b97f4a7c15U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* ---- running, several at once --------------------------------------------------------------------------------------- */

static unsigned jobs_at_once(void)
{
    const char *given = getenv("SP_WALK_JOBS");
    long n = given ? strtol(given, NULL, 10) : 4 * sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 60 ? 60 : (unsigned)n;
}

static unsigned failures;

static void show_failure(const struct run *run, const struct result *result)
{
    char words[400];
    run_words(run, words, sizeof words);
    if (failures++ < 20)
        printf("FAILED: walk %s\n        %s\n", words, result->ran ? result->words : "the run itself ended");
}

/* A process a run: 0 or its pid. */
static pid_t start_one(size_t n, struct result *results)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        run_all_of_it(&runs[n], (unsigned)n, &results[n]);
        _exit(0);
    }
    return pid < 0 ? 0 : pid;
}

/* The runs from `from` on. Results lie in memory that all processes share. */
static struct result *run_them(size_t from)
{
    enum { MOST = 64 };
    struct {
        pid_t pid;
        size_t run;
    } at_work[MOST] = {{0, 0}};
    struct result *results =
        mmap(NULL, (run_count + 1) * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED)
        abort();
    unsigned most = jobs_at_once(), running = 0;
    for (size_t n = from; n < run_count || running > 0;) {
        unsigned place = 0;
        while (n < run_count && running < most && place < MOST && at_work[place].pid)
            place++;
        if (n < run_count && running < most) {
            at_work[place].pid = start_one(n, results);
            at_work[place].run = n++;
            running += at_work[place].pid != 0;
            continue;
        }
        pid_t pid = wait(NULL);
        for (place = 0; place < MOST && pid > 0; place++) {
            if (at_work[place].pid != pid)
                continue;
            at_work[place].pid = 0;
            running--;
            if (!results[at_work[place].run].good)
                show_failure(&runs[at_work[place].run], &results[at_work[place].run]);
        }
    }
    return results;
}

/* ---- the plan ------------------------------------------------------------------------------------------------------- */

static void at(char ret[KILL_SIZE], size_t label, uint32_t hit)
{
    snprintf(ret, KILL_SIZE, "%s:%u", instant_labels[label], hit);
}

/* The first, the second, and a later passing. */
static unsigned hits_of(uint32_t times, uint32_t hits[3])
{
    unsigned count = 0;
    if (times >= 1)
        hits[count++] = 1;
    if (times >= 2)
        hits[count++] = 2;
    if (times >= 4)
        hits[count++] = times;
    return count;
}

static void plan_alone(const struct family *family, enum role role, size_t label, uint32_t hit, bool gone)
{
    struct run *run = add_run(family);
    at(role == PROGRAM ? run->program : role == SPD ? run->spd[0] : run->merge, label, hit);
    run->gone = gone;
    run->at_once = random_below(2);
}

/* Each hit of a label in another of the families that pass it; or every hit in all of them. */
static void plan_label(enum role role, size_t label, bool all)
{
    unsigned turn = random_below(FAMILIES);
    for (unsigned n = 0; n < (all ? 1U : 3U); n++) {
        for (unsigned tried = 0; tried < FAMILIES; tried++) {
            size_t f = turn++ % FAMILIES;
            uint32_t hits[3];
            unsigned count = hits_of(passed[f][role][label], hits);
            bool can_go = role == SPD && !families[f].spd_later;
            for (unsigned hit = all ? 0 : n; hit < count && (all || hit == n); hit++) {
                plan_alone(&families[f], role, label, hits[hit], !all && can_go && random_below(4) == 0);
                if (all && can_go)
                    plan_alone(&families[f], role, label, hits[hit], true);
            }
            if (count > n && !all)
                break;
        }
    }
}

static void plan_singles(bool all)
{
    for (int role = 0; role < ROLES; role++)
        for (size_t label = 0; label < SP__INSTANT_COUNT; label++)
            plan_label((enum role)role, label, all);
}

static const struct family *family_named(const char *name)
{
    for (size_t f = 0; f < FAMILIES; f++)
        if (!strcmp(families[f].name, name))
            return &families[f];
    return NULL;
}

/* The frame in which the first one dies is one of the first few: identity, regions, records. */
static void plan_chains(void)
{
    for (size_t n = 0; n < CHAINS; n++)
        for (uint32_t hit = 1; hit <= 4; hit++) {
            struct run *run = add_run(family_named(chains[n].family));
            snprintf(run->spd[0], KILL_SIZE, "%s:%u", chains[n].first, hit);
            if (*chains[n].spd)
                snprintf(run->spd[1], KILL_SIZE, "%s:1", chains[n].spd);
            if (*chains[n].program)
                snprintf(run->program, KILL_SIZE, "%s:1", chains[n].program);
            run->at_once = random_below(2);
        }
}

static void plan_pair(size_t f, size_t program, size_t spd)
{
    uint32_t hits[3];
    struct run *run = add_run(&families[f]);
    at(run->program, program, hits[random_below(hits_of(passed[f][PROGRAM][program], hits))]);
    at(run->spd[0], spd, hits[random_below(hits_of(passed[f][SPD][spd], hits))]);
    run->gone = random_below(4) == 0;
    run->at_once = random_below(2);
}

/* Each label of a program with some of spd's, and the other way round; or all with all. */
static void plan_pairs(bool all)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        if (!families[f].spd || families[f].spd_later)
            continue;
        for (size_t program = 0; program < SP__INSTANT_COUNT; program++)
            for (size_t spd = 0; spd < SP__INSTANT_COUNT; spd++) {
                if (passed[f][PROGRAM][program] && passed[f][SPD][spd] && (all || random_below(f == 0 ? 60 : 250) == 0))
                    plan_pair(f, program, spd);
            }
    }
}

/* ---- what came of it ------------------------------------------------------------------------------------------------ */

static void count_kill(const char *kill_at, unsigned counts[SP__INSTANT_COUNT])
{
    size_t length = strcspn(kill_at, ":");
    for (size_t n = 0; n < SP__INSTANT_COUNT; n++)
        counts[n] += strlen(instant_labels[n]) == length && !memcmp(instant_labels[n], kill_at, length);
}

static unsigned killed[ROLES][SP__INSTANT_COUNT];

static void count_kills(const struct result *results, size_t from)
{
    for (size_t n = from; n < run_count; n++) {
        const struct result *result = &results[n];
        const char *kills[ROLES] = {runs[n].program, runs[n].spd[0], runs[n].merge};
        for (int role = 0; role < ROLES; role++)
            if (result->killed[role])
                count_kill(kills[role], killed[role]);
        if (result->killed_second)
            count_kill(runs[n].spd[1], killed[SPD]);
    }
}

static bool reached(size_t label)
{
    return killed[PROGRAM][label] || killed[SPD][label] || killed[MERGE][label];
}

/* The table, and how many labels nobody died at. */
static unsigned show_table(void)
{
    unsigned unreached = 0;
    printf("%-20s %8s %8s %8s\n", "killed at", "program", "spd", "merge");
    for (size_t n = 0; n < SP__INSTANT_COUNT; n++) {
        printf("%-20s %8u %8u %8u%s%s\n", instant_labels[n], killed[PROGRAM][n], killed[SPD][n], killed[MERGE][n],
               reached(n) ? "" : "  NOBODY DIES HERE: ", reached(n) ? "" : places[n]);
        unreached += !reached(n);
    }
    return unreached;
}

static struct figures {
    size_t kills, spools, slowest, unasked;
    double longest;
} figures;

static void add_figures(const struct result *results, size_t from)
{
    for (size_t n = from; n < run_count; n++) {
        for (int role = 0; role < ROLES; role++)
            figures.kills += results[n].killed[role];
        figures.kills += results[n].killed_second;
        figures.spools += results[n].spools;
        figures.unasked += results[n].dropped && !runs[n].family->drops;
        if (results[n].seconds > figures.longest) {
            figures.longest = results[n].seconds;
            figures.slowest = n;
        }
    }
}

static void run_planned(size_t from)
{
    struct result *results = run_them(from);
    count_kills(results, from);
    add_figures(results, from);
    munmap(results, (run_count + 1) * sizeof *results);
}

/* Which labels are passed, and how often, in each family. */
static void look(void)
{
    size_t from = run_count;
    for (size_t f = 0; f < FAMILIES; f++)
        add_run(&families[f])->look = true;
    struct result *results = run_them(from);
    for (size_t f = 0; f < FAMILIES; f++)
        for (int role = 0; role < ROLES; role++)
            for (size_t label = 0; label < SP__INSTANT_COUNT; label++)
                if (results[from + f].seen[role][label] > passed[f][role][label])
                    passed[f][role][label] = results[from + f].seen[role][label];
    munmap(results, (run_count + 1) * sizeof *results);
}

/* Who passes some labels is a matter of moments: what nobody died at is tried wherever it was passed. */
static void try_again(void)
{
    bool unseen = false;
    for (size_t label = 0; label < SP__INSTANT_COUNT; label++) {
        bool seen = reached(label);
        for (size_t f = 0; f < FAMILIES; f++)
            seen = seen || passed[f][PROGRAM][label] || passed[f][SPD][label] || passed[f][MERGE][label];
        unseen = unseen || !seen;
    }
    if (unseen)
        look();
    size_t from = run_count;
    for (size_t label = 0; label < SP__INSTANT_COUNT; label++)
        for (size_t f = 0; f < FAMILIES && !reached(label); f++)
            for (int role = 0; role < ROLES; role++)
                if (passed[f][role][label])
                    plan_alone(&families[f], (enum role)role, label, 1, false);
    if (run_count > from)
        run_planned(from);
}

static int walk_all(void)
{
    enum { AGAIN = 3 };
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    look();
    size_t looks = run_count;
    const char *wanted = getenv("SP_WALK");
    bool all = wanted && !strcmp(wanted, "all");
    plan_singles(all);
    plan_chains();
    plan_pairs(all);
    printf("%zu runs planned\n", run_count - looks);
    run_planned(looks);
    for (int again = 0; again < AGAIN; again++)
        try_again();
    clock_gettime(CLOCK_MONOTONIC, &to);
    unsigned unreached = show_table();
    char words[400];
    run_words(&runs[figures.slowest], words, sizeof words);
    printf("%zu runs, %zu kills, %zu spools frame by frame, %.0f s; the longest took %.1f s: %s\n", run_count,
           figures.kills, figures.spools, (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
           figures.longest, words);
    if (figures.unasked)
        printf("%zu runs dropped calls that were to wait up to 25 s for room, and counted them\n", figures.unasked);
    if (failures || unreached)
        printf("FAILED: %u runs are not exact, %u labels were never died at\n", failures, unreached);
    else
        printf("calls made = calls published + calls dropped, none twice, in all of them\n");
    return failures || unreached;
}

/* ---- one run -------------------------------------------------------------------------------------------------------- */

static bool take_word(struct run *run, const char *word)
{
    struct {
        const char *key;
        char *text;
        bool *flag;
    } keys[] = {{"program=", run->program, NULL}, {"spd=", run->spd[0], NULL}, {"spd2=", run->spd[1], NULL},
                {"merge=", run->merge, NULL},     {"gone=", NULL, &run->gone}, {"at-once=", NULL, &run->at_once}};
    for (size_t n = 0; n < sizeof keys / sizeof *keys; n++) {
        size_t length = strlen(keys[n].key);
        if (strncmp(word, keys[n].key, length) != 0)
            continue;
        if (keys[n].text)
            snprintf(keys[n].text, KILL_SIZE, "%s", word + length);
        else
            *keys[n].flag = word[length] == '1';
        return true;
    }
    return false;
}

static int walk_one(int argc, char **argv)
{
    const struct family *family = family_named(argv[1]);
    if (!family) {
        fprintf(stderr, "walk: there is no family '%s'\n", argv[1]);
        return 2;
    }
    struct run *run = add_run(family);
    for (int n = 2; n < argc; n++)
        if (!take_word(run, argv[n])) {
            fprintf(stderr, "walk: '%s' says nothing\n", argv[n]);
            return 2;
        }
    struct result *results = run_them(0);
    printf("%s in %.2f s; killed: program %d, spd %d and %d, merge %d\n", failures ? "not exact" : "exact",
           results[0].seconds, results[0].killed[PROGRAM], results[0].killed[SPD], results[0].killed_second,
           results[0].killed[MERGE]);
    return failures > 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int status = argc > 1 ? walk_one(argc, argv) : walk_all();
    free(runs);
    return status;
}
