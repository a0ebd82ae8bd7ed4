#include "inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "names.h"
#include "say.h"
#include "sessions.h"

static const char forced[] = "session:";

struct collecting {
    sp_inputs *inputs;
    const char *data_dir; /* NULL: there is none */
    struct bad_inputs *bad;
};

__attribute__((format(printf, 2, 3))) static void say_bad(struct bad_inputs *bad, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("%s%s", bad->skip ? "skipped: " : "", text);
    if (bad->list)
        json_push(bad->list, json_text(text));
}

static void bad_file(void *context, const sp_error *error)
{
    say_bad(context, "%s", error->text);
}

static bool session_exists(const char *data_dir, const char *name)
{
    char session[128];
    return data_dir && sp__session_valid(name) && session_resolve(data_dir, name, session) > 0;
}

/* The same as far as a look at the data folder tells, without opening a spool of it. */
static bool session_has_folder(const char *data_dir, const char *name)
{
    size_t length = strlen(name);
    bool found = false;
    DIR *folder = data_dir && sp__session_valid(name) ? opendir(data_dir) : NULL;
    for (const struct dirent *entry; folder && !found && (entry = readdir(folder));)
        found = strncmp(entry->d_name, name, length) == 0 && (!entry->d_name[length] || entry->d_name[length] == '@');
    if (folder)
        closedir(folder);
    return found;
}

static bool add_session(const struct collecting *c, const char *name, bool only_session, json_t *taken)
{
    sp_error error = {0};
    sp_session_settings settings = sp_session_settings_default();
    settings.data_dir = c->data_dir;
    settings.session = name;
    settings.live = true;
    settings.recover = true;
    bool valid = sp__session_valid(name);
    int status = valid ? sp_inputs_add_session(c->inputs, &settings, &error) : SP_ERR_NOT_FOUND;
    if (status < 0) {
        if (!valid && only_session)
            say_bad(c->bad, "%s is not a session's name: 1 to 64 of A-Z a-z 0-9 . _ - @, not starting with . or -",
                    name);
        else if (status == SP_ERR_NOT_FOUND && !only_session)
            say_bad(c->bad,
                    "%s: there is no such file or folder here and no such session in %s; \"spctl list\" shows the "
                    "sessions",
                    name, c->data_dir);
        else
            bad_file(c->bad, &error);
        return false;
    }
    const char *meant = sp_inputs_session(c->inputs);
    meant = meant ? meant : name;
    if (strcmp(meant, name) != 0)
        say("%s: the newest launch is taken, session %s", name, meant);
    json_put(taken, "session", json_text(meant));
    return true;
}

static bool add_path(const struct collecting *c, const char *path, json_t *taken)
{
    sp_error error = {0};
    bool name = !strchr(path, '/');
    int status = sp_inputs_add_path(c->inputs, path, &error);
    /* Without a data folder it could write to, a program spools to a folder of that name where it ran. */
    if (name && status == SP_ERR_NOT_FOUND && session_exists(c->data_dir, path))
        return add_session(c, path, true, taken);
    if (name && session_has_folder(c->data_dir, path))
        say("%s is a file or folder here and a session too: the file or folder is taken; %s%s names the session", path,
            forced, path);
    if (status < 0) {
        bad_file(c->bad, &error);
        return false;
    }
    json_put(taken, "path", json_text(path));
    return true;
}

static bool add_one(const struct collecting *c, const char *input, json_t *taken)
{
    struct stat info;
    if (c->data_dir && strncmp(input, forced, sizeof forced - 1) == 0)
        return add_session(c, input + sizeof forced - 1, true, taken);
    bool path = strchr(input, '/') || lstat(input, &info) == 0 || errno != ENOENT;
    if (!path && !c->data_dir) {
        say_bad(c->bad, "%s: no such file here, and there is no data folder to look for a session; give --data-dir",
                input);
        return false;
    }
    return path ? add_path(c, input, taken) : add_session(c, input, false, taken);
}

void inputs_collect(sp_inputs *inputs, const struct arguments *arguments, struct bad_inputs *bad, json_t *ret_taken)
{
    char folder[SP__PATH_SIZE];
    const char *data_dir = sp__data_dir(arguments->data_dir, folder, sizeof folder) == 0 ? folder : NULL;
    const struct collecting c = {.inputs = inputs, .data_dir = data_dir, .bad = bad};
    sp_inputs_on_bad(inputs, bad_file, bad);
    for (size_t i = 0; i < arguments->count; ++i) {
        json_t *taken = need(json_object());
        json_put(taken, "input", json_text(arguments->operands[i]));
        bad->nothing += !add_one(&c, arguments->operands[i], taken);
        if (ret_taken)
            json_push(ret_taken, taken);
        else
            json_decref(taken);
    }
}
