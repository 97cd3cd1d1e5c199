_modelarts() {
    local line=${COMP_LINE:0:COMP_POINT} word value breaks
    local -a words
    # Bash itself splits words at colons, too, as in NAME:VERSION.
    read -r -a words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then
        words+=("")
    fi
    word=${words[${#words[@]} - 1]}
    # Bash replaces the word after the last of these characters.
    breaks=${COMP_WORDBREAKS//[!:=]/}
    word=${breaks:+${word%"${word##*["$breaks"]}"}}
    COMPREPLY=()
    # Values are read line by line, so that bash expands nothing in them.
    while IFS=$'\t' read -r value _; do
        COMPREPLY+=("${value#"$word"}")
    done < <(MODELARTS_COMPLETE=bash modelarts -- "${words[@]}" 2>/dev/null)
}
# Without values, bash completes names of files.
if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -o default -o bashdefault -o nosort -F _modelarts modelarts
else
    complete -o default -o bashdefault -F _modelarts modelarts
fi
