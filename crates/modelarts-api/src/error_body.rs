//! Conversion of the bodies of error responses to the shape of `ApiError`.
//!
//! The service, the gateway and proxies send error bodies of different shapes. Without the
//! conversion, an HTML page with status 502 would cause a decoding error without status and
//! request id.

use bytes::Bytes;
use memchr::memmem;
use serde_json::{Map, Value, json};

/// Maximum length of the excerpt that is used as the message if an error body contains no message,
/// in characters.
const EXCERPT: usize = 2048;
/// Maximum length of the excerpt of an HTML page, in characters.
const PAGE_EXCERPT: usize = 120;
/// Texts with which an HTML page may begin, in lower case. Servers may omit the document type.
const PAGE_STARTS: [&str; 5] = ["<!doctype html", "<html", "<head", "<body", "<!--"];
/// Delimiters of the parts of an HTML page that a browser does not show, in lower case.
const HIDDEN: [(&str, &str); 4] =
    [("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>"), ("<", ">")];

/// Replaces the body of an error with an `ApiError`, unless the body already is one.
#[cold]
pub(crate) fn normalise(body: &mut Bytes) {
    if let Some(error) = to_api_error(body) {
        *body = error.to_string().into();
    }
}

/// Returns the code and the message of an error body of any shape that the service, the gateway or
/// IAM uses. Returns `None` for a body that is not a JSON object, such as an HTML page of a proxy.
#[must_use]
pub fn find(body: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else {
        return None;
    };
    let error = find_error(&object);
    let own = |key: &str| own_text(&object, key).map(str::to_owned);
    let found = |key: &str| Some(error.as_ref()?.get(key)?.as_str()?.to_owned());
    Some((
        own("error_code").or_else(|| found("error_code")),
        own("error_msg")
            .or_else(|| found("error_msg"))
            .or_else(|| own("title"))
            .or_else(|| own_text(object.get("error")?.as_object()?, "title").map(str::to_owned)),
    ))
}

/// Maximum length of a body with a success status that is searched for an error, in bytes.
const ERROR_BODY_CAP: usize = 64 << 10;

/// Returns `true` if the body of a response with a success status has the fields of an error. No
/// response in the description has these fields.
pub(crate) fn is_error(body: &[u8]) -> bool {
    const NAMES: [&str; 4] = ["error_code", "errorCode", "error_msg", "errorMsg"];
    if body.len() > ERROR_BODY_CAP || memmem::find(body, b"error").is_none() {
        return false;
    }
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else {
        return false;
    };
    let nested = || object.get("error")?.as_object().and_then(find_error);
    NAMES.iter().any(|name| own_text(&object, name).is_some()) || nested().is_some()
}

/// Returns the string at a top-level key, or `None` if there is no string, or an empty one.
fn own_text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// Converts the body to an `ApiError`. Returns `None` if the body already is an `ApiError`.
fn to_api_error(body: &[u8]) -> Option<Value> {
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else {
        return Some(text_error(body));
    };
    let has = |key: &str| object.get(key).is_some_and(Value::is_string);
    if has("error_code") || has("error_msg") {
        return None;
    }
    Some(find_error(&object).unwrap_or_else(|| {
        let text = Value::Object(object.clone()).to_string();
        let excerpt: String = text.chars().take(EXCERPT).collect();
        json!({ "error_msg": excerpt })
    }))
}

/// Creates an `ApiError` whose message is the text of a body that is not a JSON object.
fn text_error(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let message = html_page(&text).unwrap_or_else(|| text.trim().to_owned());
    let excerpt: String = message.chars().take(EXCERPT).collect();
    json!({ "error_msg": excerpt })
}

/// Returns a message with the title of an HTML page, or with the first words if the page has no
/// title. Returns `None` if the text is not an HTML page.
#[must_use]
pub fn html_page(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // Conversion to ASCII lower case preserves the length, so positions are valid in both strings.
    let lower = text.to_ascii_lowercase();
    let is_xhtml = || lower.starts_with("<?xml") && lower.contains("<html");
    if !PAGE_STARTS.iter().any(|start| lower.starts_with(start)) && !is_xhtml() {
        return None;
    }
    let title = lower.find("<title").and_then(|at| {
        let at = at + lower[at..].find('>')? + 1;
        let end = at + lower[at..].find("</title")?;
        Some(excerpt(text[at..end].split_whitespace()))
    });
    let shown = title.filter(|title| !title.is_empty());
    Some(match shown.unwrap_or_else(|| excerpt(shown_words(text, &lower).into_iter())) {
        shown if shown.is_empty() => "an HTML page without text".to_owned(),
        shown => format!("an HTML page, {shown:?}"),
    })
}

