//! Masking of secrets in received texts, because servers may echo request headers.

use std::cmp::Reverse;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

const REPLACEMENT: &str = "***";
/// Minimum length of a masked secret, in bytes. Shorter secrets match too many unrelated texts.
const MIN_SECRET: usize = 4;
const MAX_JSON: usize = 64 << 10;
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) struct Mask(Vec<String>);

impl Mask {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = Vec::new();
        for secret in secrets {
            if secret.len() < MIN_SECRET {
                continue;
            }
            forms.extend([secret.to_owned(), STANDARD_NO_PAD.encode(secret)]);
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if secret.bytes().all(is_plain) {
                // No encoding changes such a secret. Keys and signatures usually are of this kind.
                continue;
            }
            let percent = utf8_percent_encode(secret, RESERVED).to_string();
            let quoted = Value::from(secret).to_string();
            let escaped = quoted.trim_matches('"').to_owned();
            forms.extend([
                lower_case_escapes(&percent),
                percent,
                escaped.replace('/', "\\/"),
                escaped,
            ]);
        }
        // Longer forms come first, so that a form that contains another is replaced completely.
        forms.sort_by(|a, b| Reverse(a.len()).cmp(&Reverse(b.len())).then(a.cmp(b)));
        forms.dedup();
        Self(forms)
    }

    pub(crate) fn longest_form(&self) -> usize {
        self.0.first().map_or(0, String::len)
    }

    pub(crate) fn text(&self, text: &str) -> Option<String> {
        let mut masked: Option<String> = None;
        for form in &self.0 {
            let so_far = masked.as_deref().unwrap_or(text);
            if so_far.contains(form) {
                masked = Some(so_far.replace(form, REPLACEMENT));
            }
        }
        masked
    }

    /// Masks a text; in JSON, also secrets with escaped characters. Returns `None` if unchanged.
    pub(crate) fn document(&self, text: &str) -> Option<String> {
        if text.len() <= MAX_JSON
            && let Ok(mut value) = serde_json::from_str(text)
        {
            return self.mask_value(&mut value).then(|| value.to_string());
        }
        self.text(text)
    }

    fn mask_value(&self, value: &mut Value) -> bool {
        let masked = match value {
            Value::String(text) => self.text(text),
            Value::Number(number) => self.text(&number.to_string()),
            Value::Array(items) => {
                let found = items.iter_mut().map(|item| self.mask_value(item));
                return found.fold(false, |any, found| any | found);
            }
            Value::Object(members) => {
                let mut found = false;
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(name, mut member)| {
                        let masked = self.text(&name);
                        found |= self.mask_value(&mut member) | masked.is_some();
                        (masked.unwrap_or(name), member)
                    })
                    .collect();
                return found;
            }
            Value::Null | Value::Bool(_) => None,
        };
        let found = masked.is_some();
        if let Some(masked) = masked {
            *value = masked.into();
        }
        found
    }

    pub(crate) fn mask_body(&self, body: &mut Bytes) {
        if let Some(masked) = self.document(&String::from_utf8_lossy(body)) {
            *body = masked.into();
        }
    }

    pub(crate) fn mask_headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let masked = self.text(&String::from_utf8_lossy(value.as_bytes()));
            if let Some(masked) = masked {
                // A value that is not a valid header value after masking is replaced completely.
                *value = HeaderValue::from_str(&masked)
                    .unwrap_or_else(|_| HeaderValue::from_static(REPLACEMENT));
            }
        }
    }
}

fn lower_case_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        lower.extend(["%", &digits.to_ascii_lowercase(), rest]);
    }
    lower
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_found_in_the_ways_they_are_written() {
        let mask = Mask::new(["a/B+c\"D=", "x", "", "token"]);
        for (text, masked) in [
            ("it is a/B+c\"D=, and token", Some("it is ***, and ***")),
            ("?t=a%2FB%2Bc%22D%3D&u=1", Some("?t=***&u=1")),
            ("?t=a%2fB%2bc%22D%3d", Some("?t=***")),
            (r#"{"t":"a/B+c\"D="} cut"#, Some(r#"{"t":"***"} cut"#)),
            (r#"{"t":"a\/B+c\"D="} cut"#, Some(r#"{"t":"***"} cut"#)),
            ("Basic YS9CK2MiRD0=", Some("Basic ***=")),
            ("x a/B+c", None),
        ] {
            assert_eq!(mask.text(text).as_deref(), masked, "{text}");
        }
        let text = r#"{"a":["to\u006ben",1],"token":{"b":"t\u006fken!"}}"#;
        let masked: Value = serde_json::from_str(&mask.document(text).unwrap()).unwrap();
        assert_eq!(masked, json!({"a": ["***", 1], "***": {"b": "***!"}}));
        assert_eq!(mask.document(r#"{"a":[1]}"#), None);
        // A secret that contains another one is replaced as a whole.
        let mask = Mask::new(["secret", "secret-2"]);
        assert_eq!(mask.text("secret-2 secret").as_deref(), Some("*** ***"));
    }
}
