/* options.h: spd's command line. */
#ifndef SPD_OPTIONS_H
#define SPD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

enum options_format { OPTIONS_AUTO, OPTIONS_TRACE, OPTIONS_HDF5, OPTIONS_MERGED };

struct options {
    const char *data_dir;    /* NULL: the default */
    const char *runtime_dir; /* NULL: the default */
    enum options_format format;
    bool publish_prefix;   /* where the program asked, instead of below the data folder */
    const char **sessions; /* globs; none: every session */
    size_t session_count;
    uint64_t max_session_bytes; /* 0: no limit */
    uint64_t max_bytes;
    enum log_level log_level;
    bool niced; /* --nice was given */
    int nice;   /* of every thread; not niced: 0, and the loop goes before others where that is allowed */
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_BAD };

/* Fills *ret, whose strings point into argv; options_finish frees the rest. OPTIONS_BAD: `ret_why` says what is wrong.
 */
enum options_result options_parse(int argc, char **argv, struct options *ret, char *ret_why, size_t why_size);
void options_finish(struct options *options);
const char *options_format_name(enum options_format format);

/* Whether one of the globs takes this session. */
bool options_take(const struct options *options, const char *session);

extern const char options_help[];

#endif
