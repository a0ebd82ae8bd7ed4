/* env.h: everything that the environment says, read in one place. A program with raised privileges (AT_SECURE) is
 * treated as if no variable were set. */
#ifndef SP__ENV_H
#define SP__ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum sp__rank_source { SP__RANK_NONE, SP__RANK_NUMBER, SP__RANK_NEXT_FREE };

struct sp__env {
    char session[SP__SESSION_SIZE]; /* SP_SESSION, "" unset */
    int session_error;              /* -EINVAL: SP_SESSION is not a session name; session holds its beginning */
    enum sp__rank_source rank_source;
    int rank;      /* SP_RANK, else what MPI or Slurm set; see DESIGN words "rank" */
    bool disable;  /* SP_DISABLE=1 */
    uint32_t mode; /* enum sp__mode */
    uint32_t ring; /* records, a power of two */
    uint64_t full_wait_us;
    bool fork_follow;
    int clock; /* -1 choose; else enum sp__clock */
    char group[64];
    char data_dir[SP__PATH_SIZE];    /* SP_DATA_DIR, "" unset */
    char runtime_dir[SP__PATH_SIZE]; /* SP_RUNTIME_DIR, "" unset */
    char complaint[256];             /* the first value that was not understood, in words; "" none */
};

/* Reads the environment afresh. Never fails: what is not understood keeps its default and is named in complaint. */
void sp__env_read(struct sp__env *ret);

/* The data folder: `option` (may be NULL), else SP_DATA_DIR, else $XDG_STATE_HOME/spd, else ~/.local/state/spd (home
 * from the password file where HOME is unset). Makes nothing. 0, -ENAMETOOLONG, or -ENOENT where there is no home. */
int sp__data_dir(const char *option, char *ret, size_t size);

/* The runtime folder: `option`, else SP_RUNTIME_DIR, else $XDG_RUNTIME_DIR/spd, else /run/spd for root, else
 * $TMPDIR (or /tmp)/spd-<uid>. Makes nothing. 0 or -ENAMETOOLONG. */
int sp__runtime_dir(const char *option, char *ret, size_t size);

/* The file that SP_FILTER names, absolute. 0, -ENOENT: unset; -ENAMETOOLONG, -errno, and `ret` is its beginning. */
int sp__filter_file(char *ret, size_t size);

/* The folder for scratch files: $TMPDIR where it is absolute, else /tmp. The environment's. */
const char *sp__temporary_dir(void);

/* LD_PRELOAD, NULL unset. The environment's. */
const char *sp__env_preload(void);

/* What the launcher gives all ranks of one launch (Slurm job and step, PMIx namespace, Open MPI job id), made safe for
 * a session name; "" where there is no launcher. */
void sp__launch_id(char *ret, size_t size);

/* mkdir -p with mode 0700 for what is made; existing folders are left as they are. 0 or -errno. */
int sp__make_dirs(const char *path);

/* Whether colours are unwanted: NO_COLOR has a value. */
bool sp__no_color(void);

/* The variables that are read, for manuals; ends with a NULL name. `x` is literal. */
struct sp__variable {
    const char *name, *means;
    const char *otherwise; /* the default, "" none */
};
extern const struct sp__variable sp__variables[];

#ifdef SP__INSTANTS
/* What instant.h says of SP_KILL_AT and SP_KILL_SEEN; NULL unset. The strings are the environment's. */
const char *sp__env_kill_at(void);
const char *sp__env_kill_seen(void);
#endif

#endif
