#!/bin/bash
# The public headers compile without a warning, each alone and all together, in every standard of C and C++ that they
# are for; what scope_profiler.hpp does not have stops the compiler with words.
. "$(dirname "$0")/common.sh"
command -v g++ >/dev/null || skip "g++ is not installed"
WARNINGS=(-Wall -Wextra -Wpedantic -Wshadow -Wcast-qual -Wundef -Wold-style-cast -Werror)
compile() { # COMPILER OPTION...: the program on standard input
    "$1" -fsyntax-only "-I$ROOT/libsp" "${@:2}" - 2>"$T/cc" || fail "${*:1}: $(head -n 3 "$T/cc")"
}
for header in scope_profiler.h scope_profiler_io.h; do
    for standard in c99 c17; do
        compile gcc -x c "-std=$standard" -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror \
            <<<"#include <$header>"$'\n'"#include <$header>"$'\nint main(void) { return 0; }'
    done
done
for header in scope_profiler.h scope_profiler_io.h scope_profiler.hpp; do
    compile g++ -x c++ -std=c++11 "${WARNINGS[@]}" <<<"#include <$header>"
done

program='#include <scope_profiler.hpp>
#include <scope_profiler_io.h>
#include <scope_profiler.hpp>
namespace elsewhere {
template <class T> T twice(sp_profiler *p, T x)
{
    SP_PROFILE_FUNCTION();
    SP_PROFILE_FUNCTION_CTX(p);
    SP_PROFILE_SCOPE("a scope");
    SP_PROFILE_SCOPE_CTX(p, u8"größe");
    sp::ProfileScope by_name("a", __FILE__, __LINE__), by_profiler(p, "b", nullptr, 0);
    auto inside = [x] { SP_PROFILE_SCOPE("in a lambda"); return x + x; };
    return inside();
}
}
int main()
{
    sp::LikwidSession session;
    sp::likwid_thread_init();
    sp::Scope scope(SP_REGION_AT("r"));
    return elsewhere::twice(sp_default_profiler(), 0);
}'
compilers=g++
command -v clang++ >/dev/null && compilers+=" clang++"
for compiler in $compilers; do
    for standard in c++11 c++14 c++17 c++20; do
        compile "$compiler" -x c++ "-std=$standard" "${WARNINGS[@]}" <<<"$program"
    done
    compile "$compiler" -x c++ -std=c++11 -fno-exceptions -fno-rtti "${WARNINGS[@]}" <<<"$program"
    compile "$compiler" -x c++ -std=c++20 -DSP_DISABLE_PROFILING "${WARNINGS[@]}" <<<"$program"
done
for macro in SP_HEADER_ONLY SP_USE_LIKWID; do
    g++ -x c++ -fsyntax-only "-I$ROOT/libsp" "-D$macro" - <<<"$program" 2>"$T/cc" && fail "-D$macro compiles"
    grep -q "error: #error.*$macro: .*remove the macro" "$T/cc" ||
        fail "-D$macro does not say what to do: $(head -n 3 "$T/cc")"
done
echo "three headers, C99, C17 and C++11 to C++20, $compilers"
