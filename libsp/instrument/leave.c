/* leave.c: ways out of functions, and of objects, that no exit hook tells of. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <threads.h>

#include "instrument.h"

typedef void (*jump)(struct __jmp_buf_tag *environment, int value);

/* The next definition of a function, which the program would call without this library. */
SP__PLAIN static void next(const char *name, void *ret_function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(ret_function, &found, sizeof found);
}

#if defined(__x86_64__) && defined(__LP64__)
/* The stack pointer that a jump will set; glibc keeps it turned and masked. */
SP__PLAIN static uintptr_t target_of(const struct __jmp_buf_tag *environment)
{
    uintptr_t stack = (uintptr_t)environment->__jmpbuf[6];
    __asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(stack) : : "cc");
    return stack;
}

/* Ends the calls whose frames the jump throws away. A hook's frame pointer lies 16 bytes below the stack pointer of the
 * function that called it. */
SP__PLAIN static void leave(const struct __jmp_buf_tag *environment)
{
    struct sp__function_thread *t = &sp__function_self;
    uintptr_t target = target_of(environment), here = (uintptr_t)__builtin_frame_address(0);
    stack_t other;
    uintptr_t start = 0, size = 0;
    if (t->busy || t->depth == 0)
        return;
    if (sigaltstack(NULL, &other) == 0 && (other.ss_flags & SS_ONSTACK)) {
        start = (uintptr_t)other.ss_sp;
        size = other.ss_size;
    }
    uint32_t depth = t->depth;
    for (; depth > 0; depth--) {
        uintptr_t frame = t->calls[depth - 1].frame;
        bool on_other = frame - start < size && target - start >= size;
        bool below = (frame >= here || size > 0) && frame + 16 < target;
        if (!on_other && !below)
            break;
    }
    sp__function_close(t, depth);
}
#else
/* Where the jump goes is not known: the next exit of an outer function closes what it left open. */
SP__PLAIN static void leave(const struct __jmp_buf_tag *environment)
{
    (void)environment;
}
#endif

SP__PLAIN __attribute__((noreturn)) static void go(jump real, struct __jmp_buf_tag *environment, int value)
{
    leave(environment);
    real(environment, value);
    __builtin_unreachable();
}

SP_API void __longjmp_chk(struct __jmp_buf_tag environment[1], int value) __attribute__((noreturn));

static jump real_longjmp, real__longjmp, real_siglongjmp, real_longjmp_chk;
static void (*real_pthread_exit)(void *);
static void (*real_thrd_exit)(int);
static int (*real_dlclose)(void *);

SP__PLAIN __attribute__((constructor)) static void find_all(void)
{
    next("longjmp", &real_longjmp);
    next("_longjmp", &real__longjmp);
    next("siglongjmp", &real_siglongjmp);
    next("__longjmp_chk", &real_longjmp_chk);
    next("pthread_exit", &real_pthread_exit);
    next("thrd_exit", &real_thrd_exit);
    next("dlclose", &real_dlclose);
}

/* Another library's constructor may come before this one's. */
SP__PLAIN static void found(void)
{
    if (!real_dlclose)
        find_all();
}

SP_API SP__PLAIN void longjmp(struct __jmp_buf_tag environment[1], int value)
{
    found();
    go(real_longjmp, environment, value);
}

SP_API SP__PLAIN void _longjmp(struct __jmp_buf_tag environment[1], int value)
{
    found();
    go(real__longjmp, environment, value);
}

SP_API SP__PLAIN void siglongjmp(sigjmp_buf environment, int value)
{
    found();
    go(real_siglongjmp, environment, value);
}

/* longjmp of a program that is compiled with -D_FORTIFY_SOURCE. */
SP_API SP__PLAIN void __longjmp_chk(struct __jmp_buf_tag environment[1], int value)
{
    found();
    go(real_longjmp_chk, environment, value);
}

/* A thread that ends in the midst of its functions ends their calls. (One that is cancelled leaves them open.) */
SP_API SP__PLAIN void pthread_exit(void *value)
{
    found();
    sp__function_close_all();
    real_pthread_exit(value);
    __builtin_unreachable();
}

SP_API SP__PLAIN void thrd_exit(int value)
{
    found();
    sp__function_close_all();
    real_thrd_exit(value);
    __builtin_unreachable();
}

/* Another plug-in may be loaded at the same address: none of its functions may go by the names of this one's. */
SP_API SP__PLAIN int dlclose(void *object)
{
    found();
    sp__unload_begin();
    int status = real_dlclose(object);
    sp__unload_end();
    return status;
}
