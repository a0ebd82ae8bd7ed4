/* NAME and WAITS: a plug-in whose one static function is called NAME. With WAITS its constructor waits for a thread
 * that calls functions nobody has called yet, while the dynamic loader's lock is held. */
#include <pthread.h>
#include <stddef.h>

void run(void);

static volatile int sink;

static void NAME(void)
{
    sink++;
}

void run(void)
{
    for (int i = 0; i < 10; i++)
        NAME();
}

#ifdef WAITS
static void *thread(void *unused)
{
    NAME();
    return unused;
}

__attribute__((constructor, no_instrument_function)) static void wait_for_thread(void)
{
    pthread_t id;
    if (pthread_create(&id, NULL, thread, NULL) == 0)
        pthread_join(id, NULL);
}
#endif
