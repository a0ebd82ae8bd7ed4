#include "say.h"
#include "verbs.h"

static int run(const struct arguments *arguments)
{
    if (arguments->count == 0) {
        verbs_overview();
        return END_DONE;
    }
    const struct verb *verb = verb_find(arguments->operands[0]);
    if (!verb) {
        say("there is no verb \"%s\"; \"spctl help\" lists the verbs", arguments->operands[0]);
        return END_USAGE;
    }
    char help[] = "--help";
    char *argv[] = {arguments->operands[0], help, NULL};
    return verb_main(verb, 2, argv);
}

const struct verb verb_help = {
    .name = "help",
    .operands = "[VERB]",
    .summary = "explain a verb",
    .about = "Prints what VERB does and its options; without VERB the list of verbs.",
    .most = 1,
    .run = run,
};
