/* birth.c: from a prefix, a rank and the environment to a segment that records. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "env.h"
#include "fork.h"
#include "instant.h"
#include "lane.h"
#include "message.h"
#include "names.h"
#include "own.h"

static const char DEFAULT_PREFIX[] = "scope_profile";
static const uint64_t BURY_NS = 2000000000U;
static const int RANKS_MOST = 1000000;

bool sp__spd_serves(const char *session)
{
    char path[SP__PATH_SIZE + 16], globs[65536];
    if (sp__runtime_dir(NULL, path, SP__PATH_SIZE) != 0)
        return false;
    memcpy(path + strlen(path), "/spd.lock", sizeof "/spd.lock");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t length = -1;
    struct stat stat;
    /* The folder may be one that another user made beforehand where the name is guessable: a lock there is not one of an
     * spd that could serve us. */
    if (fstat(fd, &stat) == 0 && stat.st_uid == geteuid() && sp__lock_held(fd, 0) == 1)
        length = pread(fd, globs, sizeof globs - 1, 0);
    close(fd);
    if (length <= 0)
        return length == 0;
    globs[length] = '\0';
    char *rest = globs;
    for (const char *glob; (glob = strsep(&rest, "\n")) != NULL;)
        if (*glob && fnmatch(glob, session, 0) == 0)
            return true;
    return false;
}

/* The first rank that nobody in the session, on any node, has taken. */
static sp_status take_free_rank(struct sp__settings *s)
{
    char path[SP__PATH_SIZE + 96];
    (void)snprintf(path, sizeof path, "%s/%s", s->data_dir, s->session);
    int error = s->data_dir[0] ? sp__make_dirs(path) : -ENOENT;
    for (int rank = 0; !error && rank < RANKS_MOST; rank++) {
        (void)snprintf(path, sizeof path, "%s/%s/rank-%d.taken", s->data_dir, s->session, rank);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            close(fd);
            s->rank = rank;
            return SP_OK;
        }
        if (errno != EEXIST)
            error = -errno;
    }
    sp__say(SP__SAY_ENVIRONMENT,
            "SP_RANK=auto: cannot reserve a rank with %s: %s; make the folder writable, or set "
            "SP_RANK to a number; recording is off",
            path, strerror(error ? -error : ERANGE));
    return SP_ERR_IO;
}

static int absolute_data_dir(char ret[SP__PATH_SIZE])
{
    char given[SP__PATH_SIZE];
    int error = sp__data_dir(NULL, given, sizeof given);
    return error ? error : sp__prefix_absolute(given, ret);
}

static sp_status choose_rank(struct sp__settings *s, const struct sp__env *env, int rank)
{
    if (rank != SP_RANK_AUTO) {
        s->rank = rank;
        return SP_OK;
    }
    if (env->rank_source == SP__RANK_NEXT_FREE)
        return take_free_rank(s);
    s->rank = env->rank_source == SP__RANK_NUMBER ? env->rank : 0;
    return SP_OK;
}

sp_status sp__settings_read(struct sp__settings *ret, const char *prefix, int rank, uint32_t language,
                            bool *ret_disabled)
{
    struct sp__env env;
    if (rank < SP_RANK_AUTO)
        return SP_ERR_INVALID_ARGUMENT;
    if (!prefix || !*prefix)
        prefix = DEFAULT_PREFIX;
    struct sp__settings s = {.asked_rank = rank, .language = language};
    int error = sp__prefix_absolute(prefix, s.prefix);
    /* Room for "_rank<N>.i<K>.spt" and the temporary's name. */
    if (error || strlen(s.prefix) > SP__PATH_SIZE - 128 || !*sp__base_name(s.prefix) ||
        prefix[strlen(prefix) - 1] == '/')
        return SP_ERR_INVALID_ARGUMENT;
    sp__env_read(&env);
    *ret_disabled = env.disable;
    if (env.disable)
        return SP_OK;
    if (env.complaint[0])
        sp__say(SP__SAY_ENVIRONMENT, "%s", env.complaint);
    if (env.session_error) {
        sp__say(SP__SAY_ENVIRONMENT,
                "SP_SESSION=%s... is no session name: 1 to 64 of A-Z a-z 0-9 . _ - and neither . nor "
                "- first; recording is off",
                env.session);
        return SP_ERR_INVALID_ARGUMENT;
    }
    if (env.session[0])
        memcpy(s.session, env.session, sizeof s.session);
    else
        sp__session_for_launch(prefix, s.session);
    if (absolute_data_dir(s.data_dir) != 0)
        s.data_dir[0] = '\0';
    s.mode = env.mode;
    s.clock = sp__clock_choose(env.clock);
    s.ring = env.ring;
    s.full_wait_ns = env.full_wait_us * 1000;
    s.follow = env.fork_follow;
    sp_status status = choose_rank(&s, &env, rank);
    if (status == SP_OK)
        *ret = s;
    return status;
}

