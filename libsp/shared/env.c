/* env.c: the only place that reads the environment. */
#include "env.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "names.h"

static const uint64_t WAIT_MOST_US = 3600000000U;
static const uint64_t WAIT_DEFAULT_US = 100000;

/* What a variable says; NULL where it is unset or empty, or the program has raised privileges. */
static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

__attribute__((format(printf, 2, 3))) static void complain(struct sp__env *env, const char *format, ...)
{
    if (env->complaint[0])
        return;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(env->complaint, sizeof env->complaint, format, list);
    va_end(list);
}

/* A plain decimal number of at most `most`. */
static bool number(const char *text, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (most - digit) / 10 || digit > most)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

/* Which of two words a variable holds: 0, 1, or `unset` where it holds neither. */
static int choice(struct sp__env *env, const char *name, const char *zero, const char *one, int unset)
{
    const char *value = variable(name);
    if (!value)
        return unset;
    if (strcmp(value, zero) == 0)
        return 0;
    if (strcmp(value, one) == 0)
        return 1;
    complain(env, "%s=%.60s is neither %s nor %s: ignored", name, value, zero, one);
    return unset;
}

static void copy(struct sp__env *env, const char *name, char *ret, size_t size)
{
    const char *value = variable(name);
    if (!value)
        return;
    if (strlen(value) >= size)
        complain(env, "%s is longer than %zu bytes: ignored", name, size - 1);
    else
        memcpy(ret, value, strlen(value) + 1);
}

static void read_session(struct sp__env *env)
{
    const char *value = variable("SP_SESSION");
    if (!value)
        return;
    (void)snprintf(env->session, sizeof env->session, "%s", value);
    /* '@' is for the sessions that launches get. */
    if (sp__session_valid(value) && !strchr(value, '@'))
        return;
    env->session_error = -EINVAL;
    complain(env, "SP_SESSION=%.70s is not a session name: 1 to 64 of A-Z a-z 0-9 . _ -, the first not . or -", value);
}

static void read_rank(struct sp__env *env)
{
    /* Global ranks only: a node-local one would give two processes of a session the same. */
    static const char *const names[] = {
        "SP_RANK", "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = variable(names[i]);
        uint64_t rank;
        if (!value)
            continue;
        if (i == 0 && strcmp(value, "auto") == 0) {
            env->rank_source = SP__RANK_NEXT_FREE;
            return;
        }
        if (number(value, INT_MAX, &rank)) {
            env->rank_source = SP__RANK_NUMBER;
            env->rank = (int)rank;
            return;
        }
        complain(env, "%s=%.60s is not a rank (%sa number from 0): ignored", names[i], value,
                 i == 0 ? "auto, or " : "");
    }
}

static void read_ring(struct sp__env *env)
{
    const char *value = variable("SP_RING");
    uint64_t records;
    if (!value)
        return;
    if (!number(value, SP__RING_MOST, &records) || records < SP__RING_LEAST) {
        complain(env, "SP_RING=%.60s is not a number of records from %d to %d: %d are taken", value, SP__RING_LEAST,
                 SP__RING_MOST, SP__RING_DEFAULT);
        return;
    }
    env->ring = SP__RING_LEAST;
    while (env->ring < records)
        env->ring *= 2;
}

void sp__env_read(struct sp__env *ret)
{
    *ret = (struct sp__env){.ring = SP__RING_DEFAULT, .full_wait_us = WAIT_DEFAULT_US, .clock = -1};
    read_session(ret);
    read_rank(ret);
    ret->disable = choice(ret, "SP_DISABLE", "0", "1", 0) == 1;
    ret->mode = choice(ret, "SP_MODE", "records", "stats", 0) == 1 ? SP__MODE_STATS : SP__MODE_RECORDS;
    ret->fork_follow = choice(ret, "SP_FORK", "stop", "follow", 0) == 1;
    int clock = choice(ret, "SP_CLOCK", "monotonic", "tsc", -1);
    ret->clock = clock < 0 ? -1 : clock ? SP__CLOCK_TSC : SP__CLOCK_MONOTONIC;
    read_ring(ret);
    const char *wait = variable("SP_FULL_WAIT");
    if (wait && !number(wait, WAIT_MOST_US, &ret->full_wait_us))
        complain(ret, "SP_FULL_WAIT=%.60s is not a number of microseconds up to %" PRIu64 ": %" PRIu64 " are taken",
                 wait, WAIT_MOST_US, WAIT_DEFAULT_US);
    copy(ret, "SP_GROUP", ret->group, sizeof ret->group);
    copy(ret, "SP_DATA_DIR", ret->data_dir, sizeof ret->data_dir);
    copy(ret, "SP_RUNTIME_DIR", ret->runtime_dir, sizeof ret->runtime_dir);
}

