//! Redaction of sentences, paths and the words in them.

use super::Redactor;
use crate::text::{self, Shape, is_word_char};

/// Path segments that are kept: directories of containers, and URL schemes.
const WELL_KNOWN: [&str; 15] = [
    "v2",
    "home",
    "ma-user",
    "modelarts",
    "inputs",
    "outputs",
    "user-job-dir",
    "cache",
    "tmp",
    "usr",
    "dev",
    "bin",
    "work",
    ".",
    "..",
];
impl Redactor<'_> {
    /// Redacts a sentence of the service: keeps its words, and replaces names. With `catalogue`,
    /// all words are regarded as words of the service.
    pub(super) fn sentence(&mut self, text: &str, catalogue: bool) -> String {
        if self.learning {
            return String::new();
        }
        let mut redacted = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| !c.is_whitespace() && !is_border(c)) {
            redacted.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest
                .find(|c: char| c.is_whitespace() || is_border(c))
                .unwrap_or(rest.len());
            let (chunk, after) = rest.split_at(end);
            let tail = chunk.len() - chunk.trim_end_matches(['.', ':', ';', '!', '?']).len();
            let (chunk, tail) = chunk.split_at(chunk.len() - tail);
            match self.placeholders.get(chunk) {
                _ if self.public.contains(chunk) => self.tokens(chunk, true, &mut redacted),
                Some(known) if !catalogue && self.may_replace(chunk) => {
                    redacted.push_str(&known.text.clone());
                }
                _ if chunk.contains("://") || chunk.starts_with('/') && !catalogue => {
                    redacted.push_str(&self.path(chunk, false));
                }
                _ => self.tokens(chunk, catalogue, &mut redacted),
            }
            redacted.push_str(tail);
            rest = after;
        }
        redacted + rest
    }

    fn tokens(&mut self, chunk: &str, catalogue: bool, redacted: &mut String) {
        for part in chunk.split_inclusive(['/', ':', '=']) {
            let token = part.trim_end_matches(['/', ':', '=']);
            let token_redacted = self.token(token, catalogue);
            redacted.push_str(&token_redacted);
            redacted.push_str(&part[token.len()..]);
        }
    }

    fn token(&mut self, token: &str, catalogue: bool) -> String {
        if token.is_empty() {
            return String::new();
        }
        if let Some(known) = self.placeholders.get(token)
            && !catalogue
            && self.may_replace(token)
        {
            return known.text.clone();
        }
        match Shape::of(token) {
            Shape::Number | Shape::Time | Shape::Flag => return token.to_owned(),
            Shape::Other => {}
            _ => return self.placeholder("id", token, false),
        }
        // A name may be part of a longer one, as in the names of pods.
        let names = self.placeholders.iter().filter(|(name, _)| {
            name.len() > 2 && self.may_replace(name) && find_word(token, name).is_some()
        });
        let longest = names.max_by_key(|(name, _)| name.len());
        if let Some((name, known)) = longest.map(|(name, known)| (name.clone(), known.text.clone()))
            && let Some(at) = find_word(token, &name)
        {
            let before = self.token(&token[..at], catalogue);
            let after = self.token(&token[at + name.len()..], catalogue);
            return before + &known + &after;
        }
        if let Some(at) = text::find_uuid(token) {
            let before = self.token(&token[..at], catalogue);
            let id = self.placeholder("id", &token[at..at + 36], false);
            let after = self.token(&token[at + 36..], catalogue);
            return before + &id + &after;
        }
        match catalogue || self.is_known(token) {
            true => token.to_owned(),
            false => self.placeholder("word", token, false),
        }
    }

    /// Returns true if a string consists of words of the service and short numbers.
    pub(super) fn is_known(&self, text: &str) -> bool {
        text.split(|c: char| !c.is_alphanumeric()).all(|part| {
            let number = part.len() < 4 && part.chars().all(|c| c.is_ascii_digit());
            number || self.words.contains(&part.to_lowercase())
        })
    }

    /// Returns true if a name may be replaced in sentences. A name that consists of words of the
    /// service is kept, because in sentences it is usually an ordinary word.
    fn may_replace(&self, name: &str) -> bool {
        !self.is_known(name)
    }

    /// Redacts each segment of a path, an address or an image name. With `private`, numbers are
    /// redacted as well.
    pub(super) fn path(&mut self, text: &str, private: bool) -> String {
        let (text, query) = match text.split_once('?') {
            Some((text, query)) => (text, Some(query)),
            None => (text, None),
        };
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, text),
        };
        let mut first = match scheme {
            Some("http" | "https") => "host",
            Some(_) => "bucket",
            None if rest.starts_with('/') => "bucket",
            None => "dir",
        };
        let mut redacted = scheme
            .map(|scheme| format!("{scheme}://"))
            .unwrap_or_default();
        for part in rest.split_inclusive(['/', ':']) {
            let segment = part.trim_end_matches(['/', ':']);
            if !segment.is_empty() {
                let masked = private.then(|| text::masked(Shape::of(segment), segment));
                let masked = masked.flatten();
                redacted.push_str(&masked.unwrap_or_else(|| self.segment(first, segment)));
                first = "dir";
            }
            redacted.push_str(&part[segment.len()..]);
        }
        if let Some(query) = query {
            let names = query.split('&').map(|pair| {
                let name = pair.split('=').next().unwrap_or_default();
                let name = if self.is_known(name) {
                    name
                } else {
                    "parameter"
                };
                format!("{name}=redacted")
            });
            redacted = format!("{redacted}?{}", names.collect::<Vec<_>>().join("&"));
        }
        redacted
    }

    fn segment(&mut self, prefix: &str, segment: &str) -> String {
        if WELL_KNOWN.contains(&segment)
            || self.public.contains(segment)
            || Shape::of(segment) == Shape::Number
        {
            return segment.to_owned();
        }
        if text::find_uuid(segment).is_some() {
            return self.token(segment, false);
        }
        match segment.rsplit_once('.') {
            Some((stem, extension)) if prefix == "dir" && text::is_extension(extension) => {
                format!("{}.{extension}", self.placeholder("file", stem, true))
            }
            _ => self.placeholder(prefix, segment, true),
        }
    }
}

/// Returns true if a character can delimit a word in a sentence.
fn is_border(c: char) -> bool {
    "[](){}<>\"'`,|".contains(c)
}

/// Returns the first position at which a name occurs as a whole word.
fn find_word(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}
