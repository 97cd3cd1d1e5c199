//! Description of a field: its type, its necessity, and its handling.

/// Type of a field, with its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// Any string.
    Text,
    /// String of at most this many characters.
    UpTo(usize),
    /// String with a number of characters in this range.
    Between(usize, usize),
    /// String of 1 to this many letters, digits and `-_./`.
    Plain(usize),
    /// String of 1 to 64 letters, digits, hyphens and underscores.
    Name,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// Any string. Only these values have an effect in the emulator.
    Open(&'static [&'static str]),
    /// Any string. Other values than these are rejected with 501, because the job could not run
    /// without their effect.
    Known(&'static [&'static str]),
    /// A whole number in this range.
    Number(i64, i64),
    /// A number in this range.
    Decimal(f64, f64),
    /// A number greater than this one.
    Above(f64),
    Bool,
    /// An object with these members.
    Object(&'static [FieldSpec]),
    /// An array with elements of this type.
    List(&'static Type),
    /// An array of at most this many elements.
    AtMost(usize, &'static Type),
    /// An array of exactly this many elements.
    Exactly(usize, &'static Type),
    /// An object whose values are strings: the maximum number of members, the maximum number of
    /// characters of names and of values, and the members that are in the table.
    Texts(usize, usize, usize, &'static [FieldSpec]),
    /// Any JSON value.
    Any,
}

/// Necessity of a field, if its parent is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// Handling of a field by the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// The field has the same effect as on the service.
    Acted,
    /// The field is only a record: it is stored and returned, as on the service.
    Echoed,
    /// The field is stored and returned, but does not have the effect that it has on the service.
    Stored,
    /// The field is stored, but does not have the effect that it has on the service. It is not
    /// returned, because no response of the service is known to contain it.
    Unshown,
    /// The field is only a record. It is stored, but not returned, because no response of the
    /// service is known to contain it.
    Silent,
    /// Only the service sets the field; requests cannot.
    ReadOnly,
    /// The field is rejected with 501 unless it is empty, because the job could not run without its
    /// effect.
    Refused,
}

impl Handling {
    /// Returns `true` if responses contain fields with this handling.
    pub(super) const fn is_shown(self) -> bool {
        matches!(self, Self::Acted | Self::Echoed | Self::Stored)
    }
}

/// Row of the table: the names of one or more members, their necessity, handling and type.
pub(crate) type FieldSpec = (&'static [&'static str], Need, Handling, Type);

impl Type {
    /// Returns the members that are in the table.
    pub(crate) const fn members(&self) -> &'static [FieldSpec] {
        match self {
            Self::Object(members) | Self::Texts(_, _, _, members) => members,
            _ => &[],
        }
    }

    /// Returns the handling and the type of a member.
    pub(super) fn member(&self, name: &str) -> Option<(Handling, &'static Self)> {
        let line = self.members().iter().find(|line| line.0.contains(&name))?;
        Some((line.2, &line.3))
    }

    /// Returns the element type of an array.
    pub(crate) const fn element(&self) -> Option<&'static Self> {
        match self {
            Self::List(element) | Self::AtMost(_, element) | Self::Exactly(_, element) => {
                Some(element)
            }
            _ => None,
        }
    }

    /// Returns `true` if the value may contain members that are not in the table.
    pub(super) const fn is_free(&self) -> bool {
        matches!(self, Self::Any | Self::Texts(..))
    }
}
