//! Lines that the platform writes between those of the code.

use crate::jobs::logs::line_splitter::LogItem;

/// Beginning of a line of the platform, in lower case: the platform writes it in two ways.
const PREFIX: &str = "[modelarts service log]";
/// Field of the other lines of the platform.
const FIELD: &str = "Platform=ModelArts-Service";

impl LogItem {
    /// Returns `true` for a line of the platform, which the console of the service calls system
    /// logs: a line that begins with `[ModelArts Service Log]`, or has the field
    /// `Platform=ModelArts-Service`. These marks are those of the [user guide].
    ///
    /// ```
    /// use modelarts_ext::LogItem;
    ///
    /// let line = |text: &str| LogItem::Line(text.to_owned());
    /// assert!(line("[Modelarts Service Log]exit with 0").is_of_platform());
    /// assert!(!line("epoch 1").is_of_platform());
    /// ```
    ///
    /// [user guide]: https://support.huaweicloud.com/intl/en-us/develop-modelarts/develop-modelarts-0095.html
    #[must_use]
    pub fn is_of_platform(&self) -> bool {
        let Self::Line(line) = self else {
            return false;
        };
        let start = line.trim_start().get(..PREFIX.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX)) || line.contains(FIELD)
    }
}
