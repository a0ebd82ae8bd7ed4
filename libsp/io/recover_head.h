/* recover_head.h: between recover_head.c and recover_trace.c. */
#ifndef SP__RECOVER_HEAD_H
#define SP__RECOVER_HEAD_H

#include "recover.h"

enum { SP__TRACE_HEAD = 24, SP__CALL_BYTES = 16 };
#define SP__CALLS_MOST (INT64_C(1) << 40) /* of a region: no file is that large */

struct sp__torn {
    struct sp__recovery *recovery;
    unsigned version;
    bool swap;
    uint64_t budget; /* bytes that may still be read in search of a region */
};

struct sp__torn_text {
    uint64_t at;
    uint32_t length;
};

struct sp__torn_region {
    struct sp__torn_text name, file;
    int32_t line;
    int64_t said;       /* number of calls, as it stands there */
    uint64_t starts_at; /* and what lies behind it is the calls' own */
    struct sp__columns columns;
};

/* How well a region's head must look: like anything, like text for the better half, like text. */
enum sp__looks { SP__LOOKS_ANYHOW, SP__LOOKS_FAIR, SP__LOOKS_GOOD };

/* What stands where a region's head should: none, the beginning of one that the end of the file cuts off, a whole one. */
enum sp__stands { SP__NO_HEAD, SP__CUT_HEAD, SP__HEAD };

/* The trace's version and byte order, and its numbers as they stand there; where magic or version are damaged, those
 * under which the rest is a whole trace, which is told. *ret_looks: how its regions have to look. */
int sp__torn_version(struct sp__torn *t, int32_t *ret_rank, int64_t *ret_regions, enum sp__looks *ret_looks);

int sp__torn_read(const struct sp__torn *t, uint64_t at, void *ret, size_t size);
int sp__torn_head(const struct sp__torn *t, enum sp__looks looks, uint64_t at, struct sp__torn_region *ret,
                  enum sp__stands *ret_stands);
/* So many calls, or as many of them as have both times before the end of the file. */
struct sp__columns sp__torn_columns(const struct sp__torn *t, const struct sp__torn_region *region, uint64_t calls);
bool sp__torn_fits(const struct sp__torn *t, const struct sp__torn_region *region); /* into the file */
uint64_t sp__torn_end(const struct sp__torn_region *region);                        /* of one that does */

/* The next place from `from` on where a region begins that nothing contradicts; the end of the file where there is none.
 * 1: found; 0; a status. */
int sp__torn_search(struct sp__torn *t, uint64_t from, uint64_t *ret);

#endif
