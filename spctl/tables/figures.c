#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"
#include "table.h"
#include "units.h"

struct order {
    const struct figure_column *column;
    int (*then)(const void *a, const void *b);
};

const struct figure_column *figures_column(const struct figure_column *const *columns, const char *name)
{
    for (; *columns; ++columns)
        if ((*columns)->name && strcmp((*columns)->name, name) == 0)
            return *columns;
    return NULL;
}

char *figures_names(const struct figure_column *const *columns)
{
    char *names = NULL;
    size_t length = 0, left = 0, done = 0;
    FILE *out = need(open_memstream(&names, &length));
    for (size_t i = 0; columns[i]; ++i)
        left += columns[i]->name != NULL;
    for (; *columns; ++columns)
        if ((*columns)->name) {
            fprintf(out, "%s%s", done == 0 ? "" : done + 1 == left ? " or " : ", ", (*columns)->name);
            ++done;
        }
    fclose(out);
    return need(names);
}

static bool is_real(enum figure_kind kind)
{
    return kind == FIGURE_MEAN || kind == FIGURE_PERCENT || kind == FIGURE_RATIO || kind == FIGURE_GROWTH;
}

static bool ascends(enum figure_kind kind)
{
    return kind == FIGURE_NAME || kind == FIGURE_NUMBER;
}

static int compare_integers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_figures(const struct figure *a, const struct figure *b)
{
    if (a->kind == FIGURE_UNKNOWN || b->kind == FIGURE_UNKNOWN)
        return (a->kind == FIGURE_UNKNOWN) - (b->kind == FIGURE_UNKNOWN);
    if (a->kind == FIGURE_NAME)
        return strcmp(a->text, b->text);
    if (is_real(a->kind)) {
        double x = fabs(a->real), y = fabs(b->real);
        return x < y ? 1 : -(x > y);
    }
    if (ascends(a->kind))
        return compare_integers(a->integer, b->integer);
    if (a->kind == FIGURE_CHANGE) /* negative, so that the least integer has a size too */
        return compare_integers(a->integer < 0 ? a->integer : -a->integer, b->integer < 0 ? b->integer : -b->integer);
    return compare_integers(b->integer, a->integer);
}

static int compare(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    struct figure left = order->column->of(a), right = order->column->of(b);
    int result = compare_figures(&left, &right);
    return result == 0 && order->then ? order->then(a, b) : result;
}

void figures_sort(void *lines, size_t count, size_t size, const struct figure_column *column,
                  int (*then)(const void *a, const void *b))
{
    struct order order = {.column = column, .then = then};
    if (count > 1)
        qsort_r(lines, count, size, compare, &order);
}

static const void *line_at(const struct figures *figures, size_t n)
{
    return (const char *)figures->lines + n * figures->size;
}

static void print_cell(struct table *out, const struct figure *figure)
{
    units_buffer time;
    switch (figure->kind) {
    case FIGURE_UNKNOWN:
        table_cell(out, "-");
        break;
    case FIGURE_NAME:
        table_name(out, figure->depth, figure->text);
        break;
    case FIGURE_COUNT:
    case FIGURE_NUMBER:
        table_cell(out, "%" PRId64, figure->integer);
        break;
    case FIGURE_TIME:
        table_cell(out, "%s", units_time(figure->integer, time));
        break;
    case FIGURE_MEAN:
        table_cell(out, "%s", units_time((int64_t)figure->real, time));
        break;
    case FIGURE_PERCENT:
        table_cell(out, "%.1f", figure->real);
        break;
    case FIGURE_RATIO:
        table_cell(out, "%.2f", figure->real);
        break;
    case FIGURE_CHANGE:
        table_cell(out, "%s%s", figure->integer > 0 ? "+" : "", units_time(figure->integer, time));
        break;
    case FIGURE_GROWTH:
        if (isinf(figure->real))
            table_cell(out, "new");
        else
            table_cell(out, "%+.1f", figure->real);
        break;
    }
}

void figures_print(const struct figures *figures)
{
    size_t count = 0, most = 0;
    while (figures->columns[most])
        ++most;
    struct column *columns = need(calloc(most + 1, sizeof *columns));
    for (size_t i = 0; i < most; ++i)
        if (figures->columns[i]->title) {
            /* Names are all on the left: the first line tells which column holds them. */
            bool name = figures->count > 0 && figures->columns[i]->of(line_at(figures, 0)).kind == FIGURE_NAME;
            columns[count++] = (struct column){figures->columns[i]->title, !name};
        }
    struct table *out = table_create(columns, count);
    for (size_t n = 0; n < figures->count; ++n)
        for (size_t i = 0; i < most; ++i)
            if (figures->columns[i]->title) {
                struct figure figure = figures->columns[i]->of(line_at(figures, n));
                print_cell(out, &figure);
            }
    table_print(out, stdout);
    table_destroy(out);
    free(columns);
}

static void print_csv_text(const char *text)
{
    putchar('"');
    for (; *text; ++text) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_csv_figure(const struct figure *figure)
{
    if (figure->kind == FIGURE_UNKNOWN || (is_real(figure->kind) && !isfinite(figure->real)))
        return;
    if (figure->kind == FIGURE_NAME)
        print_csv_text(figure->text);
    else if (is_real(figure->kind))
        printf(figure->kind == FIGURE_MEAN ? "%.3f" : "%.4f", figure->real);
    else
        printf("%" PRId64, figure->integer);
}

void figures_print_csv(const struct figures *figures)
{
    const char *between = "";
    for (size_t i = 0; figures->columns[i]; ++i)
        if (figures->columns[i]->key) {
            printf("%s%s", between, figures->columns[i]->key);
            between = ",";
        }
    putchar('\n');
    for (size_t n = 0; n < figures->count; ++n) {
        between = "";
        for (size_t i = 0; figures->columns[i]; ++i)
            if (figures->columns[i]->key) {
                struct figure figure = figures->columns[i]->of(line_at(figures, n));
                fputs(between, stdout);
                print_csv_figure(&figure);
                between = ",";
            }
        putchar('\n');
    }
}

static json_t *json_figure(const struct figure *figure)
{
    if (figure->kind == FIGURE_UNKNOWN || (is_real(figure->kind) && !isfinite(figure->real)))
        return json_null();
    if (figure->kind == FIGURE_NAME)
        return json_text(figure->text);
    return is_real(figure->kind) ? json_real(figure->real) : json_integer(figure->integer);
}

static void print_json_line(const struct figures *figures, const void *line)
{
    json_t *object = need(json_object());
    for (size_t i = 0; figures->columns[i]; ++i)
        if (figures->columns[i]->key) {
            struct figure figure = figures->columns[i]->of(line);
            json_put(object, figures->columns[i]->key, json_figure(&figure));
        }
    json_dumpf(object, stdout, JSON_FORMAT);
    json_decref(object);
}

void figures_print_json(const struct figures *figures, json_t *document, const char *key)
{
    json_put(document, key, json_array());
    char *text = need(json_dumps(document, JSON_FORMAT | JSON_INDENT(2)));
    char *end = need(strrchr(text, ']'));
    fwrite(text, 1, (size_t)(end - text), stdout);
    for (size_t n = 0; n < figures->count; ++n) {
        fputs(n > 0 ? ",\n    " : "\n    ", stdout);
        print_json_line(figures, line_at(figures, n));
    }
    printf("\n  %s\n", end);
    free(text);
    json_decref(document);
}
