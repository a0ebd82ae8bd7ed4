/* host MODE PLUGIN PREFIX: loads an instrumented plug-in, uses it in two threads, unloads it while one of them lives,
 * and loads it again. MODE "end": the plug-in finalizes; "leave": nobody does. Prints what it did; ends with 0. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVES = 3, CALLS = 1000 };

static pthread_barrier_t used, unloaded;

static void *find(void *plugin, const char *name)
{
    void *function = dlsym(plugin, name);
    if (!function) {
        fprintf(stderr, "host: %s\n", dlerror());
        exit(2);
    }
    return function;
}

static void run(void *plugin, int calls)
{
    void (*function)(int);
    void *found = find(plugin, "plugin_run");
    memcpy(&function, &found, sizeof function);
    function(calls);
}

static int start(void *plugin, const char *prefix)
{
    int (*function)(const char *);
    void *found = find(plugin, "plugin_start");
    memcpy(&function, &found, sizeof function);
    return function(prefix);
}

static int end(void *plugin)
{
    int (*function)(void);
    void *found = find(plugin, "plugin_end");
    memcpy(&function, &found, sizeof function);
    return function();
}

/* Its lane is given back when it ends: after the plug-in is gone. */
static void *thread(void *plugin)
{
    run(plugin, CALLS);
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4 || pthread_barrier_init(&used, NULL, 2) || pthread_barrier_init(&unloaded, NULL, 2))
        return 2;
    for (int life = 0; life < LIVES; life++) {
        pthread_t other;
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "host: %s\n", dlerror());
            return 2;
        }
        if (life == 0 && start(plugin, argv[3]))
            return 2;
        run(plugin, CALLS);
        if (pthread_create(&other, NULL, thread, plugin))
            return 2;
        pthread_barrier_wait(&used);
        int status = life + 1 == LIVES && strcmp(argv[1], "end") == 0 ? end(plugin) : 0;
        dlclose(plugin);
        pthread_barrier_wait(&unloaded);
        pthread_join(other, NULL);
        if (status)
            return 1;
    }
    printf("made %d\n", 2 * LIVES * CALLS);
    return 0;
}
