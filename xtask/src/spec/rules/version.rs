//! Rule on the version: it must be that of the crates, and ASCII, because clients send it in a
//! header.

use serde_json::Value;

use super::super::{document::Document, offence::Offence};

pub fn check(document: &Document) -> Vec<Offence> {
    let says = |place: &str| document.at(place).and_then(Value::as_str);
    let mut offences = Vec::new();
    // OpenAPI 3.1 is not admitted: it is incompatible with 3.0, and half of the generators do not
    // support it.
    if says("/openapi") != Some("3.0.3") {
        offences.push(Offence::new("/openapi", "write 3.0.3"));
    }
    let workspace = env!("CARGO_PKG_VERSION");
    if says("/info/version") != Some(workspace) {
        let message = format!("write {workspace}, the version of the workspace");
        offences.push(Offence::new("/info/version", message));
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::sample::with, *};

    #[test]
    fn another_version_fires() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            with(check, "/info", "version", json!("0.0.0")),
            [format!(
                "/info/version: write {version}, the version of the workspace"
            )]
        );
        assert_eq!(
            with(check, "", "openapi", json!("3.1.0")),
            ["/openapi: write 3.0.3"]
        );
    }

    #[test]
    fn the_version_of_the_workspace_is_silent() {
        let version = json!(env!("CARGO_PKG_VERSION"));
        assert_eq!(with(check, "/info", "version", version), [""; 0]);
    }
}
