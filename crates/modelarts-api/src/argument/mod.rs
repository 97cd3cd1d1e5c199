//! Argument types of request builders, and macros that define the builders.

mod collections;
mod integers;
mod text;

/// Argument of a builder method that sets a field of type `T`.
///
/// Besides a `T`, the argument can be:
///
/// | field | argument |
/// |---|---|
/// | text | `&str`, `&&str`, `&String`, `Cow<str>` |
/// | an enumeration | any of the types for text, or `String` |
/// | an integer | `i32`, `u32`, `u64`, `usize` |
/// | an object | the builder of the object |
/// | a list | an array of arguments, such as `["a", "b"]`, or a `Vec` of `&str` or of builders |
/// | a map | an array or a `Vec` of pairs, such as `[("name", "value")]` |
/// | an optional field | an argument of the field without `Some`, and `Option<&str>` for text |
///
/// If the field cannot have the value, for example because a builder is incomplete, the call that
/// sends the request returns an error.
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
    /// Converts the argument to the field value. The error states the violated rule.
    #[doc(hidden)]
    fn convert(self) -> Result<T, String>;
}

/// Converts an argument to the value of a field. The error contains the name of the field, or the
/// path of a required field that is missing.
pub(crate) fn value_of<T>(argument: impl Argument<T>, field: &str) -> Result<T, String> {
    const MISSING: &str = "no value supplied for ";
    let value = argument.convert();
    value.map_err(|error| match error.strip_prefix(MISSING) {
        Some(inner) => format!("{MISSING}{field}.{inner}"),
        None => format!("error converting supplied value for {field}: {error}"),
    })
}

/// Type, other than `String`, whose values can be parsed from text.
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

/// Defines the builder of an object. The argument is a struct with the fields of the object; fields
/// with `#[required = true]` have no default.
macro_rules! builder {
    (pub struct $name:ident { $($(#[required = $required:tt])? $field:ident: $ty:ty,)* }) => {
        #[derive(Clone, Debug)]
        pub struct $name {
            $($field: ::std::result::Result<$ty, ::std::string::String>,)*
        }
        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self {
                    $($field: crate::argument::initial!($field $($required)?),)*
                }
            }
        }
        impl $name {
            $(
                pub fn $field(mut self, value: impl crate::argument::Argument<$ty>) -> Self {
                    self.$field = crate::argument::value_of(value, stringify!($field));
                    self
                }
            )*
        }
        impl ::std::convert::TryFrom<$name> for super::$name {
            type Error = super::error::ConversionError;
            fn try_from(value: $name) -> ::std::result::Result<Self, Self::Error> {
                Ok(Self {
                    $($field: value.$field?,)*
                })
            }
        }
        impl ::std::convert::From<super::$name> for $name {
            fn from(value: super::$name) -> Self {
                Self {
                    $($field: Ok(value.$field),)*
                }
            }
        }
        impl crate::argument::Argument<super::$name> for $name {
            fn convert(self) -> ::std::result::Result<super::$name, ::std::string::String> {
                super::$name::try_from(self).map_err(|error| error.to_string())
            }
        }
        impl crate::argument::Argument<::std::option::Option<super::$name>> for $name {
            fn convert(
                self,
            ) -> ::std::result::Result<::std::option::Option<super::$name>, ::std::string::String>
            {
                crate::argument::Argument::<super::$name>::convert(self).map(Some)
            }
        }
    };
}

/// Defines the struct of a request object, and a macro of the same name that defines the builder.
macro_rules! request {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])*
                $(#[required = $required:tt])?
                pub $field:ident: $ty:ty,
            )*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])*
                pub $field: $ty,
            )*
        }
        macro_rules! $name {
            () => {
                crate::argument::builder! {
                    pub struct $name {
                        $($(#[required = $required])? $field: $ty,)*
                    }
                }
            };
        }
    };
}

/// Returns the initial value of a builder field: the default, or an error if it is required.
macro_rules! initial {
    ($field:ident) => {
        Ok(::std::default::Default::default())
    };
    ($field:ident true) => {
        Err(concat!("no value supplied for ", stringify!($field)).to_owned())
    };
}

/// Implements [`Argument`] of a list of objects for a `Vec` of their builders.
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

pub(crate) use {builder, built_list, from_text, initial, request};