/// Returns the first words of a page that a browser shows. `lower` is the page in lower case.
fn shown_words<'a>(page: &'a str, lower: &str) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut at = 0;
    // A word has at least one character, so more words would exceed the excerpt.
    while words.len() < PAGE_EXCERPT {
        let end = page[at..].find('<').map_or(page.len(), |end| at + end);
        words.extend(page[at..end].split_whitespace());
        let hidden = HIDDEN.iter().find(|(start, _)| lower[end..].starts_with(start));
        let length = hidden.and_then(|(_, stop)| Some(lower[end..].find(stop)? + stop.len()));
        match length {
            Some(length) => at = end + length,
            None => break,
        }
    }
    words
}

/// Joins words to an excerpt of at most [`PAGE_EXCERPT`] characters, with `…` if it is truncated.
fn excerpt<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let text = words.take(PAGE_EXCERPT).collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(PAGE_EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the first pair of code and message at the top level or in a nested object, in the order
/// of the official SDK, otherwise a message. IAM sends `{"error": {"code", "message", "title"}}`.
fn find_error(object: &Map<String, Value>) -> Option<Value> {
    const PAIRS: [(&str, &str); 6] = [
        ("error_code", "error_msg"),
        ("errorCode", "errorMsg"),
        ("error_code", "error_message"),
        ("code", "message"),
        ("error_code", "message"),
        ("code", "title"),
    ];
    let text = |key: &str| match object.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    // STS and IAM v5 may send a readable message and an encoded message. Only the API of STS and
    // IAM can decode the encoded message, so the readable message takes precedence.
    let own_message = own_text(object, "error_msg");
    if let (None, Some(message)) = (own_message, text("encoded_authorization_message")) {
        return Some(json!({ "error_code": text("error_code"), "error_msg": message }));
    }
    for (code, message) in PAIRS {
        if let (Some(code), Some(message)) = (text(code), text(message)) {
            return Some(json!({
                "error_code": code,
                "error_msg": message,
                "error_solution": text("error_solution"),
                "request_id": text("request_id"),
            }));
        }
    }
    object.values().find_map(|value| value.as_object().and_then(find_error)).or_else(|| {
        let message =
            ["error_msg", "error_message", "message", "errorMsg"].into_iter().find_map(text)?;
        Some(json!({ "error_msg": message }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(body: &str) -> Value {
        to_api_error(body.as_bytes()).unwrap_or_else(|| serde_json::from_str(body).unwrap())
    }

    #[test]
    fn bodies_of_the_service_stay_as_they_are() {
        assert_eq!(to_api_error(br#"{"error_code":"ModelArts.2775","error_msg":"m"}"#), None);
        assert_eq!(to_api_error(br#"{"error_msg":"only a message"}"#), None);
    }

    #[test]
    fn an_error_body_is_recognised_without_its_status() {
        for body in [
            r#"{"error_code":"X.1"}"#,
            r#"{"error_msg":"m","items":[]}"#,
            r#"{"errorCode":"X.1","errorMsg":"m"}"#,
            r#"{"error":{"code":401,"message":"no"}}"#,
        ] {
            assert!(is_error(body.as_bytes()), "{body}");
        }
        let long = format!(r#"{{"error_msg":"{}"}}"#, "m".repeat(5000));
        assert!(is_error(long.as_bytes()));
        for body in [
            "",
            "null",
            "{}",
            r#"{"error_code":null,"error_msg":""}"#,
            r#"{"message":"an error"}"#,
            r#"{"items":[{"error_code":"X.1","error_msg":"m"}]}"#,
            r#"{"errors":[],"error":null}"#,
        ] {
            assert!(!is_error(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn other_shapes_become_code_and_message() {
        assert_eq!(
            converted(r#"{"error":{"code":401,"message":"no","title":"Unauthorized"}}"#),
            json!({"error_code":"401","error_msg":"no","error_solution":null,"request_id":null})
        );
        assert_eq!(
            converted(r#"{"errorCode":"X.1","errorMsg":"m","request_id":"r"}"#),
            json!({"error_code":"X.1","error_msg":"m","error_solution":null,"request_id":"r"})
        );
        assert_eq!(converted(r#"{"error_message":"only this"}"#), json!({"error_msg":"only this"}));
    }

    #[test]
    fn code_and_message_are_found_in_any_shape() {
        let found = |body: &str| {
            let (code, message) = find(body.as_bytes()).unwrap();
            (code.unwrap_or_default(), message.unwrap_or_default())
        };
        let pair = |code: &str, message: &str| (code.to_owned(), message.to_owned());
        assert_eq!(found(r#"{"error":{"code":401,"message":"no"}}"#), pair("401", "no"));
        assert_eq!(found(r#"{"error_code":"X.1","error_msg":"m"}"#), pair("X.1", "m"));
        assert_eq!(found(r#"{"error_msg":"m"}"#), pair("", "m"));
        assert_eq!(found(r#"{"error_code":"X.1"}"#), pair("X.1", ""));
        assert_eq!(found(r#"{"error":{"code":500,"title":"Internal"}}"#), pair("500", "Internal"));
        assert_eq!(find(b"upstream down\n"), None);
        assert_eq!(find(b"{}"), Some((None, None)));
    }

    #[test]
    fn a_readable_message_precedes_an_encoded_one() {
        let body = br#"{"error_code":"PAP5.1","error_msg":"token expires",
            "encoded_authorization_message":"blob"}"#;
        let (code, message) = find(body).unwrap();
        assert_eq!(code.as_deref(), Some("PAP5.1"));
        assert_eq!(message.as_deref(), Some("token expires"));
        assert_eq!(
            converted(
                r#"{"error_code":"PAP5.1","error":{"encoded_authorization_message":"blob"}}"#
            ),
            json!({"error_code":"PAP5.1","error":{"encoded_authorization_message":"blob"}})
        );
    }

    #[test]
    fn a_title_is_the_message_if_there_is_no_other() {
        let message = |body: &str| find(body.as_bytes()).unwrap().1;
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(message(r#"{"title":"Unauthorized"}"#), some("Unauthorized"));
        assert_eq!(message(r#"{"error":{"title":"Unauthorized"}}"#), some("Unauthorized"));
        assert_eq!(message(r#"{"message":"m","title":"t"}"#), some("m"));
        assert_eq!(message(r#"{"message":"m","data":{"title":"t"}}"#), some("m"));
        // If the body has no error code, the whole body becomes the message, so that no details are
        // lost.
        let problem = r#"{"detail":"why","status":403,"title":"Forbidden"}"#;
        assert_eq!(converted(problem), json!({ "error_msg": problem }));
    }

    #[test]
    fn an_empty_message_gives_way_and_the_own_code_stays() {
        let (code, message) =
            find(br#"{"error_msg":"","error":{"code":"401","message":"wrong password"}}"#).unwrap();
        assert_eq!(code.as_deref(), Some("401"));
        assert_eq!(message.as_deref(), Some("wrong password"));
        let own = br#"{"error_code":"APIGW.0307","details":{"code":"5","message":"m"}}"#;
        assert_eq!(find(own).unwrap().0.as_deref(), Some("APIGW.0307"));
    }

    #[test]
    fn a_page_is_shown_by_its_title_or_its_first_words() {
        let long = format!("<body>{}</body>", "word ".repeat(100));
        let shown = format!("{}…", "word ".repeat(PAGE_EXCERPT / 5));
        for (page, text) in [
            ("<html><title>Sign in</title><p>Welcome</p>", "Sign in"),
            ("\u{feff}<html><title lang=en>\n Sign\n in</title>", "Sign in"),
            ("<html><title> </title><p>Welcome</p>", "Welcome"),
            (
                "<HTML><head><style>p {x: y}</style><SCRIPT>if (a < b) c()</SCRIPT></head>\
                 <!-- <p>no</p> --><body>\n<h1>Log in</h1><p>to <b>the</b>\n hotel's network",
                "Log in to the hotel's network",
            ),
            ("<body>busy</body>", "busy"),
            ("<!-- proxy --><p>busy", "busy"),
            ("<?xml version='1.0'?><html>busy</html>", "busy"),
            (&long, &shown),
        ] {
            assert_eq!(html_page(page), Some(format!("an HTML page, {text:?}")), "{page}");
        }
        for page in ["<html>", "<html><body></body></html>", "<html><script>a", "<html><b"] {
            assert_eq!(html_page(page).unwrap(), "an HTML page without text", "{page}");
        }
        for text in ["", "{}", "upstream down", "<?xml version='1.0'?><Error/>", "<b>no</b>"] {
            assert_eq!(html_page(text), None, "{text}");
        }
    }

    #[test]
    fn text_is_kept_as_the_message() {
        assert_eq!(
            converted("<html><head><TITLE>502 Bad Gateway</TITLE></head></html>\n"),
            json!({"error_msg":"an HTML page, \"502 Bad Gateway\""})
        );
        assert_eq!(converted("<!DOCTYPE html><body>ä"), json!({"error_msg":"an HTML page, \"ä\""}));
        assert_eq!(converted("upstream down\n"), json!({"error_msg":"upstream down"}));
        assert_eq!(converted(""), json!({"error_msg":""}));
        assert_eq!(converted("null"), json!({"error_msg":"null"}));
        assert_eq!(converted(r#"{"weird":1}"#), json!({"error_msg":"{\"weird\":1}"}));
        let long = "x".repeat(10_000);
        assert_eq!(converted(&long)["error_msg"].as_str().unwrap().len(), EXCERPT);
    }
}
