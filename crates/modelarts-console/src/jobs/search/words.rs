//! Splitting of the search text into terms.

/// A term of a search: values, optionally with a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Text as entered by the user, for messages.
    pub(super) text: String,
    pub(super) key: Option<String>,
    /// Comma-separated values, without quotes.
    pub(super) values: Vec<String>,
}

/// Splits the search text at whitespace. In quotes, spaces, commas and colons belong to a value.
pub(super) fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut is_quoted = false;
    for character in text.chars() {
        if character.is_whitespace() && !is_quoted {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| Word {
            text: String::new(),
            key: None,
            values: vec![String::new()],
        });
        let is_plain = !word.text.contains(['"', ',']);
        word.text.push(character);
        match (character, word.values.as_mut_slice()) {
            ('"', _) => is_quoted = !is_quoted,
            (':', [only]) if !is_quoted && is_plain && word.key.is_none() => {
                word.key = Some(std::mem::take(only));
            }
            (',', _) if !is_quoted => word.values.push(String::new()),
            (_, [.., last]) => last.push(character),
            (_, []) => {}
        }
    }
    if is_quoted {
        let text = word.map(|word| word.text).unwrap_or_default();
        return Err(format!("{text}: a quote must be closed"));
    }
    words.extend(word);
    Ok(words)
}

/// Returns a value, in quotes if necessary.
pub(super) fn quoted(value: &str) -> String {
    let needs_quotes =
        |character: char| character.is_whitespace() || matches!(character, ',' | ':');
    match value.contains(needs_quotes) {
        true => format!("\"{value}\""),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_spaces_commas_and_colons() {
        let read = |text: &str| {
            let words = words(text).unwrap().into_iter();
            let words = words.map(|word| (word.key, word.values.join("|")));
            words.collect::<Vec<_>>()
        };
        let key = |key: &str| Some(key.to_owned());
        assert_eq!(
            read(" bert  phase:Running,Pending tag:\"a b,c\",d \"x:y\" time:12:30 "),
            [
                (None, "bert".to_owned()),
                (key("phase"), "Running|Pending".to_owned()),
                (key("tag"), "a b,c|d".to_owned()),
                (None, "x:y".to_owned()),
                (key("time"), "12:30".to_owned()),
            ]
        );
        assert_eq!(read(""), []);
        assert_eq!(read("phase:"), [(key("phase"), String::new())]);
    }

    #[test]
    fn an_open_quote_is_an_error() {
        let error = words("mine name:\"a b").unwrap_err();
        assert_eq!(error, "name:\"a b: a quote must be closed");
    }
}
