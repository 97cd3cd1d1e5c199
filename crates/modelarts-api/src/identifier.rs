//! What the identifiers in paths consist of.

/// A class of characters, and how many of them there may be at the least and at the most.
pub(crate) type Part = (fn(char) -> bool, usize, usize);

/// Whether `text` is made of these parts, one behind the other. Each takes as many
/// characters as it can; all but the last have a fixed length.
pub(crate) fn fits(text: &str, parts: &[Part]) -> bool {
    let mut characters = text.chars().peekable();
    for (belongs, least, most) in parts {
        let mut count = 0;
        while count < *most && characters.next_if(|c| belongs(*c)).is_some() {
            count += 1;
        }
        if count < *least {
            return false;
        }
    }
    characters.next().is_none()
}
