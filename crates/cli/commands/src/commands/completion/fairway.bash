# Completes what is typed after fairway in bash: source <(fairway completion bash)

_fairway() {
    local word candidate cut='' glue='' directive=0 last=-1
    local -a words=()
    # Bash cuts words at = and :, and the program knows only whole ones.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $last -ge 0 && ( -n $glue || $word == [=:]* ) ]]; then
            words[last]+=$word
        else
            words[++last]=$word
        fi
        if [[ $word == *[=:] ]]; then glue=yes; else glue=''; fi
    done
    # What was cut off is there already.
    if [[ ${words[last]} == *[=:]* ]]; then cut=${words[last]%"${words[last]##*[=:]}"}; fi

    COMPREPLY=()
    while IFS= read -r candidate; do
        if [[ $candidate == :* ]]; then
            directive=${candidate#:}
            continue
        fi
        candidate=${candidate%%$'\t'*}
        candidate=${candidate#"$cut"}
        if [[ $candidate == *[[:space:]]* ]]; then printf -v candidate %q "$candidate"; fi
        COMPREPLY+=("$candidate")
    done < <("$1" __complete "${words[@]}" 2>/dev/null </dev/null)
    if ((directive & 2)); then compopt -o nospace 2>/dev/null; fi
}

# The order is that of the program, where bash can keep it.
complete -o nosort -F _fairway fairway kubectl-fairway oc-fairway 2>/dev/null ||
    complete -F _fairway fairway kubectl-fairway oc-fairway
