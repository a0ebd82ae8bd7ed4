/* apart.h: a child process that looks at profiles. HDF5 1.10 trusts lengths that stand in a file (those of variable-length
 * strings among them) and can crash or loop over damaged ones; only a process of its own contains that. */
#ifndef SP__APART_H
#define SP__APART_H

#include "source.h"

/* Forks, while no other thread is inside HDF5: in the child `work` is called with its end of a socket, under limits, and
 * then the child ends. It has no other descriptors than that and the standard ones. */
int sp__apart_start(struct sp__apart *ret, void (*work)(void *context, int fd), void *context, const char *path,
                    sp_error *error);

/* All of it, or false: the other side is gone. */
bool sp__apart_send(int fd, const void *bytes, size_t length);
bool sp__apart_receive(int fd, void *ret, size_t length);

/* In the child: what it may take from now on over this file, which no sound file of its size needs: processor time, and
 * memory beside what it has already. Past them it dies, or memory runs out. */
void sp__apart_limit(const char *path, unsigned milliseconds);
/* In the child: that time from now on, and more by what there is to read. */
void sp__apart_limit_calls(uint64_t calls);

/* Ends a child, if there is one. Words of how it had died, where it had: "crashes over", "comes to no end over". */
const char *sp__apart_end(struct sp__apart *apart);

#endif
