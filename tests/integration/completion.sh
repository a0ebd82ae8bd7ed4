#!/bin/bash
# Bash or zsh does not complete a verb, an option, a value, a session or a file of spctl, or an option of spd.
. "$(dirname "$0")/common.sh"
mkdir "$T/bin"
ln -s "$SP_TEST_SPCTL" "$T/bin/spctl"
ln -s "$SP_TEST_SPD" "$T/bin/spd"
work -n 1 work >/dev/null 2>&1
[[ -d $T/data/$S ]] || fail "no session was made"
touch "$T/cwd/only-file.h5"
cd "$T/cwd"

# Ctrl-U, and a mark, begin each line anew. A lone candidate is typed out; several are listed.
cat >"$T/keys" <<EOF
spctl expo\\t	spctl export 
\\x15spctl export --fo\\t	--format 
\\x15spctl export --format sp\\t	speedscope
\\x15spctl export -f o\\t	openmetrics
\\x15spctl export --format \\t\\t	chrome.*folded
\\x15spctl report --sort exc\\t	exclusive
\\x15spctl merge ${S:0:5}\\t	$S
\\x15spctl export only-f\\t	only-file.h5
\\x15spctl list ${S:0:5}\\t	$S
\\x15spctl help recov\\t	recover
\\x15spctl check --js\\t	--json
\\x15spctl export --\\t\\t	--regions.*--to
\\x15spd --max-s\\t	--max-session-bytes
\\x15spd --ver\\t	--version
EOF
shells=0
# completes SHELL STARTUP COMMAND...
completes() {
    { printf '%s; echo re""ady\\n\tready\n' "$2"; cat "$T/keys"; } |
        PATH=$T/bin:$PATH PS1='> ' $PY "$TOOLS/terminal.py" type 20 "${@:3}" 2>"$T/why" || fail "$1: $(tail -n 1 "$T/why")"
    shells=$((shells + 1))
}
completes bash ". '$ROOT/spctl/completion/spctl.bash'" bash --norc --noprofile -i
if command -v zsh >/dev/null; then
    completes zsh "PS1='> '; fpath=('$ROOT/spctl/completion' \$fpath); autoload -Uz compinit; compinit -D -u; zstyle ':completion:*' menu no; unsetopt auto_menu menu_complete" zsh -f -i
else
    echo "skipped: zsh is not installed"
fi
echo "$shells shells complete $(wc -l <"$T/keys") beginnings"
