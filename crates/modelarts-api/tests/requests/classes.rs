//! Comparison of the official SDK's classes with the description, which must contain every
//! attribute that the SDK sends or receives. `classes.py` lists the attributes; the script `record`
//! runs it again.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::class_deviations::{DEVIATIONS, Deviation};

const SCHEMAS: &str = "#/components/schemas/";

/// The operations and classes of the SDK.
#[derive(Deserialize)]
struct Sdk {
    /// The classes of the request and of the response, by operation. `None` for an operation that
    /// the SDK lacks, as is one that was described later.
    operations: BTreeMap<String, Option<[String; 2]>>,
    /// The attributes of each class, by their name on the wire, with their types.
    classes: BTreeMap<String, BTreeMap<String, String>>,
}

/// Attribute that is missing in the description or has another type there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The attribute, as `Class.attribute`.
    pub at: String,
    pub theirs: String,
    /// Type in the description, in the SDK's spelling. Two types are joined by `or`; empty if the
    /// description has no type.
    pub ours: String,
}

/// Traversal of the description along the classes of the SDK.
struct Walk<'a> {
    description: &'a Value,
    sdk: &'a Sdk,
    /// Classes that were compared, each with the schema that it was compared with.
    seen: BTreeSet<(String, String)>,
    /// Attributes that were compared.
    attributes: BTreeSet<(String, String)>,
    found: BTreeSet<Difference>,
}

impl<'a> Walk<'a> {
    fn new(description: &'a Value, sdk: &'a Sdk) -> Self {
        Self {
            description,
            sdk,
            seen: BTreeSet::new(),
            attributes: BTreeSet::new(),
            found: BTreeSet::new(),
        }
    }

    fn all_operations(&mut self) {
        for item in self.description["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values() {
                let Some(id) = operation["operationId"].as_str() else {
                    continue;
                };
                if let Some(Some([request, response])) = self.sdk.operations.get(id) {
                    self.request(request, item, operation);
                    self.response(response, operation);
                }
            }
        }
    }

    fn request(&mut self, class: &str, item: &'a Value, operation: &'a Value) {
        let lists = [&item["parameters"], &operation["parameters"]];
        let parameters: BTreeMap<&str, &Value> = lists
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .map(|parameter| self.follow(parameter))
            .map(|parameter| (parameter["name"].as_str().unwrap(), &parameter["schema"]))
            .collect();
        for (name, kind) in &self.sdk.classes[class] {
            let ours = match name.as_str() {
                "body" => content(self.follow(&operation["requestBody"])),
                name => parameters.get(name).copied(),
            };
            self.attribute(class, name, kind, ours);
        }
    }

    fn response(&mut self, class: &str, operation: &'a Value) {
        let answers = operation["responses"].as_object().unwrap().iter();
        let success = answers
            .filter(|(status, _)| status.starts_with('2'))
            .find_map(|(_, answer)| content(self.follow(answer)));
        match (success, self.sdk.classes[class].get("body")) {
            // The SDK stores a response that is not an object in the attribute `body`.
            (success, Some(kind)) => self.attribute(class, "body", kind, success),
            (Some(success), None) => drop(self.spelled(class, success)),
            (None, None) => {
                for (name, kind) in &self.sdk.classes[class] {
                    self.attribute(class, name, kind, None);
                }
            }
        }
    }

    fn attribute(&mut self, class: &str, name: &str, theirs: &str, ours: Option<&'a Value>) {
        self.attributes.insert((class.to_owned(), name.to_owned()));
        let ours = ours.map_or(String::new(), |ours| self.spelled(theirs, ours));
        if ours != theirs {
            self.found.insert(Difference {
                at: format!("{class}.{name}"),
                theirs: theirs.to_owned(),
                ours,
            });
        }
    }

    /// Returns the type of a schema in the SDK's spelling. If the SDK has a class for a schema with
    /// fields, its attributes are compared as well.
    fn spelled(&mut self, theirs: &str, schema: &'a Value) -> String {
        if let Some(target) = schema["$ref"].as_str() {
            let name = target.strip_prefix(SCHEMAS).unwrap();
            let target = &self.description["components"]["schemas"][name];
            if let Some(fields) = target["properties"].as_object() {
                let Some(attributes) = self.sdk.classes.get(theirs) else {
                    return name.to_owned();
                };
                if self.seen.insert((theirs.to_owned(), name.to_owned())) {
                    for (attribute, kind) in attributes {
                        self.attribute(theirs, attribute, kind, fields.get(attribute));
                    }
                }
                return theirs.to_owned();
            }
            return self.spelled(theirs, target);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            return self.spelled(theirs, &parts[0]);
        }
        if let Some(parts) = schema["anyOf"].as_array() {
            let kinds: BTreeSet<_> = parts.iter().map(|part| self.spelled("", part)).collect();
            return Vec::from_iter(kinds).join(" or ");
        }
        let between = |start, end| theirs.strip_prefix(start)?.strip_suffix(end);
        match schema["type"].as_str() {
            Some("array") => {
                let inner = between("list[", "]").unwrap_or(theirs);
                format!("list[{}]", self.spelled(inner, &schema["items"]))
            }
            // The SDK also declares an object with arbitrary keys.
            Some("object") if theirs == "object" => "object".to_owned(),
            Some("object") => {
                let inner = between("dict(str, ", ")").unwrap_or(theirs);
                let values = &schema["additionalProperties"];
                format!("dict(str, {})", self.spelled(inner, values))
            }
            Some("string") => "str".to_owned(),
            Some("integer") => "int".to_owned(),
            Some("number") => "float".to_owned(),
            Some("boolean") => "bool".to_owned(),
            _ => "object".to_owned(),
        }
    }

    fn follow(&self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.description.pointer(&reference[1..]).unwrap(),
            None => value,
        }
    }
}

