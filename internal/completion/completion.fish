# fish completion for PROGRAM
# load it: PROGRAM completion fish | source
function FUNCTION
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    or return
    if test (count $lines) -gt 1
        printf '%s\n' $lines[1..-2]
    else if test (math "bitand($(string sub -s 2 -- $lines[-1]), 4)") = 0
        __fish_complete_path "$current"
    end
end
complete -c PROGRAM -f -a '(FUNCTION)'
