/* run.c: one run: lives of a rank, killed and not, under an spd that is killed or not; then a merge; then what is left
 * is compared with what was called. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "walk.h"

static const char ITERATIONS[] = "1500"; /* a ring of 1,024 records: nearly three times around */
static const double LIMIT = 60;          /* seconds that no run needs */

struct running {
    const struct run *run;
    struct place place;
    struct result *result;
    struct counts *counts[LIVES];
    double start;
    pid_t program, spd;
    off_t spd_log; /* where this spd's own words begin */
    int program_status;
    unsigned spds;   /* started so far */
    bool gone;       /* spd was killed, and is not to come back */
    bool stopping;   /* it is to end ... */
    bool told;       /* ... and SIGTERM was sent to this one */
    bool other_died; /* a child of the program, by its label */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((format(printf, 2, 3))) static bool wrong(struct running *r, const char *format, ...)
{
    va_list list;
    if (r->result->words[0])
        return false;
    va_start(list, format);
    vsnprintf(r->result->words, sizeof r->result->words, format, list);
    va_end(list);
    return false;
}

static bool wrong_says(struct running *r, enum role role, const char *what)
{
    char words[400];
    place_last_words(&r->place, role, words, sizeof words);
    return wrong(r, "%s; it said: %s", what, words);
}

static bool start_spd(struct running *r)
{
    char data[300], folder[300];
    const char *options = r->run->family->spd,
               *argv[] = {WALK_SPD,    "--data-dir",     data,       "--runtime-dir", folder,
                          "--session", r->place.session, "--format", options,         NULL};
    snprintf(data, sizeof data, "%s/data", r->place.folder);
    snprintf(folder, sizeof folder, "%s/run", r->place.folder);
    off_t said = place_log_size(&r->place, SPD);
    r->spd = place_start(&r->place, SPD, r->spds < SPDS ? r->run->spd[r->spds] : "", argv);
    r->spds++;
    r->told = false;
    r->spd_log = said;
    return r->spd > 0 || wrong(r, "spd cannot be started");
}

static bool spd_is_ready(const struct running *r)
{
    return place_says(&r->place, SPD, r->spd_log, "spd: ready,");
}

static bool spd_ended(struct running *r, int status)
{
    unsigned number = r->spds - 1;
    r->spd = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && number < SPDS && r->run->spd[number][0]) {
        *(number ? &r->result->killed_second : &r->result->killed[SPD]) = true;
        r->gone = r->run->gone;
        return r->gone || start_spd(r);
    }
    if (r->stopping && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    char what[64];
    snprintf(what, sizeof what, "spd ended with wait status %#x", (unsigned)status);
    return wrong_says(r, SPD, what);
}

/* What happened since, and a moment's rest. */
static bool pump(struct running *r)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == r->spd) {
            if (!spd_ended(r, status))
                return false;
        } else if (pid == r->program) {
            r->program = 0;
            r->program_status = status;
        } else if (WIFSIGNALED(status)) {
            r->other_died = true;
        }
    }
    if (r->stopping && r->spd && !r->told && spd_is_ready(r)) {
        r->told = true;
        kill(r->spd, SIGTERM);
    }
    place_keep_spools(&r->place);
    usleep(4000);
    char segments[300] = "it takes too long, no segment is left";
    if (now() - r->start < LIMIT)
        return true;
    (void)place_segments(&r->place, segments, sizeof segments);
    return wrong_says(r, r->program ? PROGRAM : SPD, segments);
}

static bool stop_spd(struct running *r)
{
    if (!r->spd)
        return true;
    r->stopping = true;
    while (r->spd)
        if (!pump(r))
            return false;
    return true;
}

