//! `Redactor`: replaces all recorded values that are not known to be harmless.
//!
//! The following stay: field names and enumeration values that the description has for a place,
//! error codes, null, booleans, and numbers of at most three digits. Any other text, number or key
//! gets a placeholder in the form of its kind. Equal texts get equal placeholders.

use std::{collections::BTreeMap, net::IpAddr};

use modelarts_ext::api::OPERATIONS;
use serde_json::{Map, Value};

use crate::commands::record::description::{self, Schema};

/// Maximum number of digits of a number that is not replaced.
const MAX_DIGITS: usize = 3;
/// Minimum number of hexadecimal digits of a text that is replaced as an id.
const MIN_HEX: usize = 16;
/// Date that replaces the date of all times.
const DATE: &str = "2000-01-01";
/// Schemes of addresses, which are not replaced.
const SCHEMES: [&str; 4] = ["obs://", "http://", "https://", "ssh://"];

/// Placeholders of a recording, by the texts that they replace.
#[derive(Default)]
pub(super) struct Redactor {
    placeholders: BTreeMap<String, String>,
    counts: BTreeMap<String, usize>,
}

impl Redactor {
    /// Replaces all values of a call that must not stay. Returns null for an unknown operation.
    pub(super) fn call(&mut self, mut call: Value) -> Value {
        let Some(operation) = OPERATIONS.iter().find(|it| call["operation"] == it.id) else {
            return Value::Null;
        };
        let status = call["status"].as_u64().and_then(|it| u16::try_from(it).ok());
        let response = status.and_then(|status| description::response(operation, status));
        for (name, value) in call["parameters"].as_object_mut().into_iter().flatten() {
            *value = self.value(name, description::parameter(operation, name), value);
        }
        if let Some(body) = call.get_mut("request") {
            *body = self.value("text", description::request(operation), body);
        }
        if let Some(body) = call.get_mut("response") {
            *body = self.value("text", response.unwrap_or(&Value::Null), body);
        }
        call
    }

    /// Returns the value of a field, with placeholders for everything that must not stay.
    pub(super) fn value(&mut self, field: &str, schema: &'static Value, value: &Value) -> Value {
        let schema = Schema::new(schema);
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => {
                let text = number.to_string();
                match digits(&text) <= MAX_DIGITS {
                    true => value.clone(),
                    false => serde_json::from_str(&ones(&text)).unwrap_or_default(),
                }
            }
            Value::String(text) => {
                let is_code = field == "error_code" && is_error_code(text);
                match is_code || schema.knows(text) == Some(true) || is_short(text) {
                    true => value.clone(),
                    false => self.text(field, text).into(),
                }
            }
            Value::Array(items) => {
                let redact = |item| self.value(field, schema.get("items"), item);
                items.iter().map(redact).collect()
            }
            Value::Object(members) => {
                let mut redacted = Map::new();
                for (name, value) in members {
                    if let Some(schema) = schema.field(name) {
                        redacted.insert(name.clone(), self.value(name, schema, value));
                        continue;
                    }
                    let kind = schema.entries().map_or("field", |_| "key");
                    let schema = schema.entries().unwrap_or(&Value::Null);
                    let key = self.named(kind, name);
                    redacted.insert(key, self.value(field, schema, value));
                }
                redacted.into()
            }
        }
    }

    /// Returns the placeholder of a text, in the form of the kind of the text.
    fn text(&mut self, field: &str, text: &str) -> String {
        let width = text.len();
        let is_hex = text.bytes().all(|it| it.is_ascii_hexdigit());
        let lengths = text.split('-').map(str::len);
        let is_path = text.contains('/') && !text.contains(char::is_whitespace);
        if text.parse::<IpAddr>().is_ok() {
            self.placeholder("address", text, |count| format!("192.0.2.{count}"))
        } else if lengths.eq([8, 4, 4, 4, 12]) {
            let form = |count| format!("00000000-0000-4000-8000-{count:012}");
            self.placeholder("uuid", text, form)
        } else if digits(text) == width || is_hex && width >= MIN_HEX {
            self.placeholder("digits", text, |count| format!("{count:0width$}"))
        } else if is_time(text) {
            DATE.to_owned() + &ones(&text[DATE.len()..])
        } else if is_number(text) {
            ones(text)
        } else if is_path {
            self.path(text)
        } else {
            self.named(field, text)
        }
    }

    /// Returns a placeholder path with the same number of segments, and without the query.
    fn path(&mut self, text: &str) -> String {
        let known = SCHEMES.into_iter().find(|scheme| text.starts_with(scheme));
        let scheme = known.unwrap_or_default();
        let path = text[scheme.len()..].split('?').next().unwrap_or_default();
        let parts = path.split('/').map(|part| match part {
            "" => String::new(),
            part => self.named("part", part),
        });
        scheme.to_owned() + &parts.collect::<Vec<_>>().join("/")
    }

    fn named(&mut self, kind: &str, text: &str) -> String {
        self.placeholder(kind, text, |count| format!("{kind}_{count}"))
    }

    fn placeholder(&mut self, kind: &str, text: &str, form: impl Fn(usize) -> String) -> String {
        let new = || {
            let count = self.counts.entry(kind.to_owned()).or_default();
            *count += 1;
            form(*count)
        };
        let placeholders = self.placeholders.entry(text.to_owned());
        placeholders.or_insert_with(new).clone()
    }
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Returns a text with each digit replaced by 1.
fn ones(text: &str) -> String {
    text.replace(|it: char| it.is_ascii_digit(), "1")
}

