#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "balance.h"
#include "durable.h"
#include "durations.h"
#include "findings.h"
#include "flame.h"
#include "json.h"
#include "say.h"
#include "scope_profiler.h"
#include "template.h"
#include "timeline.h"
#include "units.h"
#include "writing.h"

enum { MOST_BYTES = 2900000, MOST_TRIES = 16 };

/* What a page begins with, and nothing that a program records. */
static bool is_page(const char *path)
{
    char start[sizeof PAGE_DOCTYPE] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT;
    struct stat info;
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode); /* an empty FIFO reads as an empty file */
    ssize_t length = regular ? read(fd, start, sizeof start - 1) : -1;
    close(fd);
    return length == 0 || (length > 0 && strcasecmp(start, PAGE_DOCTYPE) == 0);
}

int page_possible(const char *output)
{
    const char *suffix = strrchr(output, '.');
    if (!suffix || strchr(suffix, '/') || (strcmp(suffix, ".html") != 0 && strcmp(suffix, ".htm") != 0)) {
        say("%s: a report is written as a page, whose name ends in .html; \"spctl merge -o\" writes profiles (.h5), "
            "and --csv and --json print the table on standard output",
            output);
        return END_USAGE;
    }
    if (!is_page(output)) {
        say("%s is there already and is no page: it is left as it is; choose another name with -o", output);
        return END_FAILED;
    }
    return output_possible(output) ? END_DONE : END_FAILED;
}

struct gathering {
    struct page_scope scope;
    struct timeline *timeline;
    struct paths paths;
    struct durations *durations;
    struct balance *balance;
    size_t rank;   /* being read */
    size_t unsure; /* ranks of whose calls nobody quite knows who made them */
    bool events;   /* there are calls to read, not statistics alone */
};

static int64_t enter(void *context, const sp_walk_call *call)
{
    struct gathering *gathering = context;
    timeline_add(gathering->timeline, gathering->rank, call);
    durations_add(gathering->durations, call);
    return paths_enter(&gathering->paths, call);
}

static int walk(struct gathering *gathering, sp_results *results, sp_error *error)
{
    static const sp_walk_visitor visitor = {.callers = true, .enter = enter};
    uint32_t number;
    int status = 0;
    for (size_t n = 0; status == 0 && sp_results_rank(results, n, &number) == 0; ++n) {
        while (gathering->rank < gathering->scope.rank_count && gathering->scope.ranks[gathering->rank].rank < number)
            ++gathering->rank;
        gathering->paths.unsure = false;
        status = sp_results_walk(results, n, &visitor, gathering, error);
        gathering->unsure += gathering->paths.unsure;
    }
    return status;
}

static bool gather(struct gathering *gathering, sp_results *results)
{
    sp_error error = {0};
    int status = page_scope_init(&gathering->scope, results, &error);
    if (status < 0) {
        progress_end();
        say("%s", error.text);
        return false;
    }
    gathering->timeline = timeline_create(&gathering->scope);
    gathering->paths.deepest = FLAME_DEEPEST;
    gathering->durations = durations_create(&gathering->scope);
    gathering->balance = balance_create(&gathering->scope);
    gathering->events = gathering->scope.timed;
    if (gathering->events)
        status = walk(gathering, results, &error);
    progress_end();
    timeline_finish(gathering->timeline);
    if (status == SP_ERR_NO_EVENTS)
        gathering->events = false;
    else if (status < 0)
        say("%s", error.text);
    return status == 0 || status == SP_ERR_NO_EVENTS;
}

static void gathering_finish(struct gathering *gathering)
{
    if (!gathering->timeline)
        return;
    timeline_destroy(gathering->timeline);
    paths_finish(&gathering->paths);
    durations_destroy(gathering->durations);
    balance_destroy(gathering->balance);
    page_scope_finish(&gathering->scope);
}

/* Percentiles are of steps, of which the outermost reach beyond the shortest and the longest call. */
static json_t *percentile_json(const struct gathering *gathering, size_t line, double percent)
{
    const struct region_line *known = &gathering->scope.table.lines[line];
    double value = durations_percentile(gathering->durations, line, percent);
    if (value < 0)
        return json_null();
    value = value < (double)known->minimum ? (double)known->minimum : value;
    return json_real(value > (double)known->maximum ? (double)known->maximum : value);
}

static json_t *place_json(const struct page_place *place)
{
    char *text = NULL;
    if (!place->file)
        return json_null();
    if (place->line < 0)
        return json_text(place->file);
    if (asprintf(&text, "%s:%" PRId64, place->file, place->line) < 0)
        need(NULL);
    json_t *ret = json_text(text);
    free(text);
    return ret;
}

