//! Rules on parameters: only forms that all generators encode in the same way are admitted.

use serde_json::{Value, json};

use super::super::{
    document::{Document, Parameter, list, reference},
    offence::Offence,
    pointer::join,
};

/// Checks that parameters are in the path, the query or a header, and that they are scalars or, in
/// the query, lists.
pub fn check(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for parameter in &document.parameters {
        for (key, message) in wrong(document, parameter) {
            offences.push(Offence::new(join(&parameter.place, key), message));
        }
    }
    offences
}

fn wrong<'a>(
    document: &Document<'a>,
    parameter: &Parameter<'a>,
) -> Vec<(&'static str, &'static str)> {
    let mut wrong = Vec::new();
    let says = |key: &str| parameter.value.get(key).and_then(Value::as_str);
    let place = says("in").unwrap_or_default();
    if !["path", "query", "header"].contains(&place) {
        wrong.push((
            "in",
            "write path, query or header; progenitor has no cookies",
        ));
    }
    // All generators support the encoding `a=1&a=2`; only one in three supports other styles.
    if parameter.value.get("explode") == Some(&json!(false)) {
        wrong.push((
            "explode",
            "explode: false is sent in three ways by three generators; write a string, \
             \"separated by commas\"",
        ));
    }
    if says("style").is_some() {
        wrong.push((
            "style",
            "remove it: only the default style is sent alike everywhere",
        ));
    }
    let Some(schema) = parameter.value.get("schema") else {
        wrong.push(("schema", "has no schema; content is not supported here"));
        return wrong;
    };
    if document.resolve(schema).get("anyOf").is_some() {
        wrong.push((
            "schema",
            "a generator for Java cannot leave out a parameter of an anyOf; write type: string, and \
             x-open-enum with the name of its known values",
        ));
        return wrong;
    }
    if let Some(name) = schema.get("x-open-enum") {
        let known = name
            .as_str()
            .and_then(|name| document.at(&join("/components/schemas", name)));
        let values = list(known.and_then(|known| known.get("enum")));
        if values.is_empty() {
            wrong.push(("schema", "x-open-enum must name a schema with enum"));
        }
        let text = says("description").unwrap_or_default();
        let listed = |value: &str| text.contains(&format!("`{value}`"));
        if !values.iter().filter_map(Value::as_str).all(listed) {
            wrong.push((
                "description",
                "list the known values, each in backticks: readers of the reference and users of \
                 generated clients see a string",
            ));
        }
    }
    let kind = |schema: &'a Value| document.resolve(schema).get("type").and_then(Value::as_str);
    let scalar = |kind: Option<&str>| {
        kind.is_some_and(|kind| ["string", "integer", "number", "boolean"].contains(&kind))
    };
    let fits = match kind(schema) {
        Some("array") if place == "query" => schema.get("items").is_some_and(|i| scalar(kind(i))),
        kind => scalar(kind),
    };
    if !fits {
        wrong.push((
            "schema",
            "must be a string, integer, number or boolean, or in the query a list of them",
        ));
    }
    wrong
}

