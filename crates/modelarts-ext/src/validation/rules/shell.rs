//! Parser that splits a shell command into simple commands, and these into words.

use std::{iter::Peekable, mem, str::Chars};

/// Returns commands as words. The last is empty after an operator, comment or here-document.
pub(super) fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        earlier: Vec::new(),
        words: Vec::new(),
        word: None,
        is_target: false,
    };
    while let Some(character) = reader.rest.next() {
        reader.read(character);
    }
    reader.end_word();
    reader.earlier.push(reader.words);
    reader.earlier
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    earlier: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    is_target: bool,
}

impl Reader<'_> {
    fn read(&mut self, character: char) {
        match character {
            // `&>` is a redirection, for which the next character is sufficient.
            '&' if self.rest.peek() == Some(&'>') => {}
            '\n' | ';' | '&' | '|' | '(' | ')' => self.end_command(),
            '#' if self.word.is_none() => {
                self.end_command();
                while self.rest.next_if(|next| *next != '\n').is_some() {}
            }
            '<' | '>' => self.redirection(character),
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(escaped) => self.push(escaped),
            },
            '\'' | '"' => self.quotation(character),
            '$' if self.rest.peek() == Some(&'(') => {
                self.push('$');
                self.substitution();
            }
            '`' => {
                while let Some(quoted) = self.rest.next_if(|next| *next != '`') {
                    self.push(quoted);
                }
                self.rest.next();
            }
            blank if blank.is_whitespace() => self.end_word(),
            other => self.push(other),
        }
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !mem::take(&mut self.is_target)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_target = false;
        if !self.words.is_empty() {
            self.earlier.push(mem::take(&mut self.words));
        }
    }

    fn redirection(&mut self, sign: char) {
        // A number before a redirection is a file descriptor, and not an argument.
        let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        self.word = self.word.take().filter(|word| !is_number(word));
        self.end_word();
        match self.rest.peek() {
            Some('(') => return self.substitution(),
            Some('<') if sign == '<' => {
                self.rest.next();
                if self.rest.next_if_eq(&'<').is_none() {
                    // The rest is the text of a here-document, whose end is not searched.
                    self.end_command();
                    return self.rest.by_ref().for_each(drop);
                }
            }
            Some('>' | '&' | '|') => drop(self.rest.next()),
            _ => {}
        }
        self.is_target = true;
    }

    fn quotation(&mut self, quote: char) {
        self.word.get_or_insert_default();
        while let Some(character) = self.rest.next_if(|next| *next != quote) {
            match character {
                '\\' if quote == '"' => {
                    let escaped = self.rest.next_if(|next| "\"\\$`".contains(*next));
                    self.push(escaped.unwrap_or('\\'));
                }
                '$' if quote == '"' && self.rest.peek() == Some(&'(') => {
                    self.push('$');
                    self.substitution();
                }
                other => self.push(other),
            }
        }
        self.rest.next();
    }

    fn substitution(&mut self) {
        let (mut depth, mut quote) = (0, None);
        while let Some(character) = self.rest.next() {
            self.push(character);
            match (quote, character) {
                (Some(open), close) if open == close => quote = None,
                (None, '\'' | '"') => quote = Some(character),
                (None, '(') => depth += 1,
                (None, ')') if depth == 1 => return,
                (None, ')') => depth -= 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_words_are_separated_as_by_a_shell() {
        for (text, commands) in [
            ("", &[""][..]),
            ("python a.py --x=1", &["python a.py --x=1"]),
            ("cd /a && python b", &["cd /a", "python b"]),
            ("a | b |& c || d & e", &["a", "b", "c", "d", "e"]),
            ("a;", &["a", ""]),
            ("a\n", &["a", ""]),
            ("a &", &["a", ""]),
            ("a # b; c", &["a", ""]),
            ("# b\na", &["a"]),
            ("a#b $#", &["a#b $#"]),
            ("a \\\n  b", &["a b"]),
            ("(a; b)", &["a", "b", ""]),
            ("a 'b;c' \"d&&e\" f\\;g", &["a b;c d&&e f;g"]),
            ("a \"$(b \"; )\" c)\" d", &["a $(b \"; )\" c) d"]),
            ("a $(b; (c)) `d; e`", &["a $(b; (c)) d; e"]),
            ("a 2>&1 >b.log 2> c &> d <e", &["a"]),
            ("a >(b; c) <<<'d;e' f", &["a (b; c) f"]),
            ("cat <<END > f\nx; y\nEND", &["cat", ""]),
        ] {
            let found = simple_commands(text).into_iter();
            let found: Vec<_> = found.map(|words| words.join(" ")).collect();
            assert_eq!(found, commands, "{text}");
        }
    }
}
