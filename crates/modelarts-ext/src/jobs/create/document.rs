//! Parser of job documents (JSON, YAML) into JSON values.

use std::fmt;

use modelarts_api::Shape;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use serde_saphyr::UserMessageFormatter;

use crate::{error::Error, validation::limits};

/// Parses JSON. A duplicate key is an error, because one of its values would be ignored.
///
/// The YAML parser cannot replace this function: it accepts unquoted keys and trailing commas, and
/// rejects more than 64 nested lists and the character U+007F.
pub(super) fn json(text: &str) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = ShapeSeed(Shape::Any).deserialize(&mut deserializer);
    value
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| Error::invalid(format!("not JSON: {error}")))
}

/// Parses YAML according to a shape. Where the shape is a string, `007`, `yes` and `1.50` are taken
/// literally. Elsewhere, the types of YAML apply: `007` is a number.
pub(super) fn yaml(shape: Shape, text: &str) -> Result<Value, Error> {
    // Error messages omit the surrounding lines, which may contain secrets.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        ShapeSeed(shape).deserialize(deserializer)
    })
    .map_err(|error| {
        let message = error.render_with_formatter(&UserMessageFormatter);
        Error::invalid(format!("not YAML: {message}"))
    })
}

/// Seed that deserializes a value of this shape and rejects duplicate keys.
struct ShapeSeed(Shape);

impl<'de> DeserializeSeed<'de> for ShapeSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for ShapeSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(limits::shape_in_words(self.0))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.0 {
            Shape::Text | Shape::OneOf(_) => deserializer.deserialize_str(self),
            Shape::Object(_) | Shape::Map(_) => deserializer.deserialize_map(self),
            Shape::List(_) => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_any(self),
        }
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = match self.0 {
            Shape::List(inner) => *inner,
            _ => Shape::Any,
        };
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(ShapeSeed(inner))? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if members.contains_key(&key) {
                let error = format_args!("the key {key:?} comes twice");
                return Err(A::Error::custom(error));
            }
            let shape = match self.0 {
                Shape::Object(schema) => {
                    limits::field(schema, &key).map_or(Shape::Any, |field| field.shape)
                }
                Shape::Map(inner) => *inner,
                _ => Shape::Any,
            };
            let value = entries.next_value_seed(ShapeSeed(shape))?;
            members.insert(key, value);
        }
        Ok(members.into())
    }
}
