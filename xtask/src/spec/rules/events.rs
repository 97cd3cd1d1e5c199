//! Rule on `x-events`: the kinds of events with their texts, which clients parse and the emulator
//! writes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::{
        document::{Document, list},
        offence::Offence,
        pointer::join,
    },
    form,
};

const PLACE: &str = "/x-events";
/// Regular expression for the admitted patterns, which have the same meaning in every language. It
/// excludes `\d`, which matches further digits in some languages, and `$`, which may also match
/// before a final line break. It also excludes numbered groups, which would change the numbers of a
/// client's own groups.
const PATTERN: &str = r"^([^()^$\\]|\[\^|\(\?:|\)|\\[^A-Za-z0-9])+$";

/// Checks the form of the extension, then its names. Texts must not contain undeclared
/// placeholders, because such texts can be neither parsed nor produced.
pub fn check(document: &Document) -> Vec<Offence> {
    let Some(events) = document.root.get("x-events") else {
        return vec![Offence::new(PLACE, "missing; list the kinds of events")];
    };
    let values = |schema: &str| {
        let place = format!("/components/schemas/{schema}/enum");
        list(document.at(&place)).to_vec()
    };
    let sources = values("KnownEventSource");
    let offences = form::offences(PLACE, &schema(&values("KnownEventLevel"), &sources), events);
    if !offences.is_empty() {
        return offences;
    }
    let mut offences = Vec::new();
    let mut placeholders = Names::default();
    for (index, placeholder) in list(events.get("placeholders")).iter().enumerate() {
        let place = format!("{PLACE}/placeholders/{index}");
        placeholders.insert(join(&place, "name"), &placeholder["name"], &mut offences);
        let pattern = placeholder["pattern"].as_str().unwrap_or_default();
        let whole = format!("^(?:{pattern})$");
        let schema = json!({ "properties": { "example": { "pattern": whole } } });
        offences.extend(form::offences(&place, &schema, placeholder));
    }
    let (mut kinds, mut texts) = (Names::default(), Names::default());
    let mut used = BTreeSet::new();
    for (index, kind) in list(events.get("kinds")).iter().enumerate() {
        let place = format!("{PLACE}/kinds/{index}");
        kinds.insert(join(&place, "kind"), &kind["kind"], &mut offences);
        let wordings = ["guide", "api"].map(|wording| (wording, list(kind["texts"].get(wording))));
        if wordings.iter().all(|(_, texts)| texts.is_empty()) {
            offences.push(Offence::new(
                join(&place, "texts"),
                "write at least one text",
            ));
        }
        for (wording, listed) in wordings {
            for (index, text) in listed.iter().enumerate() {
                let place = format!("{place}/texts/{wording}/{index}");
                for name in names_in(text.as_str().unwrap_or_default()) {
                    if !placeholders.0.contains(name) {
                        let message = format!("{{{name}}} must be one of the placeholders");
                        offences.push(Offence::new(&place, message));
                    }
                    used.insert(name);
                }
                texts.insert(place, text, &mut offences);
            }
        }
        for (index, example) in list(kind.get("examples")).iter().enumerate() {
            let source = example["source"].as_str().unwrap_or_default();
            let equal = |known: &Value| {
                known
                    .as_str()
                    .is_some_and(|it| it.eq_ignore_ascii_case(source))
            };
            if !sources.iter().any(equal) {
                offences.push(Offence::new(
                    format!("{place}/examples/{index}/source"),
                    format!("{source} must be a value of KnownEventSource, in any case"),
                ));
            }
        }
    }
    for name in placeholders.0.iter().filter(|name| !used.contains(*name)) {
        let message = format!("no text has {{{name}}}; remove it");
        offences.push(Offence::new(join(PLACE, "placeholders"), message));
    }
    offences
}

/// Returns the form of the extension, as a JSON Schema.
fn schema(levels: &[Value], sources: &[Value]) -> Value {
    let sentence = json!({ "type": "string", "pattern": "^[A-Z].*\\.$" });
    let texts = json!({
        "type": "array",
        "items": { "type": "string", "pattern": "^([^{}]|\\{[a-z_]+\\})+$" },
    });
    json!({
        "type": "object",
        "required": ["placeholders", "kinds"],
        "additionalProperties": false,
        "properties": {
            "placeholders": { "type": "array", "items": {
                "type": "object",
                "required": ["name", "pattern", "example", "description"],
                "additionalProperties": false,
                "properties": {
                    "name": { "type": "string", "pattern": "^[a-z_]+$" },
                    "pattern": { "type": "string", "pattern": PATTERN },
                    "example": { "type": "string", "minLength": 1 },
                    "description": sentence,
                },
            } },
            "kinds": { "type": "array", "items": {
                "type": "object",
                "required": ["kind", "source", "level", "when", "texts"],
                "additionalProperties": false,
                "properties": {
                    "kind": { "type": "string", "pattern": "^([A-Z][a-z]+)+$" },
                    "source": { "enum": sources },
                    "level": { "enum": levels },
                    "when": sentence,
                    // `false` is the default and must be omitted.
                    "final": { "enum": [true] },
                    "texts": {
                        "type": "object",
                        "required": ["guide", "api"],
                        "additionalProperties": false,
                        "properties": { "guide": texts, "api": texts },
                    },
                    "examples": { "type": "array", "items": {
                        "type": "object",
                        "required": ["source", "text"],
                        "additionalProperties": false,
                        "properties": {
                            "source": { "type": "string" },
                            "text": { "type": "string", "minLength": 1 },
                        },
                    } },
                },
            } },
        },
    })
}

/// Returns the names of the placeholders in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('{').skip(1);
    parts.filter_map(|part| Some(part.split_once('}')?.0))
}

