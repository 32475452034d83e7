# bash completion for metax-ctk
# load it: source <(metax-ctk completion bash)
_metax_ctk() {
    local current=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:0:COMP_CWORD}")
    [[ $current == -* ]] && words+=(-)
    COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$current"))
}
complete -o bashdefault -o default -F _metax_ctk metax-ctk
