/* peers_tp.h: two tracepoints of LTTng-UST, whose macros read this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sp_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./peers_tp.h"

#if !defined(BENCH_PEERS_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEERS_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(sp_bench, begin, LTTNG_UST_TP_ARGS(int, region),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, region, region)))
LTTNG_UST_TRACEPOINT_EVENT(sp_bench, end, LTTNG_UST_TP_ARGS(int, region),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, region, region)))

#endif

#include <lttng/tracepoint-event.h>
