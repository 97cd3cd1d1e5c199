//! Arguments of the builders of requests.

use std::{borrow::Cow, collections::BTreeMap};

/// Argument of a builder's method for a field of type `T`.
///
/// Besides a `T`, it can be:
///
/// | field | argument |
/// |---|---|
/// | text | `&str`, `&&str`, `&String`, `Cow<str>` |
/// | an enumeration | any text, as above, or `String` |
/// | an integer | `i32`, `u32`, `u64`, `usize` |
/// | an object | its builder |
/// | a list | an array of these, such as `["a", "b"]`, and a `Vec` of `&str` or of builders |
/// | a map | an array or a `Vec` of pairs, such as `[("name", "value")]` |
/// | an optional field | an argument of the field without `Some`, and `Option<&str>` for text |
///
/// A value that the field cannot have, such as an incomplete builder, is an error of the call that
/// sends the request.
///
/// ```
/// use modelarts_api::types::JobMetadataRequest;
///
/// let metadata: JobMetadataRequest = JobMetadataRequest::builder()
///     .name("leaves")
///     .description("run 7")
///     .annotations([("fault-tolerance/job-retry-num", "2")])
///     .try_into()?;
/// assert_eq!(metadata.description.as_deref(), Some("run 7"));
/// # Ok::<(), modelarts_api::types::error::ConversionError>(())
/// ```
pub trait Argument<T> {
    /// Returns the value of the field, or the rule that the argument violates.
    #[doc(hidden)]
    fn convert(self) -> Result<T, String>;
}

/// Returns the value of a field. An error contains the name of the field.
pub(crate) fn value_of<T>(argument: impl Argument<T>, field: &str) -> Result<T, String> {
    let value = argument.convert();
    value.map_err(|error| format!("error converting supplied value for {field}: {error}"))
}

/// Type whose values are written as text, other than `String`.
pub trait FromText: Sized {
    /// Parses a value. The error states the rule that the text violates.
    ///
    /// # Errors
    /// Returns an error if the text is not a value of the type.
    fn from_text(text: &str) -> Result<Self, String>;
}

impl<T> Argument<T> for T {
    fn convert(self) -> Result<T, String> {
        Ok(self)
    }
}

impl<T> Argument<Option<T>> for T {
    fn convert(self) -> Result<Option<T>, String> {
        Ok(Some(self))
    }
}

/// Implements the conversion of a type of text to an enumeration.
macro_rules! enumeration {
    ($($text:ty),*) => {$(
        impl<T: FromText> Argument<T> for $text {
            fn convert(self) -> Result<T, String> {
                T::from_text(&self)
            }
        }
        impl<T: FromText> Argument<Option<T>> for $text {
            fn convert(self) -> Result<Option<T>, String> {
                T::from_text(&self).map(Some)
            }
        }
    )*};
}

enumeration! { &str, &&str, &String, String, Cow<'_, str> }

impl<T: FromText> Argument<Option<T>> for Option<&str> {
    fn convert(self) -> Result<Option<T>, String> {
        self.map(T::from_text).transpose()
    }
}

/// Implements the conversion of a type of text to a string.
macro_rules! string {
    ($($text:ty),*) => {$(
        impl Argument<String> for $text {
            fn convert(self) -> Result<String, String> {
                Ok(self.to_string())
            }
        }
        impl Argument<Option<String>> for $text {
            fn convert(self) -> Result<Option<String>, String> {
                Ok(Some(self.to_string()))
            }
        }
    )*};
}

string! { &str, &&str, &String, Cow<'_, str> }

impl Argument<Option<String>> for Option<&str> {
    fn convert(self) -> Result<Option<String>, String> {
        Ok(self.map(str::to_owned))
    }
}

/// Implements the conversion of another type of integers.
macro_rules! integer {
    ($($integer:ty),*) => {$(
        impl Argument<i64> for $integer {
            fn convert(self) -> Result<i64, String> {
                let rule = || format!("{self} must be at most {}", i64::MAX);
                i64::try_from(self).map_err(|_| rule())
            }
        }
        impl Argument<Option<i64>> for $integer {
            fn convert(self) -> Result<Option<i64>, String> {
                Argument::<i64>::convert(self).map(Some)
            }
        }
    )*};
}

integer! { i32, u32, u64, usize }

impl<V: Argument<T>, T, const N: usize> Argument<Vec<T>> for [V; N] {
    fn convert(self) -> Result<Vec<T>, String> {
        self.into_iter().map(V::convert).collect()
    }
}

impl Argument<Vec<String>> for Vec<&str> {
    fn convert(self) -> Result<Vec<String>, String> {
        Ok(self.into_iter().map(str::to_owned).collect())
    }
}

/// Implements the conversion of pairs to a map.
macro_rules! pairs {
    ($pairs:ty $(, $length:ident)?) => {
        impl<K: Into<String>, V: Into<String> $(, const $length: usize)?>
            Argument<BTreeMap<String, String>> for $pairs
        {
            fn convert(self) -> Result<BTreeMap<String, String>, String> {
                let pairs = self.into_iter();
                Ok(pairs.map(|(key, value)| (key.into(), value.into())).collect())
            }
        }
    };
}

pairs! { [(K, V); N], N }
pairs! { Vec<(K, V)> }

/// Implements [`FromText`] for an enumeration.
macro_rules! from_text {
    ($name:ident) => {
        impl crate::argument::FromText for $name {
            fn from_text(text: &str) -> Result<Self, String> {
                text.parse::<Self>().map_err(|error| error.to_string())
            }
        }
    };
}

/// Implements [`Argument`] for the builder of an object.
macro_rules! built {
    ($name:ident) => {
        impl crate::argument::Argument<$name> for builder::$name {
            fn convert(self) -> Result<$name, String> {
                $name::try_from(self).map_err(|error| error.to_string())
            }
        }
        impl crate::argument::Argument<Option<$name>> for builder::$name {
            fn convert(self) -> Result<Option<$name>, String> {
                crate::argument::Argument::<$name>::convert(self).map(Some)
            }
        }
    };
}

/// Implements [`Argument`] for a list of builders.
macro_rules! built_list {
    ($name:ident) => {
        impl crate::argument::Argument<Vec<$name>> for Vec<builder::$name> {
            fn convert(self) -> Result<Vec<$name>, String> {
                let builders = self.into_iter();
                builders.map(crate::argument::Argument::convert).collect()
            }
        }
    };
}

pub(crate) use {built, built_list, from_text};
