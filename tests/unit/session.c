/* session.c: a session's ranks, each record once, from wherever it stands at that moment. */
#include "producer.h"

#include <pthread.h>
#include <time.h>

#include "io/inputs.h"
#include "io/source.h"
#include "note.h"
#include "trace.h"

static void start_named(struct producer *p, const char *session, int64_t born)
{
    struct sp__birth birth = {.lanes = 16, .ring = 65536, .format = SP__FORMAT_AUTO};
    uint64_t need = 0;
    identity_make(&birth.identity, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    if (session)
        snprintf(birth.identity.session, sizeof birth.identity.session, "%s", session);
    birth.identity.birth_realtime_ns = born;
    birth.identity.name_hash = sp__name_hash(birth.identity.session, birth.identity.prefix);
    p->identity = birth.identity;
    assert_int_equal(sp__segment_create(&birth, producer_bury, &p->born, &need), 0);
    p->header = (void *)p->born.map;
    p->lanes = (void *)(p->born.map + p->header->lanes_offset);
    producer_lane(p, 0, 1024, 0);
    producer_region(p, "step");
}

static void calls_made(struct producer *p, unsigned first, unsigned count)
{
    uint64_t zero = (uint64_t)p->identity.birth.mono_ns;
    for (unsigned i = first; i < first + count; i++)
        producer_call(p, 0, zero + i * 10, zero + i * 10 + 5, 0);
}

static void drain(struct producer *p)
{
    struct sp__consumer *c = attach(p, "data");
    uint64_t records = 1;
    while (records)
        assert_int_equal(sp__consumer_drain(c, 0, &records), 0);
    sp__consumer_destroy(c);
}

static void data_path(char *ret, size_t size, const struct producer *p, const char *suffix)
{
    char stem[96];
    sp__incarnation_stem(&p->identity, stem);
    snprintf(ret, size, "%s/data/%s/%s%s", test_folder, p->identity.session, stem, suffix);
}

/* Adds the session; the calls of all its sources and those sources, which are the caller's. */
static int load(const char *session, bool live, bool recover, sp_inputs **ret, uint64_t *ret_calls, sp_error *error)
{
    sp_session_settings settings = sp_session_settings_default();
    settings.session = session;
    settings.live = live;
    settings.recover = recover;
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    int status = sp_inputs_add_session(inputs, &settings, error);
    uint64_t calls = 0;
    for (size_t i = 0; i < inputs->count; i++)
        for (size_t row = 0; row < inputs->sources[i]->row_count; row++)
            calls += inputs->sources[i]->rows[row].calls;
    *ret_calls = calls;
    if (ret && !status)
        *ret = inputs;
    else
        sp_inputs_destroy(inputs);
    return status;
}

static bool segment_there(const struct producer *p)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, p->born.name);
    return access(path, F_OK) == 0;
}

/* The spool becomes a published trace and a note, as whoever publishes does it. */
static void publish(struct producer *p, char file[256])
{
    char spool[512], note[512];
    data_path(spool, sizeof spool, p, ".spool");
    data_path(note, sizeof note, p, ".note");
    snprintf(file, 256, "%s/data/%s/prefix_rank00003.spt", test_folder, p->identity.session);
    const char *const spools[] = {spool};
    struct sp__recording *r = open_recording(spools, 1, NULL);
    assert_int_equal(sp__note_write(note, r, file, "spt", true), 0);
    assert_int_equal(sp__trace_write(r, file, true), 0);
    assert_int_equal(unlink(spool), 0);
    sp__recording_destroy(r);
}

static void living_rank_counted_twice_or_cut_short(void **state)
{
    (void)state;
    struct producer p;
    uint64_t calls;
    sp_error error = {0};
    start_named(&p, NULL, 1);
    calls_made(&p, 0, 7);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), 0);
    assert_int_equal(calls, 7);
    drain(&p);
    calls_made(&p, 7, 5);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), 0);
    assert_int_equal(calls, 12);
    assert_int_equal(load(p.identity.session, false, false, NULL, &calls, &error), 0);
    assert_int_equal(calls, 7);
    assert_true(segment_there(&p));
    producer_finish(&p);
}

static void dead_rank_lost_or_left_behind(void **state)
{
    (void)state;
    struct producer p;
    uint64_t calls;
    sp_error error = {0};
    start_named(&p, NULL, 1);
    calls_made(&p, 0, 3);
    drain(&p);
    calls_made(&p, 3, 20);
    producer_open(&p, 0, (uint64_t)p.identity.birth.mono_ns + 1000, 0, 0);
    producer_die(&p);
    sp_inputs *inputs;
    assert_int_equal(load(p.identity.session, true, true, &inputs, &calls, &error), 0);
    assert_int_equal(calls, 23);
    assert_int_equal(inputs->count, 1);
    assert_int_equal(inputs->sources[0]->death_count, 1);
    assert_int_equal(inputs->sources[0]->open_call_count, 1);
    assert_int_equal(inputs->sources[0]->rank, 3);
    assert_string_equal(sp_inputs_session(inputs), p.identity.session);
    sp_inputs_destroy(inputs);
    assert_false(segment_there(&p));
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), 0);
    assert_int_equal(calls, 23);
}

