/* h5_schemas.c: profiles of schema 1 (a group a region) and 3 (times as deltas), the groups of ranks, and what opening
 * must not do: read events, keep files open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "h5_put.h"

static char folder[64], path[128];

static hid_t begin(int64_t schema)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    if (schema)
        put_number(file, "scope_profiler_schema", H5T_STD_U8LE, schema);
    return file;
}

static sp_inputs *open_good(void)
{
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    if (sp_inputs_add_path(inputs, path, &error))
        fail_msg("%s", error.text);
    return inputs;
}

static void expect_refusal(const char *words, const char *place)
{
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp_inputs_add_path(inputs, path, &error), SP_ERR_CORRUPT_PROFILE);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    assert_string_equal(error.place, place);
    sp_inputs_destroy(inputs);
}

struct findings {
    unsigned count;
    char place[256], text[1024];
};

static void found(void *context, const char *place, const char *text)
{
    struct findings *f = context;
    f->count++;
    snprintf(f->place, sizeof f->place, "%s", place);
    snprintf(f->text, sizeof f->text, "%s", text);
}

/* What a check says of the file. */
static struct findings check(const char *format)
{
    struct findings f = {0};
    sp_check_result result;
    sp_error error = {0};
    if (sp_check_file(path, found, &f, &result, &error))
        fail_msg("%s", error.text);
    assert_int_equal(f.count, result.findings);
    assert_string_equal(result.format, format);
    return f;
}

static void expect_sound(const char *format)
{
    struct findings f = check(format);
    if (f.count)
        fail_msg("%s: %s", f.place, f.text);
}

static void expect_finding(const char *format, const char *words, const char *place)
{
    struct findings f = check(format);
    assert_true(f.count > 0);
    if (!strstr(f.text, words))
        fail_msg("\"%s\" does not say \"%s\"", f.text, words);
    assert_string_equal(f.place, place);
}

/* ---- schema 3 ------------------------------------------------------------------------------------------------------ */

enum { CALLS = 5000, BEFORE = 3 };

/* Two rows of one rank: three calls, then CALLS. */
static void put_rows(hid_t file)
{
    const int64_t ids[] = {1, 0}, ranks[] = {4, 4}, offsets[] = {0, BEFORE}, counts[] = {BEFORE, CALLS};
    put(file, "/rank_region_index/region_ids", H5T_STD_U32LE, ids, 2);
    put(file, "/rank_region_index/ranks", H5T_STD_U32LE, ranks, 2);
    put(file, "/rank_region_index/event_offsets", H5T_STD_U64LE, offsets, 2);
    put(file, "/rank_region_index/event_counts", H5T_STD_U64LE, counts, 2);
    put_texts(file, "/region_table/names", "main  step  ", 6, 2);
}

struct deltas {
    int64_t gap[BEFORE + CALLS], duration[BEFORE + CALLS];
};

static struct deltas *some_deltas(void)
{
    struct deltas *d = malloc(sizeof *d);
    assert_non_null(d);
    for (int64_t i = 0; i < BEFORE + CALLS; i++) {
        d->gap[i] = i % 4 ? i % 97 : 0;
        d->duration[i] = i % 5 ? 3 : 0;
    }
    d->gap[0] = 1000;
    d->gap[BEFORE] = 2000000000;
    return d;
}

static void put_deltas(hid_t file, const struct deltas *d, hid_t gaps, hid_t durations, hid_t plist)
{
    put_rows(file);
    put_packed(file, "/events/start_deltas", gaps, d->gap, BEFORE + CALLS, plist);
    put_packed(file, "/events/durations", durations, d->duration, BEFORE + CALLS, plist);
}

static void expect_slice(struct sp__source *source, const int64_t *starts, const int64_t *durations, uint64_t first,
                         size_t count)
{
    static int64_t start[CALLS], end[CALLS];
    const struct sp__calls calls = {.start = start, .end = end};
    sp_error error = {0};
    if (source->read(source, 1, first, count, &calls, &error))
        fail_msg("%s", error.text);
    assert_memory_equal(start, starts + first, count * sizeof *start);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(end[i], starts[first + i] + durations[first + i]);
}

