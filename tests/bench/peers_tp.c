/* peers_tp.c: LTTng-UST's side of the two tracepoints. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peers_tp.h"
