// Compiled with SP_DISABLE_PROFILING and linked with a file that records: nothing of it may be recorded, evaluated or
// needed, nor may its empty classes take the place of the other file's.
#include "scopes.hpp"

#include <string>
#include <utility>

#include "scope_profiler.hpp"

// Defined nowhere.
std::string nowhere();
sp_profiler *nobody();

static sp::Scope scope_of(int region)
{
    return sp::Scope(region);
}

int off_calls(int rounds)
{
    int made = 0;
    for (int i = 0; i < rounds; i++) {
        SP_PROFILE_FUNCTION();
        SP_PROFILE_FUNCTION_CTX(nobody());
        SP_PROFILE_SCOPE(nowhere());
        SP_PROFILE_SCOPE_CTX(nobody(), nowhere());
        SP_PROFILE_SCOPE("off");
        if (i < rounds)
            SP_PROFILE_SCOPE("off");
        sp::Scope scope = scope_of(0), other(nullptr, 1);
        scope = std::move(other);
        sp::ProfileScope by_name("off", __FILE__, __LINE__), by_profiler(nullptr, "off", __FILE__, __LINE__);
        sp::LikwidSession session;
        sp::likwid_thread_init();
        made++;
    }
    return made;
}