/* In sequence, some steps back, far back, far ahead, from a file that was closed in between. */
static void deltas_added_up_from_the_wrong_call(void **state)
{
    (void)state;
    struct deltas *d = some_deltas();
    static int64_t starts[CALLS];
    for (size_t i = 0; i < CALLS; i++)
        starts[i] = d->gap[BEFORE + i] + (i ? starts[i - 1] : 0);
    const int64_t *durations = d->duration + BEFORE;
    const hid_t types[][2] = {{H5T_STD_U32LE, H5T_STD_I8BE}, {H5T_STD_I64BE, H5T_STD_U64LE}};
    for (size_t kind = 0; kind < 2; kind++) {
        /* The number does not decide, the dataset does. */
        hid_t file = begin(kind ? 3 : 2), plist = packed_in(512);
        put_deltas(file, d, types[kind][0], types[kind][1], kind ? plist : H5P_DEFAULT);
        H5Pclose(plist);
        H5Fclose(file);
        sp_inputs *inputs = open_good();
        assert_int_equal(inputs->count, 1);
        struct sp__source *source = inputs->sources[0];
        assert_int_equal(source->unsupported_count, 0);
        assert_int_equal(source->rows[1].calls, CALLS);
        for (uint64_t at = 0; at < CALLS; at += 499)
            expect_slice(source, starts, durations, at, CALLS - at < 500 ? CALLS - at : 500);
        uint64_t random = 88172645463325252ULL;
        for (unsigned i = 0; i < 400; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t count = (size_t)(random >> 20) % 300;
            expect_slice(source, starts, durations, random % (CALLS - count), count);
            if (i % 50 == 0)
                source->rest(source);
        }
        expect_slice(source, starts, durations, CALLS - 1, 1);
        expect_slice(source, starts, durations, 0, CALLS);
        sp_inputs_destroy(inputs);
        expect_sound(kind ? "HDF5 schema 3" : "HDF5 schema 2");
    }
    free(d);
}

/* A bad delta far before the slice is met by whoever gets there by adding up. */
static void impossible_delta_believed(void **state)
{
    (void)state;
    const struct {
        bool gap;
        int64_t value;
        const char *words;
    } faults[] = {{true, -1, "do not ascend"},
                  {true, INT64_MAX - 5, "fit into 64 bits"},
                  {false, -1, "before its start"},
                  {false, INT64_MAX - 5, "fit into 64 bits"}};
    for (size_t i = 0; i < 4; i++) {
        struct deltas *d = some_deltas();
        const size_t bad = 2500;
        *(faults[i].gap ? &d->gap[BEFORE + bad] : &d->duration[BEFORE + bad]) = faults[i].value;
        hid_t file = begin(3);
        put_deltas(file, d, H5T_STD_I64LE, H5T_STD_I64LE, H5P_DEFAULT);
        H5Fclose(file);
        free(d);
        sp_inputs *inputs = open_good();
        struct sp__source *source = inputs->sources[0];
        static int64_t start[CALLS], end[CALLS];
        const struct sp__calls calls = {.start = start, .end = end};
        sp_error error = {0};
        assert_int_equal(source->read(source, 1, 0, bad, &calls, NULL), 0);
        assert_int_equal(source->read(source, 1, bad - 10, 20, &calls, &error), SP_ERR_CORRUPT_PROFILE);
        assert_non_null(strstr(error.text, faults[i].words));
        assert_string_equal(error.place,
                            faults[i].gap ? "/events/start_deltas row 2503" : "/events/durations row 2503");
        if (faults[i].gap)
            assert_int_equal(source->read(source, 1, bad + 20, 5, &calls, NULL), SP_ERR_CORRUPT_PROFILE);
        sp_inputs_destroy(inputs);
        expect_finding("HDF5 schema 3", faults[i].words, error.place);
    }
}

