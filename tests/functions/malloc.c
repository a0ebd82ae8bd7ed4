/* A program with a malloc of its own, which is instrumented, too: it is called before main, and by the library. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char pool[1 << 24];
static size_t used;
static volatile int sink;

void *malloc(size_t size)
{
    size_t all = (size + 31) / 16 * 16, at = __atomic_fetch_add(&used, all, __ATOMIC_RELAXED);
    memcpy(pool + at, &size, sizeof size);
    return pool + at + 16;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* still zero */
}

void *realloc(void *old, size_t size)
{
    char *new = malloc(size);
    size_t had = 0;
    if (old)
        memcpy(&had, (char *)old - 16, sizeof had);
    return old ? memcpy(new, old, had < size ? had : size) : new;
}

void free(void *memory)
{
    (void)memory;
}

static void work(void)
{
    sink++;
}

static void *thread(void *argument)
{
    free(malloc(1));
    work();
    return argument;
}

__attribute__((constructor)) static void early(void)
{
    free(malloc(1));
}

int main(void)
{
    pthread_t other;
    work();
    if (pthread_create(&other, NULL, thread, NULL) != 0 || pthread_join(other, NULL) != 0)
        return 1;
    work();
    return 0;
}