static void published_rank_not_found_or_file_not_named(void **state)
{
    (void)state;
    struct producer p;
    uint64_t calls;
    char file[256];
    sp_error error = {0};
    start_named(&p, NULL, 1);
    calls_made(&p, 0, 9);
    producer_die(&p);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), 0);
    publish(&p, file);
    sp_inputs *inputs;
    assert_int_equal(load(p.identity.session, true, true, &inputs, &calls, &error), 0);
    assert_int_equal(calls, 9);
    assert_true(inputs->sources[0]->nested_alone);
    assert_int_equal(inputs->sources[0]->death_count, 1);
    assert_string_equal(inputs->sources[0]->hostname, "host");
    assert_string_equal(inputs->sources[0]->session, p.identity.session);
    sp_inputs_destroy(inputs);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), SP_ERR_NOT_FOUND);
    assert_string_equal(error.file, file);
}

static void discarded_rank_comes_back(void **state)
{
    (void)state;
    struct producer p;
    uint64_t calls;
    sp_error error = {0};
    start_named(&p, NULL, 1);
    calls_made(&p, 0, 9);
    drain(&p);
    atomic_store(&p.header->state, SP__DISCARDED);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), SP_ERR_NOT_FOUND);
    assert_true(segment_there(&p));
    producer_die(&p);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), SP_ERR_NOT_FOUND);
    assert_false(segment_there(&p));
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, &error), SP_ERR_NOT_FOUND);
}

/* Somebody else is draining a dead rank. */
static void *slow_consumer(void *context)
{
    struct sp__consumer *c = context;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(sp__consumer_mark(c, SP__END_DIED), 0);
    assert_int_equal(sp__segment_unlink(&c->segment), 0);
    sp__consumer_destroy(c);
    return NULL;
}

static void consumer_at_work_not_waited_for(void **state)
{
    (void)state;
    struct producer p;
    uint64_t calls;
    sp_error error = {0};
    pthread_t thread;
    start_named(&p, NULL, 1);
    calls_made(&p, 0, 30);
    struct sp__consumer *c = attach(&p, "data");
    producer_die(&p);
    assert_int_equal(pthread_create(&thread, NULL, slow_consumer, c), 0);
    sp_inputs *inputs;
    assert_int_equal(load(p.identity.session, true, true, &inputs, &calls, &error), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(calls, 30);
    assert_int_equal(inputs->sources[0]->death_count, 1);
    sp_inputs_destroy(inputs);
    assert_false(segment_there(&p));
}

static void prefix_gives_an_older_launch(void **state)
{
    (void)state;
    struct producer old, new;
    uint64_t calls;
    sp_error error = {0};
    char first[64], second[64], prefix[32];
    snprintf(prefix, sizeof prefix, "unit%d", (int)getpid());
    snprintf(first, sizeof first, "%s@zz", prefix);
    snprintf(second, sizeof second, "%s@aa", prefix);
    start_named(&old, first, 1000);
    start_named(&new, second, 2000);
    calls_made(&old, 0, 1);
    calls_made(&new, 0, 2);
    sp_inputs *inputs;
    assert_int_equal(load(prefix, true, true, &inputs, &calls, &error), 0);
    assert_int_equal(calls, 2);
    assert_string_equal(sp_inputs_session(inputs), second);
    sp_inputs_destroy(inputs);
    assert_int_equal(load(first, true, true, NULL, &calls, &error), 0);
    assert_int_equal(calls, 1);
    assert_int_equal(load("unit-nobody", true, true, NULL, &calls, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(load("../data", true, true, NULL, &calls, &error), SP_ERR_USAGE);
    producer_finish(&old);
    producer_finish(&new);
}

static void damaged_spool_stops_the_others(void **state)
{
    (void)state;
    struct producer good, bad;
    uint64_t calls;
    char spool[512];
    sp_error error = {0};
    start_named(&good, NULL, 1);
    calls_made(&good, 0, 4);
    drain(&good);
    bad = good;
    bad.identity.rank = 8;
    data_path(spool, sizeof spool, &bad, ".spool");
    int fd = open(spool, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "no frame at all, only text", 26), 26);
    close(fd);
    sp_inputs *inputs;
    assert_int_equal(load(good.identity.session, true, true, &inputs, &calls, &error), 0);
    assert_int_equal(calls, 4);
    assert_int_equal(inputs->sources[0]->warning_count, 1);
    sp_inputs_destroy(inputs);
    producer_finish(&good);
}

struct seen {
    unsigned count;
    sp_rank_info last;
};

static int see(void *context, const sp_rank_info *info)
{
    struct seen *seen = context;
    seen->count++;
    seen->last = *info;
    return 0;
}

static struct seen listed(const char *session)
{
    struct seen seen = {0};
    sp_error error = {0};
    if (sp_sessions_each(NULL, session, see, &seen, &error))
        fail_msg("%s", error.text);
    return seen;
}

/* Of a segment that its program has left. */
static void set_state(const struct producer *p, uint32_t to)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, p->born.name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &to, sizeof to, offsetof(struct sp__header, state)), sizeof to);
    close(fd);
}

