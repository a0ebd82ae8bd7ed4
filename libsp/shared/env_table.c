/* env_table.c: the variables that env.c reads, for whoever explains them. */
#include "env.h"

const struct sp__variable sp__variables[] = {
    {"SP_SESSION", "the session's name: all that is started under it belongs together",
     "each launch is its own, `<prefix>@<launch>`"},
    {"SP_RANK", "the rank, or `auto` for the next free one", "that of MPI or Slurm, else 0"},
    {"SP_DISABLE", "`1`: record nothing", ""},
    {"SP_MODE",
     "`records`, or `stats` for totals without single calls: published as HDF5 by spd; without spd they stay in the "
     "data folder, where `spctl` reads them",
     "`records`"},
    {"SP_RING", "records of one thread's ring", "32768"},
    {"SP_FULL_WAIT", "microseconds that a full ring is waited for; 0 never", "100000"},
    {"SP_FILTER", "a file of globs: which functions `libsp_instrument.so` records", "all"},
    {"SP_FORK", "`stop`, or `follow`: a child records as a further part of its rank", "`stop`"},
    {"SP_CLOCK", "`tsc` or `monotonic`",
     "the processor's counter where the kernel itself keeps time by it (clocksource `tsc`, or a guest's `kvm-clock` "
     "read "
     "without a system call)"},
    {"SP_GROUP", "a group that segments are to be shared with: read, and of no effect in this version", ""},
    {"SP_DATA_DIR", "where spools and profiles are", "`$XDG_STATE_HOME/spd`, else `~/.local/state/spd`"},
    {"SP_RUNTIME_DIR", "where spd's socket is", "`$XDG_RUNTIME_DIR/spd`, `/run/spd` for root, else one in `$TMPDIR`"},
    {"NO_COLOR", "any value: `spctl` prints without colours, which it uses on terminals alone", ""},
    {"XDG_STATE_HOME", "an absolute path, see `SP_DATA_DIR`", ""},
    {"XDG_RUNTIME_DIR", "an absolute path, see `SP_RUNTIME_DIR`", ""},
    {"HOME", "the home folder, see `SP_DATA_DIR`", "that of the password file"},
    {"TMPDIR", "the folder for scratch files, and see `SP_RUNTIME_DIR`", "`/tmp`"},
    {"LD_PRELOAD", "libraries that `spctl run` keeps behind those that it has a command load", ""},
    {"PMIX_RANK", "the rank where `SP_RANK` is not set; so are the next four, in this order", ""},
    {"PMI_RANK", "see `PMIX_RANK`", ""},
    {"OMPI_COMM_WORLD_RANK", "see `PMIX_RANK`", ""},
    {"MV2_COMM_WORLD_RANK", "see `PMIX_RANK`", ""},
    {"SLURM_PROCID", "see `PMIX_RANK`", ""},
    {"PMIX_NAMESPACE", "the launch, where `SP_SESSION` is not set", ""},
    {"OMPI_MCA_ess_base_jobid", "the launch, where `PMIX_NAMESPACE` is not set", ""},
    {"OMPI_MCA_orte_precondition_transports", "what makes a launch of Open MPI another one than an earlier one", ""},
    {"SLURM_JOB_ID", "with `SLURM_STEP_ID` the launch, where neither of the two above is set", ""},
    {"SLURM_STEP_ID", "see `SLURM_JOB_ID`", ""},
    {0},
};
