//! Words of a shell.

/// Returns a word of a shell, in quotes if it needs them.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_characters_of_the_shell_is_quoted() {
        for (word, quoted) in [
            ("obs://bucket/code/train.py", "obs://bucket/code/train.py"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)`x`", "'$(reboot)`x`'"),
            ("a\nb", "'a\nb'"),
            ("~root", "'~root'"),
        ] {
            assert_eq!(quote(word), quoted);
        }
    }
}
