/* options.h: one table-driven option parser for all verbs, which also writes their --help. */
#ifndef SPCTL_OPTIONS_H
#define SPCTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "env.h"

struct option {
    char letter;       /* 0: none */
    const char *name;  /* without "--" */
    const char *value; /* what its value is called, NULL: a switch; "GLOB..." may be given several times */
    const char *help;
    void *target; /* bool * for a switch; const char ** for a value, of which the last one wins; struct values * */
};

/* Those of an option that may be given several times, in order. */
struct values {
    const char **given;
    size_t count;
};

struct arguments {
    char **operands;
    size_t count;
    const char *data_dir;    /* --data-dir, NULL: not given */
    const char *runtime_dir; /* --runtime-dir, NULL: not given */
};

struct verb {
    const char *name;
    const char *operands;         /* "SESSION|FILE|DIR..." for the usage line */
    const char *summary;          /* one line */
    const char *about;            /* paragraphs of --help, each line ending in \n */
    const struct option *options; /* ends with a NULL name */
    size_t least, most;           /* operands */
    bool stops;                   /* the first operand ends the options: the rest is a command */
    int (*run)(const struct arguments *arguments);
};

/* Reorders argv[1...] so that operands stand together. -1: go on; else the exit status: 0 after --help, which was
 * printed on stdout, or 2 after a line on stderr. */
int options_parse(const struct verb *verb, int argc, char **argv, struct arguments *ret);

/* The folders that options and environment name; false after a line on stderr. */
bool data_dir_of(const struct arguments *arguments, char ret[SP__PATH_SIZE]);
bool runtime_dir_of(const struct arguments *arguments, char ret[SP__PATH_SIZE]);

#endif
