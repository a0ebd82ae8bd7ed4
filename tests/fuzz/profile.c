/* profile.c: HDF5 profiles of any content. HDF5 1.10 itself does not survive every damaged file, which is why a check
 * runs in a process of its own (tests/unit/h5_damage.c), so bytes are not thrown at it here. Each input is a recipe
 * instead, for a valid HDF5 file whose groups, datasets, types, lengths, values and attributes are those of a profile
 * of one schema or another, but for what the recipe twists. A recipe of zeros twists nothing, and gives a sound
 * profile. */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "io/source.h"
#include "recipe.h"

enum { RANKS_MOST = 3, REGIONS_MOST = 3, CALLS_MOST = 6, ROWS_MOST = 16, EVENTS_MOST = 96 };

/* ---- what a sound profile holds -----------------------------------------------------------------------------------
 */

/* Columns, as int64 whatever their type in the file. Every rank's calls are rounds in which each region is called once,
 * within the region before it. */
struct content {
    unsigned ranks, regions, calls, threads;
    size_t rows, events;
    int64_t region_ids[ROWS_MOST], rank[ROWS_MOST], offsets[ROWS_MOST], counts[ROWS_MOST], lines[ROWS_MOST];
    int64_t exclusive[ROWS_MOST], totals[ROWS_MOST], minimums[ROWS_MOST], maximums[ROWS_MOST];
    struct sp__summary summaries[ROWS_MOST];
    int64_t starts[EVENTS_MOST], ends[EVENTS_MOST], deltas[EVENTS_MOST], durations[EVENTS_MOST];
    int64_t thread_ids[EVENTS_MOST], call_ids[EVENTS_MOST], parent_ids[EVENTS_MOST];
    int64_t thread_ranks[RANKS_MOST * 2], thread_index[RANKS_MOST * 2], unknown[RANKS_MOST * 2];
};

static void fill_row(struct content *c, size_t row, unsigned rank, unsigned region)
{
    /* Nested calls last 400, 300, 200. */
    int64_t length = 400 - 100 * (int64_t)region, inner = region + 1 < c->regions ? length - 100 : 0;
    size_t first = c->events;
    for (unsigned i = 0; i < c->calls; i++) {
        size_t at = c->events++;
        c->starts[at] = 1000 + 1000 * (int64_t)i + 10 * (int64_t)region;
        c->ends[at] = c->starts[at] + length;
        c->deltas[at] = i ? 1000 : c->starts[at];
        c->durations[at] = length;
        c->thread_ids[at] = c->threads ? (int64_t)(i % c->threads) : -1;
        c->call_ids[at] = i * c->regions + region;
        c->parent_ids[at] = region ? c->call_ids[at] - 1 : -1;
    }
    c->rank[row] = rank;
    c->region_ids[row] = region;
    c->offsets[row] = (int64_t)first;
    c->counts[row] = c->calls;
    c->lines[row] = region ? 10 : -1;
    c->minimums[row] = c->maximums[row] = c->calls ? length : 0;
    c->totals[row] = length * c->calls;
    c->exclusive[row] = (length - inner) * c->calls;
    if (c->calls)
        c->summaries[row] = (struct sp__summary){.total = c->totals[row],
                                                 .minimum = length,
                                                 .maximum = length,
                                                 .first = length,
                                                 .last = length,
                                                 .start_minimum = c->starts[first],
                                                 .end_maximum = c->ends[c->events - 1],
                                                 .mean = (double)length};
}

static void fill_content(struct content *c, struct recipe *r)
{
    *c = (struct content){.ranks = 1 + recipe_byte(r) % RANKS_MOST,
                          .regions = 1 + recipe_byte(r) % REGIONS_MOST,
                          .calls = (1 + recipe_byte(r)) % CALLS_MOST,
                          .threads = recipe_byte(r) % 3};
    for (unsigned rank = 0; rank < c->ranks; rank++)
        for (unsigned region = 0; region < c->regions; region++)
            fill_row(c, c->rows++, rank, region);
    for (unsigned i = 0; i < c->ranks * c->threads; i++) {
        c->thread_ranks[i] = i / c->threads;
        c->thread_index[i] = i % c->threads;
        c->unknown[i] = -1;
    }
}

