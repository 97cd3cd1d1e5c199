//! Checks of a body against the table of fields.

use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    validation::{
        creation::fine_tuned_field,
        fields::{
            field_spec::{FieldSpec, Handling, Need, Type},
            field_specs,
            ignored::is_empty,
        },
        names::is_name,
    },
};

/// Checks the type and the limits of every field.
pub(crate) fn check(body: &Value) -> Result<(), ApiError> {
    check_against(field_specs(), body)
}

/// Checks every field of `body` against its line of the table `lines`.
pub(crate) fn check_against<'l>(
    lines: impl IntoIterator<Item = &'l FieldSpec>,
    body: &Value,
) -> Result<(), ApiError> {
    let root = JsonField::root(body);
    root.object()?;
    for line in lines {
        for (parent, name) in parents(&root, line.0)? {
            check_field(&parent, name, line)?;
        }
    }
    Ok(())
}

/// Refuses, with 501, features and values of fields without which the job could not run.
pub(super) fn refuse_unmodelled(body: &Value) -> Result<(), ApiError> {
    let root = JsonField::root(body);
    for (path, kind, _, handling) in field_specs() {
        let known = match kind {
            _ if *handling == Handling::Refused => &[][..],
            Type::Known(values) => values,
            _ => continue,
        };
        for (parent, name) in parents(&root, path)? {
            let Some(field) = name.map(|name| parent.get(name)).transpose()?.flatten() else {
                continue;
            };
            let value = field.value();
            if is_empty(value) || known.iter().any(|known| value == known) {
                continue;
            }
            return Err(ApiError::not_modelled(match *handling {
                Handling::Refused => format!("the request field {field}"),
                _ => format!("{value} as {field}"),
            }));
        }
    }
    Ok(())
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

/// The parents of the last step of `path`, and that step: a name, or `None` for an element.
fn parents<'a, 'p>(
    root: &JsonField<'a>,
    path: &'p str,
) -> Result<Vec<(JsonField<'a>, Option<&'p str>)>, ApiError> {
    let mut here = vec![root.clone()];
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        let (name, element) = match step.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (step, false),
        };
        if steps.peek().is_none() && !element {
            return Ok(here.into_iter().map(|field| (field, Some(name))).collect());
        }
        let mut below = Vec::new();
        for field in here {
            if let Some(field) = field.get(name)? {
                if element {
                    below.extend(field.items()?);
                } else {
                    below.push(field);
                }
            }
        }
        here = below;
    }
    Ok(here.into_iter().map(|field| (field, None)).collect())
}

fn check_field(
    parent: &JsonField<'_>,
    name: Option<&str>,
    line: &FieldSpec,
) -> Result<(), ApiError> {
    let (_, kind, need, _) = line;
    let field = match (name, need) {
        (None, _) => parent.clone(),
        (Some(name), Need::Required) => parent.required(name)?,
        (Some(name), Need::Optional) => match parent.get(name)? {
            Some(field) => field,
            None => return Ok(()),
        },
    };
    match kind {
        Type::Any => {}
        Type::Text | Type::Open(_) | Type::Known(_) => {
            let text = field.text()?;
            if *need == Need::Required && text.is_empty() && name.is_some() {
                return Err(ApiError::invalid_parameter(format!("{field} is required")));
            }
        }
        Type::UpTo(most) => {
            if field.text()?.chars().count() > *most {
                return Err(field.must(format!("have at most {most} characters")));
            }
        }
        Type::Between(least, most) => {
            let length = field.text()?.chars().count();
            let absent = length == 0 && *need == Need::Optional;
            if !(absent || (*least..=*most).contains(&length)) {
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
            let absent = text.is_empty() && *need == Need::Optional;
            if !absent && !is_name(text) {
                return Err(field.must("be 1 to 64 letters, digits, hyphens or underscores"));
            }
        }
        Type::OneOf(values) => {
            let text = field.text()?;
            if !(values.contains(&text) || text.is_empty() && *need == Need::Optional) {
                return Err(field.must(format!("be {}", either(values))));
            }
        }
        Type::Number(least, most) => {
            let number = field.integer()?;
            if !(*least..=*most).contains(&number) {
                return Err(field.must(if *most == i64::MAX {
                    format!("be {least} or more")
                } else {
                    format!("be between {least} and {most}")
                }));
            }
        }
        Type::Decimal(least, most) => {
            if !(*least..=*most).contains(&number(&field)?) {
                return Err(field.must(if *most == f64::MAX {
                    format!("be {least} or more")
                } else {
                    format!("be between {least} and {most}")
                }));
            }
        }
        Type::Above(bound) => {
            if number(&field)? <= *bound {
                return Err(field.must(format!("be more than {bound}")));
            }
        }
        Type::Bool => {
            if !field.value().is_boolean() {
                return Err(field.must("be true or false"));
            }
        }
        Type::Object => {
            field.object()?;
        }
        Type::List => {
            field.items()?;
        }
        Type::AtMost(most) => {
            if field.items()?.len() > *most {
                return Err(field.must(format!("have at most {most} elements")));
            }
        }
        Type::Exactly(count) => {
            if field.items()?.len() != *count {
                return Err(field.must(format!("have {count} elements")));
            }
        }
        Type::Texts(pairs, key, value) => {
            let members = field.members()?;
            if members.len() > *pairs {
                return Err(field.must(format!("have at most {pairs} pairs")));
            }
            for (name, member) in members {
                if name.chars().count() > *key {
                    return Err(field.must(format!("have keys of at most {key} characters")));
                }
                if member.text()?.chars().count() > *value {
                    return Err(member.must(format!("have at most {value} characters")));
                }
            }
        }
    }
    Ok(())
}

fn number(field: &JsonField<'_>) -> Result<f64, ApiError> {
    let number = field.value().as_f64();
    number.ok_or_else(|| field.must("be a number"))
}

/// `a`, `a or b`, `a, b or c`.
fn either(values: &[&str]) -> String {
    match values {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
