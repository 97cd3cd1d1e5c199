//! Enumerations that the service may extend.
//!
//! The description writes them as `anyOf: [KnownX, string]`, which every language
//! can read. In Rust they become one enum with the known values and `Other`.

use heck::ToUpperCamelCase;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value};

use super::Error;

pub struct OpenEnum {
    pub name: String,
    /// The schema that lists the known values.
    pub known: String,
    description: String,
    values: Vec<String>,
}

impl OpenEnum {
    /// Reads a schema, if it is an open enumeration.
    pub fn read(
        name: &str,
        schema: &Value,
        schemas: &Map<String, Value>,
    ) -> Result<Option<Self>, Error> {
        let Some(parts) = schema.get("anyOf") else {
            return Ok(None);
        };
        let wrong = || {
            Error(format!(
                "schema {name}: anyOf is only for open enumerations, as [$ref to a schema with \
                 the known values, {{type: string}}]"
            ))
        };
        let Some([known, text]) = parts.as_array().map(Vec::as_slice) else {
            return Err(wrong());
        };
        let known = known
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| reference.strip_prefix("#/components/schemas/"))
            .ok_or_else(wrong)?;
        if text.get("type").and_then(Value::as_str) != Some("string") {
            return Err(wrong());
        }
        let values = schemas
            .get(known)
            .and_then(|schema| schema.get("enum"))
            .and_then(Value::as_array)
            .ok_or_else(wrong)?
            .iter()
            .map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<_> = values.iter().map(|v| v.to_upper_camel_case()).collect();
        names.push("Other".into());
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error(format!(
                "schema {known}: two values, or a value and the catch-all, would be called {}",
                pair[0]
            )));
        }
        Ok(Some(Self {
            name: name.to_owned(),
            known: known.to_owned(),
            description: schema
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim()
                .to_owned(),
            values,
        }))
    }

    /// The enum and its traits.
    pub fn tokens(&self) -> TokenStream {
        let name = format_ident!("{}", self.name);
        let description = &self.description;
        let values = &self.values;
        let variants: Vec<_> = values
            .iter()
            .map(|value| format_ident!("{}", value.to_upper_camel_case()))
            .collect();
        let variant_docs = values.iter().map(|value| format!("`{value}`"));
        let title = &self.name;
        quote! {
            #[doc = #description]
            ///
            /// Text that is none of the known values is kept in `Other` as it came.
            /// Comparison does not regard case.
            #[derive(Clone, Debug)]
            #[non_exhaustive]
            pub enum #name {
                #(#[doc = #variant_docs] #variants,)*
                /// A value that the description does not list.
                Other(::std::string::String),
            }

            impl #name {
                /// The values that the description lists.
                pub const KNOWN: &'static [&'static str] = &[#(#values),*];

                /// The value as it is written on the wire.
                #[must_use]
                pub fn as_str(&self) -> &str {
                    match self {
                        #(Self::#variants => #values,)*
                        Self::Other(text) => text,
                    }
                }

                /// The known value for a text that differs from it only in case.
                #[must_use]
                pub fn canonical(self) -> Self {
                    match self {
                        #(Self::Other(text) if text.eq_ignore_ascii_case(#values) => Self::#variants,)*
                        other => other,
                    }
                }
            }

            impl ::std::convert::From<&str> for #name {
                fn from(text: &str) -> Self {
                    match text {
                        #(#values => Self::#variants,)*
                        other => Self::Other(other.to_owned()),
                    }
                }
            }

            impl ::std::convert::From<::std::string::String> for #name {
                fn from(text: ::std::string::String) -> Self {
                    match text.as_str() {
                        #(#values => Self::#variants,)*
                        _ => Self::Other(text),
                    }
                }
            }

            impl ::std::str::FromStr for #name {
                type Err = ::std::convert::Infallible;
                fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                    Ok(text.into())
                }
            }

            impl ::std::fmt::Display for #name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.pad(self.as_str())
                }
            }

            impl ::std::cmp::PartialEq for #name {
                fn eq(&self, other: &Self) -> bool {
                    self.as_str().eq_ignore_ascii_case(other.as_str())
                }
            }

            impl ::std::cmp::Eq for #name {}

            impl ::std::hash::Hash for #name {
                fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                    for byte in self.as_str().bytes() {
                        state.write_u8(byte.to_ascii_lowercase());
                    }
                    state.write_u8(0xff);
                }
            }

            impl ::serde::Serialize for #name {
                fn serialize<S: ::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> ::std::result::Result<S::Ok, S::Error> {
                    serializer.serialize_str(self.as_str())
                }
            }

            impl<'de> ::serde::Deserialize<'de> for #name {
                fn deserialize<D: ::serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::std::result::Result<Self, D::Error> {
                    ::std::string::String::deserialize(deserializer).map(Self::from)
                }
            }

            impl crate::lenient::Lenient for #name {
                fn place(slot: &mut ::std::option::Option<Self>) -> crate::lenient::Target<'_> {
                    crate::lenient::Target::Word(slot)
                }
            }

            #[cfg(feature = "schemars")]
            impl ::schemars::JsonSchema for #name {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    #title.into()
                }
                fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                    ::schemars::json_schema!({
                        "anyOf": [
                            { "type": "string", "enum": [#(#values),*] },
                            { "type": "string" },
                        ]
                    })
                }
            }
        }
    }
}
