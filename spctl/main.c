/* spctl: lists, flushes, merges, reports, checks and recovers what programs recorded. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "scope_profiler.h"
#include "verbs.h"

const struct verb *const verbs[] = {&verb_run,     &verb_list,   &verb_status, &verb_stack,  &verb_flush,
                                    &verb_merge,   &verb_report, &verb_diff,   &verb_export, &verb_check,
                                    &verb_recover, &verb_gc,     &verb_config, &verb_help,   NULL};

const struct verb *verb_find(const char *name)
{
    for (const struct verb *const *verb = verbs; *verb; ++verb)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}

int verb_main(const struct verb *verb, int argc, char **argv)
{
    struct arguments arguments;
    say_verb(verb->name);
    int end = options_parse(verb, argc, argv, &arguments);
    return end >= 0 ? end : verb->run(&arguments);
}

void verbs_overview(void)
{
    puts("Usage: spctl VERB [OPTION]...\n\nLists, flushes, merges, reports, checks and recovers what programs "
         "recorded.\n");
    for (const struct verb *const *verb = verbs; *verb; ++verb)
        printf("  %-8s  %s\n", (*verb)->name, (*verb)->summary);
    puts("\n\"spctl VERB --help\" explains a verb; \"spctl --version\" prints the version.\n"
         "Exit status: 0 done, 1 it could not be done, 2 wrong usage, 3 done, but something was lost, skipped or "
         "mended.");
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0) {
        puts("spctl " SP_VERSION);
        return END_DONE;
    }
    const struct verb *verb = verb_find(name);
    if (verb)
        return verb_main(verb, argc - 1, argv + 1);
    if (*name)
        say("there is no verb \"%s\"; \"spctl help\" lists the verbs", name);
    else
        say("a verb is missing; \"spctl help\" lists the verbs");
    return END_USAGE;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* names are UTF-8 whatever the user's locale is */
    signal(SIGXFSZ, SIG_IGN);       /* past a limit on file sizes writing fails, and what was begun is cleared away */
    int end = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("cannot write to standard output: %s", strerror(errno));
        return END_FAILED;
    }
    return end;
}
