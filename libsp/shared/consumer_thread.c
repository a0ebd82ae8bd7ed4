/* consumer_thread.c: what /proc knows of a thread that lives on: the name that it has now, the CPU time that it has used.
 * Its ring says both only when it ends, and asking it for more would cost it something. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumer.h"
#include "names.h"

/* What /proc/<pid>/task/<native_id>/<what> holds, without its newline, NUL-terminated. */
static bool read_line(uint32_t pid, uint32_t native_id, const char *what, char *ret, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, native_id, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t length = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    ret[length] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return true;
}

/* A pid of another namespace is somebody else's here. */
static bool is_known_here(const struct sp__identity *identity)
{
    return identity->pid_space != 0 && identity->pid_space == sp__pid_space();
}

int sp__consumer_send_thread(struct sp__consumer *c, uint32_t lane, uint64_t now)
{
    const struct sp__identity *identity = &c->segment.identity;
    uint64_t owner = atomic_load_explicit(&c->segment.lanes[lane].owner, memory_order_relaxed);
    struct sp__thread_entry entry = {.number = (uint32_t)owner};
    char text[64];
    if (!owner || !is_known_here(identity))
        return 0;
    if (!read_line(identity->pid, (uint32_t)(owner >> 32), "schedstat", text, sizeof text)) /* ns on a processor, ... */
        return 0;
    entry.cpu_ns = strtoull(text, NULL, 10);
    if (!read_line(identity->pid, (uint32_t)(owner >> 32), "comm", text, sizeof text))
        return 0;
    memcpy(entry.name, text, strnlen(text, sizeof entry.name - 1));
    return sp__consumer_append(c, SP__FRAME_THREAD, lane, now, 1, &entry, sizeof entry);
}
