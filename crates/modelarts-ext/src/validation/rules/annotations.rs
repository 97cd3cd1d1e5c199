//! Rules on the kind of job, its annotations and its environment variables.

use crate::validation::{
    annotations::{HANG_RETRY, RETRIES, SWITCHES},
    draft::Draft,
    json_path::Located,
    rules::names::is_variable_name,
};

/// The limit on the length of a variable's name.
const MAX_NAME_LENGTH: usize = 8192;

pub(super) fn kind<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let kind = draft.at("kind");
    let known = |kind: &str| draft.cloud.job_kinds().contains(&kind);
    // A missing kind breaks the limit of the field itself.
    kind.text()
        .is_some_and(|text| !known(text))
        .then_some(kind)
        .into_iter()
        .collect()
}

pub(super) fn retries<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let number = draft.annotation(RETRIES);
    let most = draft.cloud.max_retries();
    let right = |text: &str| text.parse().is_ok_and(|n: i64| (1..=most).contains(&n));
    let wrong = number.value().is_some() && !number.text().is_some_and(right);
    wrong.then_some(number).into_iter().collect()
}

pub(super) fn switches<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let switches = SWITCHES.iter().map(|key| draft.annotation(key));
    switches
        .filter(|field| field.value().is_some() && !field.is("true") && !field.is("false"))
        .collect()
}

pub(super) fn hang_retry<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let number = draft.annotation(RETRIES);
    let wrong = draft.annotation(HANG_RETRY).is("true") && number.value().is_none();
    wrong.then_some(number).into_iter().collect()
}

pub(super) fn template<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let template = draft.annotation("job_template");
    let wrong = template
        .text()
        .is_some_and(|text| !["Template RL", "Template DL"].contains(&text));
    wrong.then_some(template).into_iter().collect()
}

fn variables<'a>(draft: &Draft<'a>) -> Vec<(&'a str, Located<'a>)> {
    let programs = draft.programs().into_iter();
    programs
        .flat_map(|program| program.at("environments").entries())
        .collect()
}

pub(super) fn variable_names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    variables(draft)
        .into_iter()
        .filter(|(name, _)| !is_variable_name(name) || name.len() > MAX_NAME_LENGTH)
        .map(|(_, field)| field)
        .collect()
}

pub(super) fn references<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    variables(draft)
        .into_iter()
        .map(|(_, field)| field)
        .filter(|field| field.text().is_some_and(|text| text.contains('$')))
        .collect()
}
