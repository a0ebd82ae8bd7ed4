/* average.c: how long a region takes on rank 0, on average.
 *
 *   cc average.c -o average $(pkg-config --cflags --libs libspio) -Wl,-rpath,$(pkg-config --variable=libdir libspio)
 *   ./average run.h5 solve
 *
 * FILE is a profile or a trace. The whole library is described in scope_profiler_io.h. */
#include <stdio.h>

#include <scope_profiler_io.h>

static int fail(const sp_error *error)
{
    fprintf(stderr, "average: %s\n", error->text);
    return 1;
}

int main(int argc, char **argv)
{
    sp_error error = {0};
    sp_results *results;
    sp_statistics statistics;
    size_t region;

    if (argc != 3) {
        fprintf(stderr, "usage: average FILE REGION\n");
        return 2;
    }
    if (sp_read_native_ranks(&results, argv[1], &error) < 0)
        return fail(&error);
    int status = sp_results_find_region(results, argv[2], &region, &error);
    if (status == 0)
        status = sp_results_statistics(results, region, 0, &statistics, &error);
    if (status == 0)
        printf("%s: %.9f s on average over %llu calls\n", argv[2], statistics.mean,
               (unsigned long long)statistics.count);
    sp_results_destroy(results);
    return status < 0 ? fail(&error) : 0;
}