/* What the report says of a region, under the same names, and what the page adds. */
static json_t *region_json(const struct gathering *gathering, size_t i)
{
    const struct region_line *line = &gathering->scope.table.lines[i];
    json_t *region = need(json_object());
    json_put(region, "region", json_text(line->region));
    json_put(region, "calls", json_count(line->calls));
    json_put(region, "total_ns", json_integer(line->total));
    json_put(region, "exclusive_ns", line->exclusive < 0 ? json_null() : json_integer(line->exclusive));
    json_put(region, "mean_ns", json_real(line->mean));
    json_put(region, "min_ns", json_integer(line->minimum));
    json_put(region, "max_ns", json_integer(line->maximum));
    json_put(region, "p50_ns", percentile_json(gathering, i, 50));
    json_put(region, "p95_ns", percentile_json(gathering, i, 95));
    json_put(region, "p99_ns", percentile_json(gathering, i, 99));
    json_put(region, "percent", line->percent < 0 ? json_null() : json_real(line->percent));
    json_put(region, "ranks", json_count(line->ranks));
    json_put(region, "imbalance", line->imbalance < 0 ? json_null() : json_real(line->imbalance));
    json_put(region, "slowest_rank", json_count(balance_of(gathering->balance, i)->slowest));
    json_put(region, "source", place_json(&gathering->scope.places[i]));
    return region;
}

static void regions_json(const struct gathering *gathering, json_t *document)
{
    size_t count = gathering->scope.table.count;
    json_t *regions = json_put(document, "regions", json_array());
    for (size_t i = 0; i < count && i < PAGE_REGIONS; ++i)
        json_push(regions, region_json(gathering, i));
    json_put(document, "region_count", json_count(count));
    if (count > PAGE_REGIONS)
        page_note(document, "The table shows the %d regions of most time, of %zu.", PAGE_REGIONS, count);
}

static void cut_list(json_t *document, const char *key, const char *what)
{
    json_t *list = json_object_get(document, key);
    size_t count = json_array_size(list);
    if (count > PAGE_LINES)
        page_note(document, "%d of %zu %s are listed.", PAGE_LINES, count, what);
    while (json_array_size(list) > PAGE_LINES)
        json_array_remove(list, json_array_size(list) - 1);
}

static void metadata_json(const struct page_scope *scope, json_t *document)
{
    enum { LONGEST = 2000 };
    json_t *list = json_put(document, "metadata", json_array());
    size_t count = sp_results_metadata_count(scope->results);
    for (size_t i = 0; i < count && i < PAGE_LINES; ++i) {
        const char *key, *value;
        if (sp_results_metadata_at(scope->results, i, &key, &value) < 0)
            continue;
        char *shortened = need(strndup(value, LONGEST));
        json_t *pair = json_push(list, json_array());
        json_push(pair, json_text(key));
        json_push(pair, json_text(shortened));
        free(shortened);
    }
}

/* Everything but the timeline, whose fineness depends on what room the rest leaves. */
static json_t *document_of(const struct gathering *gathering, const char *source, const char *sort)
{
    const struct region_table *table = &gathering->scope.table;
    json_t *document = results_json(table->results, source, table->calls);
    json_put(document, "start_ns", gathering->scope.timed ? json_integer(table->start) : json_null());
    json_put(document, "end_ns", gathering->scope.timed ? json_integer(table->end) : json_null());
    json_put(document, "notes", json_array());
    json_put(document, "program", json_text("spctl " SP_VERSION));
    json_put(document, "sort", sort ? json_text(sort) : json_null());
    json_put(document, "label", json_text(sp_results_label(gathering->scope.results)));
    json_put(document, "span_ns", json_count(gathering->scope.span));
    json_put(document, "events", json_boolean(gathering->events));
    findings_json(&gathering->scope, gathering->balance, gathering->events ? gathering->durations : NULL, document);
    regions_json(gathering, document);
    cut_list(document, "open_calls", "calls that were still open");
    cut_list(document, "deaths", "deaths");
    metadata_json(&gathering->scope, document);
    balance_json(gathering->balance, document);
    if (gathering->events) {
        if (gathering->unsure > 0)
            page_note(document, "In timeline and flame graph: " CALLERS_UNSURE ".", gathering->unsure,
                      gathering->scope.rank_count);
        flame_json(&gathering->scope, &gathering->paths, document);
        durations_json(gathering->durations, document);
    } else {
        page_note(document, "This profile holds statistics without calls: there is no timeline, flame graph, histogram "
                            "or duration over time.");
    }
    return document;
}

