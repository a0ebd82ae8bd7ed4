#include "languages.h"

#include <string>

#include <scope_profiler.hpp>

void cpp_scopes(int pairs, int region)
{
    for (int i = 0; i < pairs; i++)
        sp::Scope scope(region);
}

void cpp_literals(int pairs, int)
{
    for (int i = 0; i < pairs; i++)
        SP_PROFILE_SCOPE("region");
}

static void function()
{
    SP_PROFILE_FUNCTION();
}

void cpp_functions(int pairs, int)
{
    for (int i = 0; i < pairs; i++)
        function();
}

void cpp_strings(int pairs, int)
{
    const std::string name = "region";
    for (int i = 0; i < pairs; i++)
        SP_PROFILE_SCOPE(name);
}
