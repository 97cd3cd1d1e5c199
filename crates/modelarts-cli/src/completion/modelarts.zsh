#compdef modelarts

_modelarts() {
    local -a values
    values=("${(@f)$(MODELARTS_COMPLETE=zsh modelarts -- \
        "${(@)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    if [[ -n $values ]]; then
        # _describe takes VALUE:HELP, or VALUE.
        values=("${(@)${(@)values%$'\t'}//:/\\:}")
        values=("${(@)values/$'\t'/:}")
        _describe -V 'value' values
    else
        compset -P '*='
        _files
    fi
}

if [[ $funcstack[1] == _modelarts ]]; then
    _modelarts "$@"
else
    compdef _modelarts modelarts
fi
