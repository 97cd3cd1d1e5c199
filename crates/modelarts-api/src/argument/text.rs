//! Text types as arguments for fields that are text or enumerations.

use std::borrow::Cow;

use crate::argument::{Argument, FromText};

/// Implements [`Argument`] of an enumeration field for the given text types.
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

/// Implements [`Argument`] of a string field for the given text types.
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
