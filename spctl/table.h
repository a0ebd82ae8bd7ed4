/* table.h: aligned columns by display width. */
#ifndef SPCTL_TABLE_H
#define SPCTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct column {
    const char *title;
    bool right; /* numbers */
};

/* `columns` is kept by reference. Running out of memory ends the program with a line. */
struct table;
struct table *table_create(const struct column *columns, size_t count);
void table_destroy(struct table *table);

/* The next cell; every `count` cells make a row. Control characters are escaped. */
__attribute__((format(printf, 2, 3))) void table_cell(struct table *table, const char *format, ...);
/* A cell with a region's name, indented by its depth, or with that in front where it is great. The names of C++
 * functions fill screens: of a longer one the middle gives way, since both ends tell them apart. */
void table_name(struct table *table, unsigned depth, const char *name);
size_t table_rows(const struct table *table);
void table_print(const struct table *table, FILE *out);

#endif
