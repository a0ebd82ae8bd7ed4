#include "sessions.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"
#include "say.h"
#include "segment.h"

struct search {
    const char *name;
    size_t length;
    bool exact;
    int64_t age; /* of the newest launch so far, -1 none */
    char *ret;
};

static int compare(void *context, const sp_rank_info *info)
{
    struct search *search = context;
    if (strcmp(info->session, search->name) == 0) {
        search->exact = true;
        return 1;
    }
    bool launch = strncmp(info->session, search->name, search->length) == 0 && info->session[search->length] == '@';
    int64_t age = info->age_ns < 0 ? INT64_MAX : info->age_ns;
    if (launch && (search->age < 0 || age < search->age)) {
        search->age = age;
        snprintf(search->ret, 128, "%s", info->session);
    }
    return 0;
}

static int has_session(const char *segment, void *name)
{
    char session[SP__SESSION_SIZE];
    sp__segment_session(segment, session);
    return strcmp(session, name) == 0;
}

/* Told without a look into files: a folder of that name, or a segment. */
static bool exists_by_name(const char *data_dir, const char *name)
{
    char path[SP__PATH_SIZE], copy[SP__SESSION_SIZE];
    struct stat s;
    if (!sp__session_valid(name))
        return false;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", data_dir, name) < sizeof path && stat(path, &s) == 0 &&
        S_ISDIR(s.st_mode))
        return true;
    snprintf(copy, sizeof copy, "%s", name);
    return sp__segment_each(geteuid(), has_session, copy) == 1;
}

int session_resolve(const char *data_dir, const char *name, char ret[128])
{
    struct search search = {.name = name, .length = strlen(name), .age = -1, .ret = ret};
    sp_error error = {0};
    snprintf(ret, 128, "%s", name);
    if (exists_by_name(data_dir, name))
        return 1;
    if (sp_sessions_each(data_dir, NULL, compare, &search, &error) < 0 && error.status != SP_ERR_NOT_FOUND) {
        say("%s", error.text);
        return -1;
    }
    if (search.exact)
        snprintf(ret, 128, "%s", name);
    return search.exact || search.age >= 0;
}

const char *rank_state_name(enum sp_rank_state state)
{
    switch (state) {
    case SP_RANK_RECORDING:
        return "recording";
    case SP_RANK_PAUSED:
        return "paused";
    case SP_RANK_FINALIZING:
        return "finalizing";
    case SP_RANK_DEAD:
        return "dead";
    case SP_RANK_SPOOLED:
        return "spooled";
    case SP_RANK_PUBLISHED:
        return "published";
    case SP_RANK_UNREADABLE:
        return "unreadable";
    }
    return "unknown";
}
