#compdef PROGRAM
# zsh completion for PROGRAM
# load it: source <(PROGRAM completion zsh)
FUNCTION() {
    local -a lines offers glued
    local line word help tab=$'\t'
    lines=("${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    local -i directive=${lines[-1]#:}
    lines[-1]=()
    for line in $lines; do
        word=${line%%$tab*} help=${${line#"$word"}#$tab}
        offers+=("${word//:/\\:}${help:+:$help}")
    done
    if ((directive & 2)); then glued=(-S ''); fi
    if (($#offers)); then
        _describe completions offers "${(@)glued}"
    elif ((!(directive & 4))); then
        _files
    fi
}
if [[ $funcstack[1] == _PROGRAM ]]; then FUNCTION "$@"; else compdef FUNCTION PROGRAM; fi
