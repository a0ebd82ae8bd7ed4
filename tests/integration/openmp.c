/* openmp PREFIX THREADS: what OpenMP does with regions, in known numbers: a parallel loop, nested teams, tasks, tasks
 * that wait for others, and untied tasks that may go on in another thread.
 *
 * Prints "moved N": so many untied tasks went on in another thread. With gcc's libgomp it is 0: once begun, a task of
 * either kind stays with its thread, and what that runs meanwhile lies within. Where a runtime does move one, a region
 * that is open meanwhile stays open in the thread that began it, and its end is an unmatched one. */
#include <omp.h>
#include <scope_profiler.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOPS = 4000, NESTED = 50, TASKS = 500, UNTIED = 2000 };

static int loop, body, outside, inside, task, child, untied, part;
static volatile double sink;

static void work(int much)
{
    double sum = 0;
    for (int i = 1; i < much; i++)
        sum += 1.0 / i;
    sink = sum;
}

static void parallel_loop(void)
{
#pragma omp parallel
    {
        sp_begin(loop);
#pragma omp for schedule(dynamic, 16)
        for (int i = 0; i < LOOPS; i++) {
            sp_begin(body);
            work(50);
            sp_end(body);
        }
        sp_end(loop);
    }
}

static void nested_teams(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < NESTED; i++) {
        sp_begin(outside);
#pragma omp parallel num_threads(2)
        {
            sp_begin(inside);
            work(20);
            sp_end(inside);
        }
        sp_end(outside);
    }
}

/* A tied task goes on in the thread that began it, whatever other tasks that thread runs while it waits. */
static void tied_tasks(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
        {
            sp_begin(task);
            for (int n = 0; n < 2; n++) {
#pragma omp task
                {
                    sp_begin(child);
                    work(30);
                    sp_end(child);
                }
            }
#pragma omp taskwait
            sp_end(task);
        }
    }
}

static long untied_tasks(void)
{
    static atomic_long moved;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < UNTIED; i++) {
#pragma omp task untied
        {
            int before = omp_get_thread_num();
            sp_begin(untied);
            work(20);
#pragma omp task untied
            {
                sp_begin(part);
#pragma omp taskyield
                work(20);
                sp_end(part);
            }
#pragma omp taskyield
#pragma omp taskwait
            sp_end(untied);
            if (omp_get_thread_num() != before)
                atomic_fetch_add(&moved, 1);
        }
    }
    return atomic_load(&moved);
}

int main(int argc, char **argv)
{
    if (argc != 3 || sp_init(argv[1], 0))
        return 2;
    omp_set_dynamic(0);
    omp_set_num_threads((int)strtol(argv[2], NULL, 10));
    loop = sp_region("loop");
    body = sp_region("body");
    outside = sp_region("outside");
    inside = sp_region("inside");
    task = sp_region("task");
    child = sp_region("child");
    untied = sp_region("untied");
    part = sp_region("part");
    parallel_loop();
    nested_teams();
    tied_tasks();
    long moved = untied_tasks();
    printf("moved %ld\n", moved);
    return sp_finalize();
}