static void durations_missing_or_short(void **state)
{
    (void)state;
    struct deltas *d = some_deltas();
    hid_t file = begin(3);
    put_rows(file);
    put(file, "/events/start_deltas", H5T_STD_I64LE, d->gap, BEFORE + CALLS);
    H5Fclose(file);
    expect_refusal("durations missing", "/events/durations");
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    put(file, "/events/durations", H5T_STD_I64LE, d->duration, CALLS);
    H5Fclose(file);
    expect_refusal("length", "/events/durations");
    free(d);
}

/* ---- schema 1 ------------------------------------------------------------------------------------------------------ */

static const int64_t starts[] = {10, 20, 30}, ends[] = {11, 22, 33};

static void put_region(hid_t file, const char *group, size_t calls, hid_t stored, hid_t plist)
{
    char name[256];
    snprintf(name, sizeof name, "%s/start_times", group);
    put_packed(file, name, stored, starts, calls, plist);
    snprintf(name, sizeof name, "%s/end_times", group);
    put_packed(file, name, stored, ends, calls, plist);
}

static void make_group(hid_t file, const char *name)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), plist = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_link_creation_order(plist, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    hid_t group = H5Gcreate2(file, name, links, plist, H5P_DEFAULT);
    assert_true(group >= 0);
    H5Gclose(group);
    H5Pclose(plist);
    H5Pclose(links);
}

static void put_attributes(hid_t file, const char *name)
{
    hid_t object = H5Oopen(file, name, H5P_DEFAULT), text = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    hsize_t two = 2;
    hid_t list = H5Screate_simple(1, &two, NULL), attribute;
    H5Tset_size(text, 7);
    H5Tset_strpad(text, H5T_STR_NULLPAD);
    attribute = H5Acreate2(object, "source_file", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, text, "a.py\0\0\0") >= 0);
    H5Aclose(attribute);
    attribute = H5Acreate2(object, "tags", text, list, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, text, "io\0\0\0\0\0a\"b\0\0\0\0") >= 0);
    H5Aclose(attribute);
    put_number(object, "source_lineno", H5T_STD_U16BE, 42);
    put_number(object, "colour", H5T_STD_U16BE, 3);
    H5Sclose(list);
    H5Sclose(scalar);
    H5Tclose(text);
    H5Oclose(object);
}

static bool has(char **texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(texts[i], text))
            return true;
    return false;
}

