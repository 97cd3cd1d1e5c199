//! Enumerations that the service may extend. Unknown values are stored as `Other`.

/// Implements the traits of an open enumeration. The arguments are all variants except `Other`,
/// each with its JSON value.
macro_rules! open_enum {
    ($name:ident { $($variant:ident = $value:literal),* $(,)? }) => {
        impl $name {
            /// Values that the description lists.
            pub const KNOWN: &'static [&'static str] = &[$($value),*];

            /// Returns the JSON value.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $value,)*
                    Self::Other(text) => text,
                }
            }

            /// Converts an `Other` that differs from a known value only in case to this known
            /// value. Returns any other value unchanged.
            #[must_use]
            pub fn canonical(self) -> Self {
                match self {
                    $(Self::Other(text) if text.eq_ignore_ascii_case($value) => Self::$variant,)*
                    other => other,
                }
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($value => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($value => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }
        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ok(text.into())
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl std::cmp::PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.as_str().eq_ignore_ascii_case(other.as_str())
            }
        }
        impl std::cmp::Eq for $name {}
        crate::identifier::text_comparison! { $name, str::eq_ignore_ascii_case }
        crate::argument::from_text! { $name }
        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                for byte in self.as_str().bytes() {
                    state.write_u8(byte.to_ascii_lowercase());
                }
                state.write_u8(0xff);
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
        impl crate::decode::slot::Decode for $name {
            fn slot(value: &mut std::option::Option<Self>) -> crate::decode::slot::Slot<'_> {
                crate::decode::slot::Slot::FromText(value)
            }
        }
        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "anyOf": [
                        { "type": "string", "enum": [$($value),*] },
                        { "type": "string" },
                    ]
                })
            }
        }
    };
}

pub(crate) use open_enum;