/* A program waits. Where calls are to be dropped, spd is stopped for a while, with byte 1; else it is ended. */
static bool let_it_go_on(struct running *r, unsigned life)
{
    if (atomic_load(&r->counts[life]->go_on))
        return true;
    if (!r->run->family->drops && !stop_spd(r))
        return false;
    if (r->run->family->drops && r->spd)
        kill(r->spd, SIGSTOP);
    atomic_store(&r->counts[life]->go_on, 1);
    if (r->run->family->drops && r->spd) {
        usleep(100000);
        kill(r->spd, SIGCONT);
    }
    return true;
}

/* Children that a killed program left, and which became ours. */
static bool others_are_left(const struct running *r)
{
    FILE *file = fopen("/proc/thread-self/children", "r");
    bool any = false;
    for (int pid; file && fscanf(file, "%d", &pid) == 1;)
        any = (pid != r->spd && pid != r->program) || any;
    if (file)
        fclose(file);
    return any;
}

static struct counts *map_counts(struct running *r, unsigned life, char path[300])
{
    snprintf(path, 300, "%s/counts-%c", r->place.folder, 'a' + (int)life);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(struct counts)) == 0)
        map = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return map == MAP_FAILED ? NULL : map;
}

/* What a life that ended says of itself. */
static bool life_ended_well(struct running *r, unsigned life)
{
    const struct counts *c = r->counts[life];
    const char *script = r->run->family->scripts[life];
    bool killed_itself = strchr(script, 'k') != NULL;
    bool by_label = life == r->run->family->killed && r->run->program[0] && WIFSIGNALED(r->program_status) &&
                    WTERMSIG(r->program_status) == SIGKILL;
    if (by_label && (!killed_itself || atomic_load(&c->begun) == 0))
        r->result->killed[PROGRAM] = true;
    char what[100];
    snprintf(what, sizeof what, "life %c: wait status %#x, init %d, finalize %d, refused %d", 'a' + (int)life,
             (unsigned)r->program_status, atomic_load(&c->init), atomic_load(&c->finalize), atomic_load(&c->refused));
    if (atomic_load(&c->init) || atomic_load(&c->finalize) || atomic_load(&c->refused))
        return wrong_says(r, PROGRAM, what);
    if (WIFEXITED(r->program_status) && WEXITSTATUS(r->program_status) == 0)
        return true;
    return by_label || (killed_itself && WIFSIGNALED(r->program_status)) || wrong_says(r, PROGRAM, what);
}

static bool live(struct running *r, unsigned life)
{
    char path[300], letter[2] = {(char)('a' + (int)life), '\0'};
    const char *argv[] = {WALK_PROGRAM, path, letter, ITERATIONS, r->run->family->scripts[life], NULL};
    r->counts[life] = map_counts(r, life, path);
    if (!r->counts[life])
        return wrong(r, "%s: %s", path, strerror(errno));
    r->other_died = false;
    r->program = place_start(&r->place, PROGRAM, life == r->run->family->killed ? r->run->program : "", argv);
    if (r->program < 0)
        return wrong(r, "the program cannot be started");
    do {
        if (!pump(r) || (atomic_load(&r->counts[life]->waiting) && !let_it_go_on(r, life)))
            return false;
    } while (r->program || others_are_left(r));
    if ((r->other_died || atomic_load(&r->counts[life]->child_died)) && r->run->program[0])
        r->result->killed[PROGRAM] = true;
    return life_ended_well(r, life);
}

/* Where an spd is there, it publishes what has ended, and the segments go. */
static bool settle(struct running *r)
{
    while (r->spd && place_segments(&r->place, NULL, 0))
        if (!pump(r))
            return false;
    return true;
}

static bool bring_spd(struct running *r)
{
    if (!start_spd(r))
        return false;
    while (r->spd && !spd_is_ready(r))
        if (!pump(r))
            return false;
    return true;
}

/* In a program of one thread without anchors, the label at which it died says whether its last call counts. */
static int last_counts(const struct run *run)
{
    static const char *const after[] = {"head.after:", "wrap:", "end.after:", "full.drop:"};
    if (!run->family->strict)
        return -1;
    for (size_t n = 0; n < sizeof after / sizeof *after; n++)
        if (!strncmp(run->program, after[n], strlen(after[n])))
            return 1;
    return 0;
}

