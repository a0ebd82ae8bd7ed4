/* figures.h: lines of figures, described by their columns once: sorted, and printed as a table, CSV or JSON. */
#ifndef SPCTL_FIGURES_H
#define SPCTL_FIGURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum figure_kind {
    FIGURE_UNKNOWN = 0,
    FIGURE_NAME,   /* text */
    FIGURE_COUNT,  /* integer */
    FIGURE_NUMBER, /* integer: a rank or a thread */
    FIGURE_TIME,   /* integer, ns */
    FIGURE_MEAN,   /* real, ns */
    FIGURE_PERCENT,
    FIGURE_RATIO,
    FIGURE_CHANGE, /* integer, ns, shown with its sign */
    FIGURE_GROWTH  /* percent, shown with its sign; infinite: from nothing */
};

struct figure {
    enum figure_kind kind;
    unsigned depth; /* of a name in a tree */
    const char *text;
    int64_t integer;
    double real;
};

struct figure_column {
    const char *name;  /* for --sort; NULL: not to be sorted by */
    const char *title; /* in a table; NULL: left out there */
    const char *key;   /* in CSV and JSON; NULL: left out there */
    struct figure (*of)(const void *line);
};

struct figures {
    const struct figure_column *const *columns; /* ends with NULL */
    const void *lines;
    size_t size; /* of a line */
    size_t count;
};

const struct figure_column *figures_column(const struct figure_column *const *columns, const char *name);
/* "region, calls or total". The caller frees it. */
char *figures_names(const struct figure_column *const *columns);

/* Largest first, by size whatever the sign, numbers and names from the smallest on; unknown ones last. What is equal
 * goes by `then` (NULL: nothing). */
void figures_sort(void *lines, size_t count, size_t size, const struct figure_column *column,
                  int (*then)(const void *a, const void *b));

void figures_print(const struct figures *figures);
void figures_print_csv(const struct figures *figures);
/* Prints and frees the document, with the lines as its last member, one by one: they may be many. */
void figures_print_json(const struct figures *figures, json_t *document, const char *key);

#endif
