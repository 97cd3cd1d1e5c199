//! Masking of secrets in JSON that programs print or show. Not part of the public interface.

use serde_json::Value;

/// Text that replaces a secret.
pub const MASK: &str = "***";
const SECRET_NAMES: [&str; 6] =
    ["password", "secret", "token", "credential", "access_key", "private_key"];
/// Words in the names of environment variables with credentials, such as `KEY` in `API_KEY`.
const SECRET_WORDS: [&str; 6] = ["key", "ak", "sk", "pass", "pwd", "auth"];
/// Suffixes of words in such names. They do not match `MAX_TOKENS` or `TOKENIZERS_PARALLELISM`.
const SECRET_ENDS: [&str; 8] =
    ["password", "passwords", "passwd", "secret", "secrets", "token", "apikey", "credentials"];
const SIGNATURES: [&str; 4] =
    ["signature=", "x-amz-security-token=", "x-obs-security-token=", "x-amz-credential="];

/// Masks the values of environment variables, of fields with names of credentials and of sensitive
/// hyper-parameters, and the query of presigned URLs. Returns the number of masked values.
pub fn mask(value: &mut Value) -> usize {
    mask_value(value, false, &|_| true)
}

/// Masks secrets in a job that the caller has just described. Of the environment variables, only
/// those with names of credentials and the `inherited` variables are masked. Returns the number of
/// masked values. Other values, such as `SEED=1`, must be visible, as in the output of
/// `kubectl --dry-run`.
pub fn mask_described(value: &mut Value, inherited: &[String]) -> usize {
    mask_value(value, false, &|name| {
        inherited.iter().any(|inherited| inherited == name) || is_credential(name)
    })
}

/// Returns `true` for the name of an environment variable or a setting that holds a credential.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end))
    })
}

/// Masks a value. `masks` returns `true` for the names of the environment variables to mask.
fn mask_value(value: &mut Value, is_secret: bool, masks: &dyn Fn(&str) -> bool) -> usize {
    match value {
        Value::Array(items) => {
            let items = items.iter_mut();
            items.map(|item| mask_value(item, is_secret, masks)).sum()
        }
        Value::Object(fields) => {
            let is_sensitive =
                fields.get("constraint").is_some_and(|constraint| constraint["sensitive"] == true);
            let fields = fields.iter_mut().map(|(name, field)| {
                let name = name.to_ascii_lowercase();
                if let ("environments", Value::Object(variables)) = (name.as_str(), &mut *field) {
                    let variables = variables.iter_mut();
                    let masked = variables
                        .map(|(name, value)| mask_value(value, is_secret || masks(name), masks));
                    return masked.sum();
                }
                let is_named = SECRET_NAMES.iter().any(|part| name.contains(part))
                    || (is_sensitive && name == "value");
                mask_value(field, is_secret || is_named, masks)
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
    #[test]
    fn of_a_described_job_only_credentials_are_masked() {
        let mut value = json!({
            "environments": {
                "SEED": "1", "TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "9", "HOST": "h",
                "DB_PASSWORD": "a", "API_KEY": "b", "HUAWEICLOUD_SDK_SK": "c", "git-pwd": "d",
                "AWS_ACCESS_KEY_ID": "e", "HF_TOKEN": "f", "apiKey": "g",
            },
            "tasks": [{"environments": {"HOST": "h", "Auth": "i"}}],
            "parameters": [{"name": "k", "value": "v", "constraint": {"sensitive": true}}],
        });
        assert_eq!(mask_described(&mut value, &["HOST".to_owned()]), 11);
        assert_eq!(
            value,
            json!({
                "environments": {
                    "SEED": "1", "TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "9",
                    "HOST": "***", "DB_PASSWORD": "***", "API_KEY": "***",
                    "HUAWEICLOUD_SDK_SK": "***", "git-pwd": "***", "AWS_ACCESS_KEY_ID": "***",
                    "HF_TOKEN": "***", "apiKey": "***",
                },
                "tasks": [{"environments": {"HOST": "***", "Auth": "***"}}],
                "parameters": [{"name": "k", "value": "***", "constraint": {"sensitive": true}}],
            })
        );
    }
}