/* ---- the parts of a profile ---------------------------------------------------------------------------------------
 */

static const char *const region_names[] = {"main", "solve", "I/O: write"};

static void put_metadata(struct recipe *r, hid_t file, const struct content *c)
{
    recipe_group(r, file, "/metadata");
    hid_t metadata = H5Oopen(file, "/metadata", H5P_DEFAULT);
    if (metadata < 0)
        return;
    recipe_number_attribute(r, metadata, "start_time_ns", 1000);
    recipe_number_attribute(r, metadata, "finalize_time_ns", 100000);
    recipe_number_attribute(r, metadata, "mpi_size", c->ranks);
    recipe_text_attribute(r, metadata, "hostname", "node1", false);
    recipe_text_attribute(r, metadata, "source_language", "c", false);
    if (recipe_byte(r) & 1) {
        recipe_number_attribute(r, metadata, "sp_dropped_records", 3);
        recipe_text_attribute(r, metadata, "sp_session", "session42", false);
        recipe_text_attribute(r, metadata, "sp_open_calls", "rank 0 thread 0: main > solve, 1.0 s", true);
        recipe_text_attribute(r, metadata, "sp_deaths", "rank 1 died", true);
        recipe_text_attribute(r, metadata, "whatever", "1.5", false);
    }
    H5Oclose(metadata);
}

static void put_summaries(struct recipe *r, hid_t file, const struct content *c)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {{"total", offsetof(struct sp__summary, total)},
                  {"minimum", offsetof(struct sp__summary, minimum)},
                  {"maximum", offsetof(struct sp__summary, maximum)},
                  {"first", offsetof(struct sp__summary, first)},
                  {"last", offsetof(struct sp__summary, last)},
                  {"start_minimum", offsetof(struct sp__summary, start_minimum)},
                  {"end_maximum", offsetof(struct sp__summary, end_maximum)},
                  {"gpu_count", offsetof(struct sp__summary, gpu_count)},
                  {"gpu_total", offsetof(struct sp__summary, gpu_total)},
                  {"mean", offsetof(struct sp__summary, mean)},
                  {"m2", offsetof(struct sp__summary, m2)}};
    unsigned left_out = recipe_byte(r);
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct sp__summary));
    struct sp__summary values[ROWS_MOST + 1] = {0};
    memcpy(values, c->summaries, c->rows * sizeof *values);
    for (unsigned i = 0; i < 11; i++) {
        bool real = i >= 9;
        unsigned how = recipe_byte(r);
        if (left_out >= 128 && left_out % 11 == i) {
            r->twisted = true;
            continue;
        }
        if (how >= 224)
            r->twisted = true;
        hid_t member = how >= 224 ? recipe_odd_type(r) : H5Tcopy(real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64);
        if (H5Tget_size(member) == sizeof(int64_t) || how < 224)
            H5Tinsert(type, fields[i].name, fields[i].offset, member);
        H5Tclose(member);
        if (how >= 192 && how < 224) { /* another value, of any bits */
            int64_t value = recipe_strange(r);
            memcpy((char *)&values[how % (c->rows + 1)] + fields[i].offset, &value, sizeof value);
            r->twisted = true;
        }
    }
    recipe_dataset(r, file, "/rank_region_index/summary_statistics", type, type, values, sizeof *values, c->rows);
    H5Tclose(type);
}

