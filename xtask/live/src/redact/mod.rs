//! Redaction of recorded calls: replaces values that could identify the user.
//!
//! Strings are replaced by placeholders, with these exceptions:
//!
//! - In a log, letters become `x` and digits become `0`. Characters after the first 2000 are
//!   omitted.
//! - In values that the user chooses freely, such as those of environment variables and
//!   hyper-parameters, the digits of numbers and times are replaced. Booleans become `true`.
//! - In a message, words of the service, numbers, times and booleans are kept. Words of the service
//!   are those of the description, of `words.txt` and of the responses in `CATALOGUES`.
//! - In a path, each segment is redacted separately. Numbers, names of container directories,
//!   enumeration values, strings of the catalogues and common file extensions are kept.
//! - In other fields, enumeration values, error codes, strings of the catalogues, times, booleans
//!   and numbers are kept. Numbers of four or more characters are replaced if the name of the field
//!   ends with `id`, `name` or `key`. Values of the fields in `OWN`, such as names of tasks, are
//!   kept if they consist of words of the service and short numbers.
//! - In the catalogues themselves, only URLs, ids, addresses and names of the user are replaced.
//!
//! The placeholder of a UUID, an IP address or a host name has the same form.

mod sentences;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::{
    description::{Declared, Description, Member, texts},
    recorder::Exchange,
    text::{self, Shape},
    transcript::Call,
};

/// Operations whose responses are the same for every customer.
const CATALOGUES: [&str; 6] = [
    "ShowTrainingJobFlavors",
    "ShowTrainingJobEngines",
    "ListEventCategories",
    "ShowSearchAlgorithms",
    "ShowAutoSearchYamlTemplatesInfo",
    "ShowAutoSearchYamlTemplateContent",
];
/// Suffixes of the names of fields that contain sentences of the service.
const SENTENCES: [&str; 4] = ["message", "_msg", "reason", "solution"];
/// Parts of the names of fields whose values the service generates, such as `worker-0`. These
/// values are kept only if they consist of words of the service, because users can also choose the
/// names of tasks.
const OWN: [&str; 6] = ["task", "order", "sort_by", "group_by", "engine", "flavor"];
/// Maps whose keys the service defines.
const SWITCHES: [&str; 3] = ["annotations", "annotation", "attributes"];
/// Fields with values of hyper-parameters and tags, which the user chooses freely.
const VALUES: [&str; 5] = [
    "value",
    "valid_range",
    "lower_bound",
    "upper_bound",
    "discrete_values",
];
/// Lists whose elements have a field `value` with numbers or words of the service.
const SERVICE_VALUES: [&str; 3] = ["filters", "metrics", "resource_requirements"];
/// Response headers whose values cannot identify the user.
const HEADERS: [&str; 2] = ["content-type", "retry-after"];
/// Maximum length of a redacted log, in characters. The rest of the log is omitted.
const LOG: usize = 2000;

/// Returns the calls with placeholders instead of identifying values. `secrets` are further
/// identifying values, such as those of environment variables.
pub fn redact(
    description: &Description,
    secrets: impl IntoIterator<Item = String>,
    exchanges: &[Exchange],
) -> Vec<Call> {
    let words = description.words();
    let more = include_str!("words.txt").split_whitespace();
    let mut redactor = Redactor {
        description,
        words: words
            .into_iter()
            .chain(more)
            .map(str::to_lowercase)
            .collect(),
        public: description.known_values(),
        sent: description.sent_values(),
        switches: description.switches(&SWITCHES),
        placeholders: BTreeMap::new(),
        counts: BTreeMap::new(),
        learning: true,
    };
    for secret in secrets {
        redactor.placeholder("secret", &secret, false);
    }
    redactor.catalogues(exchanges);
    // Two passes are necessary: a name may occur before the field that identifies it as a name. The
    // first pass only collects the placeholders.
    for exchange in exchanges {
        redactor.call(exchange);
    }
    redactor.learning = false;
    exchanges
        .iter()
        .map(|exchange| redactor.call(exchange))
        .collect()
}

