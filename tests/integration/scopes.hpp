/* scopes.hpp: what the two files of the C++ test share. */
#ifndef SCOPES_HPP
#define SCOPES_HPP

#include <cstdio>

extern int faults;

inline void need(bool good, const char *words)
{
    if (!good) {
        std::fprintf(stderr, "scopes.cpp: %s\n", words);
        faults++;
    }
}

/* scopes_off.cpp, compiled with SP_DISABLE_PROFILING. */
int off_calls(int rounds);

#endif