/// Checks that path parameters cannot be empty or `..`, which would address another resource. Each
/// must have a named schema with a list of values or with a pattern, which is the only constraint
/// that generated code enforces.
pub fn in_paths(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for parameter in &document.parameters {
        if parameter.value.get("in") != Some(&json!("path")) {
            continue;
        }
        if parameter.value.get("required") != Some(&json!(true)) {
            let message = "write required: true; a path has no optional parts";
            offences.push(Offence::new(join(&parameter.place, "required"), message));
        }
        let protected = parameter
            .value
            .get("schema")
            .filter(|schema| reference(schema).is_some())
            .map(|schema| document.follow(schema))
            .is_some_and(|named| named.get("pattern").or(named.get("enum")).is_some());
        if !protected {
            let message = "refer to a named schema with a pattern that keeps out what would change \
                           the path";
            offences.push(Offence::new(join(&parameter.place, "schema"), message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{LIST, with},
        *,
    };

    /// Returns the offences after a key of the parameter `phase` is set to `value`.
    fn phase(key: &str, value: Value) -> Vec<String> {
        with(check, &format!("{LIST}/parameters/2"), key, value)
    }

    #[test]
    fn parameters_that_are_sent_in_many_ways_fire() {
        let place = format!("{LIST}/parameters/2");
        assert_eq!(
            phase("in", json!("cookie")),
            [
                format!("{place}/in: write path, query or header; progenitor has no cookies"),
                format!(
                    "{place}/schema: must be a string, integer, number or boolean, or in the query \
                     a list of them"
                ),
            ]
        );
        assert_eq!(
            phase("explode", json!(false)),
            [format!(
                "{place}/explode: explode: false is sent in three ways by three generators; write \
                 a string, \"separated by commas\""
            )]
        );
        assert_eq!(
            phase("style", json!("deepObject")),
            [format!(
                "{place}/style: remove it: only the default style is sent alike everywhere"
            )]
        );
        assert_eq!(
            phase("schema", json!(null)),
            [format!(
                "{place}/schema: has no schema; content is not supported here"
            )]
        );
        for schema in [
            json!({ "$ref": "#/components/schemas/Job" }),
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/Job" } }),
            json!({}),
        ] {
            assert_eq!(
                phase("schema", schema),
                [format!(
                    "{place}/schema: must be a string, integer, number or boolean, or in the query \
                     a list of them"
                )]
            );
        }
    }

    #[test]
    fn an_open_enumeration_that_java_could_not_leave_out_fires() {
        let place = format!("{LIST}/parameters/2/schema");
        assert_eq!(
            phase("schema", json!({ "$ref": "#/components/schemas/Phase" })),
            [format!(
                "{place}: a generator for Java cannot leave out a parameter of an anyOf; write \
                 type: string, and x-open-enum with the name of its known values"
            )]
        );
        for name in ["Phase", "Nobody"] {
            assert_eq!(
                phase("schema", json!({ "type": "string", "x-open-enum": name })),
                [format!("{place}: x-open-enum must name a schema with enum")]
            );
        }
    }

    #[test]
    fn known_values_that_the_description_keeps_to_itself_fire() {
        let described = |description: &str| {
            let parameter = json!({
                "name": "phase", "in": "query", "description": description,
                "schema": { "type": "string", "x-open-enum": "KnownPhase" },
            });
            with(check, "/components/parameters", "Phase", parameter)
        };
        assert_eq!(
            described("Only those of `Running`."),
            [
                "/components/parameters/Phase/description: list the known values, each in \
                 backticks: readers of the reference and users of generated clients see a string"
            ]
        );
        assert_eq!(described("Only `Running` or `Waiting`."), [""; 0]);
    }

    #[test]
    fn scalars_and_lists_of_them_are_silent() {
        let open = json!({ "type": "string", "x-open-enum": "KnownPhase" });
        for schema in [
            json!({ "type": "boolean" }),
            json!({ "type": "array", "items": open }),
            open,
        ] {
            assert_eq!(phase("schema", schema), [""; 0]);
        }
        assert_eq!(phase("explode", json!(true)), [""; 0]);
    }

    #[test]
    fn identifiers_that_nothing_guards_fire() {
        let place = "/components/parameters/ProjectIdParameter";
        assert_eq!(
            with(in_paths, place, "required", json!(null)),
            [format!(
                "{place}/required: write required: true; a path has no optional parts"
            )]
        );
        let message = format!(
            "{place}/schema: refer to a named schema with a pattern that keeps out what would \
             change the path"
        );
        for schema in [
            json!({ "type": "string", "pattern": "^a$" }),
            json!({ "$ref": "#/components/schemas/Phase" }),
        ] {
            assert_eq!(with(in_paths, place, "schema", schema), [message.as_str()]);
        }
    }

    #[test]
    fn identifiers_with_a_pattern_or_a_list_of_values_are_silent() {
        let place = "/components/parameters/ProjectIdParameter";
        for name in ["ProjectId", "Order"] {
            let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
            assert_eq!(with(in_paths, place, "schema", schema), [""; 0]);
        }
    }
}
