#!/bin/bash
# The public headers compile as C99, C17 and C++17 without a warning.
. "$(dirname "$0")/common.sh"
command -v g++ >/dev/null || skip "g++ is not installed"
for header in scope_profiler.h scope_profiler_io.h; do
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$header" "$header" >"$T/use.c"
    cp "$T/use.c" "$T/use.cpp"
    for standard in c99 c17; do
        gcc "-std=$standard" -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -I"$ROOT/libsp" -c "$T/use.c" -o "$T/use.o" 2>"$T/cc" ||
            fail "$header as $standard: $(head -n 3 "$T/cc")"
    done
    for standard in c++11 c++17; do
        g++ "-std=$standard" -Wall -Wextra -Wpedantic -Werror -I"$ROOT/libsp" -c "$T/use.cpp" -o "$T/use.o" 2>"$T/cc" ||
            fail "$header as $standard: $(head -n 3 "$T/cc")"
    done
done
echo "two headers, C99, C17, C++11 and C++17"