static void regions_or_groups_lost(void **state)
{
    (void)state;
    hid_t file = begin(0), plist = packed_in(2);
    make_group(file, "/rank2/regions");
    put_region(file, "/rank2/regions/zeta", 3, H5T_STD_U8LE, plist);
    put_region(file, "/rank2/regions/I/O: write", 2, H5T_STD_I32BE, H5P_DEFAULT);
    put_region(file, "/rank2/regions/alpha", 0, H5T_STD_I64LE, H5P_DEFAULT);
    put_region(file, "/rank2/regions/zeta/inner", 1, H5T_STD_I64LE, H5P_DEFAULT);
    put(file, "/rank2/regions/zeta/gpu_durations", H5T_STD_I64LE, starts, 3);
    put_attributes(file, "/rank2/regions/zeta");
    put(file, "/rank2/likwid/group0/counts", H5T_STD_I64LE, starts, 3);
    put(file, "/rank10/perf_events", H5T_STD_I64LE, starts, 3);
    put(file, "/rank10x/odd", H5T_STD_I64LE, starts, 3);
    put(file, "/other", H5T_STD_I64LE, starts, 3);
    H5Pclose(plist);
    H5Fclose(file);

    sp_inputs *inputs = open_good();
    assert_int_equal(inputs->count, 2);
    struct sp__source *source = inputs->sources[0];
    const char *const names[] = {"zeta", "zeta/inner", "I/O: write", "alpha"};
    const uint64_t calls[] = {3, 1, 2, 0};
    assert_int_equal(source->rank, 2);
    assert_int_equal(source->row_count, 4);
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < 4; i++) {
            int64_t start[3], end[3];
            const struct sp__calls to = {.start = start, .end = end};
            assert_string_equal(source->rows[i].name, names[i]);
            assert_int_equal(source->rows[i].calls, calls[i]);
            assert_false(source->rows[i].summarized);
            for (size_t first = 0; first < calls[i]; first++) {
                assert_int_equal(source->read(source, i, first, (size_t)calls[i] - first, &to, NULL), 0);
                assert_memory_equal(start, starts + first, (calls[i] - first) * 8);
                assert_memory_equal(end, ends + first, (calls[i] - first) * 8);
            }
            if (pass)
                source->rest(source);
        }
    assert_string_equal(source->rows[0].file, "a.py");
    assert_int_equal(source->rows[0].line, 42);
    assert_string_equal(source->rows[0].tags, "[\"io\",\"a\\\"b\"]");
    assert_string_equal(source->rows[2].tags, "[]");
    assert_int_equal(source->rows[2].line, -1);
    assert_int_equal(source->group_count, 1);
    assert_string_equal(source->groups[0], "/rank2/likwid");
    assert_int_equal(source->unsupported_count, 4);
    assert_true(has(source->unsupported, 4, "/rank2/regions/zeta/gpu_durations"));
    assert_true(has(source->unsupported, 4, "/rank2/regions/zeta attribute colour"));
    assert_true(has(source->unsupported, 4, "/rank10x"));
    assert_true(has(source->unsupported, 4, "/other"));
    assert_int_equal(inputs->sources[1]->rank, 10);
    assert_int_equal(inputs->sources[1]->row_count, 0);
    assert_string_equal(inputs->sources[1]->groups[0], "/rank10/perf_events");
    sp_inputs_destroy(inputs);
    expect_sound("HDF5 schema 1");
}

/* More regions than are kept open, read in turns, and their ids. */
static void regions_in_turn_mixed_up(void **state)
{
    (void)state;
    enum { REGIONS = 11 };
    char name[128];
    hid_t file = begin(1);
    for (int64_t i = 0; i < REGIONS; i++) {
        const int64_t ids[] = {3 * i, 3 * i + 1, 3 * i + 2}, parents[] = {-1, 3 * i, -1};
        snprintf(name, sizeof name, "/rank0/regions/r%02d", (int)i);
        put_region(file, name, 3, H5T_STD_I64LE, H5P_DEFAULT);
        snprintf(name, sizeof name, "/rank0/regions/r%02d/call_ids", (int)i);
        put(file, name, H5T_STD_I64LE, ids, 3);
        snprintf(name, sizeof name, "/rank0/regions/r%02d/parent_ids", (int)i);
        put(file, name, H5T_STD_I64LE, parents, 3);
    }
    H5Fclose(file);
    sp_inputs *inputs = open_good();
    struct sp__source *source = inputs->sources[0];
    assert_true(source->ids);
    for (uint64_t call = 0; call < 3; call++)
        for (size_t i = 0; i < REGIONS; i++) {
            int64_t start, end, id, parent;
            const struct sp__calls to = {.start = &start, .end = &end, .call = &id, .parent = &parent};
            assert_int_equal(source->read(source, i, call, 1, &to, NULL), 0);
            assert_int_equal(start, starts[call]);
            assert_int_equal(id, 3 * i + call);
            assert_int_equal(parent, call == 1 ? (int64_t)(3 * i) : -1);
        }
    sp_inputs_destroy(inputs);
}

