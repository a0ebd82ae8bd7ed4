/* note.h: "<stem>.note" in the session's data folder: a line of JSON that says where an incarnation was published and
 * what a .spt has no place for. It has its name before the profile is renamed to its place; a final one is on the disk
 * then. Written here (libsp has libc alone); read by the reading library. */
#ifndef SP__NOTE_H
#define SP__NOTE_H

#include <stdbool.h>

#include "recording.h"

/* {"version":1,"session":...,"prefix":...,"rank":N,"incarnation":"<32 hex>","hostname":...,"pid":N,"uid":N,
 *  "boot_id":...,"clock":"tsc"|"monotonic","language":"c"|"fortran","part":N,
 *  "file":"<absolute
 * path>","format":"spt"|"h5"|"merged"|"spool","final":bool,"ended":bool,"died":bool,"calls":N,"threads":N,
 *  "dropped":N,"waited_ns":N,"mended":N,"unmatched":N,"too_deep":N,"lost_no_lane":N,"gaps":N,"bad_bytes":N,
 *  "clock_error_ns":N,"birth_mono_ns":N,"birth_realtime_ns":N,"end_mono_ns":N,
 *  "deaths":["rank 3 on host (pid 41) died after 12.3 s"],
 *  "open_calls":["rank 3 thread 0: outer > inner, 12.3 s"],
 *  "last":[[lane,one past the last sequence],...]}
 * final: no later publication of this incarnation will come.
 * spool: statistics without events, and no spd was there to publish them; never final, so that the spool stays. */
int sp__note_write(const char *path, const struct sp__recording *recording, const char *file, const char *format,
                   bool final);

/* The "open_calls" strings, one per thread with open calls; also what metadata sp_open_calls holds. Writes at most
 * `size` bytes of the text for open-call group `n` (0, 1, ...). 1 written, 0 there is no such group. */
int sp__open_call_text(const struct sp__recording *recording, size_t n, char *ret, size_t size);
int sp__death_text(const struct sp__recording *recording, char *ret, size_t size); /* 1, or 0 when it did not die */

#endif
