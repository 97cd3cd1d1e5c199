//! Classification of strings by their form, such as numbers, times, identifiers and addresses.

/// Form of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A number, such as `12`, `0.5`, `1.8.0`, `0.296s` and `0:01:05`.
    Number,
    /// A time or date in RFC 3339.
    Time,
    /// `true` or `false`.
    Flag,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// At least 16 hexadecimal digits.
    Hex,
    /// An IPv4 address.
    Address,
    /// An email address.
    Mail,
    /// A domain name.
    Host,
    /// Any other string.
    Other,
}

/// Units that may follow a number.
const UNITS: [&str; 15] = [
    "", "s", "ms", "h", "m", "min", "B", "KB", "MB", "GB", "TB", "Mi", "Gi", "u", "%",
];
const DOMAINS: [&str; 17] = [
    "com",
    "cn",
    "net",
    "org",
    "io",
    "eu",
    "de",
    "fr",
    "uk",
    "info",
    "dev",
    "cloud",
    "local",
    "internal",
    "localhost",
    "edu",
    "gov",
];
const EXTENSIONS: [&str; 20] = [
    "py", "sh", "txt", "json", "yaml", "yml", "log", "csv", "md", "zip", "tar", "gz", "tgz", "whl",
    "pt", "pth", "ckpt", "onnx", "npy", "parquet",
];

impl Shape {
    /// Returns the form of a string.
    pub fn of(text: &str) -> Self {
        if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            return Self::Flag;
        }
        if text.len() == 36 && find_uuid(text) == Some(0) {
            return Self::Uuid;
        }
        if is_time(text) {
            return Self::Time;
        }
        let parts: Vec<&str> = text.split('.').collect();
        if parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok()) {
            return Self::Address;
        }
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let clock: Vec<&str> = unsigned.split(':').collect();
        let pair = |it: &&str| (1..3).contains(&it.len()) && it.bytes().all(|c| c.is_ascii_digit());
        if (2..4).contains(&clock.len()) && clock.iter().all(pair) {
            return Self::Number;
        }
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = unsigned.split_at(end.unwrap_or(unsigned.len()));
        let scientific = text.parse::<f64>().is_ok();
        if number.starts_with(|c: char| c.is_ascii_digit()) && (scientific || UNITS.contains(&unit))
        {
            return Self::Number;
        }
        if text.len() >= 16 && text.chars().all(|c| c.is_ascii_hexdigit()) {
            return Self::Hex;
        }
        let mail = text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && host.contains('.') && !host.contains('@')
        });
        if mail && !text.contains(char::is_whitespace) {
            return Self::Mail;
        }
        let label = |part: &&str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        let known = parts.last().is_some_and(|last| DOMAINS.contains(last));
        if parts.len() > 1 && known && parts.iter().all(label) {
            return Self::Host;
        }
        Self::Other
    }
}

/// Returns a string of the same form with replaced digits. Defined for numbers, times and flags;
/// `None` for other forms.
pub fn masked(shape: Shape, text: &str) -> Option<String> {
    let mut digits = match shape {
        Shape::Flag => return Some("true".to_owned()),
        Shape::Number => "".chars().chain(std::iter::repeat('1')),
        // The replacement for a date is a valid date.
        Shape::Time => "20000101".chars().chain(std::iter::repeat('0')),
        _ => return None,
    };
    let replace = |c: char| match c.is_ascii_digit() {
        true => digits.next().unwrap_or(c),
        false => c,
    };
    Some(text.chars().map(replace).collect())
}

fn is_time(text: &str) -> bool {
    let digits = |range| {
        text.get(range)
            .is_some_and(|it: &str| it.bytes().all(|c| c.is_ascii_digit()))
    };
    digits(0..4)
        && digits(5..7)
        && digits(8..10)
        && text.get(4..5) == Some("-")
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "-:TZ+. ".contains(c))
}

/// Returns true if redaction keeps this file name extension.
pub fn is_extension(text: &str) -> bool {
    EXTENSIONS.contains(&text)
}

/// Returns whether a character belongs to a word.
pub fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the position of the first UUID in a string.
pub fn find_uuid(text: &str) -> Option<usize> {
    let is_uuid = |text: &str| {
        text.bytes().enumerate().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == b'-',
            _ => c.is_ascii_hexdigit(),
        })
    };
    (0..text.len()).find(|at| text.get(*at..*at + 36).is_some_and(is_uuid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_forms() {
        for (text, shape) in [
            ("12", Shape::Number),
            ("-1", Shape::Number),
            ("1e-3", Shape::Number),
            ("0.296s", Shape::Number),
            ("1.8.0", Shape::Number),
            ("0:01:05", Shape::Number),
            ("2001:0:0:1", Shape::Other),
            ("12345678901234567890", Shape::Number),
            ("2026-01-15T16:30:07+08:00", Shape::Time),
            ("2026-01-15", Shape::Time),
            ("True", Shape::Flag),
            ("5bd61eea-9de2-4864-a0f7-5fae966171b5", Shape::Uuid),
            ("0f1e2d3c4b5a69788796a5b4c3d2e1f0", Shape::Hex),
            ("10.0.0.7", Shape::Address),
            ("ann@example.com", Shape::Mail),
            ("modelarts.eu-de.otc.t-systems.com", Shape::Host),
            ("modelarts.vm.cpu.8u", Shape::Other),
            ("train.py", Shape::Other),
            ("nan", Shape::Other),
            ("", Shape::Other),
            ("é", Shape::Other),
        ] {
            assert_eq!(Shape::of(text), shape, "{text}");
        }
    }
}
