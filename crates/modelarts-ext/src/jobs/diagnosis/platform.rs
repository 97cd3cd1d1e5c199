//! The service's own diagnosis of a job, `diagnosis.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    error::Error,
    jobs::{diagnosis::facts::PlatformCause, logs::tail::printable},
};

/// The service's own diagnosis of a job, which is in the file `diagnosis.json` among the logs of
/// some jobs in OBS. [`explain_with`](crate::JobHandle::explain_with) uses it as evidence.
///
/// The format of the file is not documented. A user of the service quotes its codes
/// (`openapi/attested/evidence.md`, row 70), so every text is read that contains one.
///
/// ```
/// use modelarts_ext::jobs::diagnosis::PlatformDiagnosis;
///
/// let file = br#"[{"code": "MDC.300710", "message": "python3 (rss 495 MB) was killed"}]"#;
/// let diagnosis = PlatformDiagnosis::from_json(file)?;
/// assert_eq!(diagnosis.codes().collect::<Vec<_>>(), ["MDC.300710"]);
/// # Ok::<(), modelarts_ext::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformDiagnosis(pub(super) Vec<PlatformCause>);

const PREFIX: &str = "MDC.";
const DIGITS: usize = 6;
const MAX_ENTRIES: usize = 20;
const MAX_TEXT: usize = 300;

impl PlatformDiagnosis {
    /// Reads the content of `diagnosis.json`. Keeps the first 20 codes, each once.
    ///
    /// # Errors
    /// Returns an error if the content is no JSON.
    pub fn from_json(content: &[u8]) -> Result<Self, Error> {
        let file: Value = serde_json::from_slice(content).map_err(|error| {
            Error::invalid(format!("diagnosis.json is wrong: it must be JSON: {error}"))
        })?;
        let mut entries = Vec::new();
        collect(&file, &mut entries);
        let mut known = BTreeSet::new();
        entries.retain(|entry| known.insert(entry.code.clone()));
        entries.truncate(MAX_ENTRIES);
        Ok(Self(entries))
    }

    /// Returns the codes, such as `MDC.300710`.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.code.as_str())
    }
}

/// Collects the texts and names with a code, each with the other texts of its object.
fn collect(value: &Value, entries: &mut Vec<PlatformCause>) {
    match value {
        Value::String(text) => entries.extend(entry(text, &[])),
        Value::Array(items) => items.iter().for_each(|item| collect(item, entries)),
        Value::Object(members) => {
            let texts: Vec<&str> = members.values().filter_map(Value::as_str).collect();
            let others: Vec<&str> =
                texts.iter().filter(|text| find_code(text).is_none()).copied().collect();
            for (name, member) in members {
                match member {
                    Value::String(text) if find_code(name).is_some() => {
                        entries.extend(entry(name, &[text]));
                    }
                    Value::String(text) => entries.extend(entry(text, &others)),
                    member => {
                        entries.extend(entry(name, &[]));
                        collect(member, entries);
                    }
                }
            }
        }
        _ => {}
    }
}

fn entry(text: &str, others: &[&str]) -> Option<PlatformCause> {
    let code = find_code(text)?;
    let own = text.replace(code, "");
    let own = own.trim_matches([' ', ':', ',', '-', '[', ']']);
    let texts: Vec<&str> =
        [own].iter().chain(others).filter(|it| !it.is_empty()).copied().collect();
    let text = printable(&texts.join(", ").replace(['\n', '\r'], " "));
    let text = text.chars().take(MAX_TEXT).collect();
    Some(PlatformCause { code: code.to_owned(), text })
}

fn find_code(text: &str) -> Option<&str> {
    let start = text.find(PREFIX)?;
    let code = text.get(start..start + PREFIX.len() + DIGITS)?;
    code[PREFIX.len()..].bytes().all(|byte| byte.is_ascii_digit()).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_every_form() {
        let read = |text: &str| {
            let found = PlatformDiagnosis::from_json(text.as_bytes()).unwrap().0;
            let pairs = found.into_iter().map(|entry| format!("{} {}", entry.code, entry.text));
            pairs.collect::<Vec<_>>()
        };
        for (file, entries) in [
            ("{}", &[][..]),
            ("[1, null, \"MDC.12\", \"MDC.12345x\"]", &[]),
            ("\"MDC.300710: a was killed\"", &["MDC.300710 a was killed"]),
            (
                r#"{"items": [{"code": "MDC.100050", "text": "low", "at": 1}, ["MDC.300450"]]}"#,
                &["MDC.100050 low", "MDC.300450 "],
            ),
            (r#"{"MDC.300710": {"count": 2}}"#, &["MDC.300710 "]),
            (r#"{"MDC.300710": "a\u001b[31m was\nkilled"}"#, &["MDC.300710 a was killed"]),
            (
                r#"{"a": "MDC.300710: x", "b": "MDC.100050: y", "c": "z"}"#,
                &["MDC.300710 x, z", "MDC.100050 y, z"],
            ),
            (
                r#"["MDC.300450", "MDC.300450: again", "MDC.100050"]"#,
                &["MDC.300450 ", "MDC.100050 "],
            ),
        ] {
            assert_eq!(read(file), entries, "{file}");
        }
        let many: Vec<_> = (100_000..100_030).map(|code| format!("\"MDC.{code}\"")).collect();
        assert_eq!(read(&format!("[{}]", many.join(","))).len(), MAX_ENTRIES);
        let error = PlatformDiagnosis::from_json(b"{").unwrap_err().to_string();
        assert!(error.starts_with("diagnosis.json is wrong: it must be JSON: "), "{error}");
    }
}
