function __modelarts_values
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l word (commandline --current-token)
    set -l values (MODELARTS_COMPLETE=fish modelarts -- $words "$word" 2>/dev/null)
    if set -q values[1]
        printf '%s\n' $values
    else
        # Of NAME=PATH, the path is completed. The word has its quotes.
        set -l before (string match --regex '^[^=]*=' -- $word)
        set -l path (string replace --regex '^[^=]*=' '' -- $word)
        set -l plain (string unescape -- $path; or string trim --left --chars '"\'' -- $path)
        set -l home (string match --quiet '~/*' -- $plain; and echo ~)
        for file in (__fish_complete_path (string replace --regex '^~' "$home" -- $plain))
            printf '%s\n' "$before"(string replace -- "$home/" '~/' $file)
        end
    end
end
complete --command modelarts --no-files --keep-order --arguments '(__modelarts_values)'
