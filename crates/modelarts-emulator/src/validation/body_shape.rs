//! Validation of a request body against the table of fields.

use std::fmt::Display;

use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    validation::{
        creation::fine_tuned_field,
        fields::{
            CREATION,
            field_spec::{FieldSpec, Handling, Need, Type},
            ignored::is_empty,
        },
        names::is_name,
    },
};

/// Validates the type and the limits of every field of a create request.
pub(crate) fn check(body: &Value) -> Result<(), ApiError> {
    check_against(&CREATION, body)
}

/// Validates every field of a body against this type.
pub(crate) fn check_against(kind: &Type, body: &Value) -> Result<(), ApiError> {
    let root = JsonField::root(body);
    root.object()?;
    visit_below(kind, &[root], check_field)
}

/// Rejects with 501 unsupported features and field values without whose effect the job cannot run.
pub(super) fn refuse_unmodelled(body: &Value) -> Result<(), ApiError> {
    visit_below(&CREATION, &[JsonField::root(body)], refuse_field)
}

type Visit = fn(&JsonField<'_>, &FieldSpec) -> Result<(), ApiError>;

/// Visits the members of `fields`, and recursively their members, row by row. Errors of a row
/// precede those of later rows, in all elements of an array.
fn visit_below(kind: &Type, fields: &[JsonField<'_>], visit: Visit) -> Result<(), ApiError> {
    for line in kind.members() {
        let (names, need, _, kind) = line;
        for name in *names {
            let mut members = Vec::new();
            for field in fields {
                let member = match need {
                    Need::Required => Some(field.required(name)?),
                    Need::Optional => field.get(name)?,
                };
                if let Some(member) = member {
                    visit(&member, line)?;
                    members.push(member);
                }
            }
            visit_below(kind, &members, visit)?;
        }
    }
    if let Some(kind) = kind.element() {
        let line: FieldSpec = (&[], Need::Optional, Handling::Acted, *kind);
        let mut elements = Vec::new();
        for field in fields {
            elements.extend(field.items()?);
        }
        for element in &elements {
            visit(element, &line)?;
        }
        visit_below(kind, &elements, visit)?;
    }
    Ok(())
}

fn refuse_field(field: &JsonField<'_>, line: &FieldSpec) -> Result<(), ApiError> {
    let (_, _, handling, kind) = line;
    let value = field.value();
    let refused = match kind {
        _ if is_empty(value) => return Ok(()),
        _ if *handling == Handling::Refused => format!("the request field {field}"),
        Type::Known(known) if !known.iter().any(|known| value == known) => {
            format!("{value} as {field}")
        }
        _ => return Ok(()),
    };
    Err(ApiError::not_modelled(refused))
}

/// Rejects fine-tuning with 501, because such a job specifies a model instead of code. A job that
/// also specifies code runs that code.
pub(super) fn refuse_fine_tuning(body: &Value) -> Result<(), ApiError> {
    let code = [
        "id",
        "subscription_id",
        "code_dir",
        "boot_file",
        "command",
        "engine",
    ];
    let has_code = code.iter().any(|name| !is_empty(&body["algorithm"][*name]));
    match fine_tuned_field(body) {
        Some(model) if !has_code => Err(ApiError::not_modelled(format!(
            "fine-tuning ({} in a job without code, command or image to run)",
            model[1..].replace('/', ".")
        ))),
        _ => Ok(()),
    }
}

fn check_field(field: &JsonField<'_>, line: &FieldSpec) -> Result<(), ApiError> {
    let limit = broken_limit(field, line)?;
    limit.map_or(Ok(()), |limit| Err(field.must(limit)))
}

/// Returns the limit that a field violates. Required strings must not be empty, but elements of
/// arrays may be.
fn broken_limit(field: &JsonField<'_>, line: &FieldSpec) -> Result<Option<String>, ApiError> {
    let (_, need, _, kind) = line;
    let is_absent = |text: &str| text.is_empty() && *need == Need::Optional;
    Ok(match kind {
        Type::Any => None,
        Type::Text | Type::Open(_) | Type::Known(_) => {
            if field.text()?.is_empty() && *need == Need::Required {
                return Err(ApiError::invalid_parameter(format!("{field} is required")));
            }
            None
        }
        Type::UpTo(most) => {
            field.text_up_to(*most)?;
            None
        }
        Type::Between(least, most) => {
            let text = field.text()?;
            let fits = is_absent(text) || (*least..=*most).contains(&text.chars().count());
            (!fits).then(|| format!("have {least} to {most} characters"))
        }
        Type::Plain(most) => {
            let text = field.text()?;
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
            let fits = (1..=*most).contains(&text.len()) && text.bytes().all(plain);
            (!fits).then(|| format!("be 1 to {most} letters, digits or -_./"))
        }
        Type::Name => {
            let text = field.text()?;
            let fits = is_absent(text) || is_name(text);
            (!fits).then(|| "be 1 to 64 letters, digits, hyphens or underscores".to_owned())
        }
        Type::OneOf(values) => {
            let text = field.text()?;
            let fits = is_absent(text) || values.contains(&text);
            (!fits).then(|| format!("be {}", either(values)))
        }
        Type::Number(least, most) => broken_range(field.integer()?, *least, *most, i64::MAX),
        Type::Decimal(least, most) => broken_range(number(field)?, *least, *most, f64::MAX),
        Type::Above(bound) => (number(field)? <= *bound).then(|| format!("be more than {bound}")),
        Type::Bool => (!field.value().is_boolean()).then(|| "be true or false".to_owned()),
        Type::Object(_) => {
            field.object()?;
            None
        }
        Type::List(_) => {
            field.items()?;
            None
        }
        Type::AtMost(most, _) => {
            (field.items()?.len() > *most).then(|| format!("have at most {most} elements"))
        }
        Type::Exactly(count, _) => {
            (field.items()?.len() != *count).then(|| format!("have {count} elements"))
        }
        Type::Texts(pairs, key, value, _) => {
            let members = field.members()?;
            if members.len() > *pairs {
                return Ok(Some(format!("have at most {pairs} pairs")));
            }
            for (name, member) in members {
                if name.chars().count() > *key {
                    return Ok(Some(format!("have keys of at most {key} characters")));
                }
                member.text_up_to(*value)?;
            }
            None
        }
    })
}

fn broken_range<T: PartialOrd + Display>(
    number: T,
    least: T,
    most: T,
    highest: T,
) -> Option<String> {
    let fits = least <= number && number <= most;
    (!fits).then(|| match most == highest {
        true => format!("be {least} or more"),
        false => format!("be between {least} and {most}"),
    })
}

fn number(field: &JsonField<'_>) -> Result<f64, ApiError> {
    let number = field.value().as_f64();
    number.ok_or_else(|| field.must("be a number"))
}

/// Joins values to a phrase: `a`, `a or b`, or `a, b or c`.
fn either(values: &[&str]) -> String {
    match values {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => values.concat(),
    }
}
