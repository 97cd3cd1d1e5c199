//! Field of a request body: properties in the OpenAPI description, and handling by the emulator.

use modelarts_api::{FIELDS, LIMITS, Rule, Shape};

/// Pattern of names, whose violation has an error of its own.
const NAME: &str = "^[A-Za-z0-9_-]{1,64}$";
/// Pattern of the parts of a command, whose violation has an error of its own.
const WORD: &str = "^[-a-zA-Z0-9_./]+$";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// The field has the same effect as on the service.
    Acted,
    /// The field is only a record: it is stored and returned, as on the service.
    Echoed,
    /// The field is stored and returned, but does not have the effect that it has on the service.
    Stored,
    /// Like `Stored`, but not returned: no response of the service is known to contain the field.
    Unshown,
    /// Like `Echoed`, but not returned: no response of the service is known to contain the field.
    Silent,
    /// Only the service sets the field. Requests cannot set it.
    ReadOnly,
    /// Rejected with status 501 unless empty, because the job could not run without its effect.
    Refused,
}

impl Handling {
    pub(super) const fn is_shown(self) -> bool {
        matches!(self, Self::Acted | Self::Echoed | Self::Stored)
    }
}

/// Kind of the JSON value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Text,
    Integer,
    Number,
    Boolean,
    Object,
    List,
    /// An object with any members, whose values are strings.
    Map,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Any,
    /// 1 to 64 letters, digits, hyphens and underscores.
    Name,
    /// Letters, digits and `-_./`.
    Word,
    OneOf(Vec<&'static str>),
    /// Any string. Only these values have an effect in the emulator.
    Effective(Vec<&'static str>),
    /// Any string. Other values than these are rejected with status 501.
    Supported(Vec<&'static str>),
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Name in the parent object; `[]` for the elements of an array.
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) handling: Handling,
    pub(crate) kind: Kind,
    pub(crate) format: Format,
    pub(crate) limits: Vec<Rule>,
    /// Fields below this field, in the order of FIELDS.md. An array has one member: its element.
    pub(crate) members: Vec<Self>,
    /// Kind of the value in the OpenAPI description, by which its members are found there.
    pub(super) shape: Shape,
    /// Schema and field under which the description lists the limits of the value.
    pub(super) limits_at: (&'static str, String),
}

impl Field {
    pub(super) fn body(schema: &'static str) -> Self {
        let shape = Shape::Object(schema);
        Self::new("", shape, (schema, String::new()), Handling::Acted)
    }

    fn new(
        name: &'static str,
        shape: Shape,
        limits_at: (&'static str, String),
        handling: Handling,
    ) -> Self {
        let kind = match shape {
            Shape::Text | Shape::OneOf(_) => Kind::Text,
            Shape::Integer => Kind::Integer,
            Shape::Number => Kind::Number,
            Shape::Boolean => Kind::Boolean,
            Shape::Object(_) => Kind::Object,
            Shape::List(_) => Kind::List,
            Shape::Map(_) => Kind::Map,
            _ => Kind::Any,
        };
        let limits = limits(limits_at.0, &limits_at.1);
        let format = match limits.iter().find_map(pattern) {
            Some(NAME) => Format::Name,
            Some(WORD) => Format::Word,
            // The rules for code and images check the other patterns.
            _ => Format::Any,
        };
        Self {
            name,
            required: false,
            handling,
            kind,
            format,
            limits,
            members: Vec::new(),
            shape,
            limits_at,
        }
    }

    /// Adds a field. `steps` is the path below this field.
    pub(super) fn add(&mut self, steps: &[&'static str], handling: Handling, checks: &[Check]) {
        let Some((first, below)) = steps.split_first() else {
            return;
        };
        if below.is_empty() {
            let mut field = self.described(first, handling);
            checks.iter().for_each(|check| field.apply(check));
            self.members.push(field);
        } else if let Some(parent) = self.members.iter_mut().find(|it| it.name == *first) {
            parent.add(below, handling, checks);
        }
    }

    /// Creates a described member. A member that the description lacks may have any value.
    fn described(&self, name: &'static str, handling: Handling) -> Self {
        let (schema, own) = &self.limits_at;
        match self.shape {
            Shape::List(element) if name == "[]" => {
                Self::new(name, *element, (schema, format!("{own}[]")), handling)
            }
            Shape::Object(schema) => {
                let mut fields = FIELDS.iter();
                let known = fields.find(|field| field.schema == schema && field.name == name);
                let shape = known.map_or(Shape::Any, |field| field.shape);
                let mut field = Self::new(name, shape, (schema, name.to_owned()), handling);
                field.required = known.is_some_and(|field| field.required);
                field
            }
            _ => Self::new(name, Shape::Any, ("", String::new()), handling),
        }
    }

    /// Applies a check of FIELDS.md, which replaces the check of the OpenAPI description.
    fn apply(&mut self, check: &Check) {
        match check {
            Check::Required(required) => self.required = *required,
            Check::AnyValue => {
                self.kind = Kind::Any;
                self.limits.clear();
                self.format = Format::Any;
            }
            Check::Text => self.kind = Kind::Text,
            Check::KnownValues => {
                if let Shape::OneOf(values) = self.shape {
                    self.format = Format::OneOf(values.to_vec());
                }
            }
            Check::Format(format) => {
                self.kind = Kind::Text;
                self.format = format.clone();
            }
            Check::Limits(limits) => self.limits.clone_from(limits),
            Check::KeyLength(most) => self.limits.push(Rule::MaxLength(*most)),
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        self.members.iter().find(|field| field.name == name)
    }

    pub(crate) fn element(&self) -> Option<&Self> {
        self.members.iter().find(|field| field.name == "[]")
    }

    /// Returns `true` if the value may contain members that are not in the table.
    pub(super) const fn is_free(&self) -> bool {
        matches!(self.kind, Kind::Any | Kind::Map)
    }

    pub(crate) fn value_length(&self) -> Option<u64> {
        let (schema, own) = &self.limits_at;
        let limits = limits(schema, &format!("{own}{{}}"));
        limits.iter().find_map(|limit| match limit {
            Rule::MaxLength(most) => Some(*most),
            _ => None,
        })
    }
}

/// Check of a field in FIELDS.md that differs from the description.
#[derive(Clone, Debug)]
pub(super) enum Check {
    Required(bool),
    AnyValue,
    Text,
    /// Only the values that the description lists are permitted.
    KnownValues,
    Format(Format),
    Limits(Vec<Rule>),
    /// Maximum length of the keys of a map.
    KeyLength(u64),
}

fn limits(schema: &str, field: &str) -> Vec<Rule> {
    let own = LIMITS.iter();
    let own = own.filter(|limit| limit.schema == schema && limit.field == field);
    own.map(|limit| limit.rule).collect()
}

const fn pattern(limit: &Rule) -> Option<&'static str> {
    match limit {
        Rule::Pattern(pattern) => Some(pattern),
        _ => None,
    }
}
