#compdef metax-ctk
# zsh completion for metax-ctk
# load it: source <(metax-ctk completion zsh)
_metax_ctk() {
    local current=${words[CURRENT]} asked=("${(@)words[1,CURRENT-1]}")
    [[ $current == -* ]] && asked+=(-)
    local -a offers
    offers=("${(@f)$("${asked[@]}" --generate-bash-completion 2>/dev/null)}")
    compadd -a offers || _files
}
compdef _metax_ctk metax-ctk
