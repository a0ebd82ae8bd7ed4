/* plugin.c: an instrumented plug-in, which a program that knows nothing of the library loads and unloads. Records also
 * when it is loaded and unloaded, and leaves an atexit handler's and a destructor's calls to whoever comes last. */
#include <scope_profiler.h>
#include <stdlib.h>

SP_API int plugin_start(const char *prefix);
SP_API void plugin_run(int calls);
SP_API int plugin_end(void);

static void call(const char *name)
{
    int region = sp_region(name);
    sp_begin(region);
    sp_end(region);
}

int plugin_start(const char *prefix)
{
    return sp_init(prefix, 0);
}

void plugin_run(int calls)
{
    int region = sp_region("run");
    for (int i = 0; i < calls; i++) {
        sp_begin(region);
        sp_end(region);
    }
}

int plugin_end(void)
{
    int status = sp_finalize();
    call("after the end");
    return status;
}

__attribute__((constructor)) static void loaded(void)
{
    call("loaded");
}

__attribute__((destructor)) static void unloaded(void)
{
    call("unloaded");
}