/// Returns `true` if a text reveals nothing: empty, a boolean, or a short number.
fn is_short(text: &str) -> bool {
    let is_boolean = ["true", "false"].contains(&text.to_lowercase().as_str());
    text.is_empty() || is_boolean || is_number(text) && digits(text) <= MAX_DIGITS
}

/// Returns `true` if a text has only digits, hyphens, periods and colons, and at least one digit.
fn is_number(text: &str) -> bool {
    let form = ones(text);
    form.contains('1') && form.bytes().all(|it| b"1-.:".contains(&it))
}

/// Returns `true` if a text is a date, with or without a time.
fn is_time(text: &str) -> bool {
    let form = ones(text);
    form.starts_with("1111-11-11") && form.bytes().all(|it| b"1-:TZ+. ".contains(&it))
}

/// Returns `true` if a text has the form of an error code, such as `ModelArts.2775`.
fn is_error_code(text: &str) -> bool {
    text.split_once('.').is_some_and(|(origin, number)| {
        let is_word = origin.bytes().all(|it| it.is_ascii_alphabetic());
        is_word && text.len() <= 24 && !number.is_empty() && digits(number) == number.len()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_on_the_list_stays() {
        let mut redactor = Redactor::default();
        let table = "
            -0.5  -0.5
            4711  0001
            heron  name_1
            Running  name_2
            ModelArts.2775  name_3
            ann@aviary.example  name_4
            urn:smn:eu-de:0f1e2d3c4b5a6978:heron  name_5
            c2VjcmV0IGtleQ==  name_6
            left 10.9.8.7 / heron  name_7
            10.9.8.7  192.0.2.1
            10.9.8.7:4711  11.1.1.1:1111
            0:12:34.5678  1:11:11.1111
            998877665544  000000000002
            0f1e2d3c4b5a69788796a5b4c3d2e1f0  00000000000000000000000000000003
            5bd61eea-9de2-4864-a0f7-5fae966171b5  00000000-0000-4000-8000-000000000001
            1984-03-07  2000-01-01
            2026-01-15T16:30:07.5+08:00  2000-01-01T11:11:11.1+11:11
            obs://aviary/heron/a.py  obs://part_1/name_1/part_2
            /aviary/heron/12/  /part_1/name_1/part_3/
            https://ann:pw@obs.example/aviary/x?AWSAccessKeyId=AK  https://part_4/part_1/part_5
            QUtJQQ==/+secret  part_6/part_7
            ftp://heron  part_8//name_1
        ";
        for line in table.trim().lines() {
            let (text, expected) = line.trim().rsplit_once("  ").unwrap();
            let redacted = redactor.value("name", &Value::Null, &text.into());
            assert_eq!(redacted, expected, "{text}");
        }
        let map = json!({"heron": [1984, 1.5, true, null], "Running": {"": "4711"}});
        let expected = json!({"name_1": [1111, 1.5, true, null], "name_2": {"key_1": "0001"}});
        assert_eq!(redactor.value("name", &Value::Null, &map), expected);
    }
}
