//! Kinds of the events of a job, with their texts.

/// Kind of an event. Its texts contain placeholders in braces, such as `{task}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRow {
    /// Name of the kind in the description, such as `CodeDownloaded`.
    pub kind: &'static str,
    /// Field `source` of the event, such as `Task`.
    pub source: &'static str,
    /// Field `level` of the event: `Info`, `Warning` or `Error`.
    pub level: &'static str,
    /// True if no event except the billing event follows.
    pub is_final: bool,
    /// Text in the user guide.
    pub guide: Option<&'static str>,
    /// Text in responses, if it differs from the one in the guide.
    pub api: Option<&'static str>,
}
