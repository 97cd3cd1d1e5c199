//! Checks of single fields against the limits in the description.
//!
//! The [`FIELDS`] and their [`LIMITS`] are generated from the description. This module adds error
//! codes and texts for patterns, and lists the fields that are validated by rules instead.

use std::borrow::Cow;

use modelarts_api::{
    FIELDS, Field, LIMITS, Rule, Shape, codes,
    request_path::{
        auto_stop,
        create_training_job::{self, algorithm, spec},
        i18n_description, input, job_algorithm, job_engine, node_selector_requirement,
        parameter_constraint, reserved_time, retention_policy, schedule_policy, task_algorithm,
        task_engine,
    },
};
use regress::Regex;
use serde_json::Value;

use crate::{
    error::violation::Violation,
    validation::{
        json_path::{Located, general_name},
        report::{Report, Warning},
    },
};

pub(crate) const BODY: &str = create_training_job::SCHEMA;

pub(crate) fn fields(schema: &str) -> impl Iterator<Item = &'static Field> + use<'_> {
    FIELDS.iter().filter(move |field| field.schema == schema)
}

pub(crate) fn field(schema: &str, name: &str) -> Option<&'static Field> {
    fields(schema).find(|field| field.name == name)
}

const CODES: &[(&str, &str)] = &[
    (algorithm::parameters::constraint::TYPE, codes::PARAM_TYPE_ERROR),
    (spec::schedule_policy::PRIORITY, codes::PARAM_RANGE_ERROR),
];

/// Fields for which a rule has a more precise text, another code, or is only advice.
pub(crate) const CHECKED_BY_RULES: &[(&str, &str)] = &[
    (BODY, create_training_job::KIND),
    // No source states whether the service accepts `/home` itself (`openapi/SOURCES.md`, D-120).
    (job_algorithm::SCHEMA, job_algorithm::LOCAL_CODE_DIR),
    (task_algorithm::SCHEMA, task_algorithm::LOCAL_CODE_DIR),
    (job_engine::SCHEMA, job_engine::RUN_USER),
    (task_engine::SCHEMA, task_engine::RUN_USER),
    (schedule_policy::SCHEMA, schedule_policy::PRIORITY),
];

/// Field that is required in the description, but not in all jobs. A rule validates the field.
const REQUIRED_BY_RULES: (&str, &str) = (input::SCHEMA, input::NAME);

/// Enumerations in which an undocumented value is a violation. In others, it is a warning, because
/// the service may accept more values (`openapi/SOURCES.md`, D-115).
const CLOSED_ENUMS: &[(&str, &str)] = &[
    (node_selector_requirement::SCHEMA, node_selector_requirement::OPERATOR),
    (retention_policy::SCHEMA, retention_policy::POLICY),
    (i18n_description::SCHEMA, i18n_description::LANGUAGE),
    (parameter_constraint::SCHEMA, parameter_constraint::TYPE),
];

const CHECK_SPELLING: &str =
    "check the spelling (documents list no other value, but the service may accept more)";

const PATTERNS_IN_WORDS: &[(&str, &str, &str)] = &[
    ("^[A-Za-z0-9_-]{1,64}$", "1 to 64 letters, digits, _ and -", "use letters, digits, _ and -"),
    ("^[-a-zA-Z0-9_./]+$", "only letters, digits and -_./", "use letters, digits and -_./"),
];

pub(crate) fn check(schema: &str, located: &Located<'_>, report: &mut Report) {
    for field in fields(schema) {
        let here = located.at(field.name);
        let is_missing = |value: &Value| value.as_str() == Some("");
        if !here.value().is_none_or(is_missing) {
            check_shape(field.shape, schema, field.name, &here, report);
        } else if field.required && (schema, field.name) != REQUIRED_BY_RULES {
            add(report, &here, "must be given", "add it");
        }
    }
}

fn add(
    report: &mut Report,
    located: &Located<'_>,
    requirement: impl Into<Cow<'static, str>>,
    advice: &'static str,
) {
    let path = general_name(located.path());
    let code = CODES.iter().find(|(field, _)| *field == path);
    let code = code.map_or(codes::INVALID_PARAM, |(_, code)| code);
    let (path, actual) = (located.path(), located.actual());
    let violation = Violation::new(path, actual, requirement, Some(code), advice);
    report.violations.push(violation);
}

