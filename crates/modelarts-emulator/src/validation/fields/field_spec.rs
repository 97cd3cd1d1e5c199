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
    Object,
    List,
    /// A list of at most this many elements.
    AtMost(usize),
    /// A list of exactly this many elements.
    Exactly(usize),
    /// An object of texts: the most members, and the most characters of names and of values.
    Texts(usize, usize, usize),
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

/// A line of the table: path, type, need, handling. `[]` stands for each element of a list.
pub(crate) type FieldSpec = (&'static str, Type, Need, Handling);
