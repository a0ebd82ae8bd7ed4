/* published.h: whether what a spool holds stands whole in a published file, so that the spool may go. */
#ifndef SPCTL_PUBLISHED_H
#define SPCTL_PUBLISHED_H

#include <stdbool.h>

/* `folder` is the session's, `name` a "<stem>.spool" in it. True when its note says that the last publication of the
 * incarnation was made, and the file that it names holds as many calls of the rank as all notes that name it say: a
 * note is written before its file gets its name, so that after a crash between the two an older file may stand there.
 * ret_why (256 bytes) is set either way. */
bool spool_published(const char *folder, const char *name, char ret_why[256]);

#endif