fn check_shape(shape: Shape, schema: &str, name: &str, located: &Located<'_>, report: &mut Report) {
    let Some(value) = located.value() else {
        return;
    };
    if !fits(shape, value) {
        let requirement = format!("must be {}", shape_in_words(shape));
        add(report, located, requirement, "change its type");
        return;
    }
    let is_checked = CHECKED_BY_RULES.contains(&(schema, name));
    if !is_checked && rules(schema, name).any(|rule| breaks(value, rule)) {
        let characters = rules(schema, name).find_map(|rule| characters_advice(value, rule));
        let advice = characters.unwrap_or("choose a value within the limit");
        add(report, located, requirement(schema, name), advice);
    }
    match shape {
        Shape::OneOf(values) => {
            let is_known = value.as_str().is_some_and(|text| values.contains(&text));
            if is_checked || is_known {
            } else if CLOSED_ENUMS.contains(&(schema, name.trim_end_matches("[]"))) {
                let requirement = format!("must be {}", one_of(values));
                add(report, located, requirement, "choose one of them");
            } else {
                let advice = format!("should be {}; {CHECK_SPELLING}", one_of(values));
                report.warnings.push(Warning::at(located, advice));
            }
        }
        Shape::Integer if !value.is_i64() && !value.is_u64() => {
            let requirement = match TIMES.contains(&(schema, name)) {
                true => "must be a whole number of hours",
                false => "must be a whole number",
            };
            add(report, located, requirement, "round it");
        }
        Shape::Object(inner) => check(inner, located, report),
        Shape::List(inner) | Shape::Map(inner) => {
            let mark = if value.is_array() { "[]" } else { "{}" };
            let name = format!("{name}{mark}");
            for element in located.items().into_iter().chain(located.entries()) {
                check_shape(*inner, schema, &name, &element, report);
            }
        }
        _ => {}
    }
}

pub(crate) fn unknown<'a>(shape: Shape, located: &Located<'a>, found: &mut Vec<Located<'a>>) {
    match shape {
        Shape::Object(schema) => {
            for (name, member) in located.members() {
                match field(schema, name) {
                    Some(field) => unknown(field.shape, &member, found),
                    None => found.push(member),
                }
            }
        }
        Shape::List(inner) => {
            for item in located.items() {
                unknown(*inner, &item, found);
            }
        }
        _ => {}
    }
}

/// Returns `true` if the type of a value is correct, which may not be the case in copied jobs.
pub(crate) fn fits(shape: Shape, value: &Value) -> bool {
    match shape {
        Shape::Text | Shape::OneOf(_) => value.is_string(),
        Shape::Integer | Shape::Number => value.is_number(),
        Shape::Boolean => value.is_boolean(),
        Shape::List(_) => value.is_array(),
        Shape::Object(_) | Shape::Map(_) => value.is_object(),
        _ => true,
    }
}

pub(crate) fn shape_in_words(shape: Shape) -> &'static str {
    match shape {
        Shape::Text | Shape::OneOf(_) => "text",
        Shape::Integer => "a whole number",
        Shape::Number => "a number",
        Shape::Boolean => "true or false",
        Shape::List(_) => "a list",
        _ => "an object",
    }
}

fn rules(schema: &str, name: &str) -> impl Iterator<Item = &'static Rule> {
    let limits = LIMITS.iter();
    limits
        .filter(move |limit| limit.schema == schema && limit.field == name)
        .map(|limit| &limit.rule)
}

pub(crate) fn broken_limit(schema: &str, name: &str, text: &str) -> Option<String> {
    let value = Value::from(text);
    let broken = rules(schema, name).any(|rule| breaks(&value, rule));
    broken.then(|| in_words(schema, name))
}

fn breaks(value: &Value, rule: &Rule) -> bool {
    let count = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let number = value.as_f64().unwrap_or_default();
    match *rule {
        Rule::MinLength(n) | Rule::MinItems(n) | Rule::MinProperties(n) => count < n,
        Rule::MaxLength(n) | Rule::MaxItems(n) | Rule::MaxProperties(n) => count > n,
        Rule::Pattern(pattern) => value.as_str().is_some_and(|text| !matches(pattern, text)),
        Rule::Minimum(n) => number < n,
        Rule::Maximum(n) => number > n,
        Rule::ExclusiveMinimum(n) => number <= n,
        Rule::ExclusiveMaximum(n) => number >= n,
        Rule::UniqueItems => value.as_array().is_some_and(|items| {
            let mut numbered = items.iter().enumerate();
            numbered.any(|(index, item)| items[..index].contains(item))
        }),
        // Limits of other kinds are validated only by the service.
        _ => false,
    }
}

fn characters_advice(value: &Value, rule: &Rule) -> Option<&'static str> {
    let Rule::Pattern(pattern) = *rule else {
        return None;
    };
    let known = PATTERNS_IN_WORDS.iter();
    let (.., advice) = known.copied().find(|(known, ..)| *known == pattern)?;
    let mut letters = value.as_str()?.chars();
    let is_other = |letter: char| !matches(pattern, letter.encode_utf8(&mut [0; 4]));
    letters.any(is_other).then_some(advice)
}

