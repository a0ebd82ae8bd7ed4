/* recover.c: saving what a damaged file still holds. Each format says what that is; here the file is opened, what is lost
 * told, and the output published whole or not at all. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/durable.h"
#include "file_id.h"
#include "format.h"
#include "recover.h"

void sp__recovery_lost(struct sp__recovery *recovery, uint64_t at, const char *text, ...)
{
    char place[32], words[1024];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(words, sizeof words, text, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "byte %" PRIu64, at);
    recovery->losses++;
    if (recovery->lost)
        recovery->lost(recovery->context, place, words);
}

void sp__recovery_progress(const struct sp__recovery *recovery, uint64_t at)
{
    if (recovery->settings->progress && recovery->size)
        recovery->settings->progress(recovery->settings->progress_context, (double)at / (double)recovery->size);
}

int sp__recovery_failed(const struct sp__recovery *recovery, int code, const char *text)
{
    return sp__fail(recovery->error, SP_ERR_SYSTEM, -code, recovery->broken, NULL, "%s", text);
}

static bool is_trace(const char *output)
{
    size_t length = strlen(output), suffix = strlen(SP_TRACE_SUFFIX);
    return length > suffix && !strcmp(output + length - suffix, SP_TRACE_SUFFIX);
}

static int apart(const struct sp__recovery *recovery, const char *output)
{
    struct stat from, to;
    if (lstat(output, &to) == 0 && S_ISLNK(to.st_mode))
        return sp__fail(recovery->error, SP_ERR_USAGE, 0, output, NULL,
                        "is a symbolic link and is not replaced: name the file itself, or another output");
    if (stat(output, &to) || fstat(recovery->fd, &from))
        return 0;
    if (!S_ISREG(to.st_mode))
        return sp__fail(recovery->error, SP_ERR_USAGE, 0, output, NULL,
                        "is no regular file and is not replaced: name another output");
    if (from.st_dev == to.st_dev && from.st_ino == to.st_ino)
        return sp__fail(recovery->error, SP_ERR_USAGE, 0, output, NULL,
                        "is the damaged file itself, which stays as it is: name another output");
    return 0;
}

/* Warnings name what was read, which is not what the user named where it is a scratch file. */
struct renaming {
    const sp_write_settings *settings;
    const char *scratch, *broken;
};

static void warn_renamed(void *context, const char *text)
{
    const struct renaming *renaming = context;
    const char *at = strstr(text, renaming->scratch);
    char words[1024];
    if (at)
        snprintf(words, sizeof words, "%.*s%s%s", (int)(at - text), text, renaming->broken,
                 at + strlen(renaming->scratch));
    if (renaming->settings->warn)
        renaming->settings->warn(renaming->settings->warn_context, at ? words : text);
}

static int write_profile(struct sp__recovery *recovery, sp_inputs *inputs, const char *scratch, const char *output)
{
    sp_write_settings settings = *recovery->settings;
    struct renaming renaming = {recovery->settings, scratch, recovery->broken};
    sp_write_report report;
    settings.warn = warn_renamed;
    settings.warn_context = &renaming;
    settings.format = is_trace(output) ? SP_FILE_TRACE : SP_FILE_HDF5;
    int status = sp_inputs_write(inputs, output, &settings, &report, recovery->error);
    if (!status) {
        recovery->report.regions = report.regions;
        recovery->report.calls = report.calls;
    }
    return status;
}

static int trace_to_trace(struct sp__recovery *recovery, const char *output)
{
    struct sp__durable file;
    int rc = sp__durable_begin(&file, output, 0600);
    if (rc < 0)
        return sp__fail(recovery->error, SP_ERR_SYSTEM, -rc, output, NULL, "cannot be written");
    int status = sp__recover_trace(recovery, file.fd);
    if (status) {
        sp__durable_abandon(&file);
        return status;
    }
    rc = sp__durable_commit(&file);
    return rc < 0 ? sp__fail(recovery->error, SP_ERR_SYSTEM, -rc, output, NULL, "cannot be written") : 0;
}

/* By way of a sound trace without a name beside the output. */
static int trace_to_profile(struct sp__recovery *recovery, sp_inputs *inputs, const char *output, const char *folder)
{
    char scratch[32];
    int fd = sp__unnamed_file(folder);
    if (fd < 0)
        return sp__fail(recovery->error, SP_ERR_SYSTEM, -fd, output, NULL, "cannot be written");
    snprintf(scratch, sizeof scratch, "/proc/self/fd/%d", fd);
    int status = sp__recover_trace(recovery, fd);
    if (!status)
        status = sp__open_trace(inputs, scratch, recovery->error);
    if (!status)
        status = write_profile(recovery, inputs, scratch, output);
    close(fd);
    return status;
}

static int recover(struct sp__recovery *recovery, const struct sp__file_type *type, const char *output)
{
    char folder[SP__PATH_SIZE];
    const char *slash = strrchr(output, '/');
    sp_inputs *inputs;
    snprintf(folder, sizeof folder, "%.*s",
             slash == output ? 1
             : slash         ? (int)(slash - output)
                             : 1,
             slash ? output : ".");
    if (type->check == sp__check_trace && is_trace(output))
        return trace_to_trace(recovery, output);
    int status = sp_inputs_create(&inputs, recovery->error);
    if (status)
        return status;
    if (type->check == sp__check_trace)
        status = trace_to_profile(recovery, inputs, output, folder);
    else if (!(status = sp__recover_spool(recovery, inputs, folder)))
        status = write_profile(recovery, inputs, recovery->broken, output);
    sp_inputs_destroy(inputs);
    return status;
}

int sp_recover(const char *broken, const char *output, const sp_write_settings *settings,
               void (*lost)(void *context, const char *place, const char *text), void *context,
               sp_recover_report *ret_report, sp_error *error)
{
    sp_write_settings defaults = sp_write_settings_default();
    struct sp__recovery recovery = {.broken = broken,
                                    .settings = settings ? settings : &defaults,
                                    .lost = lost,
                                    .context = context,
                                    .error = error};
    const struct sp__file_type *type = NULL;
    struct sp__file_id id;
    int status = sp__file_type_of(&type, broken, error);
    if (status == SP_ERR_CORRUPT_PROFILE)
        return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, broken, "byte 0",
                        "nothing can be saved: it is neither a trace nor a spool");
    if (status)
        return status;
    if (type->check == sp__check_h5)
        return sp__fail(
            error, SP_ERR_USAGE, 0, broken, NULL,
            "is an HDF5 profile, of which nothing is recovered: \"spctl check\" says what is wrong with it, "
            "and \"spctl merge --skip-bad\" does without it; recover the trace or spool that it was made of");
    status = sp__file_open(&recovery.fd, &id, NULL, broken, error);
    if (status)
        return status;
    recovery.size = id.size;
    status = apart(&recovery, output);
    if (!status)
        status = recover(&recovery, type, output);
    close(recovery.fd);
    if (!status && ret_report)
        *ret_report = recovery.report;
    return status;
}
