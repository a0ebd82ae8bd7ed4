/* spd: collects what programs linked with libsp record on this node, and publishes their profiles. */
#include <stdio.h>

#include "daemon.h"
#include "log.h"
#include "options.h"
#include "scope_profiler.h"

int main(int argc, char **argv)
{
    struct options options;
    char why[512] = "";
    switch (options_parse(argc, argv, &options, why, sizeof why)) {
    case OPTIONS_HELP:
        return fputs(options_help, stdout) < 0 || fflush(stdout);
    case OPTIONS_VERSION:
        return printf("spd %s\n", SP_VERSION) < 0 || fflush(stdout);
    case OPTIONS_BAD:
        fprintf(stderr, "spd: error: command line: %s; see spd --help\n", why);
        return 2;
    case OPTIONS_RUN:
        break;
    }
    log_set_level(options.log_level);
    int status = daemon_run(&options);
    options_finish(&options);
    return status;
}
