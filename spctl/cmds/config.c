#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say.h"
#include "scope_profiler.h"
#include "verbs.h"

static bool include_dir, cflags, libs, fortran_source, fortran_mod_dir, version;

/* Where something was installed, below the folder that holds the folder of this program, wherever that is by now; the
 * build says where an absolute folder was chosen. False after a line. */
static bool installed(const char *folder, const char *file, char ret[SP__PATH_SIZE])
{
    char program[SP__PATH_SIZE], path[2 * SP__PATH_SIZE + 8], *real;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        say("cannot tell where this program is: %s", strerror(errno));
        return false;
    }
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = '\0';
    if (*folder == '/')
        snprintf(path, sizeof path, "%s/%s", folder, file);
    else
        snprintf(path, sizeof path, "%s/../%s/%s", program, folder, file);
    real = realpath(path, NULL);
    if (!real) {
        say("%s is not installed with this program (%s/spctl): %s: %s; run an installed spctl, or install that part",
            file, program, path, strerror(errno));
        return false;
    }
    /* The link's own folder: the library's name is a link within it. */
    slash = strrchr(path, '/');
    *slash = '\0';
    free(real);
    real = realpath(path, NULL);
    bool fits = real && strlen(real) < SP__PATH_SIZE;
    snprintf(ret, SP__PATH_SIZE, "%s", fits ? real : "");
    free(real);
    if (!fits)
        say("%s cannot be told: %s", path, strerror(errno ? errno : ENAMETOOLONG));
    return fits;
}

static bool print_libs(void)
{
    char folder[SP__PATH_SIZE];
    if (!installed(SP_INSTALL_LIB, "libsp.so", folder))
        return false;
    printf("-L%s -Wl,-rpath,%s -lsp\n", folder, folder);
    return true;
}

static bool print_folder(const char *before, const char *folder, const char *file, const char *after)
{
    char path[SP__PATH_SIZE];
    if (!installed(folder, file, path))
        return false;
    printf("%s%s%s\n", before, path, after);
    return true;
}

static int run(const struct arguments *arguments)
{
    bool good = true;
    (void)arguments;
    if (!(include_dir || cflags || libs || fortran_source || fortran_mod_dir || version)) {
        say("say what is wanted, --cflags --libs for example; see \"spctl config --help\"");
        return END_USAGE;
    }
    if (include_dir)
        good &= print_folder("", SP_INSTALL_INCLUDE, "scope_profiler.h", "");
    if (cflags)
        good &= print_folder("-I", SP_INSTALL_INCLUDE, "scope_profiler.h", "");
    if (libs)
        good &= print_libs();
    if (fortran_source)
        good &= print_folder("", SP_INSTALL_FORTRAN, "scope_profiler.f90", "/scope_profiler.f90");
    if (fortran_mod_dir)
        good &= print_folder("", SP_INSTALL_INCLUDE, "scope_profiler.mod", "");
    if (version)
        puts(SP_VERSION);
    return good ? END_DONE : END_FAILED;
}

static const struct option options[] = {
    {0, "include-dir", NULL, "the folder of scope_profiler.h", &include_dir},
    {0, "cflags", NULL, "what compiles a C or C++ program", &cflags},
    {0, "libs", NULL, "what links a program to libsp", &libs},
    {0, "fortran-source", NULL, "the Fortran module's source", &fortran_source},
    {0, "fortran-mod-dir", NULL, "the folder of scope_profiler.mod", &fortran_mod_dir},
    {0, "version", NULL, "the version", &version},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_config = {
    .name = "config",
    .operands = "",
    .summary = "say where headers, libraries and the Fortran module are",
    .about =
        "Prints where the pieces are that were installed with this program, one line for each option, in the order\n"
        "of the list below:\n\n"
        "  cc $(spctl config --cflags) work.c $(spctl config --libs)\n"
        "  gfortran $(spctl config --fortran-source) work.f90 $(spctl config --libs)\n"
        "  gfortran -I$(spctl config --fortran-mod-dir) work.f90 -lsp_fortran $(spctl config --libs)",
    .options = options,
    .most = 0,
    .run = run,
};