static void read_boot_id(char ret[SP__BOOT_SIZE])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, SP__BOOT_SIZE - 1);
    if (fd >= 0)
        close(fd);
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static sp_status identify(const struct sp__settings *s, struct sp__identity *id)
{
    struct timespec mono, real;
    *id = (struct sp__identity){.rank = s->rank,
                                .uid = geteuid(),
                                .pid = (uint32_t)getpid(),
                                .clock = s->clock,
                                .mode = s->mode,
                                .language = s->language,
                                .part = s->part,
                                .pid_space = sp__pid_space()};
    memcpy(id->session, s->session, sizeof id->session);
    memcpy(id->prefix, s->prefix, sizeof id->prefix);
    if (gethostname(id->hostname, sizeof id->hostname - 1) != 0 || !id->hostname[0])
        memcpy(id->hostname, "localhost", sizeof "localhost");
    read_boot_id(id->boot_id);
    if (getrandom(id->incarnation, sizeof id->incarnation, 0) != sizeof id->incarnation ||
        clock_gettime(CLOCK_MONOTONIC, &mono) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0)
        return SP_ERR_NO_CLOCK;
    id->name_hash = sp__name_hash(id->session, id->prefix);
    id->birth = sp__clock_anchor(s->clock);
    int64_t offset = ((int64_t)real.tv_sec - mono.tv_sec) * 1000000000 + real.tv_nsec - mono.tv_nsec;
    id->birth_realtime_ns = id->birth.mono_ns + offset;
    return SP_OK;
}

/* How many earlier lives of this rank have a spool or a note in the session's folder. */
static unsigned earlier_lives(const struct sp__settings *s, const struct sp__identity *id)
{
    char folder[SP__PATH_SIZE + SP__SESSION_SIZE + 1], stem[96], seen[96] = "";
    unsigned lives = 0;
    (void)snprintf(folder, sizeof folder, "%s/%s", s->data_dir, s->session);
    DIR *dir = s->data_dir[0] ? opendir(folder) : NULL;
    if (!dir)
        return 0;
    sp__incarnation_stem(id, stem);
    size_t rank = strlen(stem) - 32; /* up to the incarnation */
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        const char *suffix = strlen(e->d_name) > strlen(stem) ? e->d_name + strlen(stem) : "";
        bool note = strcmp(suffix, SP__NOTE_SUFFIX) == 0, spool = strcmp(suffix, SP__SPOOL_SUFFIX) == 0;
        if (strncmp(e->d_name, stem, rank) != 0 || (!note && !spool) || strncmp(seen, e->d_name, strlen(stem)) == 0)
            continue;
        lives++;
        memcpy(seen, e->d_name, strlen(stem));
    }
    closedir(dir);
    return lives;
}

/* Where the program would publish: a later life of a rank never replaces a file with another one's records. */
static sp_status choose_path(struct sp_profiler *p)
{
    const struct sp__settings *s = &p->settings;
    unsigned life = s->part ? s->part : earlier_lives(s, &p->identity);
    do {
        if (sp__profile_name(s->prefix, s->rank, life, false, p->path, sizeof p->path) != 0)
            return SP_ERR_INVALID_ARGUMENT;
    } while (life > 0 && access(p->path, F_OK) == 0 && ++life);
    return SP_OK;
}

