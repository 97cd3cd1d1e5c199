//! Table of the kinds of job events, with their texts.

/// Row of the table of event kinds. The texts contain placeholders in braces, such as `{task}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRow {
    /// Name of the kind in the description, such as `CodeDownloaded`.
    pub kind: &'static str,
    /// Value of the field `source` of the event, such as `Task`.
    pub source: &'static str,
    /// Value of the field `level` of the event: `Info`, `Warning` or `Error`.
    pub level: &'static str,
    /// `true` if at most the billing event follows an event of this kind.
    pub is_final: bool,
    /// Text of the event in the user guide. `None` if the user guide does not contain the event.
    pub guide: Option<&'static str>,
    /// Text of the event in responses, if it differs from the text in the user guide.
    pub api: Option<&'static str>,
}
