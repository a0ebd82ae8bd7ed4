/* units.h: figures for people. Each writes into `buffer` and returns it. */
#ifndef SPCTL_UNITS_H
#define SPCTL_UNITS_H

#include <stdint.h>

typedef char units_buffer[32];

const char *units_time(int64_t ns, units_buffer buffer);  /* "870 ns", "12.3 ms", "4.56 s", "1234 s" */
const char *units_age(int64_t ns, units_buffer buffer);   /* "12.3 s", "45 min", "7 h", "12 d"; negative: "-" */
const char *units_bytes(uint64_t n, units_buffer buffer); /* "512 B", "12.3 MiB" */

#endif
