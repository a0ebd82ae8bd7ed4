/* functions MODE: is compiled with -finstrument-functions and knows nothing of the library. What each mode calls is
 * counted in functions.sh. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 4, CALLS = 1000, JUMPS = 1000 };

void outer(void);
int factorial(int n);

static volatile int sink;
static jmp_buf place;
static sigjmp_buf signal_place;

static void inner(void)
{
    sink++;
}

void outer(void)
{
    inner();
    inner();
}

int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

static void tree(void)
{
    for (int i = 0; i < 3; i++)
        outer();
    sink += factorial(5);
}

/* Jumps over two functions, and back to where more is called: neither the frames' sizes nor their places are the same.
 * */
static void fails(int how)
{
    volatile char frame[512];
    frame[0] = (char)how;
    if (frame[0])
        longjmp(place, how);
}

static void middle(int how)
{
    fails(how);
}

static void large(void)
{
    volatile char frame[4096];
    frame[1] = 1;
    sink += frame[1];
    inner();
}

/* A way out that nothing tells of, straight to the end of a caller. */
static void left(ucontext_t *context)
{
    setcontext(context);
}

static void by_context(void)
{
    volatile int back = 0;
    ucontext_t context;
    getcontext(&context);
    if (!back) {
        back = 1;
        left(&context);
    }
}

static void attempt(int how)
{
    if (setjmp(place) == 0)
        middle(how);
    large();
}

static void jumps(void)
{
    for (int i = 0; i < JUMPS; i++) {
        if (setjmp(place) == 0)
            middle(1);
        else
            inner();
    }
    attempt(1);
    attempt(0);
    by_context();
}

static void work(void)
{
    inner();
}

static void *thread(void *argument)
{
    for (int i = 0; i < CALLS; i++)
        work();
    if (argument)
        pthread_exit(NULL);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, thread, i % 2 ? &ids : NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
}

static volatile sig_atomic_t handled;

static void known(void)
{
    sink++;
}

/* Functions that only handlers call. Their symbols are long and have a part number, as those that compilers split off:
 * naming one takes more memory than a thread keeps for itself. */
#define LONG4(x) x x x x
#define LONG     LONG4(LONG4(LONG4(LONG4("m_met")))) /* 1,280 bytes */
#define MET(n)                                                                                                         \
    static void met##n(void) __asm__(LONG ".part." #n);                                                                \
    static void met##n(void)                                                                                           \
    {                                                                                                                  \
        sink++;                                                                                                        \
    }
#define EIGHT(do, n)                                                                                                   \
    do                                                                                                                 \
    (n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7)
#define HALF(do, a, b, c, d) EIGHT(do, a) EIGHT(do, b) EIGHT(do, c) EIGHT(do, d)
#define ALL(do)              HALF(do, 0, 1, 2, 3) HALF(do, 4, 5, 6, 7)
#define NAME_IT(n)           met##n,
ALL(MET)
static void (*const met[])(void) = {ALL(NAME_IT)};
enum { MET_COUNT = sizeof met / sizeof *met };

__attribute__((no_instrument_function)) static void handler(int number)
{
    (void)number;
    known();
    met[handled % MET_COUNT]();
    handled++;
}

__attribute__((no_instrument_function)) static void jump_out(int number)
{
    (void)number;
    siglongjmp(signal_place, 1);
}

static void interrupted(void)
{
    raise(SIGUSR2);
}

__attribute__((no_instrument_function)) static void *sleeper(void *unused)
{
    pause();
    return unused;
}

/* Handlers come over malloc, whose lock they must not ask for again, and over the hooks. */
__attribute__((no_instrument_function)) static void signals(void)
{
    struct itimerval each = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    pthread_t second; /* malloc takes no lock in a program of one thread */
    sigset_t alarm_only;
    known();
    signal(SIGALRM, handler);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    pthread_create(&second, NULL, sleeper, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    for (int i = 0; handled < 1000; i++) {
        void *memory = malloc((size_t)(2000 + i % 5000)); /* more than a thread keeps for itself */
        memset(memory, 1, 1);
        free(memory);
        if (i % 64 == 0)
            outer();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("handled %d\n", (int)handled);
    signal(SIGUSR2, jump_out);
    for (int i = 0; i < 100; i++) {
        if (sigsetjmp(signal_place, 1) == 0)
            interrupted();
        inner();
    }
}

static void leave(int how)
{
    inner();
    if (how == 0)
        exit(3);
    if (how == 1)
        _exit(3);
    kill(getpid(), SIGKILL);
}

static void forks(void)
{
    pid_t child = fork();
    outer();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
}

__attribute__((no_instrument_function)) static void plugins(char **names)
{
    for (int i = 0; i < 6; i++) {
        unlink("./turn.so");
        if (symlink(names[i % 2], "./turn.so") != 0)
            exit(2);
        void *plugin = dlopen("./turn.so", RTLD_NOW | RTLD_LOCAL);
        void (*run)(void);
        void *found = plugin ? dlsym(plugin, "run") : NULL;
        if (!found)
            exit(2);
        memcpy(&run, &found, sizeof run);
        run();
        printf("%p\n", found);
        if (dlclose(plugin) != 0)
            exit(2);
    }
}

static void step(void)
{
    usleep(1000);
}

/* Until somebody ends it. */
static void loop(void)
{
    for (int i = 0; i < 30000; i++) {
        step();
        if (i == 20)
            (void)!write(1, "looping\n", 8);
    }
}

/* As deep as the stack allows is more than anybody keeps. */
static int deep(int n, bool jumps)
{
    if (n == 0 && jumps)
        longjmp(place, 1);
    return n == 0 ? 0 : deep(n - 1, jumps) + 1;
}

static void all_deep(void)
{
    printf("deep %d\n", deep(150000, false));
    inner();
    if (setjmp(place) == 0)
        (void)deep(150000, true);
    inner();
}

__attribute__((destructor)) static void last(void)
{
    sink++;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "tree";
    if (strcmp(mode, "tree") == 0)
        tree();
    else if (strcmp(mode, "jumps") == 0)
        jumps();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "signals") == 0)
        signals();
    else if (strcmp(mode, "exit") == 0)
        leave(0);
    else if (strcmp(mode, "_exit") == 0)
        leave(1);
    else if (strcmp(mode, "kill") == 0)
        leave(2);
    else if (strcmp(mode, "forks") == 0)
        forks();
    else if (strcmp(mode, "plugins") == 0)
        plugins(argv + 2);
    else if (strcmp(mode, "loop") == 0)
        loop();
    else if (strcmp(mode, "deep") == 0)
        all_deep();
    return 0;
}
