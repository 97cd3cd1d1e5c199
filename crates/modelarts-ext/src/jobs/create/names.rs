//! Names of jobs that the user does not name.

/// Characters of the random suffix of a generated name.
const RANDOM: &str = "abcdefghijkmnpqrstuvwxyz23456789";
/// Length of the random suffix of a generated name, in characters.
const SUFFIX: usize = 4;
/// Maximum length of the text before the suffix, in characters.
const MAX_STEM: usize = 50;

/// Returns a probably unique name: a text, such as the name of a script, and a random suffix, such
/// as `train-k3f9`. Characters that a name must not have become `-`; an empty text becomes `job`.
///
/// ```
/// use modelarts_ext::jobs::create::{unique_name, without_suffix};
///
/// let name = unique_name("my train");
/// assert_eq!(name.len(), "my-train-k3f9".len());
/// assert_eq!(without_suffix(&name), "my-train");
/// ```
#[must_use]
pub fn unique_name(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => c,
        _ => '-',
    };
    let stem: String = text.chars().map(plain).collect();
    // Command lines would read a name that begins with a hyphen as a flag.
    let stem = match stem.trim_matches('-') {
        "" => "job".to_owned(),
        stem => stem.chars().take(MAX_STEM).collect(),
    };
    let letters: Vec<char> = RANDOM.chars().collect();
    let suffix = (0..SUFFIX).filter_map(|_| letters.get(fastrand::usize(..letters.len())));
    format!("{stem}-{}", suffix.collect::<String>())
}

/// Returns a name without the random suffix of [`unique_name`].
#[must_use]
pub fn without_suffix(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, suffix))
            if !stem.is_empty()
                && suffix.len() == SUFFIX
                && suffix.chars().all(|letter| RANDOM.contains(letter)) =>
        {
            stem
        }
        _ => name,
    }
}
