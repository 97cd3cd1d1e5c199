//! Tests of the table of rules.

use std::collections::BTreeSet;

use modelarts_api::ERROR_CODES;

use super::*;
use crate::validation::report::Basis;

/// Returns the rules that have a condition, in the order of the report.
pub(crate) fn of_body() -> impl Iterator<Item = &'static Rule> {
    CONDITIONS.iter().map(|(key, _)| &RULES[*key])
}

#[test]
fn the_words_of_a_rule_fit_its_basis() {
    for (key, rule) in &*RULES {
        let (word, is_advice) = match rule.basis {
            Basis::Advice => ("should", true),
            Basis::Refusal | Basis::Must => ("must", false),
        };
        let requirement = &rule.requirement;
        let is_completed_by_code = requirement.is_empty() && rule.fields.is_empty();
        let has_word = requirement.split(' ').any(|part| part == word);
        assert!(is_completed_by_code || has_word, "{key}");
        assert_eq!(rule.reason.is_empty(), !is_advice, "{key}");
        let is_known = ERROR_CODES.iter().any(|row| row.code == rule.code);
        assert_eq!(is_known, !is_advice, "{key}");
    }
}

#[test]
fn every_rule_is_used_and_every_used_key_is_a_rule() {
    let with_condition: BTreeSet<_> = CONDITIONS.iter().map(|(key, _)| *key).collect();
    assert_eq!(with_condition.len(), CONDITIONS.len());
    let sources = [
        include_str!("../specs.rs"),
        include_str!("../known_engines.rs"),
        include_str!("../../jobs/create/local_files.rs"),
    ];
    let calls = sources.iter().flat_map(|source| source.split("rule(\"").skip(1));
    let in_code = calls.filter_map(|rest| rest.split('"').next());
    let used: BTreeSet<_> = with_condition.into_iter().chain(in_code).collect();
    assert_eq!(used, RULES.keys().map(String::as_str).collect());
}

#[test]
fn every_rule_is_in_sources_with_its_basis() {
    let sources = include_str!("../../../../../openapi/SOURCES.md");
    let (_, section) = sources.split_once("\n## Rules\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|row| row.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    // Columns of a row: `name`, basis, evidence, client, emulator.
    let listed: BTreeMap<_, _> = cells
        .filter(|cells| cells[3] == "yes")
        .map(|cells| (cells[0].trim_end_matches('`'), cells[1].to_owned()))
        .collect();
    let rules = RULES.iter().map(|(key, rule)| {
        let basis = format!("{:?}", rule.basis).to_lowercase();
        (rule.name.as_deref().unwrap_or(key), basis)
    });
    assert_eq!(listed, rules.collect());
}

#[test]
fn every_rule_has_a_case() {
    let cases = include_str!("../../../tests/cases/rules.yaml").replace("\\\"", "\"");
    let without = CONDITIONS.iter().filter(|(key, _)| {
        let rule = &RULES[*key];
        let (requirement, advice) = (&rule.requirement, &rule.advice);
        let line = match rule.basis {
            Basis::Advice => format!(": {requirement}; {advice} ({})", rule.reason),
            _ => format!(": {requirement} ({}); {advice}", rule.code),
        };
        !cases.contains(&line)
    });
    let keys: Vec<_> = without.map(|(key, _)| *key).collect();
    // The cases apply to Open Telekom Cloud, which has no federated jobs. The test
    // `clouds_have_rules_of_their_own` covers this rule.
    assert_eq!(keys, ["federation-named"]);
}