static void damaged_region_taken(void **state)
{
    (void)state;
    hid_t file = begin(0);
    put(file, "/rank0/regions/a/start_times", H5T_STD_I64LE, starts, 3);
    H5Fclose(file);
    expect_refusal("end_times missing", "/rank0/regions/a/end_times");
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    put(file, "/rank0/regions/a/end_times", H5T_STD_I64LE, ends, 2);
    H5Fclose(file);
    expect_refusal("length", "/rank0/regions/a/end_times");
    file = begin(0);
    make_group(file, "/rank0/regions/empty");
    H5Fclose(file);
    expect_refusal("start_times missing", "/rank0/regions/empty/start_times");
    file = begin(0);
    put_region(file, "/rank7/regions/a", 3, H5T_STD_I64LE, H5P_DEFAULT);
    put_region(file, "/rank07/regions/a", 3, H5T_STD_I64LE, H5P_DEFAULT);
    H5Fclose(file);
    expect_refusal("rank 7 stands twice", "/rank7");
    file = begin(0);
    put(file, "/some/thing", H5T_STD_I64LE, starts, 3);
    H5Fclose(file);
    expect_refusal("not a profile", "/");
    const int64_t backwards[] = {10, 30, 20};
    file = begin(0);
    put(file, "/rank0/regions/a/b/start_times", H5T_STD_I64LE, backwards, 3);
    put(file, "/rank0/regions/a/b/end_times", H5T_STD_I64LE, ends, 3);
    H5Fclose(file);
    expect_finding("HDF5 schema 1", "do not ascend", "/rank0/regions/a/b/start_times row 2");
}

/* HDF5 goes down by recursion, and a group costs a file little. */
static void nesting_followed_till_the_stack_ends(void **state)
{
    (void)state;
    hid_t file = begin(0), plist = H5Pcreate(H5P_FILE_ACCESS);
    make_group(file, "/rank0/regions");
    hid_t at = H5Gopen2(file, "/rank0/regions", H5P_DEFAULT);
    for (int i = 0; i < 3000; i++) {
        hid_t below = H5Gcreate2(at, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(at);
        at = below;
    }
    H5Gclose(at);
    H5Pclose(plist);
    H5Fclose(file);
    expect_refusal("nested deeper", "/rank0");
}

/* ---- every schema -------------------------------------------------------------------------------------------------- */

static void rank_groups_lost(void **state)
{
    (void)state;
    hid_t file = begin(2);
    struct deltas *d = some_deltas();
    put_rows(file);
    put(file, "/events/start_times", H5T_STD_I64LE, d->gap, BEFORE + CALLS);
    put(file, "/events/end_times", H5T_STD_I64LE, d->gap, BEFORE + CALLS);
    free(d);
    put(file, "/rank4/likwid/x", H5T_STD_I64LE, starts, 3);
    put(file, "/rank4/line_profile", H5T_STD_I64LE, starts, 3);
    put(file, "/rank4/regions/a", H5T_STD_I64LE, starts, 3);
    put(file, "/rank5/likwid/x", H5T_STD_I64LE, starts, 3);
    put(file, "/rank99999999999/x", H5T_STD_I64LE, starts, 3);
    make_group(file, "/rank6");
    assert_true(H5Lcreate_soft("/rank4/likwid", file, "/rank4/same", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_external("/etc/passwd", "/", file, "/rank8", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    sp_inputs *inputs = open_good();
    assert_int_equal(inputs->count, 2);
    struct sp__source *source = inputs->sources[0];
    assert_int_equal(source->group_count, 2);
    assert_string_equal(source->groups[0], "/rank4/likwid");
    assert_string_equal(source->groups[1], "/rank4/line_profile");
    assert_int_equal(source->unsupported_count, 4);
    assert_true(has(source->unsupported, 4, "/rank4/regions"));
    assert_true(has(source->unsupported, 4, "/rank4/same (a link)"));
    assert_true(has(source->unsupported, 4, "/rank99999999999"));
    assert_true(has(source->unsupported, 4, "/rank8"));
    assert_int_equal(inputs->sources[1]->rank, 5);
    assert_int_equal(inputs->sources[1]->row_count, 0);
    assert_int_equal(inputs->sources[1]->group_count, 1);
    sp_inputs_destroy(inputs);
}

/* One packed chunk of what no filter unpacks: whoever reads it fails. */
static void put_unreadable(hid_t file, const char *name, hsize_t count)
{
    hid_t plist = packed_in(count);
    hsize_t none = 0;
    put_packed(file, name, H5T_STD_I64LE, NULL, count, plist);
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &none, 7, "garbage") >= 0);
    H5Dclose(set);
    H5Pclose(plist);
}

static void events_read_to_open(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"/rank4/regions/a/start_times", "/rank4/regions/a/end_times"},
                                           {"/events/start_times", "/events/end_times"},
                                           {"/events/start_deltas", "/events/durations"}};
    for (int schema = 1; schema <= 3; schema++) {
        hid_t file = begin(schema);
        put_unreadable(file, names[schema - 1][0], BEFORE + CALLS);
        put_unreadable(file, names[schema - 1][1], BEFORE + CALLS);
        if (schema > 1)
            put_rows(file);
        H5Fclose(file);
        sp_inputs *inputs = open_good();
        int64_t start, end;
        const struct sp__calls to = {.start = &start, .end = &end};
        struct sp__source *source = inputs->sources[0];
        assert_true(source->rows[0].calls >= BEFORE);
        assert_int_equal(source->read(source, 0, 0, 1, &to, NULL), SP_ERR_CORRUPT_PROFILE);
        sp_inputs_destroy(inputs);
    }
}

