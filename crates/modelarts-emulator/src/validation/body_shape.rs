//! Checks of a body against the table of fields.

use std::fmt::Display;

use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    validation::{
        creation::fine_tuned_field,
        fields::{
            CREATION,
            field_spec::{Handling, Need, Type},
            ignored::is_empty,
        },
        names::is_name,
    },
};

/// Checks the type and the limits of every field of a creation.
pub(crate) fn check(body: &Value) -> Result<(), ApiError> {
    check_against(&CREATION, body)
}

/// Checks every field of a body of this type. The errors of a line come before those of later
/// lines, in all elements of a list.
pub(crate) fn check_against(kind: &Type, body: &Value) -> Result<(), ApiError> {
    let root = JsonField::root(body);
    root.object()?;
    check_below(kind, &[root])
}

/// Checks the members and the elements of fields of one line.
fn check_below(kind: &Type, fields: &[JsonField<'_>]) -> Result<(), ApiError> {
    for (names, need, _, kind) in kind.members() {
        for name in *names {
            let mut members = Vec::new();
            for field in fields {
                let member = match need {
                    Need::Required => Some(field.required(name)?),
                    Need::Optional => field.get(name)?,
                };
                if let Some(member) = member {
                    check_field(&member, kind, *need)?;
                    members.push(member);
                }
            }
            check_below(kind, &members)?;
        }
    }
    if let Some(kind) = kind.element() {
        let elements = elements(fields)?;
        for element in &elements {
            check_field(element, kind, Need::Optional)?;
        }
        check_below(kind, &elements)?;
    }
    Ok(())
}

fn elements<'a>(lists: &[JsonField<'a>]) -> Result<Vec<JsonField<'a>>, ApiError> {
    let lists: Result<Vec<_>, _> = lists.iter().map(JsonField::items).collect();
    Ok(lists?.concat())
}

/// Refuses, with 501, features and values of fields without which the job could not run.
pub(super) fn refuse_unmodelled(body: &Value) -> Result<(), ApiError> {
    refuse_below(&CREATION, &[JsonField::root(body)])
}

fn refuse_below(kind: &Type, fields: &[JsonField<'_>]) -> Result<(), ApiError> {
    for (names, _, handling, kind) in kind.members() {
        for name in *names {
            let members = fields
                .iter()
                .filter_map(|field| field.get(name).transpose());
            let members = members.collect::<Result<Vec<_>, _>>()?;
            for field in members.iter().filter(|field| !is_empty(field.value())) {
                let value = field.value();
                match kind {
                    _ if *handling == Handling::Refused => {
                        return Err(ApiError::not_modelled(format!("the request field {field}")));
                    }
                    Type::Known(known) if !known.iter().any(|known| value == known) => {
                        return Err(ApiError::not_modelled(format!("{value} as {field}")));
                    }
                    _ => {}
                }
            }
            refuse_below(kind, &members)?;
        }
    }
    match kind.element() {
        Some(kind) => refuse_below(kind, &elements(fields)?),
        None => Ok(()),
    }
}

/// Refuses fine-tuning with 501: such a job names a model instead of code. A job with code of its
/// own runs it.
pub(super) fn refuse_fine_tuning(body: &Value) -> Result<(), ApiError> {
    let given = |pointer: &&str| body.pointer(pointer).is_some_and(|value| !is_empty(value));
    let code = [
        "/algorithm/id",
        "/algorithm/subscription_id",
        "/algorithm/code_dir",
        "/algorithm/boot_file",
        "/algorithm/command",
        "/algorithm/engine",
    ];
    match fine_tuned_field(body) {
        Some(model) if !code.iter().any(given) => Err(ApiError::not_modelled(format!(
            "fine-tuning ({} in a job without code, command or image to run)",
            model[1..].replace('/', ".")
        ))),
        _ => Ok(()),
    }
}

/// Checks a field alone. A required text is not empty; elements of lists may be.
fn check_field(field: &JsonField<'_>, kind: &Type, need: Need) -> Result<(), ApiError> {
    let is_absent = |text: &str| text.is_empty() && need == Need::Optional;
    match kind {
        Type::Any => {}
        Type::Text | Type::Open(_) | Type::Known(_) => {
            if field.text()?.is_empty() && need == Need::Required {
                return Err(ApiError::invalid_parameter(format!("{field} is required")));
            }
        }
        Type::UpTo(most) => {
            field.text_up_to(*most)?;
        }
        Type::Between(least, most) => {
            let text = field.text()?;
            if !is_absent(text) && !(*least..=*most).contains(&text.chars().count()) {
                return Err(field.must(format!("have {least} to {most} characters")));
            }
        }
        Type::Plain(most) => {
            let text = field.text()?;
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
            if !(1..=*most).contains(&text.len()) || !text.bytes().all(plain) {
                return Err(field.must(format!("be 1 to {most} letters, digits or -_./")));
            }
        }
        Type::Name => {
            let text = field.text()?;
            if !is_absent(text) && !is_name(text) {
                return Err(field.must("be 1 to 64 letters, digits, hyphens or underscores"));
            }
        }
        Type::OneOf(values) => {
            let text = field.text()?;
            if !is_absent(text) && !values.contains(&text) {
                return Err(field.must(format!("be {}", either(values))));
            }
        }
        Type::Number(least, most) => {
            check_range(field, field.integer()?, *least, *most, i64::MAX)?;
        }
        Type::Decimal(least, most) => {
            check_range(field, number(field)?, *least, *most, f64::MAX)?;
        }
        Type::Above(bound) => {
            if number(field)? <= *bound {
                return Err(field.must(format!("be more than {bound}")));
            }
        }
        Type::Bool => {
            if !field.value().is_boolean() {
                return Err(field.must("be true or false"));
            }
        }
        Type::Object(_) => {
            field.object()?;
        }
        Type::List(_) => {
            field.items()?;
        }
        Type::AtMost(most, _) => {
            if field.items()?.len() > *most {
                return Err(field.must(format!("have at most {most} elements")));
            }
        }
        Type::Exactly(count, _) => {
            if field.items()?.len() != *count {
                return Err(field.must(format!("have {count} elements")));
            }
        }
        Type::Texts(pairs, key, value, _) => {
            let members = field.members()?;
            if members.len() > *pairs {
                return Err(field.must(format!("have at most {pairs} pairs")));
            }
            for (name, member) in members {
                if name.chars().count() > *key {
                    return Err(field.must(format!("have keys of at most {key} characters")));
                }
                member.text_up_to(*value)?;
            }
        }
    }
    Ok(())
}

fn check_range<T: Copy + PartialOrd + Display>(
    field: &JsonField<'_>,
    number: T,
    least: T,
    most: T,
    highest: T,
) -> Result<(), ApiError> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(field.must(if most == highest {
        format!("be {least} or more")
    } else {
        format!("be between {least} and {most}")
    }))
}

fn number(field: &JsonField<'_>) -> Result<f64, ApiError> {
    let number = field.value().as_f64();
    number.ok_or_else(|| field.must("be a number"))
}

/// `a`, `a or b`, `a, b or c`.
fn either(values: &[&str]) -> String {
    match values {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => values.concat(),
    }
}
