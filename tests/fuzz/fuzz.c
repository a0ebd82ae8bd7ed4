/* fuzz.c: see fuzz.h. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/check.h"

void fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("FUZZ: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void fuzz_save(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd)) {
        perror(path); /* of the machine, not a finding */
        exit(2);
    }
}

/* Status 0, or a failure that is the file's. */
static bool good(const char *action, const char *path, int status, const sp_error *error)
{
    if (!status)
        return true;
    if (status > SP_ERR_TRACE_FORMAT || status < SP_ERR_BUSY || status != error->status)
        fuzz_fail("%s %s: the status %d is none, or is not that of the error, %d", action, path, status, error->status);
    if (status == SP_ERR_SYSTEM || status == SP_ERR_BUSY || status == SP_ERR_NOT_FOUND)
        fuzz_fail("%s %s blames the system for what is in the file: %s", action, path, error->text);
    if (!*error->text || !*error->file)
        fuzz_fail("%s %s fails without words, or without the file's name", action, path);
    return false;
}

struct findings {
    uint64_t count;
    char first[1280];
};

static void found(void *context, const char *place, const char *text)
{
    struct findings *f = context;
    if (!*text)
        fuzz_fail("a finding without words at %s", place);
    if (!f->count++)
        snprintf(f->first, sizeof f->first, "%s: %s", place, text);
}

static bool is_profile(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && !strcmp(path + length - 3, ".h5");
}

/* Profiles are checked in this process, not in a child as sp_check_file does it, so that nothing dies unseen. */
static bool check(const char *path, struct findings *f)
{
    sp_error error = {0};
    sp_check_result result = {0};
    int status;
    *f = (struct findings){0};
    if (is_profile(path)) {
        struct sp__checking checking = {.path = path, .found = found, .context = f, .error = &error};
        status = sp__check_h5_here(&checking);
        result = checking.result;
    } else {
        status = sp_check_file(path, found, f, &result, &error);
    }
    if (!good("checking", path, status, &error)) {
        snprintf(f->first, sizeof f->first, "%s", error.text);
        return false;
    }
    if (f->count < result.findings ? f->count < 1000 : f->count > result.findings)
        fuzz_fail("checking %s tells of %llu findings and counts %llu", path, (unsigned long long)f->count,
                  (unsigned long long)result.findings);
    return !result.findings;
}

static sp_inputs *open_inputs(const char *path, bool sound)
{
    sp_inputs *inputs;
    sp_error error = {0};
    if (sp_inputs_create(&inputs, &error))
        fuzz_fail("no inputs: %s", error.text);
    if (good("opening", path, sp_inputs_add_path(inputs, path, &error), &error))
        return inputs;
    if (sound)
        fuzz_fail("a sound file cannot be opened: %s", error.text);
    sp_inputs_destroy(inputs);
    return NULL;
}

static void load(const char *path, bool sound)
{
    sp_inputs *inputs = open_inputs(path, sound);
    sp_results *results;
    sp_error error = {0};
    if (!inputs)
        return;
    if (good("loading", path, sp_results_load(&results, inputs, true, &error), &error)) {
        for (size_t i = 0; i < sp_results_count(results); i++) {
            sp_result row;
            if (sp_results_row(results, i, &row))
                fuzz_fail("%s: row %zu of %zu cannot be had", path, i, sp_results_count(results));
            if (!row.region || !row.source_file || strlen(row.region) + strlen(row.source_file) > SIZE_MAX / 2)
                fuzz_fail("%s: row %zu has no name", path, i);
        }
        (void)sp_results_metadata(results, "hostname");
        sp_results_destroy(results);
    } else if (sound) {
        fuzz_fail("a sound file cannot be loaded: %s", error.text);
    }
    sp_inputs_destroy(inputs);
}

static void told(void *context, const sp_error *error)
{
    (void)context;
    if (!*error->text)
        fuzz_fail("a bad file is told of without words");
}

static void merge(const char *path, const char *output, const sp_write_settings *settings, bool sound)
{
    sp_inputs *inputs = open_inputs(path, sound);
    sp_write_report report = {0};
    sp_error error = {0};
    struct findings f;
    if (!inputs)
        return;
    if (settings->skip_bad)
        sp_inputs_on_bad(inputs, told, NULL);
    unlink(output);
    int status = sp_inputs_write(inputs, output, settings, &report, &error);
    if (status == SP_ERR_NOT_FOUND && settings->skip_bad && !sound) {
        /* The only input was left out. */
    } else if (good("merging", path, status, &error)) {
        if (!check(output, &f))
            fuzz_fail("%s becomes a profile that is not sound: %s", path, f.first);
    } else if (!access(output, F_OK)) {
        fuzz_fail("%s cannot be merged and leaves an output: %s", path, error.text);
    } else if (sound && status != SP_ERR_USAGE) { /* statistics have no place in a trace */
        fuzz_fail("a sound file cannot be merged: %s", error.text);
    }
    sp_inputs_destroy(inputs);
}

static void lost(void *context, const char *place, const char *text)
{
    (void)context;
    if (!place || !*text)
        fuzz_fail("a loss without words");
}

static void recover(const char *path, const char *output, bool sound)
{
    sp_recover_report report = {0};
    sp_error error = {0};
    struct findings f;
    unlink(output);
    if (good("recovering", path, sp_recover(path, output, NULL, lost, NULL, &report, &error), &error)) {
        if (!check(output, &f))
            fuzz_fail("%s is recovered to a file that is not sound: %s", path, f.first);
        if (sound && (report.lost_calls || report.lost_regions || report.lost_bytes))
            fuzz_fail("%s is sound, and recovering it loses something", path);
    } else if (!access(output, F_OK)) {
        fuzz_fail("%s cannot be recovered and leaves an output: %s", path, error.text);
    } else if (sound && error.status != SP_ERR_USAGE) {
        fuzz_fail("a sound file cannot be recovered: %s", error.text);
    }
}

void fuzz_read(const char *path, unsigned variant, unsigned flags)
{
    struct findings f;
    sp_write_settings settings = sp_write_settings_default();
    bool sound = check(path, &f);
    if (!sound && flags & FUZZ_SOUND)
        fuzz_fail("%s is sound and is not found so: %s", path, f.first);
    if (variant & 64) {
        load(path, sound);
        return;
    }
    if (variant & 128 && flags & FUZZ_RECOVERABLE) {
        recover(path, variant & 32 ? "recovered.h5" : "recovered.spt", sound);
        return;
    }
    settings.nesting = variant & 1;
    settings.schema = variant & 2 ? 3 : 2;
    settings.gzip = variant & 4 ? 1 : 0;
    settings.skip_bad = variant & 8;
    settings.format = variant & 16 ? SP_FILE_TRACE : SP_FILE_HDF5;
    merge(path, variant & 16 ? "out.spt" : "out.h5", &settings, sound);
}
