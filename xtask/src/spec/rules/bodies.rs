//! Rules on bodies: each is JSON and has an example.

use super::super::{document::Document, offence::Offence};

/// Checks that each body has an example. The rule on examples checks that the example is valid for
/// its schema.
pub fn examples(document: &Document) -> Vec<Offence> {
    document
        .bodies
        .iter()
        .filter(|body| {
            let named = body.value.get("examples").and_then(|e| e.as_object());
            body.value.get("example").is_none() && named.is_none_or(serde_json::Map::is_empty)
        })
        .map(|body| {
            Offence::new(
                &body.place,
                "has no example; write one with values of your own",
            )
        })
        .collect()
}

/// Checks that each body is JSON, because progenitor turns other media types into a stream of
/// bytes.
pub fn json(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for body in &document.bodies {
        if !body.place.ends_with("/content/application~1json") {
            offences.push(Offence::new(&body.place, "bodies are application/json"));
        }
        if body.value.get("schema").is_none() {
            offences.push(Offence::new(
                &body.place,
                "has no schema; progenitor panics",
            ));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{CREATE, LIST, with},
        *,
    };

    #[test]
    fn a_body_without_an_example_fires() {
        let request = format!("{CREATE}/requestBody/content/application~1json");
        for none in [json!(null), json!({})] {
            assert_eq!(
                with(examples, &request, "examples", none),
                [format!(
                    "{request}: has no example; write one with values of your own"
                )]
            );
        }
        let answer = format!("{LIST}/responses/200/content/application~1json");
        assert_eq!(
            with(examples, &answer, "example", json!(null)),
            [format!(
                "{answer}: has no example; write one with values of your own"
            )]
        );
    }

    #[test]
    fn a_body_with_one_is_silent() {
        let answer = format!("{LIST}/responses/200/content/application~1json");
        let named = json!({ "a": { "value": {} } });
        assert_eq!(with(examples, &answer, "examples", named), [""; 0]);
    }

    #[test]
    fn other_media_types_and_bodies_without_a_schema_fire() {
        let content = format!("{CREATE}/requestBody/content");
        let xml = json!({ "schema": { "type": "string" } });
        assert_eq!(
            with(super::json, &content, "text/xml", xml),
            [format!("{content}/text~1xml: bodies are application/json")]
        );
        let body = format!("{content}/application~1json");
        assert_eq!(
            with(super::json, &body, "schema", json!(null)),
            [format!("{body}: has no schema; progenitor panics")]
        );
    }

    #[test]
    fn json_with_a_schema_is_silent() {
        let body = format!("{CREATE}/requestBody/content/application~1json");
        let schema = json!({ "type": "array", "items": { "type": "string" } });
        assert_eq!(with(super::json, &body, "schema", schema), [""; 0]);
    }
}
