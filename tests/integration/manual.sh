#!/bin/bash
# A verb, option, function or variable that no manual page explains, or a page that man and mandoc complain about.
. "$(dirname "$0")/common.sh"
command -v mandoc >/dev/null && command -v man >/dev/null && man -w man >/dev/null 2>&1 || command -v groff >/dev/null ||
    skip "mandoc or man-db is missing"
PAGES=$SP_TEST_BIN/docs/man
export LC_ALL=C.UTF-8 MANWIDTH=120

# page NAME.SECTION: what it says, without what makes letters bold
page() { mandoc -Tutf8 -O width=200 "$PAGES/$1" | sed $'s/.\b//g; s/\u2010/-/g'; }

pages=0
for file in "$PAGES"/*.[1-9] "$ROOT"/docs/man/*.[1-9]; do
    said=$(mandoc -Tlint -W warning "$file" 2>&1 | grep -v 'missing date')
    [[ -z $said ]] || fail "mandoc: $said"
    said=$(man --warnings -E UTF-8 -l -Tutf8 "$file" 2>&1 >/dev/null)
    [[ -z $said ]] || fail "man: $file: $said"
    pages=$((pages + 1))
done

options=0
# explained PAGE HELP: every option of a --help
explained() {
    local option text
    text=$(page "$1")
    while read -r option; do
        grep -q -- "^ *\(-., \)\?\(--[a-z-]*, \)*$option\( \|,\|$\)" <<<"$text" || fail "$1 does not explain $option"
        options=$((options + 1))
    done < <(grep -o '^ \{2,6\}\(-., \)\?\(--[a-z-]*, \)*--[a-z-]*' <<<"$2" | grep -o -- '--[a-z-]*')
}
verbs=$(spctl help | sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p')
for verb in $verbs; do
    [[ -e $PAGES/spctl-$verb.1 ]] || fail "there is no page spctl-$verb(1)"
    explained "spctl-$verb.1" "$(spctl "$verb" --help)"
    [[ $(spctl help "$verb") == "$(spctl "$verb" --help)" ]] || fail "spctl help $verb says something else than --help"
    page spctl.1 | grep -q "^ *$verb\( \|$\)" || fail "spctl(1) does not name $verb"
    text=$(page "spctl-$verb.1")
    while read -r heading; do
        grep -qx "$heading" <<<"$text" || fail "spctl-$verb(1) lacks its section $heading"
    done < <(sed -n 's/^= //p' "$ROOT/docs/man/spctl-$verb.1.txt" 2>/dev/null)
done
explained spd.1 "$("$SP_TEST_SPD" --help)"
((options > 60)) || fail "only $options options were found"

variables=$(sed -n 's/.*variable("\([A-Z_a-z]*\)").*/\1/p; s/.*, "\(SP_[A-Z_]*\)",.*/\1/p' "$ROOT/libsp/shared/env.c" | grep -v SP_KILL | sort -u)
variables+=" $(grep -o '"[A-Z2_]*RANK"' "$ROOT/libsp/shared/env.c" | tr -d '"' | tr '\n' ' ')"
text=$(page scope-profiler-environment.7)
for variable in $variables; do
    grep -q "^ *$variable\( \|$\)" <<<"$text" || fail "scope-profiler-environment(7) does not explain $variable"
done
(($(wc -w <<<"$variables") >= 20)) || fail "few variables were found: $variables"
strays=$(grep -ln 'getenv(' -r "$ROOT"/libsp "$ROOT"/spd "$ROOT"/spctl --include='*.c' | grep -v shared/env.c)
[[ -z $strays ]] || fail "the environment is read beside env.c: $strays"
# The README's table says the same, a line a variable.
for variable in $(grep -o '^    {"SP_[A-Z_]*' "$ROOT/libsp/shared/env_table.c" | grep -o 'SP_.*'); do
    grep -q "^| \`$variable\`" "$ROOT/README.md" || fail "README.md does not list $variable"
done

for header in scope_profiler:libsp scope_profiler_io:libspio; do
    text=$(page "${header#*:}.3")
    for function in $(grep -o '\bsp_[a-z0-9_]*(' "$ROOT/libsp/${header%:*}.h" | sort -u); do
        grep -q "$function" <<<"$text" || fail "${header#*:}(3) does not name $function)"
    done
done
echo "$pages pages, $options options, $(wc -w <<<"$variables") variables: all explained, nothing to complain of"
