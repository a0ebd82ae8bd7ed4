/* scope_profiler.h of programs without any call, to compare with: as much of the API as they use, and all of it empty. */
#ifndef SCOPE_PROFILER_H
#define SCOPE_PROFILER_H

#define SP_RANK_AUTO              (-1)
#define SP_REGION_AT(name)        0
#define sp_init(prefix, rank)     0
#define sp_begin(region)          ((void)(region))
#define sp_end(region)            ((void)(region))
#define sp_finalize()             0
#define sp_output_path()          ""
#define sp_default_profiler()     0
#define sp_profiler_last_error(p) 0
#define sp_error_string(status)   ""

#endif
