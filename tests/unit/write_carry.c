/* What stands beside the calls goes along with them or is named: groups, texts, metadata. */
#include <hdf5.h>

#include "write_util.h"

static bool warned_of(const char *word, const char *other)
{
    for (unsigned i = 0; i < warned; i++)
        if (strstr(warnings[i], word) && strstr(warnings[i], other))
            return true;
    return false;
}

/* ---- groups -------------------------------------------------------------------------------------------------------
 */

static void make_donor(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t likwid = H5Gcreate2(file, "/rank3/likwid", links, H5P_DEFAULT, H5P_DEFAULT);
    hid_t deeper = H5Gcreate2(likwid, "MEM", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t outside = H5Gcreate2(file, "/rank3/outside", links, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t length = 3;
    double values[] = {1.5, 2.5, 3.5};
    hid_t space = H5Screate_simple(1, &length, NULL), plan = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set = H5Dcreate2(deeper, "counts", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    hid_t one = H5Screate(H5S_SCALAR),
          attribute = H5Acreate2(likwid, "flags", H5T_NATIVE_DOUBLE, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, values);
    H5Pset_external(plan, "/etc/passwd", 0, 24);
    hid_t foreign = H5Dcreate2(outside, "passwd", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    assert_true(foreign >= 0 && attribute >= 0 && set >= 0);
    H5Lcreate_soft("/rank3/likwid", file, "/rank3/soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/", file, "/rank3/external", H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(foreign);
    H5Aclose(attribute);
    H5Sclose(one);
    H5Dclose(set);
    H5Pclose(plan);
    H5Sclose(space);
    H5Gclose(outside);
    H5Gclose(deeper);
    H5Gclose(likwid);
    H5Pclose(links);
    H5Fclose(file);
}

static struct sp__source *with_groups(const char *path, uint32_t rank, char **groups, size_t count)
{
    struct sp__source *source = heat(rank, 1, 5);
    source->path = path;
    source->groups = groups;
    source->group_count = count;
    return source;
}

static void groups_are_carried_over_or_named(void **state)
{
    (void)state;
    char likwid[] = "/rank3/likwid", outside[] = "/rank3/outside", soft[] = "/rank3/soft",
         external[] = "/rank3/external", gone[] = "/rank4/gone";
    char *of_three[] = {likwid, outside, soft, external}, *of_four[] = {likwid, gone}, *of_five[] = {gone};
    const char *donor = at("donor.h5"), *output = at("carried.h5"), *missing = at("missing.h5");
    make_donor(donor);
    struct sp__source *sources[] = {with_groups(donor, 3, of_three, 4), with_groups(donor, 4, of_four, 2),
                                    with_groups(missing, 5, of_five, 1)};
    sp_inputs *inputs = of(sources, 3);
    write_as(inputs, output, 2, 0);
    assert_int_equal(warned, 6);
    assert_true(warned_of("/rank3/outside", "other files") && warned_of("/rank3/soft", "link"));
    assert_true(warned_of("/rank3/external", "link") && warned_of("/rank3/likwid", "another input"));
    assert_true(warned_of("donor.h5: /rank4/gone", "left out") && warned_of("missing.h5: /rank4/gone", "left out"));

    hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "/rank3/likwid/MEM/counts", H5P_DEFAULT);
    double values[3] = {0};
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    assert_true(values[0] == 1.5 && values[2] == 3.5);
    assert_true(H5Aexists_by_name(file, "/rank3/likwid", "flags", H5P_DEFAULT) > 0);
    assert_true(H5Lexists(file, "/rank3/outside", H5P_DEFAULT) == 0);
    assert_true(H5Lexists(file, "/rank3/soft", H5P_DEFAULT) == 0);
    H5Dclose(set);
    H5Fclose(file);
    sp_inputs_destroy(inputs);

    sp_inputs *back = opened(output); /* and again, as a reader of files finds them */
    write_as(back, at("carried-on.h5"), 3, 1);
    assert_int_equal(warned, 0);
    file = H5Fopen(at("carried-on.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(H5Lexists(file, "/rank3/likwid/MEM/counts", H5P_DEFAULT) > 0);
    H5Fclose(file);
    sp_inputs_destroy(back);
}

static void what_a_trace_has_no_place_for_is_named(void **state)
{
    (void)state;
    char likwid[] = "/rank3/likwid", death[] = "rank 3 died", call[] = "rank 3 thread 0: main, 1.0 s";
    char *groups[] = {likwid}, *deaths[] = {death}, *open_calls[] = {call};
    struct sp__source *source = with_groups("memory", 3, groups, 1);
    source->rows[1].text = "while (step())";
    source->rows[2].tags = "[\"mpi\"]";
    source->rows[3].line = (int64_t)INT32_MAX + 1;
    source->deaths = deaths;
    source->open_calls = open_calls;
    source->death_count = source->open_call_count = 1;
    sp_inputs *inputs = of(&source, 1);
    sp_write_settings settings = sp_write_settings_default();
    settings.format = SP_FILE_TRACE;
    settings.warn = note_warning;
    warned = 0;
    assert_int_equal(sp_inputs_write(inputs, at("poor.spt"), &settings, NULL, NULL), 0);
    assert_true(warned_of("memory: /rank3/likwid", "no place"));
    assert_true(warned_of("source texts", "tags") && warned_of("deaths", "open calls"));
    assert_true(warned_of("poor.spt", "2147483647"));
    sp_inputs_destroy(inputs);
}

/* ---- metadata -----------------------------------------------------------------------------------------------------
 */

static struct sp__attribute text_attribute(const char *name, char **texts, size_t count, bool list)
{
    return (struct sp__attribute){.name = (char *)(uintptr_t)name, .texts = texts, .text_count = count, .list = list};
}

static void metadata_are(const sp_inputs *inputs, const char *key, const char *expected)
{
    sp_results *results;
    assert_int_equal(sp_results_load(&results, (sp_inputs *)(uintptr_t)inputs, false, NULL), 0);
    const char *text = sp_results_metadata(results, key);
    if (!expected)
        assert_null(text);
    else
        assert_string_equal(text ? text : "(none)", expected);
    sp_results_destroy(results);
}

static void one_input_keeps_what_is_known_of_its_clocks(void **state)
{
    (void)state;
    char aligned[] = "anchors: error at most 800 ns", a[] = "node1", b[] = "node2", note[] = "a note";
    char *alignment[] = {aligned}, *hosts[] = {a, b}, *notes[] = {note};
    struct sp__attribute attributes[] = {
        text_attribute("sp_clock_alignment", alignment, 1, false),
        text_attribute("sp_hosts", hosts, 2, true),
        text_attribute("remark", notes, 1, false),
        {.name = (char *)(uintptr_t) "sp_clock_error_ns", .number = true, .value = 800}};
    struct sp__source *sources[] = {heat(0, 1, 3), heat(1, 1, 3)};
    sources[0]->attributes = attributes;
    sources[0]->attribute_count = 4;
    sp_inputs *inputs = of(sources, 2);
    write_as(inputs, at("kept.h5"), 2, 0);
    sp_inputs *back = opened(at("kept.h5"));
    metadata_are(back, "sp_clock_alignment", aligned);
    metadata_are(back, "sp_hosts", "node1\nnode2");
    metadata_are(back, "sp_clock_error_ns", "800");
    metadata_are(back, "remark", "a note");
    metadata_are(back, "label", "kept");
    sp_inputs_destroy(back);

    struct sp__source *more[] = {heat(0, 1, 3), heat(1, 1, 3)}; /* beside another file its hosts are still two */
    more[0]->attributes = attributes;
    more[0]->attribute_count = 4;
    more[1]->path = "other";
    sp_inputs *two = of(more, 2);
    write_as(two, at("two.h5"), 2, 0);
    assert_int_equal(warned, 1);
    back = opened(at("two.h5"));
    metadata_are(back, "sp_clock_alignment", "none: node1 and node2 keep clocks of their own");
    metadata_are(back, "sp_hosts", "node1\nnode2");
    sp_inputs_destroy(back);
    sp_inputs_destroy(two);
    sp_inputs_destroy(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_carried_over_or_named),
        cmocka_unit_test(what_a_trace_has_no_place_for_is_named),
        cmocka_unit_test(one_input_keeps_what_is_known_of_its_clocks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
