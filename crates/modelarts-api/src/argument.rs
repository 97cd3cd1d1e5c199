//! Arguments of the builders of requests.

use std::collections::BTreeMap;

/// Argument of a builder's method for a field of type `T`.
///
/// The methods take `impl Into<Argument<T>>`. Besides a `T`, they accept:
///
/// | field | argument |
/// |---|---|
/// | text | `&str`, `&String` |
/// | an enumeration | `&str`, `String`, `&String` |
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
#[derive(Clone, Debug)]
pub struct Argument<T>(Result<T, String>);

impl<T> Argument<T> {
    /// Returns the value of a field. An error contains the name of the field.
    pub(crate) fn named(self, field: &str) -> Result<T, String> {
        self.0
            .map_err(|error| format!("error converting supplied value for {field}: {error}"))
    }
}

/// Type whose values are written as text, other than `String`.
pub trait FromText: Sized {
    /// Parses a value. The error states the rule that the text violates.
    ///
    /// # Errors
    /// Returns an error if the text is not a value of the type.
    fn from_text(text: &str) -> Result<Self, String>;
}

impl<T: FromText> FromText for Option<T> {
    fn from_text(text: &str) -> Result<Self, String> {
        T::from_text(text).map(Some)
    }
}

impl<T> From<T> for Argument<T> {
    fn from(value: T) -> Self {
        Self(Ok(value))
    }
}

impl<T> From<T> for Argument<Option<T>> {
    fn from(value: T) -> Self {
        Self(Ok(Some(value)))
    }
}

impl<T: FromText> From<&str> for Argument<T> {
    fn from(text: &str) -> Self {
        Self(T::from_text(text))
    }
}

impl<T: FromText> From<&String> for Argument<T> {
    fn from(text: &String) -> Self {
        Self(T::from_text(text))
    }
}

impl<T: FromText> From<String> for Argument<T> {
    fn from(text: String) -> Self {
        Self(T::from_text(&text))
    }
}

impl<T: FromText> From<Option<&str>> for Argument<Option<T>> {
    fn from(text: Option<&str>) -> Self {
        Self(text.map(T::from_text).transpose())
    }
}

impl From<&str> for Argument<String> {
    fn from(text: &str) -> Self {
        Self(Ok(text.to_owned()))
    }
}

impl From<&String> for Argument<String> {
    fn from(text: &String) -> Self {
        Self(Ok(text.clone()))
    }
}

impl From<&str> for Argument<Option<String>> {
    fn from(text: &str) -> Self {
        Self(Ok(Some(text.to_owned())))
    }
}

impl From<&String> for Argument<Option<String>> {
    fn from(text: &String) -> Self {
        Self(Ok(Some(text.clone())))
    }
}

impl From<Option<&str>> for Argument<Option<String>> {
    fn from(text: Option<&str>) -> Self {
        Self(Ok(text.map(str::to_owned)))
    }
}

/// Implements the conversion of another type of integers.
macro_rules! integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Argument<i64> {
            fn from(value: $integer) -> Self {
                let rule = || format!("{value} must be at most {}", i64::MAX);
                Self(i64::try_from(value).map_err(|_| rule()))
            }
        }
        impl From<$integer> for Argument<Option<i64>> {
            fn from(value: $integer) -> Self {
                Self(Argument::<i64>::from(value).0.map(Some))
            }
        }
    )*};
}

integer! { i32, u32, u64, usize }

/// Returns the list of the values, or the first error.
fn list<T>(values: impl IntoIterator<Item = impl Into<Argument<T>>>) -> Argument<Vec<T>> {
    let values = values.into_iter().map(|value| value.into().0);
    Argument(values.collect())
}

impl<V: Into<Argument<T>>, T, const N: usize> From<[V; N]> for Argument<Vec<T>> {
    fn from(values: [V; N]) -> Self {
        list(values)
    }
}

impl From<Vec<&str>> for Argument<Vec<String>> {
    fn from(values: Vec<&str>) -> Self {
        list(values)
    }
}

/// Returns the map of the pairs.
fn map<K: Into<String>, V: Into<String>>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Argument<BTreeMap<String, String>> {
    let pairs = pairs.into_iter();
    let pairs = pairs.map(|(key, value)| (key.into(), value.into()));
    Argument(Ok(pairs.collect()))
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]>
    for Argument<BTreeMap<String, String>>
{
    fn from(pairs: [(K, V); N]) -> Self {
        map(pairs)
    }
}

impl<K: Into<String>, V: Into<String>> From<Vec<(K, V)>> for Argument<BTreeMap<String, String>> {
    fn from(pairs: Vec<(K, V)>) -> Self {
        map(pairs)
    }
}

impl<T> Argument<T> {
    /// Builds an object.
    pub(crate) fn built<B>(builder: B) -> Self
    where
        T: TryFrom<B, Error: std::fmt::Display>,
    {
        Self(T::try_from(builder).map_err(|error| error.to_string()))
    }

    /// Returns an argument for the optional field.
    pub(crate) fn optional(self) -> Argument<Option<T>> {
        Argument(self.0.map(Some))
    }

    /// Returns an argument for the list.
    pub(crate) fn list(values: Vec<impl Into<Self>>) -> Argument<Vec<T>> {
        list(values)
    }
}

/// Implements the conversion of the builder of an object.
macro_rules! built {
    ($name:ident) => {
        impl From<builder::$name> for crate::argument::Argument<$name> {
            fn from(builder: builder::$name) -> Self {
                Self::built(builder)
            }
        }
        impl From<builder::$name> for crate::argument::Argument<Option<$name>> {
            fn from(builder: builder::$name) -> Self {
                crate::argument::Argument::built(builder).optional()
            }
        }
        impl From<Vec<builder::$name>> for crate::argument::Argument<Vec<$name>> {
            fn from(builders: Vec<builder::$name>) -> Self {
                crate::argument::Argument::list(builders)
            }
        }
    };
}

/// Implements [`FromText`] for an enumeration.
macro_rules! text {
    ($name:ident) => {
        impl crate::argument::FromText for $name {
            fn from_text(text: &str) -> Result<Self, String> {
                text.parse::<Self>().map_err(|error| error.to_string())
            }
        }
    };
}

pub(crate) use {built, text};
