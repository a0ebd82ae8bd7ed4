/* filter.c: which functions are recorded, by the file that SP_FILTER names. One glob (fnmatch) a line; "!" before it
 * excludes; "#" begins a comment line; blanks around a line don't count. A function is recorded if a glob without "!"
 * matches its name, or there is none of those, and no glob with "!" does. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"
#include "instrument.h"
#include "message.h"

enum { FILE_MOST = 1 << 20 };

struct glob {
    struct glob *next;
    bool excludes;
    char text[];
};

static struct glob *globs;
static bool any_included;

/* What is wrong with a glob, in words; NULL: nothing. */
SP__PLAIN static const char *fault_of(const char *glob, size_t length)
{
    if (strlen(glob) != length)
        return "holds a NUL";
    if (length == 0)
        return "nothing stands after \"!\"";
    if (length > SP_MAX_NAME)
        return "is longer than a name may be";
    for (const char *c = glob; *c; c++) {
        if (*c == '\\' && !*++c)
            return "ends in a backslash";
        if (*c == '[' && !strchr(c + 1, ']'))
            return "has a \"[\" without its \"]\"; write \"\\[\" for the character";
    }
    return NULL;
}

/* Returns what is wrong, NULL where nothing is. */
SP__PLAIN static const char *read_line(char *line, size_t length)
{
    while (length > 0 && strchr(" \t\r\n", line[length - 1]))
        line[--length] = '\0';
    size_t blanks = strspn(line, " \t");
    line += blanks;
    length -= blanks;
    if (length == 0 || *line == '#')
        return NULL;
    bool excludes = *line == '!';
    if (excludes) {
        blanks = 1 + strspn(line + 1, " \t");
        line += blanks;
        length -= blanks;
    }
    const char *fault = fault_of(line, length);
    struct glob *glob = fault ? NULL : malloc(sizeof *glob + length + 1);
    if (!glob)
        return fault ? fault : "there is no memory for it";
    glob->excludes = excludes;
    glob->next = globs;
    memcpy(glob->text, line, length + 1);
    globs = glob;
    any_included = any_included || !excludes;
    return NULL;
}

/* All go into one line on stderr. */
struct faults {
    const char *first;
    int line;
    char others[120]; /* " 4 9 12" */
};

SP__PLAIN static void remember(struct faults *faults, const char *fault, int line)
{
    size_t used = strlen(faults->others);
    if (!faults->first) {
        faults->first = fault;
        faults->line = line;
    } else if (used < sizeof faults->others - 16) {
        (void)snprintf(faults->others + used, sizeof faults->others - used, " %d", line);
    }
}

/* Neither waits, as a FIFO makes a reader do, nor reads without end. What is wrong goes to *ret_fault. */
SP__PLAIN static FILE *open_file(const char *path, const char **ret_fault)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = NULL;
    if (fd < 0 || fstat(fd, &status) != 0)
        *ret_fault = sp__error_text(errno);
    else if (!S_ISREG(status.st_mode))
        *ret_fault = "it is not a regular file: write the globs into one";
    else if (status.st_size > FILE_MOST)
        *ret_fault = "it is larger than 1 MiB: write fewer globs, with \"*\"";
    else if (!(file = fdopen(fd, "r")))
        *ret_fault = sp__error_text(errno);
    if (!file && fd >= 0)
        close(fd);
    return file;
}

SP__PLAIN void sp__filter_read(void)
{
    char path[SP__PATH_SIZE];
    int error = sp__filter_file(path, sizeof path);
    if (error == -ENOENT)
        return;
    const char *fault = error ? sp__error_text(-error) : NULL;
    FILE *file = error ? NULL : open_file(path, &fault);
    if (!file) {
        sp__say(SP__SAY_FILTER, "SP_FILTER: %.900s cannot be read: %s; all functions are recorded", path, fault);
        return;
    }
    struct faults faults = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    for (int number = 1; (length = getline(&line, &room, file)) >= 0; number++) {
        fault = read_line(line, (size_t)length);
        if (fault)
            remember(&faults, fault, number);
    }
    if (ferror(file))
        sp__say(SP__SAY_FILTER, "SP_FILTER: %.900s cannot be read to its end: %s", path, sp__error_text(errno));
    else if (faults.first)
        sp__say(SP__SAY_FILTER, "%.700s, line %d: %s; ignored%s%s%s", path, faults.line, faults.first,
                faults.others[0] ? ", and so are the faulty lines" : "", faults.others,
                globs ? "" : "; no glob is left: all functions are recorded");
    free(line);
    fclose(file);
}

SP__PLAIN bool sp__filter_takes(const char *name)
{
    bool included = !any_included;
    for (const struct glob *glob = globs; glob; glob = glob->next) {
        if ((glob->excludes || !included) && fnmatch(glob->text, name, 0) == 0) {
            if (glob->excludes)
                return false;
            included = true;
        }
    }
    return included;
}