/* Joins folder and name into `ret`, made absolute. */
static int folder(const char *first, const char *second, char *ret, size_t size)
{
    char joined[SP__PATH_SIZE], absolute[SP__PATH_SIZE];
    if (snprintf(joined, sizeof joined, "%s%s", first, second) >= (int)sizeof joined)
        return -ENAMETOOLONG;
    int error = sp__prefix_absolute(joined, absolute);
    if (error)
        return error;
    size_t length = strlen(absolute);
    if (length >= size)
        return -ENAMETOOLONG;
    memcpy(ret, absolute, length + 1);
    return 0;
}

/* The home folder that the password file names. */
static int home_of_user(char *ret, size_t size)
{
    char buffer[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) != 0 || !found || found->pw_dir[0] != '/')
        return -ENOENT;
    return snprintf(ret, size, "%s", found->pw_dir) < (int)size ? 0 : -ENAMETOOLONG;
}

int sp__data_dir(const char *option, char *ret, size_t size)
{
    const char *value = option && option[0] ? option : variable("SP_DATA_DIR");
    if (value)
        return folder(value, "", ret, size);
    value = variable("XDG_STATE_HOME");
    if (value && value[0] == '/')
        return folder(value, "/spd", ret, size);
    value = variable("HOME");
    if (value && value[0] == '/')
        return folder(value, "/.local/state/spd", ret, size);
    char home[SP__PATH_SIZE];
    int error = home_of_user(home, sizeof home);
    return error ? error : folder(home, "/.local/state/spd", ret, size);
}

const char *sp__temporary_dir(void)
{
    const char *value = variable("TMPDIR");
    return value && value[0] == '/' ? value : "/tmp";
}

int sp__runtime_dir(const char *option, char *ret, size_t size)
{
    const char *value = option && option[0] ? option : variable("SP_RUNTIME_DIR");
    if (value)
        return folder(value, "", ret, size);
    value = variable("XDG_RUNTIME_DIR");
    if (value && value[0] == '/')
        return folder(value, "/spd", ret, size);
    if (geteuid() == 0)
        return folder("/run/spd", "", ret, size);
    char own[32];
    (void)snprintf(own, sizeof own, "/spd-%u", (unsigned)geteuid());
    return folder(sp__temporary_dir(), own, ret, size);
}

int sp__filter_file(char *ret, size_t size)
{
    const char *value = variable("SP_FILTER");
    if (!value)
        return -ENOENT;
    (void)snprintf(ret, size, "%s", value);
    return folder(value, "", ret, size);
}

bool sp__no_color(void)
{
    return variable("NO_COLOR");
}

const char *sp__env_preload(void)
{
    return variable("LD_PRELOAD");
}

/* Open MPI's job id may come again with a later mpirun, so what it makes up at random for the launch is added; both are
 * the same on all nodes. Slurm's comes last, as mpirun within an allocation gives its own ranks no step. */
static bool launch_text(char *ret, size_t size)
{
    const char *space = variable("PMIX_NAMESPACE");
    if (!space)
        space = variable("OMPI_MCA_ess_base_jobid");
    const char *random = variable("OMPI_MCA_orte_precondition_transports");
    if (space) {
        if (random)
            (void)snprintf(ret, size, "%s-%08" PRIx32, space, (uint32_t)XXH3_64bits(random, strlen(random)));
        else
            (void)snprintf(ret, size, "%s", space);
        return true;
    }
    const char *job = variable("SLURM_JOB_ID"), *step = variable("SLURM_STEP_ID");
    if (!job || !step)
        return false;
    (void)snprintf(ret, size, "%s.%s", job, step);
    return true;
}

void sp__launch_id(char *ret, size_t size)
{
    char text[512];
    ret[0] = '\0';
    if (size < 2 || !launch_text(text, sizeof text))
        return;
    size_t length = strlen(text);
    const size_t most = 40; /* a session name has 64 bytes, and the prefix wants some of them */
    if (length > most)
        (void)snprintf(text + most - 17, 18, "-%016" PRIx64, (uint64_t)XXH3_64bits(text, length));
    for (char *at = text; *at; at++) {
        if (*at == '@' || !sp__session_valid((char[]){'x', *at, '\0'}))
            *at = '_';
    }
    (void)snprintf(ret, size, "%s", text);
}

int sp__make_dirs(const char *path)
{
    char part[SP__PATH_SIZE];
    size_t length = strlen(path);
    if (length == 0)
        return -ENOENT;
    if (length >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, length + 1);
    int error = 0;
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0700) == 0)
            error = chmod(part, 0700) < 0 ? -errno : 0; /* whatever the umask is */
        else
            error = errno == EEXIST ? 0 : -errno;
        part[i] = i < length ? '/' : '\0';
    }
    /* An error on the way does not count if the whole path is there: some folders may be passed and not written. */
    struct stat made;
    if (stat(path, &made) < 0)
        return error ? error : -errno;
    return S_ISDIR(made.st_mode) ? 0 : -ENOTDIR;
}

#ifdef SP__INSTANTS
const char *sp__env_kill_at(void)
{
    return variable("SP_KILL_AT");
}

const char *sp__env_kill_seen(void)
{
    return variable("SP_KILL_SEEN");
}
#endif
