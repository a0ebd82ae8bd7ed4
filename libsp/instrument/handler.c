/* handler.c: tells whether a signal handler is running, by the frame that the kernel puts below it. Naming a function
 * and making a region take locks and memory, which the handler may have interrupted somebody taking. */
#include <stddef.h>
#include <unwind.h>

#include "instrument.h"

/* A handler that names a function for the first time deeper than this is not looked for. */
enum { FRAMES_MOST = 256 };

struct walk {
    int frames;
    bool handler;
};

SP__PLAIN static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    int interrupted = 0;
    (void)_Unwind_GetIPInfo(context, &interrupted);
    walk->handler = interrupted != 0;
    return walk->handler || ++walk->frames == FRAMES_MOST ? _URC_END_OF_STACK : _URC_NO_REASON;
}

SP__PLAIN bool sp__in_handler(void)
{
    struct walk walk = {0, false};
    (void)_Unwind_Backtrace(look, &walk);
    return walk.handler;
}

/* What the unwinder sets up once is set up before any handler can come over it. */
SP__PLAIN __attribute__((constructor)) static void warm_up(void)
{
    (void)sp__in_handler();
}