static void state_listed_wrongly(void **state)
{
    (void)state;
    struct producer p;
    char file[256];
    uint64_t calls;
    start_named(&p, NULL, 1700000000000000000);
    calls_made(&p, 0, 6);
    atomic_store(&p.lanes[0].dropped, 1);
    atomic_store(&p.header->lost_no_lane, 2);
    atomic_store(&p.lanes[0].too_deep, 4);
    struct seen s = listed(p.identity.session);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.last.state, SP_RANK_RECORDING);
    assert_int_equal(s.last.undrained, 6);
    assert_int_equal(s.last.dropped, 7);
    assert_int_equal(s.last.rank, 3);
    assert_string_equal(s.last.session, p.identity.session);
    assert_true(s.last.age_ns > 0 && s.last.bytes > 0);
    atomic_store(&p.header->state, SP__PAUSED);
    assert_int_equal(listed(p.identity.session).last.state, SP_RANK_PAUSED);
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(listed(p.identity.session).last.consumed, true);
    sp__consumer_destroy(c);
    producer_die(&p);
    s = listed(p.identity.session);
    assert_int_equal(s.last.state, SP_RANK_DEAD);
    assert_false(s.last.consumed);
    set_state(&p, SP__FINALIZING); /* it ended well, and its consumer is late: no death */
    assert_int_equal(listed(p.identity.session).last.state, SP_RANK_FINALIZING);
    set_state(&p, SP__PAUSED);
    assert_int_equal(load(p.identity.session, true, true, NULL, &calls, NULL), 0);
    s = listed(p.identity.session);
    assert_int_equal(s.last.state, SP_RANK_SPOOLED);
    assert_int_equal(s.last.calls, 6);
    assert_int_equal(s.last.dropped, 7);
    publish(&p, file);
    s = listed(p.identity.session);
    assert_int_equal(s.last.state, SP_RANK_PUBLISHED);
    assert_int_equal(s.last.calls, 6);
    assert_int_equal(s.last.dropped, 7);
    assert_string_equal(s.last.file, file);
    assert_int_equal(s.count, 1);
}

static void foreign_segment_stops_the_list(void **state)
{
    (void)state;
    struct producer p;
    start_named(&p, NULL, 1);
    p.header->abi_major = 99;
    struct seen s = listed(p.identity.session);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.last.state, SP_RANK_UNREADABLE);
    assert_non_null(strstr(s.last.why, "99"));
    assert_string_equal(s.last.session, p.identity.session);
    producer_finish(&p);
}

/* A spool is published and removed while a merge reads on, and its number goes to a file that is made later. */
static void number_of_a_removed_input_taken_for_it(void **state)
{
    char first[128], second[128];
    sp_inputs *inputs;
    bool again;
    (void)state;
    snprintf(first, sizeof first, "%s/first", test_folder);
    snprintf(second, sizeof second, "%s/second", test_folder);
    int fd = open(first, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && close(fd) == 0 && link(first, second) == 0);
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp__inputs_take(inputs, first, 0, &again, NULL), 0);
    assert_int_equal(sp__inputs_take(inputs, second, 1, &again, NULL), 0);
    assert_true(again);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(sp__inputs_take(inputs, second, 1, &again, NULL), 0);
    assert_false(again);
    sp_inputs_destroy(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(living_rank_counted_twice_or_cut_short),
        cmocka_unit_test(dead_rank_lost_or_left_behind),
        cmocka_unit_test(published_rank_not_found_or_file_not_named),
        cmocka_unit_test(discarded_rank_comes_back),
        cmocka_unit_test(consumer_at_work_not_waited_for),
        cmocka_unit_test(prefix_gives_an_older_launch),
        cmocka_unit_test(damaged_spool_stops_the_others),
        cmocka_unit_test(number_of_a_removed_input_taken_for_it),
        cmocka_unit_test(state_listed_wrongly),
        cmocka_unit_test(foreign_segment_stops_the_list),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
