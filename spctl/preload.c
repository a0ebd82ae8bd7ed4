#include "preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "env.h"
#include "layout.h"
#include "say.h"

/* The folder that this program lies in. */
static bool own_folder(char ret[SP__PATH_SIZE])
{
    ssize_t length = readlink("/proc/self/exe", ret, SP__PATH_SIZE - 1);
    if (length < 0)
        return false;
    ret[length] = '\0';
    char *slash = strrchr(ret, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

bool preload_add(const char *library, const char *folder, char *list, size_t size)
{
    char own[SP__PATH_SIZE], places[2][2 * SP__PATH_SIZE];
    if (!own_folder(own)) {
        say("cannot tell where this program is: %s", strerror(errno));
        return false;
    }
    if (*SP_INSTALL_LIB == '/')
        snprintf(places[0], sizeof places[0], "%s/%s", SP_INSTALL_LIB, library);
    else
        snprintf(places[0], sizeof places[0], "%s/../%s/%s", own, SP_INSTALL_LIB, library);
    snprintf(places[1], sizeof places[1], "%s/../%s/%s", own, folder, library);
    char *path = realpath(places[0], NULL);
    if (!path)
        path = realpath(places[1], NULL);
    if (!path) {
        say("there is no %s: %s; build and install that part, or run the spctl that was installed with it", library,
            places[0]);
        return false;
    }
    size_t used = strlen(list);
    bool nameable = !strpbrk(path, ": \t\n");
    bool fits = nameable && (size_t)snprintf(list + used, size - used, "%s%s", used ? ":" : "", path) < size - used;
    if (!fits)
        say("%s cannot be preloaded: %s; install it in another folder", path,
            nameable ? strerror(ENAMETOOLONG) : "the dynamic loader takes no path with a blank or a colon");
    free(path);
    return fits;
}

int preload_set(const char *list)
{
    const char *before = sp__env_preload();
    char *joined = NULL;
    if (!*list)
        return 0;
    if (asprintf(&joined, "%s%s%s", list, before ? ":" : "", before ? before : "") < 0)
        return -ENOMEM;
    int status = setenv("LD_PRELOAD", joined, 1) == 0 ? 0 : -errno;
    free(joined);
    return status;
}
