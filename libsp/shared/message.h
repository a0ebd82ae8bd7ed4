/* message.h: what libsp says on the program's stderr: at most one line per process and cause. */
#ifndef SP__MESSAGE_H
#define SP__MESSAGE_H

enum sp__cause {
    SP__SAY_ENVIRONMENT,
    SP__SAY_SHM,
    SP__SAY_RANK_IN_USE,
    SP__SAY_RING,
    SP__SAY_LANES,
    SP__SAY_SPOOL,
    SP__SAY_PUBLISH,
    SP__SAY_NOTE,
    SP__SAY_HDF5,
    SP__SAY_THREADS,
    SP__SAY_STATS,
    SP__SAY_LATE,
    SP__SAY_FUNCTIONS,
    SP__SAY_FILTER,
    SP__SAY_STATUS, /* of a binding: and as many after it as sp_status has numbers */
    SP__SAY_STATUS_LAST = SP__SAY_STATUS + 20,
    SP__SAY_CAUSES /* how many */
};

/* "scope_profiler: <text>\n" in one write(2) of at most 1,024 bytes; nothing after the first for a cause. Leaves errno
 * alone. Async-signal-safe with glibc, whose vsnprintf of plain strings and integers takes neither locks nor memory. */
__attribute__((format(printf, 2, 3))) void sp__say(enum sp__cause cause, const char *format, ...);

/* What errno says, untranslated and never NULL: strerror may take locks and memory, also in a signal handler. */
const char *sp__error_text(int error);

/* Children of a fork may speak anew. */
void sp__say_reset(void);

#endif
