//! Identifiers in paths: text whose characters and length the description limits, because another
//! text would address another resource.

/// A run of characters of one class, with its minimum and maximum length. A class is written as in
/// a regular expression, without its brackets: `A-Za-z0-9_`, `^/\s`.
pub(crate) type CharacterRun = (&'static str, usize, usize);

/// Returns whether `text` consists of these runs, in order. Each takes as many characters as
/// possible; all but the last have a fixed length.
pub(crate) fn matches(text: &str, runs: &[CharacterRun]) -> bool {
    let mut characters = text.chars().peekable();
    for (class, min, max) in runs {
        let class = Class::new(class);
        let mut count = 0;
        while count < *max && characters.next_if(|c| class.contains(*c)).is_some() {
            count += 1;
        }
        if count < *min {
            return false;
        }
    }
    characters.next().is_none()
}

/// A class of characters.
struct Class {
    /// A bit for each ASCII character.
    ascii: u128,
    /// The class contains all blanks.
    blank: bool,
    /// The class consists of all other characters.
    negated: bool,
}

impl Class {
    fn new(class: &str) -> Self {
        let (negated, class) = match class.strip_prefix('^') {
            Some(class) => (true, class),
            None => (false, class),
        };
        let (mut ascii, mut blank) = (0, false);
        let mut rest = class.as_bytes();
        loop {
            rest = match rest {
                [] => break,
                [b'\\', _, rest @ ..] => {
                    blank = true;
                    rest
                }
                [first, b'-', last, rest @ ..] => {
                    ascii |= (u128::MAX >> (127 - (last - first))) << first;
                    rest
                }
                [only, rest @ ..] => {
                    ascii |= 1 << only;
                    rest
                }
            };
        }
        Self {
            ascii,
            blank,
            negated,
        }
    }

    fn contains(&self, c: char) -> bool {
        let is_listed = c.is_ascii() && self.ascii >> u32::from(c) & 1 == 1;
        (is_listed || self.blank && c.is_whitespace()) != self.negated
    }
}

/// Implements the traits of an identifier, a struct around its text. Takes the pattern of the
/// description, and its runs.
macro_rules! identifier {
    ($name:ident, $pattern:literal, $runs:expr) => {
        impl std::ops::Deref for $name {
            type Target = String;
            fn deref(&self) -> &String {
                &self.0
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl TryFrom<String> for $name {
            type Error = crate::types::error::ConversionError;
            fn try_from(value: String) -> Result<Self, Self::Error> {
                match crate::identifier::matches(&value, &$runs) {
                    true => Ok(Self(value)),
                    false => Err(concat!("doesn't match pattern \"", $pattern, "\"").into()),
                }
            }
        }
        impl TryFrom<&str> for $name {
            type Error = crate::types::error::ConversionError;
            fn try_from(value: &str) -> Result<Self, Self::Error> {
                value.to_owned().try_into()
            }
        }
        impl std::str::FromStr for $name {
            type Err = crate::types::error::ConversionError;
            fn from_str(value: &str) -> Result<Self, Self::Err> {
                value.try_into()
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .try_into()
                    .map_err(<D::Error as serde::de::Error>::custom)
            }
        }
        impl crate::decode::slot::Decode for $name {
            fn slot(value: &mut std::option::Option<Self>) -> crate::decode::slot::Slot<'_> {
                crate::decode::slot::Slot::FromText(value)
            }
        }
    };
}

pub(crate) use identifier;
