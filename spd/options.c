#include "options.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "usage: spd [OPTION]...\n"
    "Collects what programs linked with libsp record, and publishes their profiles. Stays in the foreground.\n"
    "\n"
    "  --data-dir DIR         spools and profiles (default: $SP_DATA_DIR, else $XDG_STATE_HOME/spd)\n"
    "  --runtime-dir DIR      lock and control socket (default: $SP_RUNTIME_DIR, else $XDG_RUNTIME_DIR/spd)\n"
    "  --format FORMAT        auto: what the program asked for, else .spt for one thread and .h5 for more;\n"
    "                         spt, h5: always that; merged: one .h5 a session and node (default: auto)\n"
    "  --publish WHERE        data-dir, or prefix: where the program asked (default: data-dir)\n"
    "  --session GLOB         take only sessions that match; may be given again\n"
    "  --shm-group NAME       refused: this build shares segments with no group\n"
    "  --max-session-bytes N  limit of one session's spools; K, M, G and T may follow the number\n"
    "  --max-bytes N          limit of all spools together\n"
    "  --on-limit POLICY      stop: recording pauses at the limit, said and counted (default: stop)\n"
    "  --nice N               run at nice value N, 0 to 19, instead of before other programs where that is allowed\n"
    "  --log-level LEVEL      error, warning, info or debug (default: info)\n"
    "  --help, --version\n"
    "\n"
    "SIGTERM and SIGINT publish everything and end; programs go on recording.\n"
    "Exit status: 0 ended by a signal, 1 it could not run (said on stderr), 2 wrong usage.\n";

enum {
    DATA_DIR = 1,
    RUNTIME_DIR,
    FORMAT,
    PUBLISH,
    SESSION,
    SHM_GROUP,
    MAX_SESSION,
    MAX_ALL,
    ON_LIMIT,
    NICE,
    LEVEL,
    HELP,
    VERSION
};

enum { NICE_MOST = 19 };

static const struct option table[] = {
    {"data-dir", required_argument, NULL, DATA_DIR},
    {"runtime-dir", required_argument, NULL, RUNTIME_DIR},
    {"format", required_argument, NULL, FORMAT},
    {"publish", required_argument, NULL, PUBLISH},
    {"session", required_argument, NULL, SESSION},
    {"shm-group", required_argument, NULL, SHM_GROUP},
    {"max-session-bytes", required_argument, NULL, MAX_SESSION},
    {"max-bytes", required_argument, NULL, MAX_ALL},
    {"on-limit", required_argument, NULL, ON_LIMIT},
    {"nice", required_argument, NULL, NICE},
    {"log-level", required_argument, NULL, LEVEL},
    {"help", no_argument, NULL, HELP},
    {"version", no_argument, NULL, VERSION},
    {NULL, 0, NULL, 0},
};

static const char *const formats[] = {"auto", "spt", "h5", "merged"};

const char *options_format_name(enum options_format format)
{
    return formats[format];
}

static int parse_bytes(const char *text, uint64_t *ret)
{
    if (*text < '0' || *text > '9')
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || value == 0)
        return -EINVAL;
    static const char units[] = "KMGT";
    if (*end) {
        const char *unit = strchr(units, *end);
        if (!unit || end[1])
            return -EINVAL;
        unsigned shift = 10 * (unsigned)(unit - units + 1);
        if (value > UINT64_MAX >> shift)
            return -EINVAL;
        value <<= shift;
    }
    *ret = value;
    return 0;
}

static int parse_nice(const char *text, int *ret)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -EINVAL;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value > NICE_MOST)
        return -ERANGE;
    *ret = (int)value;
    return 0;
}

static int parse_format(const char *text, enum options_format *ret)
{
    for (size_t n = 0; n < sizeof formats / sizeof *formats; ++n) {
        if (!strcmp(text, formats[n])) {
            *ret = (enum options_format)n;
            return 0;
        }
    }
    return -EINVAL;
}

