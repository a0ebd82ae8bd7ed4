#!/bin/bash
# Functions of a C++ program: demangled names, exceptions that leave several at once, names longer than a name may be.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"
command -v g++ >/dev/null || skip "g++ is not installed"
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    name=${compiler//+/x}
    "$compiler" -Wall -Wextra -Werror -finstrument-functions -o "$T/p" "$ROOT/tests/functions/functions.cpp" \
        2>"$T/log" ||
        fail "$compiler: $(head -n 3 "$T/log")"
    preloaded "$name" 0 "$T/p"
    long=$(spctl report --csv "$T/$name.h5" | sed -n 's/^"\(void solver::long_name.*\)",.*/\1/p')
    ((${#long} == 1023)) && [[ $long =~ ~[0-9a-f]{16}$ ]] ||
        fail "$compiler: a name too long becomes ${#long} bytes: ${long: -40}"
    tree "$name" <<'TREE'
1 1 main
6 1 main > int solver::twice<int>(int)
5 1 main > solver::guarded()
5 1 main > solver::guarded() > solver::Grid::Grid(int)
5 1 main > solver::guarded() > solver::fail()
5 1 /main > solver::guarded\(\)( > solver::fail\(\))? > solver::Grid::~Grid\(\)/
2 1 /main > main::(\{lambda\(int\)#1\}|\$_0)::operator\(\)\(int\) const/
2 1 /main > main::(\{lambda\(int\)#1\}|\$_0)::operator\(\)\(int\) const > int solver::twice<int>\(int\)/
1 1 main > solver::Grid::Grid(int)
50 1 main > solver::Grid::step() const
50 1 main > solver::Grid::step() const > solver::guarded()
50 1 main > solver::Grid::step() const > solver::guarded() > solver::Grid::Grid(int)
50 1 /main > solver::Grid::step\(\) const > solver::guarded\(\)( > solver::fail\(\))? > solver::Grid::~Grid\(\)/
50 1 main > solver::Grid::step() const > solver::guarded() > solver::fail()
1 1 main > solver::Grid::~Grid()
1 1 /main > void solver::long_name<.*~[0-9a-f]{16}/
TREE
    # Inlined and left by exceptions, each function is still under its caller: as many as are made, as deep as they are.
    [[ $compiler == g++ ]] && levels='0 3' || levels=1
    for level in $levels; do
        "$compiler" -O$level -finstrument-functions -o "$T/p" "$ROOT/tests/functions/throws.cpp" 2>"$T/log" ||
            fail "$compiler -O$level: $(head -n 3 "$T/log")"
        preloaded "$name-$level" 0 "$T/p"
        "$PY" "$TOOLS/call_tree.py" "$T/$name-$level.h5" >"$T/tree"
        grep fibonacci "$T/tree" >"$T/fibonacci"
        [[ -e $T/fibonacci.0 ]] || cp "$T/fibonacci" "$T/fibonacci.0"
        cmp -s "$T/fibonacci" "$T/fibonacci.0" || fail "$compiler -O$level: another tree of fibonacci than without -O"
        tree "$name-$level" <<TREE
1 1 main
2000 1 main > thrower(int)
1001 1 main > leaf()
1 1 main > alone()
1000 1 main > alone() > between(int)
1000 1 main > alone() > between(int) > thrower(int)
$(<"$T/fibonacci.0")
TREE
    done
done
trees
foreign=$(ldd "$PRELOAD" | grep -E 'stdc|libgcc')
[[ -z $foreign ]] || fail "libsp_instrument.so links $foreign"
echo "a C++ program's tree over exceptions and inlined, 1023 bytes of a longer name"
