//! Identifiers in paths. The description limits the characters and the length of identifiers,
//! because other strings could address another resource.

/// Sequence of characters of one class: the class, and the minimum and maximum length.
pub(crate) type CharacterRun = (fn(char) -> bool, usize, usize);

/// Returns `true` if `text` consists of these runs, in order. Each run takes as many characters as
/// possible. All runs except the last must have a fixed length.
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

/// Implements the traits of an identifier, which is a newtype of `String`. The arguments are the
/// pattern in the description, and the character runs that the pattern admits.
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
        crate::identifier::text_comparison! { $name, str::eq }
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

/// Implements `==` between a type with `as_str` and text, in both directions. The arguments are the
/// type, and the function with which the type compares the texts of two of its values.
macro_rules! text_comparison {
    ($name:ident, $equal:path) => {
        impl std::cmp::PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                $equal(self.as_str(), other)
            }
        }
        impl std::cmp::PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                *self == **other
            }
        }
        impl std::cmp::PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                *self == **other
            }
        }
        impl std::cmp::PartialEq<$name> for str {
            fn eq(&self, other: &$name) -> bool {
                *other == *self
            }
        }
        impl std::cmp::PartialEq<$name> for &str {
            fn eq(&self, other: &$name) -> bool {
                *other == **self
            }
        }
        impl std::cmp::PartialEq<$name> for String {
            fn eq(&self, other: &$name) -> bool {
                *other == **self
            }
        }
    };
}

pub(crate) use {identifier, text_comparison};
