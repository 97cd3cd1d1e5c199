#!/usr/bin/env bash
# Tests the rules of redocly.yaml: the linter must report broken.yaml on the lines with a comment,
# for the rules that the comment names, and nowhere else.
set -euo pipefail
cd "$(dirname "$0")"
export REDOCLY_TELEMETRY=off
expected() {
    awk -F ' # ' 'NF == 2 { n = split($2, rules, " "); for (i = 1; i <= n; i++) print NR, rules[i] }' \
        broken.yaml
}
reported() {
    local report
    report=$(node node_modules/@redocly/cli/bin/cli.js lint broken.yaml --config redocly.yaml \
        --format github-actions --skip-rule no-unused-components 2>/dev/null) || true
    sed -nE 's/^::error title=([^,]*),.*,line=([0-9]+),.*/\2 \1/p' <<<"$report"
}
untested=$(comm -23 <(grep -oE '^  rule/[a-z-]+' redocly.yaml | tr -d ' ' | sort) \
    <(expected | cut -d ' ' -f 2 | sort -u))
[ -z "$untested" ] || { echo "broken.yaml must break each rule; add lines for: $untested"; exit 1; }
diff -u --label broken.yaml --label "report of the linter" \
    <(expected | sort -u) <(reported | sort -u)
echo "$(expected | wc -l) broken rules are reported"
