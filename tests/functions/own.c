/* An instrumented program that uses the library itself, from the middle of main on: what was recorded before is
 * published, what comes later goes where its own regions go. */
#include <scope_profiler.h>

static void before(void)
{
}

static void work(void)
{
}

static int region;

/* Began under another profiler: its end is none of a call that has its number now. */
static void start(void)
{
    if (sp_init("own", 0) != 0)
        return;
    for (const char *name = "abcdefgh"; *name; name++)
        region = sp_region((char[]){*name, '\0'});
    for (int other = 0; other <= region; other++)
        sp_begin(other);
}

/* So is this one's, once a function has been recorded by the new one. */
static void around(void)
{
    start();
    work();
}

int main(void)
{
    before();
    around();
    for (int i = 0; i < 4; i++)
        work();
    for (; region >= 0; region--)
        sp_end(region);
    return sp_finalize();
}
