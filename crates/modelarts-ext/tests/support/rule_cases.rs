//! Test cases of `rules.yaml`.

use std::sync::LazyLock;

use serde_json::{Map, Value};

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) breaks: Value,
    /// Expected line of the validation report.
    pub(crate) message: String,
    /// `true` for advice, which is reported as a warning.
    pub(crate) is_advice: bool,
    pub(crate) keeps: Value,
}

/// Returns the body of a job that violates no rule.
pub(crate) fn plain() -> Value {
    file()["plain"].clone()
}

pub(crate) fn cases() -> Vec<Case> {
    let file = file();
    let plain = &file["plain"];
    let text = |case: &Value, key: &str| case[key].as_str().unwrap().to_owned();
    let cases = file["cases"].as_array().unwrap().iter();
    cases
        .map(|case| Case {
            name: text(case, "name"),
            breaks: patched(plain, &case["breaks"]),
            message: text(case, if case["warning"].is_null() { "violation" } else { "warning" }),
            is_advice: !case["warning"].is_null(),
            keeps: patched(plain, &case["keeps"]),
        })
        .collect()
}

fn file() -> &'static Value {
    static FILE: LazyLock<Value> = LazyLock::new(|| {
        let mut file: Value = serde_saphyr::from_str(include_str!("../cases/rules.yaml")).unwrap();
        expand(&mut file);
        file
    });
    &FILE
}

/// Applies a merge patch (RFC 7396).
pub(crate) fn patched(plain: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return patch.clone();
    };
    let mut members = plain.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            members.remove(name);
        } else {
            let before = members.remove(name).unwrap_or_default();
            members.insert(name.clone(), patched(&before, change));
        }
    }
    Value::Object(members)
}

fn expand(value: &mut Value) {
    match value {
        Value::String(text) => *text = repeated(text),
        Value::Array(items) => items.iter_mut().for_each(expand),
        Value::Object(members) => {
            let old = std::mem::take(members);
            let new = old.into_iter().map(|(name, mut member)| {
                expand(&mut member);
                (repeated(&name), member)
            });
            *members = new.collect::<Map<_, _>>();
        }
        _ => {}
    }
}

fn repeated(text: &str) -> String {
    let count = text.strip_prefix("x*").or_else(|| text.strip_prefix("X*"));
    match count.and_then(|count| count.parse().ok()) {
        Some(count) => text[..1].repeat(count),
        None => text.to_owned(),
    }
}