static void put_index(struct recipe *r, hid_t file, const struct content *c, bool aggregate)
{
    static const char *const files[ROWS_MOST] = {"",       "main.c", "main.c", "", "main.c", "main.c", "", "main.c",
                                                 "main.c", "",       "",       "", "",       "",       "", ""};
    const char *tags[ROWS_MOST];
    for (size_t i = 0; i < ROWS_MOST; i++)
        tags[i] = "[]";
    recipe_group(r, file, "/region_table");
    recipe_strings(r, file, "/region_table/names", region_names, c->regions);
    recipe_group(r, file, "/rank_region_index");
    recipe_integers(r, file, "/rank_region_index/region_ids", H5T_STD_U32LE, c->region_ids, c->rows);
    recipe_integers(r, file, "/rank_region_index/ranks", H5T_STD_U32LE, c->rank, c->rows);
    recipe_integers(r, file, "/rank_region_index/source_lines", H5T_STD_I64LE, c->lines, c->rows);
    if (recipe_byte(r) & 1) {
        recipe_strings(r, file, "/rank_region_index/source_files", files, c->rows);
        recipe_strings(r, file, "/rank_region_index/source_texts", files, c->rows);
        recipe_strings(r, file, "/rank_region_index/tags", tags, c->rows);
    }
    if (aggregate) {
        recipe_integers(r, file, "/rank_region_index/aggregate_counts", H5T_STD_U64LE, c->counts, c->rows);
        recipe_integers(r, file, "/rank_region_index/aggregate_totals", H5T_STD_I64LE, c->totals, c->rows);
        recipe_integers(r, file, "/rank_region_index/aggregate_minimums", H5T_STD_I64LE, c->minimums, c->rows);
        recipe_integers(r, file, "/rank_region_index/aggregate_maximums", H5T_STD_I64LE, c->maximums, c->rows);
        recipe_integers(r, file, "/rank_region_index/aggregate_exclusives", H5T_STD_I64LE, c->exclusive, c->rows);
        return;
    }
    recipe_integers(r, file, "/rank_region_index/event_offsets", H5T_STD_U64LE, c->offsets, c->rows);
    recipe_integers(r, file, "/rank_region_index/event_counts", H5T_STD_U64LE, c->counts, c->rows);
    unsigned more = recipe_byte(r);
    /* Without thread ids a rank is one lane, in which rounds nest as they do in threads: the same exclusive times. */
    if (more & 1)
        recipe_integers(r, file, "/rank_region_index/exclusive_totals", H5T_STD_I64LE, c->exclusive, c->rows);
    if (more & 2)
        put_summaries(r, file, c);
}

static void put_threads(struct recipe *r, hid_t file, const struct content *c)
{
    static const char *const names[RANKS_MOST * 2] = {"main", "worker", "main", "worker", "main", "worker"};
    size_t count = (size_t)c->ranks * c->threads;
    recipe_integers(r, file, "/events/thread_ids", H5T_STD_I64LE, c->thread_ids, c->events);
    recipe_group(r, file, "/thread_table");
    recipe_integers(r, file, "/thread_table/ranks", H5T_STD_U32LE, c->thread_ranks, count);
    recipe_integers(r, file, "/thread_table/index", H5T_STD_I64LE, c->thread_index, count);
    recipe_integers(r, file, "/thread_table/ident", H5T_STD_I64LE, c->unknown, count);
    recipe_integers(r, file, "/thread_table/start_ns", H5T_STD_I64LE, c->unknown, count);
    recipe_integers(r, file, "/thread_table/end_ns", H5T_STD_I64LE, c->unknown, count);
    recipe_integers(r, file, "/thread_table/cpu_ns", H5T_STD_I64LE, c->unknown, count);
    recipe_strings(r, file, "/thread_table/name", names, count);
}

/* Columns and groups that only some writers know. */
static void put_optional(struct recipe *r, hid_t file, const struct content *c)
{
    unsigned what = recipe_byte(r);
    if (what < 128)
        return;
    r->twisted = true;
    if (what & 1)
        recipe_integers(r, file, "/events/gpu_durations", H5T_STD_I64LE, c->durations, c->events);
    if (what & 2)
        recipe_integers(r, file, "/events/task_ids", H5T_STD_I64LE, c->call_ids, c->events);
    if (what & 4)
        recipe_integers(r, file, "/events/await_ns", H5T_STD_I64LE, c->call_ids, c->events);
    if (what & 8) {
        recipe_group(r, file, "/task_table");
        recipe_integers(r, file, "/task_table/ranks", H5T_STD_U32LE, c->rank, c->rows);
        recipe_integers(r, file, "/task_table/index", H5T_STD_I64LE, c->region_ids, c->rows);
        recipe_strings(r, file, "/task_table/name", region_names, c->regions);
    }
    if (what & 16) {
        recipe_group(r, file, "/rank0");
        recipe_group(r, file, "/rank0/likwid");
        recipe_integers(r, file, "/rank0/likwid/values", H5T_STD_I64LE, c->call_ids, c->events);
        recipe_group(r, file, "/rank0/likwid/deeper");
        recipe_strings(r, file, "/rank0/likwid/deeper/names", region_names, c->regions);
        recipe_group(r, file, recipe_byte(r) & 1 ? "/rank0000000000000000000000" : "/rank0/perf_events");
    }
    if (what & 32)
        recipe_strings(r, file, "/events/event_metadata", region_names, c->regions);
}