fn content(body: &Value) -> Option<&Value> {
    body.pointer("/content/application~1json/schema")
}

fn sdk() -> Sdk {
    serde_json::from_str(include_str!("classes.json")).unwrap()
}

#[test]
fn every_attribute_of_the_sdk_is_described_but_for_the_listed_deviations() {
    let sdk = sdk();
    let description: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let mut walk = Walk::new(&description, &sdk);
    walk.all_operations();

    let (found, listed) = (walk.found.iter(), DEVIATIONS.iter());
    let surprises: Vec<_> =
        found.filter(|difference| !listed.clone().any(|row| row.covers(difference))).collect();
    assert!(surprises.is_empty(), "differ and are not listed: {surprises:#?}");
    let unused: Vec<&Deviation> =
        listed.filter(|row| !walk.found.iter().any(|difference| row.covers(difference))).collect();
    assert!(unused.is_empty(), "listed and do not occur: {unused:#?}");

    // Every attribute must have been compared. `openapi/SOURCES.md` states the number of
    // attributes.
    let all: BTreeSet<_> = sdk
        .classes
        .iter()
        .flat_map(|(class, attributes)| {
            let names = attributes.keys().cloned();
            names.map(|name| (class.clone(), name))
        })
        .collect();
    let missed: Vec<_> = all.difference(&walk.attributes).collect();
    assert!(missed.is_empty(), "not looked at: {missed:?}");
    assert_eq!((sdk.classes.len(), all.len()), (325, 1112));
}

#[test]
fn a_type_is_spelled_as_the_sdk_spells_it() {
    let description = json!({ "components": { "schemas": {
        "Job": { "type": "object", "properties": {
            "tags": { "type": "array", "items": { "type": "string" } },
            "size": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "labels": { "type": "object", "additionalProperties": { "type": "boolean" } },
        } },
    } } });
    let attributes =
        [("tags", "str"), ("size", "int"), ("labels", "dict(str, bool)"), ("gone", "float")];
    let attributes = attributes.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    let sdk = Sdk {
        operations: BTreeMap::new(),
        classes: [("JobResp".to_owned(), attributes.into())].into(),
    };
    let mut walk = Walk::new(&description, &sdk);
    let body = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Job" } });
    assert_eq!(walk.spelled("list[JobResp]", &body), "list[JobResp]");
    let difference = |at: &str, theirs: &str, ours: &str| Difference {
        at: at.into(),
        theirs: theirs.into(),
        ours: ours.into(),
    };
    assert_eq!(
        Vec::from_iter(walk.found),
        [
            difference("JobResp.gone", "float", ""),
            difference("JobResp.size", "int", "int or str"),
            difference("JobResp.tags", "str", "list[str]"),
        ]
    );
}
