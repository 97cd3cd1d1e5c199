//! The check of identifiers in paths.

/// A run of characters of one class, with its minimum and maximum length.
pub(crate) type CharacterRun = (fn(char) -> bool, usize, usize);

/// Returns whether `text` consists of these runs, in order. Each takes as many characters as
/// possible; all but the last have a fixed length.
pub(crate) fn matches(text: &str, runs: &[CharacterRun]) -> bool {
    let mut characters = text.chars().peekable();
    for (belongs, min, max) in runs {
        let mut count = 0;
        while count < *max && characters.next_if(|c| belongs(*c)).is_some() {
            count += 1;
        }
        if count < *min {
            return false;
        }
    }
    characters.next().is_none()
}
