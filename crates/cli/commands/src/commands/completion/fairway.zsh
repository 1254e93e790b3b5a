#compdef fairway kubectl-fairway oc-fairway
# Completion of fairway for zsh: source <(fairway completion zsh)

_fairway() {
    local line value directive=0
    local -a candidates space
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            value=${line%%$'\t'*}
            # A colon separates a candidate from its description.
            candidates+=("${value//:/\\:}:${${line#$value}#$'\t'}")
        fi
    done
    if ((directive & 2)); then space=(-S ''); fi
    _describe -V fairway candidates $space
}

if [[ $funcstack[1] == _fairway ]]; then
    _fairway "$@"
else
    compdef _fairway fairway kubectl-fairway oc-fairway
fi
