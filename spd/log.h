/* log.h: what spd says on stderr: "spd: <level>: object: action: cause; remedy", one write(2) a line, from any thread.
 */
#ifndef SPD_LOG_H
#define SPD_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG, LOG_LEVELS };

/* "error", "warning", "info" or "debug". 0 or -EINVAL. */
int log_level_parse(const char *text, enum log_level *ret);
const char *log_level_name(enum log_level level);
void log_set_level(enum log_level level);

__attribute__((format(printf, 2, 3))) void log_say(enum log_level level, const char *format, ...);

/* A condition that lasts: true when it was not there before, so that it is said once. */
bool log_begins(bool *state);
/* True when it was there before: said once that it is over. */
bool log_ends(bool *state);

#endif