static void put_columnar(struct recipe *r, hid_t file, const struct content *c, bool deltas)
{
    put_index(r, file, c, false);
    recipe_group(r, file, "/events");
    recipe_integers(r, file, deltas ? "/events/start_deltas" : "/events/start_times", H5T_STD_I64LE,
                    deltas ? c->deltas : c->starts, c->events);
    recipe_integers(r, file, deltas ? "/events/durations" : "/events/end_times", H5T_STD_I64LE,
                    deltas ? c->durations : c->ends, c->events);
    if (recipe_byte(r) & 1) {
        recipe_integers(r, file, "/events/call_ids", H5T_STD_I64LE, c->call_ids, c->events);
        recipe_integers(r, file, "/events/parent_ids", H5T_STD_I64LE, c->parent_ids, c->events);
    }
    if (c->threads)
        put_threads(r, file, c);
    put_optional(r, file, c);
}

/* Schema 1: a group a region below its rank's. */
static void put_groups(struct recipe *r, hid_t file, const struct content *c)
{
    char path[128], column[160];
    for (unsigned rank = 0; rank < c->ranks; rank++) {
        snprintf(path, sizeof path, "/rank%u", rank);
        recipe_group(r, file, path);
        snprintf(path, sizeof path, "/rank%u/regions", rank);
        recipe_group(r, file, path);
        for (unsigned region = 0; region < c->regions; region++) {
            char odd[16];
            size_t first = (size_t)c->offsets[rank * c->regions + region];
            const char *name = recipe_text(r, region == 2 ? "write" : region_names[region], odd);
            snprintf(path, sizeof path, "/rank%u/regions/%s", rank, name);
            recipe_group(r, file, path);
            hid_t made = H5Oopen(file, path, H5P_DEFAULT);
            if (made < 0)
                continue;
            recipe_text_attribute(r, made, "source_file", "main.c", false);
            recipe_number_attribute(r, made, "source_lineno", 12);
            recipe_text_attribute(r, made, "source_text", "x = 1", false);
            recipe_text_attribute(r, made, "tags", "[]", recipe_byte(r) & 1);
            H5Oclose(made);
            snprintf(column, sizeof column, "%s/start_times", path);
            recipe_integers(r, file, column, H5T_STD_I64LE, c->starts + first, c->calls);
            snprintf(column, sizeof column, "%s/end_times", path);
            recipe_integers(r, file, column, H5T_STD_I64LE, c->ends + first, c->calls);
        }
    }
    put_optional(r, file, c);
}

static void put_profile(struct recipe *r, hid_t file)
{
    static struct content c;
    unsigned layout = recipe_byte(r) % 4;
    fill_content(&c, r);
    if (layout != 3) /* no attribute: schema 1 */
        recipe_number_attribute(r, file, "scope_profiler_schema", layout == 1 ? 3 : 2);
    else if (recipe_byte(r) & 1)
        recipe_number_attribute(r, file, "scope_profiler_schema", 1);
    if (layout != 3)
        recipe_text_attribute(r, file, "storage_layout", layout == 2 ? "aggregate" : "columnar", false);
    put_metadata(r, file, &c);
    if (layout == 2)
        put_index(r, file, &c, true);
    else if (layout == 3)
        put_groups(r, file, &c);
    else
        put_columnar(r, file, &c, layout == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "fuzz.h5";
    struct recipe recipe = {.data = data, .left = size};
    unsigned variant = recipe_byte(&recipe);
    sp__h5_lock();
    hid_t plist = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(plist, H5F_CLOSE_STRONG);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, plist);
    put_profile(&recipe, file);
    H5Fclose(file);
    H5Pclose(plist);
    sp__h5_unlock();
    fuzz_read(path, variant, recipe.twisted ? 0 : FUZZ_SOUND);
    return 0;
}
