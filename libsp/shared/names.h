/* names.h: session names, segment names, spool and profile file names: made and taken apart in one place. */
#ifndef SP__NAMES_H
#define SP__NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define SP__SHM_DIR "/dev/shm"

/* [A-Za-z0-9._-]{1,64}, not starting with '.' or '-'. A launch session "<prefix>@<launch>" is one too: '@' is allowed
 * inside, so that such a name can be given to spctl. */
bool sp__session_valid(const char *name);

/* "<base name of prefix, made safe>@<launch or start time and pid>", at most 64 bytes. */
void sp__session_for_launch(const char *prefix, char ret[SP__SESSION_SIZE]);

/* Absolute, without "." and ".." components; relative ones count from the current folder. 0, -ENAMETOOLONG, -errno. */
int sp__prefix_absolute(const char *prefix, char ret[SP__PATH_SIZE]);

uint64_t sp__name_hash(const char *session, const char *prefix);

/* "sp.<uid>.<session>.<16 hex>.r<rank>[.f<part>]", below SP__SHM_DIR. */
int sp__segment_name(const struct sp__identity *id, char *ret, size_t size);

/* True for what sp__segment_name makes for this uid, also with the ".d<8 hex>" of a segment moved aside. */
bool sp__segment_name_valid(const char *name, uint32_t uid);

/* The session in a name that sp__segment_name made. */
void sp__segment_session(const char *name, char ret[SP__SESSION_SIZE]);

/* 32 hex digits. */
void sp__incarnation_text(const uint8_t incarnation[SP__INCARNATION_SIZE], char ret[33]);

/* "<16 hex>.r<NNNNN>.<32 hex incarnation>": what spool, note and scratch files of one incarnation start with. */
void sp__incarnation_stem(const struct sp__identity *id, char ret[96]);

#define SP__SPOOL_SUFFIX ".spool"
#define SP__NOTE_SUFFIX  ".note"

/* "<prefix>_rank<NNNNN>[.i<K>].spt" (life 0: no .i); prefix as given: a path or a base name. */
int sp__profile_name(const char *prefix, int rank, unsigned life, bool hdf5, char *ret, size_t size);

/* The beginning of a name as a session or a file may have it: other letters than [A-Za-z0-9._-], and a '.' or '-' in
 * front, become '_'; never empty. `most` bytes at most, and a NUL. */
void sp__name_made_safe(const char *name, size_t most, char *ret);

const char *sp__base_name(const char *path);

/* The inode of the pid namespace that this process counts in; 0 unknown. */
uint32_t sp__pid_space(void);

#endif
