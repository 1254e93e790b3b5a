# Completion of fairway for bash: source <(fairway completion bash)

_fairway() {
    local word candidate cut='' glue='' directive=0 last=-1
    local -a words=()
    # Bash splits words at = and :, but fairway expects whole words.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $last -ge 0 && ( -n $glue || $word == [=:]* ) ]]; then
            words[last]+=$word
        else
            words[++last]=$word
        fi
        if [[ $word == *[=:] ]]; then glue=yes; else glue=''; fi
    done
    # The split prefix is already on the command line.
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

# Keep the order of fairway if bash supports it.
complete -o nosort -F _fairway fairway kubectl-fairway oc-fairway 2>/dev/null ||
    complete -F _fairway fairway kubectl-fairway oc-fairway
