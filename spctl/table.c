#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "colour.h"
#include "say.h"
#include "text.h"

struct table {
    const struct column *columns;
    size_t count;
    char **cells;
    size_t used, room;
};

struct table *table_create(const struct column *columns, size_t count)
{
    struct table *table = need(calloc(1, sizeof *table));
    table->columns = columns;
    table->count = count;
    return table;
}

void table_destroy(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->used; ++i)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        text = need(NULL);
    if (table->used == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->cells = need(realloc(table->cells, table->room * sizeof *table->cells));
    }
    table->cells[table->used++] = need(text_clean(text));
    free(text);
}

void table_name(struct table *table, unsigned depth, const char *name)
{
    enum { MOST = 80, HEAD = 50, TAIL = MOST - HEAD - 1, DEEPEST = 32 };
    char indent[2 * DEEPEST + 16];
    size_t width = text_width(name);
    if (depth <= DEEPEST)
        snprintf(indent, sizeof indent, "%*s", (int)(2 * depth), "");
    else
        snprintf(indent, sizeof indent, "%*s%u: ", 2 * DEEPEST, "", depth);
    if (width <= MOST) {
        table_cell(table, "%s%s", indent, name);
        return;
    }
    const char *head = text_skip(name, HEAD), *tail = text_skip(name, width - TAIL);
    table_cell(table, "%s%.*s\xe2\x80\xa6%s", indent, (int)(head - name), name, tail);
}

size_t table_rows(const struct table *table)
{
    return table->used / table->count;
}

/* Of a share of the whole that catches the eye, and of titles. */
static const char *colour_of(const struct table *table, size_t column, const char *cell, FILE *out)
{
    enum { MUCH = 10, MOST = 40 };
    if (cell == table->columns[column].title)
        return colour_on(out, COLOUR_TITLE);
    double share = strcmp(table->columns[column].title, "%") == 0 ? strtod(cell, NULL) : 0;
    return share >= MOST ? colour_on(out, COLOUR_MOST) : share >= MUCH ? colour_on(out, COLOUR_MUCH) : "";
}

static void print_row(const struct table *table, const char *const *row, const size_t *widths, FILE *out)
{
    for (size_t c = 0; c < table->count; ++c) {
        int space = (int)(widths[c] - text_width(row[c]));
        const char *colour = colour_of(table, c, row[c], out), *plain = *colour ? colour_off(out) : "";
        if (c > 0)
            fputs("  ", out);
        if (table->columns[c].right)
            fprintf(out, "%*s%s%s%s", space, "", colour, row[c], plain);
        else
            fprintf(out, "%s%s%s%*s", colour, row[c], plain, c + 1 < table->count ? space : 0, "");
    }
    fputc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
    size_t rows = table_rows(table);
    size_t *widths = need(calloc(table->count, sizeof *widths));
    const char **titles = need(calloc(table->count, sizeof *titles));
    for (size_t c = 0; c < table->count; ++c) {
        titles[c] = table->columns[c].title;
        widths[c] = text_width(titles[c]);
        for (size_t r = 0; r < rows; ++r) {
            size_t width = text_width(table->cells[r * table->count + c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    print_row(table, titles, widths, out);
    for (size_t r = 0; r < rows; ++r)
        print_row(table, (const char *const *)&table->cells[r * table->count], widths, out);
    free(titles);
    free(widths);
}