/* One option with its value. NULL, or the words that follow "--option VALUE: ". */
static const char *take_value(struct options *options, int which, const char *value)
{
    switch (which) {
    case DATA_DIR:
        options->data_dir = value;
        return *value ? NULL : "needs the name of a folder";
    case RUNTIME_DIR:
        options->runtime_dir = value;
        return *value ? NULL : "needs the name of a folder";
    case FORMAT:
        return parse_format(value, &options->format) ? "is none of auto, spt, h5, merged" : NULL;
    case PUBLISH:
        options->publish_prefix = !strcmp(value, "prefix");
        return options->publish_prefix || !strcmp(value, "data-dir") ? NULL : "is none of data-dir, prefix";
    case SESSION:
        if (!*value || strchr(value, '\n'))
            return "is no glob of session names";
        options->sessions[options->session_count++] = value;
        return NULL;
    case SHM_GROUP:
        return "cannot be served: segments are private to their user; run one spd per user and leave the option out";
    case MAX_SESSION:
        return parse_bytes(value, &options->max_session_bytes) ? "is no number of bytes above 0" : NULL;
    case MAX_ALL:
        return parse_bytes(value, &options->max_bytes) ? "is no number of bytes above 0" : NULL;
    case ON_LIMIT:
        if (!strcmp(value, "rotate") || !strcmp(value, "drop-oldest"))
            return "is a policy that this version does not offer; use --on-limit stop";
        return strcmp(value, "stop") ? "is no policy; use --on-limit stop" : NULL;
    case NICE:
        options->niced = true;
        return parse_nice(value, &options->nice) ? "is no nice value from 0 to 19" : NULL;
    default:
        return log_level_parse(value, &options->log_level) ? "is none of error, warning, info, debug" : NULL;
    }
}

static const char *option_name(int which)
{
    for (const struct option *o = table; o->name; ++o)
        if (o->val == which)
            return o->name;
    return "";
}

enum options_result options_parse(int argc, char **argv, struct options *ret, char *ret_why, size_t why_size)
{
    struct options options = {.log_level = LOG_INFO};
    options.sessions = calloc((size_t)argc + 1, sizeof *options.sessions);
    if (!options.sessions) {
        snprintf(ret_why, why_size, "out of memory");
        return OPTIONS_BAD;
    }
    enum options_result result = OPTIONS_RUN;
    optind = 0; /* glibc: begin anew, also for a second command line */
    opterr = 0;
    int which;
    while (result == OPTIONS_RUN && (which = getopt_long(argc, argv, "+:", table, NULL)) != -1) {
        if (which == HELP) {
            result = OPTIONS_HELP;
        } else if (which == VERSION) {
            result = OPTIONS_VERSION;
        } else if (which == ':') {
            snprintf(ret_why, why_size, "%s needs a value", argv[optind - 1]);
            result = OPTIONS_BAD;
        } else if (which == '?') {
            snprintf(ret_why, why_size, "%s is no option of spd, or not spelled out", argv[optind - 1]);
            result = OPTIONS_BAD;
        } else {
            const char *wrong = take_value(&options, which, optarg);
            if (wrong) {
                snprintf(ret_why, why_size, "--%s %s: '%s' %s", option_name(which), optarg, optarg, wrong);
                result = OPTIONS_BAD;
            }
        }
    }
    if (result == OPTIONS_RUN && optind < argc) {
        snprintf(ret_why, why_size, "'%s' is not an option, and spd takes nothing else", argv[optind]);
        result = OPTIONS_BAD;
    }
    if (result == OPTIONS_RUN)
        *ret = options;
    else
        options_finish(&options);
    return result;
}

void options_finish(struct options *options)
{
    free(options->sessions);
    options->sessions = NULL;
    options->session_count = 0;
}

bool options_take(const struct options *options, const char *session)
{
    for (size_t n = 0; n < options->session_count; ++n)
        if (!fnmatch(options->sessions[n], session, 0))
            return true;
    return options->session_count == 0;
}
