//! The service's own diagnosis of a job, `diagnosis.json`.

use serde_json::Value;

use crate::{error::Error, jobs::diagnosis::facts::PlatformCause};

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
    /// Reads the content of `diagnosis.json`. Keeps the first 20 codes.
    ///
    /// # Errors
    /// Returns an error if the content is no JSON.
    pub fn from_json(content: &[u8]) -> Result<Self, Error> {
        let file: Value = serde_json::from_slice(content).map_err(|error| {
            Error::invalid(format!("diagnosis.json is wrong: it must be JSON: {error}"))
        })?;
        let mut entries = Vec::new();
        collect(&file, &mut entries);
        entries.truncate(MAX_ENTRIES);
        Ok(Self(entries))
    }

    /// Returns the codes, such as `MDC.300710`, in the order of the file.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.code.as_str())
    }
}

/// Collects the texts that contain a code, each with the other texts of its object.
fn collect(value: &Value, entries: &mut Vec<PlatformCause>) {
    match value {
        Value::String(text) => entries.extend(entry(text, &[])),
        Value::Array(items) => items.iter().for_each(|item| collect(item, entries)),
        Value::Object(members) => {
            let texts: Vec<&str> = members.values().filter_map(Value::as_str).collect();
            let with_code = texts.iter().position(|text| find_code(text).is_some());
            if let Some(index) = with_code {
                let others: Vec<&str> = [&texts[..index], &texts[index + 1..]].concat();
                entries.extend(entry(texts[index], &others));
            }
            let nested = members.iter().filter(|(_, member)| !member.is_string());
            for (name, member) in nested {
                // A code can be the name of a member.
                let before = entries.len();
                collect(member, entries);
                if entries.len() == before {
                    entries.extend(entry(name, &[]));
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
    let mut texts: Vec<&str> = others.to_vec();
    if !own.is_empty() {
        texts.insert(0, own);
    }
    let text: String = texts.join(", ").chars().take(MAX_TEXT).collect();
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
        ] {
            assert_eq!(read(file), entries, "{file}");
        }
        let many = format!("[{}]", vec!["\"MDC.300450\""; 30].join(","));
        assert_eq!(read(&many).len(), MAX_ENTRIES);
        let error = PlatformDiagnosis::from_json(b"{").unwrap_err().to_string();
        assert!(error.starts_with("diagnosis.json is wrong: it must be JSON: "), "{error}");
    }
}
