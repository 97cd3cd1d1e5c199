//! Validation of a request body against the table of fields.

use modelarts_api::Rule;
use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    validation::{
        creation::fine_tuned_field,
        fields::{
            CREATION,
            field::{Field, Format, Handling, Kind},
            ignored::is_empty,
        },
        names::is_name,
    },
};

/// Validates the type and the limits of every field of a create request.
pub(crate) fn check(body: &Value) -> Result<(), ApiError> {
    check_against(&CREATION, body)
}

pub(crate) fn check_against(spec: &Field, body: &Value) -> Result<(), ApiError> {
    let root = JsonField::root(body);
    root.object()?;
    visit_below(spec, &[root], check_field)
}

/// Rejects, with status 501, unsupported features and values on which the run of a job depends.
pub(super) fn refuse_unmodelled(body: &Value) -> Result<(), ApiError> {
    visit_below(&CREATION, &[JsonField::root(body)], refuse_field)
}

type Visit = fn(&JsonField<'_>, &Field) -> Result<(), ApiError>;

/// Visits all fields row by row of the table, so that the earliest row determines the error.
fn visit_below(spec: &Field, fields: &[JsonField<'_>], visit: Visit) -> Result<(), ApiError> {
    for member in &spec.members {
        let mut found = Vec::new();
        for field in fields {
            let below = match member.name {
                "[]" => field.items()?,
                name if member.required => vec![field.required(name)?],
                name => field.get(name)?.into_iter().collect(),
            };
            for field in &below {
                visit(field, member)?;
            }
            found.extend(below);
        }
        visit_below(member, &found, visit)?;
    }
    Ok(())
}

fn refuse_field(field: &JsonField<'_>, spec: &Field) -> Result<(), ApiError> {
    let value = field.value();
    let refused = match &spec.format {
        _ if is_empty(value) => return Ok(()),
        _ if spec.handling == Handling::Refused => format!("the request field {field}"),
        Format::Supported(known) if !known.iter().any(|known| value == known) => {
            format!("{value} as {field}")
        }
        _ => return Ok(()),
    };
    Err(ApiError::not_modelled(refused))
}

/// Rejects fine-tuning, which specifies a model instead of code, with status 501.
pub(super) fn refuse_fine_tuning(body: &Value) -> Result<(), ApiError> {
    let code = ["id", "subscription_id", "code_dir", "boot_file", "command", "engine"];
    let has_code = code.iter().any(|name| !is_empty(&body["algorithm"][*name]));
    match fine_tuned_field(body) {
        Some(model) if !has_code => Err(ApiError::not_modelled(format!(
            "fine-tuning ({} in a job without code, command or image to run)",
            model[1..].replace('/', ".")
        ))),
        _ => Ok(()),
    }
}

fn check_field(field: &JsonField<'_>, spec: &Field) -> Result<(), ApiError> {
    let broken = match spec.kind {
        Kind::Any => None,
        Kind::Text => broken_text(field, spec)?,
        Kind::Integer => broken_range(field.integer()? as f64, &spec.limits),
        Kind::Number => broken_range(number(field)?, &spec.limits),
        Kind::Boolean => (!field.value().is_boolean()).then(|| "be true or false".to_owned()),
        Kind::Object => field.object().map(|_| None)?,
        Kind::List => broken_count(field.items()?.len() as u64, &spec.limits),
        Kind::Map => broken_map(field, spec)?,
    };
    broken.map_or(Ok(()), |limit| Err(field.must(limit)))
}

/// Returns the violated limit. Required strings must not be empty, but elements of arrays may be.
fn broken_text(field: &JsonField<'_>, spec: &Field) -> Result<Option<String>, ApiError> {
    let text = field.text()?;
    let (mut least, mut most) = (0, None);
    for limit in &spec.limits {
        match limit {
            Rule::MinLength(length) => least = *length,
            Rule::MaxLength(length) => most = Some(*length),
            _ => {}
        }
    }
    if text.is_empty() && spec.format != Format::Word {
        if !spec.required {
            return Ok(None);
        }
        if !matches!(spec.format, Format::Name | Format::OneOf(_)) {
            return Err(ApiError::invalid_parameter(format!("{field} is required")));
        }
    }
    let length = text.chars().count() as u64;
    Ok(match (&spec.format, most) {
        (Format::Any, Some(most)) if length > most && least == 0 => {
            Some(format!("have at most {most} characters"))
        }
        (Format::Any, Some(most)) if !(least..=most).contains(&length) => {
            Some(format!("have {least} to {most} characters"))
        }
        (format, most) => broken_format(text, format, most),
    })
}

fn broken_format(text: &str, format: &Format, most: Option<u64>) -> Option<String> {
    match format {
        Format::Name if !is_name(text) => {
            Some("be 1 to 64 letters, digits, hyphens or underscores".to_owned())
        }
        Format::Word => {
            let most = most.unwrap_or(u64::MAX);
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
            let fits = (1..=most).contains(&(text.len() as u64)) && text.bytes().all(plain);
            (!fits).then(|| format!("be 1 to {most} letters, digits or -_./"))
        }
        Format::OneOf(values) if !values.contains(&text) => Some(format!("be {}", either(values))),
        _ => None,
    }
}

fn broken_range(number: f64, limits: &[Rule]) -> Option<String> {
    let (mut least, mut most) = (None, None);
    for limit in limits {
        match limit {
            Rule::ExclusiveMinimum(bound) if number <= *bound => {
                return Some(format!("be more than {bound}"));
            }
            Rule::Minimum(bound) => least = Some(*bound),
            Rule::Maximum(bound) => most = Some(*bound),
            _ => {}
        }
    }
    let fits = least.is_none_or(|least| least <= number) && most.is_none_or(|most| number <= most);
    match (least, most) {
        _ if fits => None,
        (Some(least), Some(most)) => Some(format!("be between {least} and {most}")),
        (Some(least), None) => Some(format!("be {least} or more")),
        (None, most) => most.map(|most| format!("be {most} or less")),
    }
}

fn broken_count(count: u64, limits: &[Rule]) -> Option<String> {
    let (mut least, mut most) = (0, u64::MAX);
    for limit in limits {
        match limit {
            Rule::MinItems(bound) => least = *bound,
            Rule::MaxItems(bound) => most = *bound,
            _ => {}
        }
    }
    match (least..=most).contains(&count) {
        true => None,
        false if least == most => Some(format!("have {most} elements")),
        false if count > most => Some(format!("have at most {most} elements")),
        false => Some(format!("have at least {least} elements")),
    }
}

/// Returns the limit that a map of strings violates: its number of pairs, or the length of a key.
fn broken_map(field: &JsonField<'_>, spec: &Field) -> Result<Option<String>, ApiError> {
    let members = field.members()?;
    for limit in &spec.limits {
        match limit {
            Rule::MaxProperties(most) if members.len() as u64 > *most => {
                return Ok(Some(format!("have at most {most} pairs")));
            }
            Rule::MaxLength(most) => {
                let is_long = |name: &str| name.chars().count() as u64 > *most;
                if members.iter().any(|(name, _)| is_long(name)) {
                    return Ok(Some(format!("have keys of at most {most} characters")));
                }
            }
            _ => {}
        }
    }
    let most = spec.value_length().and_then(|most| usize::try_from(most).ok());
    for (_, member) in members {
        member.text_up_to(most.unwrap_or(usize::MAX))?;
    }
    Ok(None)
}

fn number(field: &JsonField<'_>) -> Result<f64, ApiError> {
    let number = field.value().as_f64();
    number.ok_or_else(|| field.must("be a number"))
}

/// Joins values into a phrase: `a`, `a or b`, or `a, b or c`.
fn either(values: &[&str]) -> String {
    match values {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => values.concat(),
    }
}
