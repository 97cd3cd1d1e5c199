//! The description of a field: its type, its need, and its handling.

/// The type of a field, with its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// Any text.
    Text,
    /// Text of at most this many characters.
    UpTo(usize),
    /// Text with a number of characters in this range.
    Between(usize, usize),
    /// 1 to this many letters, digits and `-_./`.
    Plain(usize),
    /// 1 to 64 letters, digits, hyphens, underscores.
    Name,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Any text; only these have an effect here.
    Open(&'static [&'static str]),
    /// Any text; others than these are refused with 501, because the job could not run without
    /// their effect.
    Known(&'static [&'static str]),
    /// A whole number in this range.
    Number(i64, i64),
    /// A number in this range.
    Decimal(f64, f64),
    /// A number above this one.
    Above(f64),
    Bool,
    /// An object with these members.
    Object(&'static [FieldSpec]),
    /// A list with elements of this type.
    List(&'static Type),
    /// A list of at most this many elements.
    AtMost(usize, &'static Type),
    /// A list of exactly this many elements.
    Exactly(usize, &'static Type),
    /// An object of texts: the most members, the most characters of names and of values, and the
    /// members that are in the table.
    Texts(usize, usize, usize, &'static [FieldSpec]),
    /// Any JSON.
    Any,
}

/// The need for a field if its parent is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// The handling of a field by the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// The field has its effect.
    Acted,
    /// A record: stored and returned, as by the service.
    Echoed,
    /// Stored and returned, without the effect that it has on the service.
    Stored,
    /// Stored without the effect that it has on the service, and not returned: no response of the
    /// service is known to have it.
    Unshown,
    /// A record that is stored and not returned: no response of the service is known to have it.
    Silent,
    /// Written by the service only: ignored in requests.
    ReadOnly,
    /// Refused with 501 unless empty: the job could not run without its effect.
    Refused,
}

impl Handling {
    /// True if responses have such fields.
    pub(super) const fn is_shown(self) -> bool {
        matches!(self, Self::Acted | Self::Echoed | Self::Stored)
    }
}

/// A line of the table: the names of one or more members, their need, handling and type.
pub(crate) type FieldSpec = (&'static [&'static str], Need, Handling, Type);

impl Type {
    /// The members in the table.
    pub(crate) const fn members(&self) -> &'static [FieldSpec] {
        match self {
            Self::Object(members) | Self::Texts(_, _, _, members) => members,
            _ => &[],
        }
    }

    /// The handling and the type of a member.
    pub(super) fn member(&self, name: &str) -> Option<(Handling, &'static Self)> {
        let line = self.members().iter().find(|line| line.0.contains(&name))?;
        Some((line.2, &line.3))
    }

    /// The type of the elements of a list.
    pub(crate) const fn element(&self) -> Option<&'static Self> {
        match self {
            Self::List(element) | Self::AtMost(_, element) | Self::Exactly(_, element) => {
                Some(element)
            }
            _ => None,
        }
    }

    /// True if members that are not in the table are part of the value.
    pub(super) const fn is_free(&self) -> bool {
        matches!(self, Self::Any | Self::Texts(..))
    }
}
