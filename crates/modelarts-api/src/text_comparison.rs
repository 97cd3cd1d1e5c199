//! Comparisons of identifiers and open enumerations with text.

/// Implements `==` between a type with `as_str` and text, in both directions. Takes the comparison
/// of two texts that the type uses for two of its own values.
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

pub(crate) use text_comparison;