/// Set of names that must be unique.
#[derive(Default)]
pub struct Names<'a>(BTreeSet<&'a str>);

impl<'a> Names<'a> {
    pub fn insert(&mut self, place: String, name: &'a Value, offences: &mut Vec<Offence>) {
        let name = name.as_str().unwrap_or_default();
        if !self.0.insert(name) {
            offences.push(Offence::new(place, format!("stands twice: {name}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{after, with},
        *,
    };

    const KIND: &str = "/x-events/kinds/0";

    #[test]
    fn another_form_fires() {
        for (key, value, message) in [
            (
                "color",
                json!("red"),
                ": Additional properties are not allowed ('color' was unexpected)",
            ),
            ("when", json!(null), ": \"when\" is a required property"),
            (
                "when",
                json!("starts"),
                "/when: \"starts\" does not match \"^[A-Z].*\\.$\"",
            ),
            (
                "kind",
                json!("created"),
                "/kind: \"created\" does not match \"^([A-Z][a-z]+)+$\"",
            ),
            ("final", json!(false), "/final: false is not one of true"),
            (
                "level",
                json!("Debug"),
                "/level: \"Debug\" is not one of \"Info\" or \"Error\"",
            ),
            (
                "source",
                json!("K8s"),
                "/source: \"K8s\" is not one of \"K8S\" or \"Task\"",
            ),
            (
                "texts",
                json!({"guide": ["[{task] started."], "api": []}),
                "/texts/guide/0: \"[{task] started.\" does not match \"^([^{}]|\\{[a-z_]+\\})+$\"",
            ),
        ] {
            let (place, message) = message.split_once(": ").unwrap();
            assert_eq!(
                with(check, KIND, key, value),
                [format!(
                    "{KIND}{place}: must fit the form of x-events: {message}"
                )]
            );
        }
    }

    #[test]
    fn a_pattern_of_another_form_fires() {
        const PLACEHOLDER: &str = "/x-events/placeholders/0";
        for pattern in [
            "^[a-z]+", "[a-z]+$", r"\w+", "(a)", "(?=a)", "(?<a>b)", r"[^\d]", "",
        ] {
            let offences = with(check, PLACEHOLDER, "pattern", json!(pattern));
            let place = format!(
                "{PLACEHOLDER}/pattern: must fit the form of x-events: {} does not match ",
                json!(pattern)
            );
            assert_eq!(offences.len(), 1, "{pattern}: {offences:?}");
            assert!(offences[0].starts_with(&place), "{offences:?}");
        }
        for pattern in [r"[^\[\]:]+", r"-?[0-9]+(?:\.[0-9]+)?", "worker-[0-9]", ".*"] {
            let example = if pattern.starts_with('-') {
                "-1.5"
            } else {
                "worker-0"
            };
            let offences = after(check, |description| {
                let placeholder = description.pointer_mut(PLACEHOLDER).unwrap();
                placeholder["pattern"] = json!(pattern);
                placeholder["example"] = json!(example);
            });
            assert_eq!(offences, [""; 0]);
        }
        assert_eq!(
            with(check, PLACEHOLDER, "pattern", json!(null)),
            [format!(
                "{PLACEHOLDER}: must fit the form of x-events: \"pattern\" is a required property"
            )]
        );
        assert_eq!(
            with(check, PLACEHOLDER, "pattern", json!("[a-z")),
            [format!(
                "{PLACEHOLDER}: its schema: \"^(?:[a-z)$\" is not a \"regex\""
            )]
        );
    }

    #[test]
    fn an_example_must_match_its_pattern_whole() {
        for pattern in ["worker", "worker|[a-z]+-", "-0"] {
            assert_eq!(
                with(check, "/x-events/placeholders/0", "pattern", json!(pattern)),
                [format!(
                    "/x-events/placeholders/0/example: must fit the form of \
                     x-events/placeholders/0: \"worker-0\" does not match \"^(?:{pattern})$\""
                )]
            );
        }
    }

    #[test]
    fn placeholders_that_are_undeclared_or_unused_fire() {
        let texts = json!({"guide": ["[{pod}] started."], "api": []});
        assert_eq!(
            with(check, KIND, "texts", texts),
            [
                format!("{KIND}/texts/guide/0: {{pod}} must be one of the placeholders"),
                "/x-events/placeholders: no text has {task}; remove it".to_owned(),
            ]
        );
    }

    #[test]
    fn what_stands_twice_fires() {
        let twice = |pointer: &str| {
            after(check, |description| {
                let list = description.pointer_mut(pointer).unwrap();
                let first = list[0].clone();
                list.as_array_mut().unwrap().push(first);
            })
        };
        assert_eq!(
            twice("/x-events/kinds"),
            [
                "/x-events/kinds/2/kind: stands twice: Started",
                "/x-events/kinds/2/texts/guide/0: stands twice: [{task}] started.",
            ]
        );
        assert_eq!(
            twice("/x-events/placeholders"),
            ["/x-events/placeholders/1/name: stands twice: task"]
        );
    }

    #[test]
    fn a_kind_without_text_and_an_unknown_source_fire() {
        assert_eq!(
            with(check, "/x-events/kinds/1/texts", "api", json!([])),
            ["/x-events/kinds/1/texts: write at least one text"]
        );
        assert_eq!(
            with(
                check,
                "/x-events/kinds/1/examples/0",
                "source",
                json!("Node")
            ),
            [
                "/x-events/kinds/1/examples/0/source: Node must be a value of KnownEventSource, in any case"
            ]
        );
    }

    #[test]
    fn missing_events_fire() {
        assert_eq!(
            with(check, "", "x-events", json!(null)),
            ["/x-events: missing; list the kinds of events"]
        );
    }
}
