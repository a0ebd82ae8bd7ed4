# Completion of spctl and spd for bash: what there is to complete is asked of the programs' own help.

# Lines of a help as "letter name value", "-" for none.
_spctl_options() {
    "$@" --help 2>/dev/null | sed -n \
        -e 's/^ \{2,6\}-\(.\), --\([a-z-]*\)  .*/-\1 --\2 -/p' \
        -e 's/^ \{2,6\}-\(.\), --\([a-z-]*\) \([^ ][^ ]*\)\( .*\)\{0,1\}$/-\1 --\2 \3/p' \
        -e 's/^ \{2,6\}--\([a-z-]*\)  .*/- --\1 -/p' \
        -e 's/^ \{2,6\}--\([a-z-]*\) \([^ ,][^ ]*\)\( .*\)\{0,1\}$/- --\1 \2/p' \
        -e 's/^ \{2,6\}--\([a-z-]*\), --\([a-z-]*\)$/- --\1 -\n- --\2 -/p'
}

# Words that stand for the values of "a|b|c", or of what an option's help lists.
_spctl_values() {
    local kind=$1 name=$2
    shift 2
    case $kind in
    *DIR*) COMPREPLY=($(compgen -d -- "$cur")) ;;
    *FILE* | OUT*) COMPREPLY=($(compgen -f -- "$cur")) ;;
    *'|'*) COMPREPLY=($(compgen -W "${kind//|/ }" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$("$@" --help 2>/dev/null | sed -n "s/^.*$name $kind  *//p" | sed -n '/, .* or /s/,\| or\| to / /gp')" -- "$cur")) ;;
    esac
}

_spctl_sessions() {
    "$1" list --json 2>/dev/null | sed -n 's/^ *"session": "\(.*\)",\{0,1\}$/\1/p' | sort -u
}

# _spctl_complete FIRST COMMAND...: options of the command, and its operands by the usage line; its words begin at FIRST.
_spctl_complete() {
    local first=$1 letter name value usage i
    shift
    for ((i = first; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} != -- ]] || { COMPREPLY=($(compgen -f -c -- "$cur")); return; }
    done
    while read -r letter name value; do
        if [[ $value != - && ($prev == "$name" || $prev == "$letter" && $letter != -) ]]; then
            _spctl_values "$value" "$name" "$@"
            return
        fi
        [[ $cur == -* ]] && COMPREPLY+=($(compgen -W "$name" -- "$cur"))
    done < <(_spctl_options "$@")
    [[ $cur == -* ]] && return
    usage=$("$@" --help 2>/dev/null | head -n 1)
    COMPREPLY=()
    [[ $usage != *SESSION* ]] || COMPREPLY+=($(compgen -W "$(_spctl_sessions "$1")" -- "$cur"))
    [[ $usage != *VERB* ]] || COMPREPLY+=($(compgen -W "$("$1" help | sed -n 's/^  \([a-z]*\)  *.*/\1/p')" -- "$cur"))
    [[ $usage != *COMMAND* ]] || COMPREPLY+=($(compgen -c -- "$cur"))
    [[ $usage != *FILE* && $usage != *DIR* && $usage != *BROKEN* ]] || COMPREPLY+=($(compgen -f -- "$cur"))
}

_spctl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} IFS=$' \t\n'
    COMPREPLY=()
    compopt -o filenames 2>/dev/null
    if [[ ${1##*/} == spd ]]; then
        _spctl_complete 1 "$1"
    elif ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$("$1" help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *.*/\1/p') --help --version" -- "$cur"))
    else
        _spctl_complete 2 "$1" "${COMP_WORDS[1]}"
    fi
}
complete -F _spctl spctl spd