/// Returns `true` if the text matches, or if the pattern is invalid, which a test excludes.
fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).map_or(true, |pattern| pattern.find(text).is_some())
}

pub(crate) fn one_of(values: &[&str]) -> String {
    match values {
        [only] => (*only).to_owned(),
        values => format!("one of {}", values.join(", ")),
    }
}

const TIMES: &[(&str, &str)] =
    &[(auto_stop::SCHEMA, auto_stop::DURATION), (reserved_time::SCHEMA, reserved_time::DURATION)];

pub(crate) fn in_words(schema: &str, name: &str) -> String {
    let rules: Vec<_> = rules(schema, name).collect();
    let is_time = TIMES.contains(&(schema, name));
    describe(&rules) + if is_time { " hours" } else { "" }
}

fn requirement(schema: &str, name: &str) -> String {
    let limits = in_words(schema, name);
    let counted = ["characters", "elements", "entries"];
    match counted.iter().any(|unit| limits.contains(unit)) {
        true => format!("must have {limits}"),
        false => format!("must be {limits}"),
    }
}

fn describe(rules: &[&Rule]) -> String {
    let pattern = rules.iter().find_map(|rule| match rule {
        Rule::Pattern(pattern) => Some(*pattern),
        _ => None,
    });
    let mut known = PATTERNS_IN_WORDS.iter();
    let known = known.find(|(known, ..)| Some(*known) == pattern);
    let in_pattern = known.is_some_and(|(pattern, ..)| pattern.contains("{1,"));

    let mut words = Vec::new();
    let (mut least, mut most) = (None, None);
    let (mut lowest, mut highest) = (None, None);
    for rule in rules {
        match **rule {
            Rule::MinLength(n) if n > 0 && !in_pattern => least = Some((n, "characters")),
            Rule::MaxLength(n) if !in_pattern => most = Some((n, "characters")),
            Rule::MinItems(n) => least = Some((n, "elements")),
            Rule::MaxItems(n) => most = Some((n, "elements")),
            Rule::MinProperties(n) => least = Some((n, "entries")),
            Rule::MaxProperties(n) => most = Some((n, "entries")),
            Rule::Minimum(n) => lowest = Some(n),
            Rule::Maximum(n) => highest = Some(n),
            Rule::UniqueItems => words.push("no repeated elements".to_owned()),
            Rule::ExclusiveMinimum(n) => words.push(format!("more than {n}")),
            Rule::ExclusiveMaximum(n) => words.push(format!("less than {n}")),
            _ => {}
        }
    }
    words.extend(match (least, most) {
        (Some((a, unit)), Some((b, _))) if a == b => Some(format!("exactly {a} {unit}")),
        (Some((a, _)), Some((b, unit))) => Some(format!("{a} to {b} {unit}")),
        (Some((a, unit)), None) => Some(format!("at least {a} {unit}")),
        (None, Some((b, unit))) => Some(format!("at most {b} {unit}")),
        (None, None) => None,
    });
    words.extend(match (lowest, highest) {
        (Some(a), Some(b)) => Some(format!("{a} to {b}")),
        (Some(a), None) => Some(format!("{a} or more")),
        (None, Some(b)) => Some(format!("{b} or less")),
        (None, None) => None,
    });
    words.extend(match (known, pattern) {
        (Some((_, words, _)), _) => Some((*words).to_owned()),
        (None, pattern) => pattern.map(|pattern| format!("text matching {pattern}")),
    });
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_words() {
        assert_eq!(in_words("JobMetadataRequest", "name"), "1 to 64 letters, digits, _ and -");
        assert_eq!(in_words("JobMetadataRequest", "description"), "at most 256 characters");
        assert_eq!(in_words("AutoStopRequest", "duration"), "1 to 72 hours");
        assert_eq!(in_words("JobResourceRequest", "node_count"), "1 or more");
        assert_eq!(in_words("ContainerFlavorRequest", "mem_size"), "more than 0");
        assert_eq!(in_words("JobAlgorithmRequest", "environments"), "at most 100 entries");
        assert_eq!(in_words("JobAlgorithmRequest", "environments{}"), "at most 4096 characters");
        assert_eq!(in_words("ExecMetricsRequest", "command"), "exactly 2 elements");
        assert_eq!(
            in_words("ExecMetricsRequest", "command[]"),
            "1 to 256 characters, only letters, digits and -_./"
        );
        assert_eq!(in_words("JobMetadataRequest", "workspace_id"), "");
    }

    #[test]
    fn every_pattern_compiles() {
        for limit in LIMITS {
            if let Rule::Pattern(pattern) = limit.rule {
                assert!(Regex::new(pattern).is_ok(), "{pattern}");
            }
        }
    }
}