/* The data folder for bury, which has no context; guarded by the lock. */
static pthread_mutex_t burial = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
static const char *burial_folder;
static char burial_why[256]; /* what is wrong with a segment that has the name and cannot be buried */

/* Drains what a dead program left, as far as the time goes. 0: all is in the spool. */
static int drain_dead(int fd, const char *name, uint32_t state)
{
    struct sp__consumer *c;
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    int other = open(self, O_RDWR | O_CLOEXEC);
    if (other < 0)
        return -errno;
    int error = sp__consumer_create(&c, other, name, burial_folder, NULL);
    if (error)
        return error;
    uint64_t records = 1, until = sp__clock_mono() + BURY_NS;
    while (!error && records > 0) {
        error = sp__consumer_drain(c, 1 << 16, &records);
        if (!error && records > 0 && sp__clock_mono() > until)
            error = -ETIMEDOUT;
    }
    if (!error)
        error = sp__consumer_mark(c, state == SP__FINALIZING ? SP__END_FINALIZED : SP__END_DIED);
    if (!error)
        error = sp__spool_sync(&c->spool);
    sp__consumer_destroy(c);
    return error;
}

/* A dead segment has the name. Its calls go to its spool; where that takes too long or fails, or somebody else is at
 * it, it is moved aside and somebody drains it later. */
static int bury(int fd, const char *name)
{
    struct sp__segment segment;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the same description: byte 2 stays ours */
    if (copy < 0)
        return -errno;
    int error = sp__segment_open_fd(&segment, copy, name, true, burial_why);
    if (error) {
        close(copy);
        return error;
    }
    uint32_t state = atomic_load_explicit(&segment.header->state, memory_order_acquire);
    bool over = state == SP__FINALIZED || state == SP__DISCARDED;
    SP__INSTANT(bury_begin);
    if (over || drain_dead(fd, name, state) == 0) {
        SP__INSTANT(bury_drained);
        error = sp__segment_unlink(&segment);
    } else {
        error = sp__segment_move_aside(&segment);
    }
    sp__segment_close(&segment);
    return error;
}

/* A child made during a birth would inherit the description that locks byte 0, and hide its parent's death. */
void sp__births_hold(void)
{
    pthread_mutex_lock(&burial);
}

void sp__births_go_on(void)
{
    pthread_mutex_unlock(&burial);
}

void sp__births_renew(void)
{
    pthread_mutex_init(&burial, NULL);
    pthread_mutex_init(&once, NULL);
}

static void say_no_segment(const struct sp__settings *s, const char *name, int error, uint64_t need)
{
    struct statvfs fs;
    unsigned long long available = statvfs(SP__SHM_DIR, &fs) == 0 ? (unsigned long long)fs.f_bavail * fs.f_frsize : 0;
    if (need == 0) /* it did not come to that: one ring, and what stands around it */
        need = s->ring * sizeof(struct sp__record) + sizeof(struct sp__header) + 16 * SP__PAGE;
    sp__say(
        SP__SAY_SHM,
        "%s: cannot make the segment %s of rank %d: %s (%llu bytes needed, %llu free); make %s a writable tmpfs with "
        "room (mount -o remount,size=...) or set SP_RING lower; recording is off",
        SP__SHM_DIR, name, s->rank, strerror(-error), (unsigned long long)need, available, SP__SHM_DIR);
}

/* Names in /dev/shm can be guessed and taken beforehand; what is not ours is left as it is. */
static bool name_is_foreign(const char *name)
{
    char path[sizeof SP__SHM_DIR + 256];
    struct stat stat;
    (void)snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, name);
    return lstat(path, &stat) == 0 && (stat.st_uid != geteuid() || !S_ISREG(stat.st_mode));
}