static bool compare(struct running *r)
{
    char path[300], why[500] = "";
    struct expected expected = {.drops = r->run->family->drops};
    for (unsigned life = 0; life < LIVES; life++) {
        expected.counts[life] = r->counts[life];
        expected.last[life] = life == r->run->family->killed && r->result->killed[PROGRAM] ? last_counts(r->run) : -1;
    }
    snprintf(path, sizeof path, "%s/out.h5", r->place.folder);
    return (profile_holds(path, &expected, &r->result->dropped, why, sizeof why) &&
            spools_sound(&r->place, &r->result->spools, why, sizeof why)) ||
           wrong(r, "%s", why);
}

static bool merge_once(struct running *r, const char *kill_at, int *ret_status)
{
    char output[300];
    const char *argv[] = {WALK_SPCTL, "merge", r->place.session, "-o", output, NULL};
    snprintf(output, sizeof output, "%s/out.h5", r->place.folder);
    pid_t pid = place_start(&r->place, MERGE, kill_at, argv);
    while (pid > 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 || wrong(r, "spctl cannot be started");
}

/* Killed before its first call, the only life leaves nothing that could be merged. */
static bool nothing_called(const struct running *r)
{
    for (unsigned life = 0; life < LIVES; life++)
        for (unsigned slot = 0; r->counts[life] && slot < SLOTS; slot++)
            if (atomic_load(&r->counts[life]->slots[slot].entered))
                return false;
    return true;
}

static bool merge(struct running *r)
{
    int status = 0;
    char words[400];
    if (!merge_once(r, r->run->merge, &status))
        return false;
    if (r->run->merge[0] && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        r->result->killed[MERGE] = true;
        char output[300];
        snprintf(output, sizeof output, "%s/out.h5", r->place.folder);
        if (access(output, F_OK) == 0 && !compare(r)) /* there was none before: it is whole, or not there */
            return false;
        if (!merge_once(r, "", &status))
            return false;
    }
    /* 3: what is not sure to be there has been said, and is counted below. */
    if (!WIFEXITED(status) ||
        (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3 && !(WEXITSTATUS(status) == 1 && nothing_called(r))))
        return wrong_says(r, MERGE, "spctl merge fails");
    if (place_segments(&r->place, words, sizeof words) || place_litter(&r->place, words, sizeof words))
        return wrong(r, "%s", words);
    return true;
}

static bool all_of_it(struct running *r)
{
    const struct family *family = r->run->family;
    if (family->spd && !family->spd_later && !bring_spd(r))
        return false;
    for (unsigned life = 0; life < LIVES && family->scripts[life]; life++)
        if (!live(r, life) || (!r->run->at_once && !settle(r)))
            return false;
    if (family->spd_later && !bring_spd(r))
        return false;
    return settle(r) && stop_spd(r) && merge(r) && (nothing_called(r) || compare(r));
}

void run_all_of_it(const struct run *run, unsigned number, struct result *ret)
{
    struct running r = {.run = run, .result = ret, .start = now()};
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!place_make(&r.place, number, run->family))
        wrong(&r, "%s: %s", r.place.folder, strerror(errno));
    r.place.look = run->look;
    ret->good = !ret->words[0] && all_of_it(&r);
    kill_children();
    for (int role = 0; run->look && role < ROLES; role++)
        place_seen(&r.place, (enum role)role, ret->seen[role]);
    place_remove(&r.place);
    ret->seconds = now() - r.start;
    ret->ran = true;
}

void run_words(const struct run *run, char *ret, size_t size)
{
    snprintf(ret, size, "%s program=%s spd=%s spd2=%s merge=%s gone=%d at-once=%d", run->family->name, run->program,
             run->spd[0], run->spd[1], run->merge, run->gone, run->at_once);
}
