//! Sets a field by its path, such as `algorithm.parameters[0].name`, to a value given as text.

use modelarts_api::Shape;
use serde_json::{Map, Value};

use crate::{
    error::Error,
    jobs::create::conversion::Conversion,
    spelling::nearest,
    validation::{
        json_path::Located,
        limits::{self, BODY},
    },
};

pub(super) fn set_field(body: &mut Value, path: &str, value: &str) -> Result<(), Error> {
    set_at(Shape::Object(BODY), body, "", path, value)
}

fn set_at(shape: Shape, slot: &mut Value, done: &str, rest: &str, text: &str) -> Result<(), Error> {
    let whole = |step: &str| match (done, step.starts_with('[')) {
        ("", _) => step.to_owned(),
        (done, true) => format!("{done}{step}"),
        (done, false) => format!("{done}.{step}"),
    };
    if rest.is_empty() {
        *slot = typed(shape, done, text)?;
        return Ok(());
    }
    match shape {
        Shape::Object(schema) => {
            let name = rest.split(['.', '[']).next().unwrap_or_default();
            let path = whole(name);
            let Some(field) = limits::field(schema, name) else {
                let names: Vec<&str> = limits::fields(schema).map(|field| field.name).collect();
                let advice = match nearest(name, names.iter().copied()) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => format!("it must be one of: {}", names.join(", ")),
                };
                let error = format!("{path}: there is no such field; {advice}");
                return Err(Error::invalid(error));
            };
            let after = &rest[name.len()..];
            let after = after.strip_prefix('.').unwrap_or(after);
            set_at(field.shape, member(slot, name), &path, after, text)
        }
        Shape::List(inner) => {
            let mut items = match slot.take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let index =
                index.and_then(|(index, after)| Some((index.parse::<usize>().ok()?, after)));
            let Some((index, after)) = index.filter(|(index, _)| *index <= items.len()) else {
                return Err(Error::invalid(format!(
                    "{}: the field is a list; the name must be followed by an index from [0] to \
                     [{}]",
                    whole(rest),
                    items.len()
                )));
            };
            if index == items.len() {
                items.push(Value::Null);
            }
            let path = whole(&format!("[{index}]"));
            let after = after.strip_prefix('.').unwrap_or(after);
            set_at(*inner, &mut items[index], &path, after, text)?;
            *slot = Value::Array(items);
            Ok(())
        }
        // The rest of the path is the key of the map, because keys may contain dots.
        Shape::Map(inner) => {
            let key = rest.strip_prefix("[\"").and_then(|key| key.strip_suffix("\"]"));
            set_at(*inner, member(slot, key.unwrap_or(rest)), &whole(rest), "", text)
        }
        Shape::Any => {
            let (name, after) = rest.split_once('.').unwrap_or((rest, ""));
            set_at(shape, member(slot, name), &whole(name), after, text)
        }
        _ => Err(Error::invalid(format!(
            "{}: there is no such field; {done} is {}",
            whole(rest),
            limits::shape_in_words(shape)
        ))),
    }
}

fn member<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    &mut value[name]
}

fn typed(shape: Shape, path: &str, text: &str) -> Result<Value, Error> {
    let value = match shape {
        Shape::Text | Shape::OneOf(_) => Value::from(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    };
    let mut conversion = Conversion::default();
    let converted = conversion.convert(shape, "", &Located::root(&value));
    match conversion.violations.first() {
        None => Ok(converted.unwrap_or_default()),
        Some(violation) if violation.field().is_empty() => {
            Err(Error::invalid(format!("{path}{violation}")))
        }
        Some(violation) => Err(Error::invalid(format!("{path}.{violation}"))),
    }
}
