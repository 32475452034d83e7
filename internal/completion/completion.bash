# bash completion for PROGRAM
# load it: source <(PROGRAM completion bash)
FUNCTION() {
    # Readline splits words at "=" and ":", the program does not.
    local rest=$COMP_LINE word words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} == 0 || $rest == [[:blank:]]* ]]; then
            rest=${rest#"${rest%%[![:blank:]]*}"} words+=("$word")
        else
            words[-1]+=$word
        fi
        rest=${rest#"$word"}
    done
    words=("${words[@]//[\"\']/}")
    local offers prefix=${words[-1]%"$2"}
    mapfile -t offers < <("${words[0]}" __completeNoDesc "${words[@]:1}" 2>/dev/null)
    [[ ${#offers[@]} -gt 0 ]] || return
    local directive=${offers[-1]#:}
    unset 'offers[-1]'
    COMPREPLY=("${offers[@]#"$prefix"}")
    if ((directive & 2)); then compopt -o nospace; fi
    if ((!${#offers[@]} && !(directive & 4))); then compopt -o bashdefault -o default; fi
}
complete -F FUNCTION PROGRAM