/* Names as long as many regions leave room for: what is cut ends in an ellipsis. */
static void shorten_names(json_t *document)
{
    enum { ROOM = 400000, LEAST = 60 };
    json_t *regions = json_object_get(document, "regions");
    size_t count = json_array_size(regions), longest = ROOM / (count + 1), cut = 0;
    longest = longest < LEAST ? LEAST : longest;
    for (size_t i = 0; i < count; ++i) {
        json_t *region = json_array_get(regions, i);
        const char *name = json_string_value(json_object_get(region, "region"));
        size_t length = longest;
        if (strlen(name) <= longest)
            continue;
        while (length > 0 && ((unsigned char)name[length] & 0xC0) == 0x80)
            --length;
        char *shortened = NULL;
        if (asprintf(&shortened, "%.*s\xe2\x80\xa6", (int)length, name) < 0)
            need(NULL);
        json_put(region, "region", json_text(shortened));
        free(shortened);
        ++cut;
    }
    if (cut > 0)
        page_note(document, "%zu names of regions are cut after %zu bytes.", cut, longest);
}

/* Text that an HTML parser takes for text alone, whatever is in it. */
static char *text_of(const json_t *document, size_t *ret_length)
{
    char *json = need(json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(12)));
    size_t escapes = 0, length = strlen(json);
    for (const char *at = json; *at; ++at)
        escapes += *at == '<' || *at == '>' || *at == '&';
    char *text = need(malloc(length + 5 * escapes + 1)), *to = text;
    for (const char *at = json; *at; ++at) {
        const char *escape = *at == '<' ? "\\u003c" : *at == '>' ? "\\u003e" : *at == '&' ? "\\u0026" : NULL;
        size_t taken = escape ? 6 : 1;
        memcpy(to, escape ? escape : at, taken);
        to += taken;
    }
    *to = '\0';
    free(json);
    *ret_length = (size_t)(to - text);
    return text;
}

static int put(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        data += n;
        length -= (size_t)n;
    }
    return 0;
}

static int write_file(const char *output, const char *text, size_t length)
{
    struct sp__durable file;
    int status = sp__durable_begin(&file, output, 0600);
    if (status < 0)
        return status;
    status = put(file.fd, page_head, page_head_size);
    status = status < 0 ? status : put(file.fd, text, length);
    status = status < 0 ? status : put(file.fd, page_tail, page_tail_size);
    if (status < 0) {
        sp__durable_abandon(&file);
        return status;
    }
    return sp__durable_commit(&file);
}

static char *fitting_text(struct gathering *gathering, json_t *document, size_t *ret_length)
{
    json_t *notes = json_copy(json_object_get(document, "notes"));
    for (int tries = 0;; ++tries) {
        json_put(document, "notes", json_copy(notes));
        if (gathering->events)
            timeline_json(gathering->timeline, document);
        char *text = text_of(document, ret_length);
        if (!gathering->events || tries == MOST_TRIES || *ret_length + page_head_size + page_tail_size <= MOST_BYTES) {
            json_decref(notes);
            return text;
        }
        free(text);
        timeline_coarsen(gathering->timeline);
    }
}

static void print(const struct gathering *gathering, const char *output, size_t size, bool as_json, json_t *document)
{
    if (as_json) {
        json_t *said = json_document();
        json_put(said, "output", json_text(output));
        json_put(said, "bytes", json_count(size));
        json_put(said, "ranks", json_count(gathering->scope.rank_count));
        json_put(said, "regions", json_count(gathering->scope.table.count));
        json_put(said, "calls", json_count(gathering->scope.table.calls));
        json_put(said, "notes", json_incref(json_object_get(document, "notes")));
        json_print(said);
        return;
    }
    units_buffer bytes;
    size_t ranks = gathering->scope.rank_count, regions = gathering->scope.table.count;
    uint64_t calls = gathering->scope.table.calls;
    printf("%s: %zu %s, %zu %s, %" PRIu64 " %s, %s\n", output, ranks, ranks == 1 ? "rank" : "ranks", regions,
           regions == 1 ? "region" : "regions", calls, calls == 1 ? "call" : "calls", units_bytes(size, bytes));
}

int page_write(sp_results *results, const char *source, const char *sort, const char *output, bool as_json)
{
    struct gathering gathering = {0};
    int end = END_FAILED;
    if (gather(&gathering, results)) {
        size_t length;
        json_t *document = document_of(&gathering, source, sort);
        shorten_names(document);
        char *text = fitting_text(&gathering, document, &length);
        int status = write_file(output, text, length);
        if (status < 0)
            say("cannot write %s: %s; what was there is as it was", output, strerror(-status));
        else
            print(&gathering, output, length + page_head_size + page_tail_size, as_json, document);
        end = status < 0 ? END_FAILED : END_DONE;
        free(text);
        json_decref(document);
    }
    gathering_finish(&gathering);
    return end;
}
