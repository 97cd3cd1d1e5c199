//! Explanation of a rejected signature.
//!
//! The response contains the canonical request of the gateway, with `|` for line breaks. If it
//! differs from the local one, the request was changed in transit; else the secret key is wrong.

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    SecretKey,
    /// The request was changed in transit; the text describes the first difference.
    Request(String),
}

/// Compares the canonical request of the gateway, if the message has one, with the local one.
pub(crate) fn explain(message: &str, ours: &str) -> Option<Mismatch> {
    let (_, theirs) = message.split_once("canonicalRequest:")?;
    let theirs: Vec<&str> = theirs.trim().split('|').map(str::trim).collect();
    let ours: Vec<&str> = ours.split('\n').map(str::trim).collect();
    let at = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at));
    let Some(at) = at else {
        return Some(Mismatch::SecretKey);
    };
    let part = match at {
        0 => "the method",
        1 => "the path",
        2 => "the query",
        at if at + 1 == ours.len() => "the hash of the body",
        at if at + 2 == ours.len() => "the list of signed headers",
        _ => "a header",
    };
    let show = |line: Option<&&str>| match line.copied() {
        None => "nothing".to_owned(),
        Some(line) if line.starts_with("x-security-token") => "x-security-token:***".to_owned(),
        Some(line) => format!("{line:?}"),
    };
    Some(Mismatch::Request(format!(
        "the gateway saw another request than was signed: {part} is {} there and was {} here",
        show(theirs.get(at)),
        show(ours.get(at)),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "GET\n/v2/p/\na=1\nhost:h\nx-security-token:SECRET\n\nhost\nhash";

    #[test]
    fn the_first_difference_is_named() {
        let seen = |theirs: &str| {
            explain(&format!("verify aksk signature fail, canonicalRequest:{theirs}"), OURS)
                .unwrap()
        };
        let request = |text: &str| Mismatch::Request(text.to_owned());
        assert_eq!(
            seen("GET|/v2/p/|a=2|host:h|x-security-token:SECRET||host|hash"),
            request(
                "the gateway saw another request than was signed: the query is \"a=2\" there and \
                 was \"a=1\" here"
            )
        );
        assert_eq!(
            seen("GET|/v2/p/|a=1|host:h|x-security-token:OTHER||host|hash"),
            request(
                "the gateway saw another request than was signed: a header is x-security-token:*** \
                 there and was x-security-token:*** here"
            )
        );
        assert_eq!(
            seen("GET|/v2/p/|a=1|host:h|x-security-token:SECRET||host|hash"),
            Mismatch::SecretKey
        );
        assert_eq!(explain("ak X not exist", OURS), None);
    }
}
