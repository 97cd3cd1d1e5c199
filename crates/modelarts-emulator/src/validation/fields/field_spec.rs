//! The description of one field: its type, the need for it, and its use.

/// The type of a field, with its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// Any text.
    Text,
    /// Text of at most so many characters.
    UpTo(usize),
    /// Text of so many to so many characters.
    Between(usize, usize),
    /// 1 to so many letters, digits and `-_./`.
    Plain(usize),
    /// 1 to 64 letters, digits, hyphens, underscores.
    Name,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Any text. Only these have an effect here.
    Open(&'static [&'static str]),
    /// Any text. For others than these it is 501: the job could not run without the effect.
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
    /// A list of at most so many elements.
    AtMost(usize),
    /// A list of just so many elements.
    Exactly(usize),
    /// An object of texts: at most so many, names and values of at most so many characters.
    Texts(usize, usize, usize),
    /// Any JSON.
    Any,
}

/// The need for a field where its parent is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// The use that the emulator makes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// It changes what happens.
    Acted,
    /// A record: stored and given back, which is all that the service does with it, too.
    Echoed,
    /// Stored and given back, without the effect that it has on the service.
    Stored,
    /// Stored, without the effect that it has on the service, and not given back: no answer of the
    /// service is known to have it.
    Unshown,
    /// A record that is stored and not given back: no answer of the service is known to have it.
    Silent,
    /// Written by the service only: ignored in requests.
    ReadOnly,
    /// 501 unless it is empty: the job could not run without it.
    Refused,
}

/// One line: path, type, need, handling. `[]` stands for each element of a list.
pub(crate) type FieldSpec = (&'static str, Type, Need, Handling);
