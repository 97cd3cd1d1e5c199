function __modelarts_values
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l word (commandline --current-token)
    set -l values (MODELARTS_COMPLETE=fish modelarts -- $words "$word" 2>/dev/null)
    if set -q values[1]
        printf '%s\n' $values
    else
        __fish_complete_path $word
    end
end
complete --command modelarts --no-files --keep-order --arguments '(__modelarts_values)'