static sp_status make_segment(struct sp_profiler *p)
{
    const struct sp__settings *s = &p->settings;
    struct sp__birth birth = {.identity = p->identity, .lanes = SP__LANES, .ring = s->ring, .format = s->format};
    char name[256] = "", why[sizeof burial_why];
    uint64_t need = 0;
    (void)sp__segment_name(&p->identity, name, sizeof name);
    pthread_mutex_lock(&burial);
    burial_folder = s->data_dir;
    burial_why[0] = '\0';
    int error = sp__segment_create(&birth, bury, &p->born, &need);
    memcpy(why, burial_why, sizeof why);
    pthread_mutex_unlock(&burial);
    switch (error) {
    case 0:
        return SP_OK;
    case -EEXIST:
    case -EBUSY: /* somebody is just taking the name over, or away, and is slow at it */
        sp__say(SP__SAY_RANK_IN_USE,
                "rank %d of session %s is in use by another process (%s/%s); give each process a rank of its own "
                "(SP_RANK, or SP_RANK=auto) or another SP_SESSION; recording is off",
                s->rank, s->session, SP__SHM_DIR, name);
        return SP_ERR_RANK_IN_USE;
    case -EPROTONOSUPPORT:
    case -EBADMSG:
        sp__say(SP__SAY_RANK_IN_USE,
                "rank %d of session %s: %s; remove it once no program of yours needs it, or set another SP_SESSION; "
                "recording is off",
                s->rank, s->session, why[0] ? why : name);
        return SP_ERR_RANK_IN_USE;
    case -EACCES:
        if (!name_is_foreign(name)) {
            say_no_segment(s, name, error, need);
            return SP_ERR_NO_SPACE;
        }
        sp__say(
            SP__SAY_RANK_IN_USE,
            "rank %d of session %s: %s/%s is another user's, or no plain file; it is left alone; have it removed, or "
            "set another SP_SESSION; recording is off",
            s->rank, s->session, SP__SHM_DIR, name);
        return SP_ERR_RANK_IN_USE;
    case -ENOMEM:
        sp__say(SP__SAY_SHM, "%s: no address space for the segment %s; raise ulimit -v; recording is off", SP__SHM_DIR,
                name);
        return SP_ERR_NO_MEMORY;
    default:
        say_no_segment(s, name, error, need);
        return SP_ERR_NO_SPACE;
    }
}

/* Once a process; also after a failure of an earlier try. */
static sp_status prepare_process(void)
{
    static bool has_key;
    pthread_mutex_lock(&once);
    sp_status status = sp__arena_init() == 0 && sp__fork_init() == 0 ? SP_OK : SP_ERR_NO_MEMORY;
    if (status == SP_OK && !has_key) {
        has_key = sp__thread_key_init() == 0;
        status = has_key ? SP_OK : SP_ERR_NO_MEMORY;
    }
    pthread_mutex_unlock(&once);
    return status;
}

sp_status sp__profiler_start(struct sp_profiler *p, const struct sp__settings *settings)
{
    sp_status status = prepare_process();
    if (&p->settings != settings)
        p->settings = *settings;
    if (status == SP_OK)
        status = identify(&p->settings, &p->identity);
    pthread_mutex_lock(&p->table);
    p->answered[0] = '\0';
    if (status == SP_OK)
        status = choose_path(p);
    pthread_mutex_unlock(&p->table);
    if (status == SP_OK)
        status = make_segment(p);
    if (status != SP_OK)
        return status;
    p->header = (void *)p->born.map;
    p->names = (struct sp__names){0};
    p->own = (struct sp__own){0};
    p->written = SP__FORMAT_AUTO;
    p->paused = false;
    p->tick_ns = 0;
    uint64_t ring = SP__RING_LEAST;
    if (p->settings.mode == SP__MODE_RECORDS)
        ring = p->settings.ring;
    atomic_store_explicit(&p->ring, (uint32_t)ring, memory_order_relaxed);
    atomic_store_explicit(&p->lanes_reserved, 0, memory_order_relaxed);
    atomic_store_explicit(&p->lanes_freed, 0, memory_order_relaxed);
    sp__renew_generation(p);
    /* All of the above before anybody enters: pairs with the load in sp__enter. */
    atomic_store(&p->phase, SP__LIVE);
    if (!sp__spd_serves(p->settings.session))
        sp__own_prepare(p);
    return SP_OK;
}
