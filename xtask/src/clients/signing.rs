//! The worked example of signing in `openapi/README.md`.

use std::fs;

use anyhow::{Result, ensure};

use crate::workspace;

/// Whether the header that a program has made for the example is the one in the text.
pub fn is_the_example(header: &str) -> Result<()> {
    let text = fs::read_to_string(workspace::root().join("openapi/README.md"))?;
    ensure!(
        header.starts_with("Authorization: ") && text.lines().any(|line| line == header),
        "signed the example of openapi/README.md as {header}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_example_is_one_of_the_official_signer() {
        let vectors = workspace::root().join("openapi/vectors/signing.json");
        let vectors: Value = serde_json::from_str(&fs::read_to_string(vectors).unwrap()).unwrap();
        let vector = vectors["cases"]
            .as_array()
            .unwrap()
            .iter()
            .find(|vector| vector["name"] == "get-events-query")
            .unwrap();
        let says = |key: &str| vector[key].as_str().unwrap();
        let block = format!(
            "```text\naccess key   {}\nsecret key   {}\nrequest      {} {}\n\n{}\n\n{}\n\n\
             Authorization: {}\n```\n",
            says("access_key"),
            says("secret_key"),
            says("method"),
            format_args!(
                "https://{}{}",
                vector["headers"]["Host"].as_str().unwrap(),
                says("target")
            ),
            says("canonical_request"),
            says("string_to_sign"),
            says("authorization")
        );
        let text = fs::read_to_string(workspace::root().join("openapi/README.md")).unwrap();
        assert!(text.contains(&block), "openapi/README.md has not\n{block}");
        is_the_example(&format!("Authorization: {}", says("authorization"))).unwrap();
        is_the_example("Authorization: SDK-HMAC-SHA256 Access=A").unwrap_err();
    }
}