static void files_left_open(void **state)
{
    (void)state;
    sp_inputs *inputs = NULL;
    char copies[100][64], command[256];
    hid_t file = begin(0);
    put_region(file, "/rank0/regions/a", 3, H5T_STD_I64LE, H5P_DEFAULT);
    H5Fclose(file);
    for (int i = 0; i < 100; i++) {
        snprintf(copies[i], sizeof copies[i], "%s/copy%d.h5", folder, i);
        snprintf(command, sizeof command, "cp %s %s", path, copies[i]);
        assert_int_equal(system(command), 0);
    }
    struct rlimit limit, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 24;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int status = 0;
    sp_error error = {0};
    for (int i = 0; !status && i < 100; i++)
        status = sp_inputs_add_path(inputs, copies[i], &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (status)
        fail_msg("%s", error.text);
    assert_int_equal(inputs->count, 100);
    for (int i = 0; i < 100; i++)
        unlink(copies[i]);
    sp_inputs_destroy(inputs);
}

/* A chunk of 16 MiB that would be unpacked anew for every slice. */
static void large_chunk_unpacked_again_and_again(void **state)
{
    (void)state;
    const hsize_t calls = 2 << 20;
    const int64_t id = 0, rank = 0, offset = 0, count = (int64_t)calls;
    hid_t file = begin(3), plist = packed_in(calls);
    int64_t *values = malloc(calls * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < calls; i++)
        values[i] = 1;
    put_packed(file, "/events/start_deltas", H5T_STD_I64LE, values, calls, plist);
    put_packed(file, "/events/durations", H5T_STD_I64LE, values, calls, plist);
    free(values);
    put(file, "/rank_region_index/region_ids", H5T_STD_U32LE, &id, 1);
    put(file, "/rank_region_index/ranks", H5T_STD_U32LE, &rank, 1);
    put(file, "/rank_region_index/event_offsets", H5T_STD_U64LE, &offset, 1);
    put(file, "/rank_region_index/event_counts", H5T_STD_U64LE, &count, 1);
    put_texts(file, "/region_table/names", "main", 4, 1);
    H5Pclose(plist);
    H5Fclose(file);
    expect_sound("HDF5 schema 3"); /* within the time that its size allows */
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sp-h5-schemas-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/profile.h5", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_added_up_from_the_wrong_call),
        cmocka_unit_test(impossible_delta_believed),
        cmocka_unit_test(durations_missing_or_short),
        cmocka_unit_test(regions_or_groups_lost),
        cmocka_unit_test(regions_in_turn_mixed_up),
        cmocka_unit_test(damaged_region_taken),
        cmocka_unit_test(nesting_followed_till_the_stack_ends),
        cmocka_unit_test(rank_groups_lost),
        cmocka_unit_test(events_read_to_open),
        cmocka_unit_test(files_left_open),
        cmocka_unit_test(large_chunk_unpacked_again_and_again),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
