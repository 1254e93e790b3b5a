# Completion of fairway for fish: fairway completion fish | source

function __fairway_candidates
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l program $words[1]
    set -e words[1]
    command $program __complete $words (commandline --current-token) 2>/dev/null </dev/null | string match --invert --regex '^:'
end

for program in fairway kubectl-fairway oc-fairway
    complete --command $program --no-files --keep-order --arguments '(__fairway_candidates)'
end
