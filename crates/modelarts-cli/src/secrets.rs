//! Masking of secrets in JSON that is printed.

use serde_json::Value;

/// Text that replaces a secret.
const MASK: &str = "***";
/// Parts of the names of fields that hold credentials.
const SECRET_NAMES: [&str; 6] = [
    "password",
    "secret",
    "token",
    "credential",
    "access_key",
    "private_key",
];
/// Parameters of presigned links, in lower case. Each of them gives access.
const SIGNATURES: [&str; 4] = [
    "signature=",
    "x-amz-security-token=",
    "x-obs-security-token=",
    "x-amz-credential=",
];

/// Replaces the values of environment variables, of fields with names of credentials and of
/// sensitive hyper-parameters, and the parameters of presigned links. Returns their number.
pub(crate) fn mask(value: &mut Value) -> usize {
    mask_value(value, false)
}

fn mask_value(value: &mut Value, is_secret: bool) -> usize {
    match value {
        Value::Array(items) => {
            let items = items.iter_mut();
            items.map(|item| mask_value(item, is_secret)).sum()
        }
        Value::Object(fields) => {
            let is_sensitive = fields
                .get("constraint")
                .is_some_and(|constraint| constraint["sensitive"] == true);
            let fields = fields.iter_mut().map(|(name, field)| {
                let name = name.to_ascii_lowercase();
                let is_named = name == "environments"
                    || SECRET_NAMES.iter().any(|part| name.contains(part))
                    || (is_sensitive && name == "value");
                mask_value(field, is_secret || is_named)
            });
            fields.sum()
        }
        Value::String(text) if is_secret && !text.is_empty() => {
            MASK.clone_into(text);
            1
        }
        Value::String(text) => {
            let Some((link, parameters)) = text.split_once('?') else {
                return 0;
            };
            let parameters = parameters.to_ascii_lowercase();
            if SIGNATURES.iter().any(|name| parameters.contains(name)) {
                *text = format!("{link}?{MASK}");
                return 1;
            }
            0
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        let mut value = json!({
            "environments": {"DB_PASSWORD": "hunter2", "EPOCHS": "3", "EMPTY": ""},
            "tasks": [{"environments": {"A": "b"}}],
            "web": {"url": "https://a/b?x=1", "token": "abc", "max_tokens": 5},
            "parameters": [
                {"name": "key", "value": "k", "constraint": {"sensitive": true}},
                {"name": "lr", "value": "0.1", "constraint": {"sensitive": false}},
            ],
            "obs_url": "https://b.obs/log?AccessKeyId=A&Expires=1&Signature=abc%3D",
        });
        assert_eq!(mask(&mut value), 6);
        assert_eq!(
            value,
            json!({
                "environments": {"DB_PASSWORD": "***", "EPOCHS": "***", "EMPTY": ""},
                "tasks": [{"environments": {"A": "***"}}],
                "web": {"url": "https://a/b?x=1", "token": "***", "max_tokens": 5},
                "parameters": [
                    {"name": "key", "value": "***", "constraint": {"sensitive": true}},
                    {"name": "lr", "value": "0.1", "constraint": {"sensitive": false}},
                ],
                "obs_url": "https://b.obs/log?***",
            })
        );
    }
}
