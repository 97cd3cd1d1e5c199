//! Adaptation of messages of the SDK to users of the command line.

use std::borrow::Cow;

use modelarts_ext::spelling::nearest;

/// Parts of messages that concern Rust programs, and their replacements. A part that begins with
/// another part comes before the other part.
const PHRASES: [(&str, &str); 11] = [
    (
        "call endpoint() or region(), or set MODELARTS_ENDPOINT or MODELARTS_REGION",
        "set MODELARTS_REGION, such as eu-de, or MODELARTS_ENDPOINT",
    ),
    ("call credentials(), or set", "set"),
    ("or call credentials() with a provider of your own", "or set other credentials"),
    (
        "call project_id(), or region() with one of",
        "set HUAWEICLOUD_SDK_PROJECT_ID, or MODELARTS_REGION to one of",
    ),
    ("call project_id(), or set", "set"),
    (", or call connect() instead of build(), which looks it up", ""),
    (
        "call iam_endpoint(), or region() with one of",
        "set HUAWEICLOUD_SDK_IAM_ENDPOINT, or MODELARTS_REGION to one of",
    ),
    (", or iam_endpoint()", ", or HUAWEICLOUD_SDK_IAM_ENDPOINT"),
    (
        ", or create it with Bucket::create",
        ", or create it: in the console of OBS, or on the emulator with `modelarts dev --bucket NAME`",
    ),
    (", or call Staging::bucket", ", or give --bucket"),
    (", by preview() or follow()", ", with --tail or --follow"),
];

/// Returns a message of the SDK with the wording of the command line.
pub(crate) fn for_users(text: &str) -> String {
    // Only Rust programs can enable the metadata service.
    let lines = text.lines().filter(|line| !line.contains("metadata()"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = PHRASES.iter().fold(Cow::from(text), |text, (phrase, replacement)| {
        match text.contains(phrase) {
            true => text.replace(phrase, replacement).into(),
            false => text,
        }
    });
    text.into_owned()
}

/// Returns a question with the most similar known name; `other` if no name is similar.
pub(crate) fn near_or<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    other: impl FnOnce() -> String,
) -> String {
    nearest(name, known).map_or_else(other, |near| format!("did you mean {near}?"))
}

#[cfg(test)]
mod tests {
    use modelarts_ext::{ClientBuilder, Credentials, config::Environment};

    use super::*;

    fn builder(variables: &'static [(&str, &str)]) -> ClientBuilder {
        let environment = Environment::new(|name| {
            let mut variables = variables.iter();
            let variable = variables.find(|(known, _)| *known == name);
            variable.map(|(_, value)| (*value).to_owned())
        });
        ClientBuilder::default().environment(environment)
    }

    #[test]
    fn missing_settings_are_variables_and_not_functions() {
        let error = builder(&[]).build().unwrap_err().to_string();
        assert!(error.contains("call endpoint()"), "{error}");
        let text = for_users(&error);
        for line in [
            "- no endpoint; set MODELARTS_REGION, such as eu-de, or MODELARTS_ENDPOINT",
            "- no credentials; set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK. Looked at:",
            "- no project id; set HUAWEICLOUD_SDK_PROJECT_ID",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        assert!(!text.contains("()"), "{text}");
    }

    #[test]
    fn an_agency_is_unset_or_replaced() {
        let variables = &[
            ("HW_ACCESS_KEY", "a"),
            ("HW_SECRET_KEY", "b"),
            ("HW_ASSUME_ROLE_AGENCY_NAME", "c"),
            ("MODELARTS_REGION", "eu-de"),
        ];
        let error = builder(variables).build().unwrap_err().to_string();
        assert!(error.contains("call credentials()"), "{error}");
        assert!(!for_users(&error).contains("()"), "{error}");
    }

    #[tokio::test]
    async fn an_unknown_place_of_iam_is_a_variable() {
        let variables = &[("MODELARTS_ENDPOINT", "http://127.0.0.1:9")];
        let builder = builder(variables).credentials(Credentials::keys("a", "b"));
        let error = builder.connect().await.unwrap_err().to_string();
        assert!(error.contains("call project_id()"), "{error}");
        let text = for_users(&error);
        assert!(text.contains("HUAWEICLOUD_SDK_IAM_ENDPOINT") && !text.contains("()"), "{text}");
    }
}