struct Redactor<'a> {
    description: &'a Description,
    /// Words of the description, in lower case.
    words: BTreeSet<String>,
    /// Strings of the catalogues, and values of enumerations.
    public: BTreeSet<String>,
    /// Values of the enumerations that occur in requests.
    sent: BTreeSet<&'a str>,
    /// Keys of annotations that the description names.
    switches: BTreeSet<&'a str>,
    placeholders: BTreeMap<String, Placeholder>,
    counts: BTreeMap<String, usize>,
    /// True in the first pass, which skips sentences until all names are known.
    learning: bool,
}

#[derive(Clone)]
struct Placeholder {
    text: String,
    /// True for a segment of a path, which may be a common word.
    segment: bool,
}

/// Field that contains a string. It determines how the string is redacted.
#[derive(Clone, Copy)]
struct Field<'a> {
    key: &'a str,
    /// The value belongs to an enumeration, even if the description does not list it.
    enumerated: bool,
    catalogue: bool,
    log: bool,
    /// The user chooses the value freely.
    private: bool,
}

impl<'a> Field<'a> {
    fn of(key: &'a str, enumerated: bool) -> Self {
        Self {
            key,
            enumerated,
            catalogue: false,
            log: false,
            private: false,
        }
    }
}

impl Redactor<'_> {
    fn catalogues(&mut self, exchanges: &[Exchange]) {
        for exchange in exchanges {
            let known = self.description.find(&exchange.method, exchange.url.path());
            let known = known.is_some_and(|(it, _)| CATALOGUES.contains(&it.id.as_str()));
            let answer = exchange.answer.as_ref().ok();
            // Skips responses to rejected calls, which may contain the name of the user.
            let Some(answer) = answer.filter(|answer| known && answer.status == 200) else {
                continue;
            };
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            texts(&body, &mut |text| {
                self.public.insert(text.to_owned());
                let words = text.split(|c: char| !c.is_ascii_alphabetic());
                self.words.extend(words.map(str::to_lowercase));
            });
        }
    }

    fn call(&mut self, exchange: &Exchange) -> Call {
        let description = self.description;
        let known = description.find(&exchange.method, exchange.url.path());
        let id = known.as_ref().map(|(operation, _)| operation.id.clone());
        let catalogue = id
            .as_ref()
            .is_some_and(|id| CATALOGUES.contains(&id.as_str()));
        let log = id.as_ref().is_some_and(|id| id.contains("Logs"));
        let (path, path_parameters) = match &known {
            Some((operation, values)) => {
                let values = values.iter();
                let values = values
                    .map(|(name, text)| (name.clone(), self.text(Field::of(name, false), text)));
                (operation.path.clone(), values.collect())
            }
            None => (self.path(exchange.url.path(), false), BTreeMap::new()),
        };
        let operation = known.as_ref().map(|(operation, _)| *operation);
        let query = exchange.url.query_pairs().map(|(name, text)| {
            let schema = operation.and_then(|it| description.query(it, &name));
            let open = schema.is_some_and(|it| it["x-open-enum"].is_string());
            let closed = schema.is_some_and(|it| !description.facts(it).known.is_empty());
            let text = match text.split_once(':') {
                // A search has the form `name:part of a name`.
                Some((key, text)) if name == "searches" => {
                    format!("{key}:{}", self.text(Field::of(key, false), text))
                }
                _ => self.text(Field::of(&name, open || closed), &text),
            };
            (name.into_owned(), text)
        });
        let query = query.collect();
        let request = serde_json::from_slice(&exchange.request)
            .ok()
            .map(|body: Value| {
                let schema = operation.and_then(|it| description.request(it));
                self.value(schema, Field::of("body", false), &body)
            });
        let mut call = Call {
            operation: id,
            method: exchange.method.clone(),
            path,
            path_parameters,
            query,
            request,
            milliseconds: u64::try_from(exchange.took.as_millis()).unwrap_or(u64::MAX),
            status: None,
            headers: BTreeMap::new(),
            other_headers: BTreeSet::new(),
            answer: None,
            problem: None,
        };
        let answer = match &exchange.answer {
            Ok(answer) => answer,
            Err(problem) => {
                call.problem = Some(problem.clone());
                return call;
            }
        };
        call.status = Some(answer.status);
        for (name, text) in &answer.headers {
            let text = text.to_str().unwrap_or_default();
            let text = match name.as_str() {
                "x-request-id" => self.text(Field::of("request_id", false), text),
                name if HEADERS.contains(&name) => text.to_owned(),
                name => {
                    call.other_headers.insert(name.to_owned());
                    continue;
                }
            };
            call.headers.insert(name.to_string(), text);
        }
        match serde_json::from_slice::<Value>(&answer.body) {
            Ok(body) => {
                let declared = operation.map(|it| description.answer(it, answer.status));
                let schema = match declared {
                    Some(Declared::Body(schema)) => Some(schema),
                    _ => None,
                };
                let field = Field {
                    key: "body",
                    enumerated: false,
                    catalogue: catalogue && answer.status == 200,
                    log,
                    private: false,
                };
                call.answer = Some(self.value(schema, field, &body));
            }
            Err(_) if answer.body.trim_ascii().is_empty() => {}
            Err(_) => call.problem = Some(format!("{} bytes that are not JSON", answer.body.len())),
        }
        call
    }

    fn value(&mut self, schema: Option<&Value>, field: Field<'_>, value: &Value) -> Value {
        let description = self.description;
        let facts = schema.map(|schema| description.facts(schema));
        match value {
            Value::String(text) => {
                // Users can send any string as the value of an open enumeration.
                let enumerated = facts.is_some_and(|it| {
                    let of_user = !it.known.is_disjoint(&self.sent);
                    !it.known.is_empty() && (!of_user || self.is_known(text))
                });
                Value::String(self.text(
                    Field {
                        enumerated,
                        ..field
                    },
                    text,
                ))
            }
            Value::Array(list) => {
                let items = facts.and_then(|it| it.items);
                list.iter()
                    .map(|value| self.value(items, field, value))
                    .collect()
            }
            Value::Object(members) => {
                let mut redacted = Map::new();
                for (name, value) in members {
                    let member = facts.as_ref().map(|it| it.property(name));
                    let (schema, own, private) = match member {
                        Some(Member::Named(schema)) => (Some(schema), true, false),
                        Some(Member::OfMap(schema)) => {
                            (Some(schema), false, !SWITCHES.contains(&field.key))
                        }
                        // Keeps the names of undocumented members, because the service has added
                        // them.
                        Some(Member::Unknown) => (None, true, false),
                        Some(Member::Free) | None => (None, false, false),
                    };
                    let keep = own || field.catalogue || !private && self.is_known(name);
                    let of_user = match own {
                        true => {
                            VALUES.contains(&name.as_str()) && !SERVICE_VALUES.contains(&field.key)
                        }
                        false => {
                            field.key != "attributes" && !self.switches.contains(name.as_str())
                        }
                    };
                    // The values of a map are treated as values of the field that contains the map,
                    // because the keys of the map may be private.
                    let key = if own { name } else { field.key };
                    let member = Field {
                        key,
                        private: field.private || of_user,
                        ..field
                    };
                    let value = self.value(schema, member, value);
                    let name = match keep {
                        true => name.clone(),
                        false => self.placeholder("key", name, false),
                    };
                    redacted.insert(name, value);
                }
                Value::Object(redacted)
            }
            Value::Bool(_) | Value::Number(_) if field.private && !field.catalogue => {
                let masked = self.text(field, &value.to_string());
                serde_json::from_str(&masked).unwrap_or_default()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, field: Field<'_>, text: &str) -> String {
        let key = field.key;
        let shape = Shape::of(text);
        if text.trim().is_empty() {
            return text.to_owned();
        }
        if field.log && key == "content" {
            return blacked(text);
        }
        if field.catalogue {
            return self.sentence(text, true);
        }
        if field.private {
            return self.private(key, shape, text);
        }
        if SENTENCES.iter().any(|end| key.ends_with(end)) {
            return self.sentence(text, false);
        }
        if self.public.contains(text) {
            return self.sentence(text, true);
        }
        let code = key == "error_code" && is_token(text);
        let own = OWN.iter().any(|part| key.contains(part)) && self.is_known(text);
        let enumerated = field.enumerated && is_token(text);
        if code || own || enumerated {
            return text.to_owned();
        }
        // Tasks are named after their roles.
        if key.contains("task")
            && let Some((role, number)) = text.rsplit_once('-')
            && number.bytes().all(|c| c.is_ascii_digit())
            && let Some(known) = self.placeholders.get(role)
        {
            return format!("{}-{number}", known.text);
        }
        if let Some(known) = self.known(text, false) {
            return known;
        }
        let names = ["id", "name", "key"].iter().any(|end| key.ends_with(end));
        let plain = match shape {
            Shape::Time | Shape::Flag => true,
            // A long number may be an id. Short numbers are kept, such as `0`, the default
            // workspace of every user.
            Shape::Number => !names || text.len() < 4,
            _ => false,
        };
        if plain {
            return text.to_owned();
        }
        if is_path(text) {
            return self.path(text, false);
        }
        self.placeholder(key, text, false)
    }

    /// Returns a replacement of the same form. Numbers and times are also replaced in messages,
    /// except short ones, which occur in many messages by chance.
    fn private(&mut self, key: &str, shape: Shape, text: &str) -> String {
        if is_path(text) {
            return self.path(text, true);
        }
        let Some(masked) = text::masked(shape, text) else {
            return self.placeholder(key, text, false);
        };
        if shape != Shape::Flag && text.len() > 3 {
            let known = Placeholder {
                text: masked.clone(),
                segment: false,
            };
            self.placeholders.entry(text.to_owned()).or_insert(known);
        }
        masked
    }

    /// Returns the existing placeholder of a string. During the first pass, returns `None` for a
    /// string that was classified as a directory and may get a more specific placeholder.
    fn known(&self, text: &str, segment: bool) -> Option<String> {
        let known = self.placeholders.get(text)?;
        let better = self.learning && known.segment && !segment;
        (!better).then(|| known.text.clone())
    }

    /// Returns the placeholder of a string. It is the same at each occurrence of the string.
    fn placeholder(&mut self, prefix: &str, text: &str, segment: bool) -> String {
        if let Some(known) = self.known(text, segment) {
            return known;
        }
        let shape = Shape::of(text);
        let prefix = match shape {
            Shape::Uuid => "uuid",
            Shape::Hex | Shape::Number => "digits",
            Shape::Address => "address",
            Shape::Mail | Shape::Host => "host",
            _ => prefix,
        };
        let count = self.counts.entry(prefix.to_owned()).or_default();
        *count += 1;
        let redacted = match shape {
            Shape::Uuid => format!("00000000-0000-4000-8000-{count:012}"),
            Shape::Hex | Shape::Number => format!("{count:0width$}", width = text.len()),
            Shape::Address => format!("192.0.2.{count}"),
            Shape::Mail => format!("user@host-{count}.example"),
            _ if prefix == "host" => format!("host-{count}.example"),
            _ if prefix == "bucket" => format!("bucket-{count}"),
            _ => format!("{prefix}_{count}"),
        };
        let known = Placeholder {
            text: redacted.clone(),
            segment,
        };
        self.placeholders.insert(text.to_owned(), known);
        redacted
    }
}

/// Replaces the letters and digits of a log, but keeps its line breaks and the lengths of its
/// words.
fn blacked(text: &str) -> String {
    let shape = text.chars().map(|c| match c {
        c if c.is_numeric() => '0',
        c if c.is_alphanumeric() => 'x',
        c => c,
    });
    shape.take(LOG).collect()
}

fn is_path(text: &str) -> bool {
    text.contains('/') && !text.contains(char::is_whitespace)
}

/// Returns true if a string has the form of an enumeration value.
fn is_token(text: &str) -> bool {
    text.len() <= 64
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./: ".contains(c))
}
