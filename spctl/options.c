#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

/* Options of every verb; targets lie in struct arguments. */
enum { COMMON_DATA, COMMON_RUNTIME, COMMON_HELP, COMMON_END, COMMON_COUNT };

struct parser {
    const struct verb *verb;
    struct option common[COMMON_COUNT];
    bool help;
};

static void common_options(struct option common[COMMON_COUNT], struct arguments *arguments, bool *help)
{
    common[COMMON_DATA] =
        (struct option){0, "data-dir", "DIR", "where sessions are kept (else SP_DATA_DIR)", &arguments->data_dir};
    common[COMMON_RUNTIME] = (struct option){0, "runtime-dir", "DIR", "where spd's socket is (else SP_RUNTIME_DIR)",
                                             &arguments->runtime_dir};
    common[COMMON_HELP] = (struct option){'h', "help", NULL, "print this", help};
    common[COMMON_END] = (struct option){0, NULL, NULL, NULL, NULL};
}

static void print_options(const struct option *options)
{
    for (; options && options->name; ++options) {
        char left[64];
        snprintf(left, sizeof left, "%s%.1s%s--%s%s%s", options->letter ? "-" : "",
                 options->letter ? &options->letter : "", options->letter ? ", " : "    ", options->name,
                 options->value ? " " : "", options->value ? options->value : "");
        printf("  %-24s  %s\n", left, options->help);
    }
}

static void print_help(const struct parser *parser)
{
    const struct verb *verb = parser->verb;
    printf("Usage: spctl %s [OPTION]...%s%s\n\n%s\n\nOptions:\n", verb->name, *verb->operands ? " " : "",
           verb->operands, verb->about);
    print_options(verb->options);
    print_options(parser->common);
}

static int wrong(const struct verb *verb, const char *what, const char *argument)
{
    say("%s%s%s; see \"spctl %s --help\"", what, *argument ? " " : "", argument, verb->name);
    return END_USAGE;
}

/* By name (length given, "=" excluded) or, where name is NULL, by letter. */
static const struct option *find(const struct parser *parser, const char *name, size_t length, char letter)
{
    const struct option *tables[] = {parser->verb->options, parser->common};
    for (size_t t = 0; t < 2; ++t)
        for (const struct option *o = tables[t]; o && o->name; ++o)
            if (name ? strlen(o->name) == length && memcmp(o->name, name, length) == 0 : o->letter == letter && letter)
                return o;
    return NULL;
}

/* Sets an option from `value` (NULL: none was attached) or the following argument. -1 or the exit status. */
static int set(const struct parser *parser, const struct option *option, const char *value, int argc, char **argv,
               int *i)
{
    if (!option->value) {
        if (value)
            return wrong(parser->verb, "this option takes no value:", argv[*i]);
        *(bool *)option->target = true;
        return -1;
    }
    const char *given = argv[*i];
    if (!value && *i + 1 < argc)
        value = argv[++*i];
    if (!value || !*value)
        return wrong(parser->verb, "this option needs a value:", given);
    size_t length = strlen(option->value);
    if (length < 3 || strcmp(option->value + length - 3, "...") != 0) {
        *(const char **)option->target = value;
        return -1;
    }
    struct values *values = option->target;
    values->given = need(realloc(values->given, (values->count + 1) * sizeof(const char *)));
    values->given[values->count++] = value;
    return -1;
}

static int parse_long(const struct parser *parser, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2;
    size_t length = strcspn(name, "=");
    const struct option *option = find(parser, name, length, 0);
    if (!option)
        return wrong(parser->verb, "unknown option", argv[*i]);
    return set(parser, option, name[length] ? name + length + 1 : NULL, argc, argv, i);
}

static int parse_short(const struct parser *parser, int argc, char **argv, int *i)
{
    int at = *i;
    for (const char *letter = argv[at] + 1; *letter; ++letter) {
        const struct option *option = find(parser, NULL, 0, *letter);
        if (!option)
            return wrong(parser->verb, "unknown option", argv[at]);
        const char *rest = option->value && letter[1] ? letter + 1 : NULL;
        int end = set(parser, option, rest, argc, argv, i);
        if (end >= 0 || option->value)
            return end;
    }
    return -1;
}

int options_parse(const struct verb *verb, int argc, char **argv, struct arguments *ret)
{
    struct parser parser = {.verb = verb};
    size_t count = 0;
    *ret = (struct arguments){.operands = argv + 1};
    common_options(parser.common, ret, &parser.help);

    /* Operands move down over options that were read, so that they stand together in argv[1...]. */
    for (int i = 1; i < argc; ++i) {
        bool rest = strcmp(argv[i], "--") == 0;
        int end = -1;
        if (rest || argv[i][0] != '-' || !argv[i][1]) {
            i += rest;
            if (rest || verb->stops)
                while (i < argc)
                    ret->operands[count++] = argv[i++];
            else
                ret->operands[count++] = argv[i];
        } else if (argv[i][1] == '-') {
            end = parse_long(&parser, argc, argv, &i);
        } else {
            end = parse_short(&parser, argc, argv, &i);
        }
        if (end >= 0)
            return end;
    }
    ret->count = count;
    if (parser.help) {
        print_help(&parser);
        return END_DONE;
    }
    if (count < verb->least)
        return wrong(verb, "too few arguments: wanted", verb->operands);
    if (count > verb->most)
        return wrong(verb, "too many arguments:", ret->operands[verb->most]);
    return -1;
}

bool data_dir_of(const struct arguments *arguments, char ret[SP__PATH_SIZE])
{
    int status = sp__data_dir(arguments->data_dir, ret, SP__PATH_SIZE);
    if (status < 0)
        say("cannot tell the data folder: %s; give --data-dir or set SP_DATA_DIR", strerror(-status));
    return status == 0;
}

bool runtime_dir_of(const struct arguments *arguments, char ret[SP__PATH_SIZE])
{
    int status = sp__runtime_dir(arguments->runtime_dir, ret, SP__PATH_SIZE);
    if (status < 0)
        say("cannot tell the runtime folder: %s; give --runtime-dir or set SP_RUNTIME_DIR", strerror(-status));
    return status == 0;
}
