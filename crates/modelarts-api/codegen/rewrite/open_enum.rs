//! Generates a Rust enum for each open enumeration: the known values and `Other`.

use heck::ToUpperCamelCase;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::super::lower::open_enums::OpenEnum;

/// The enum and its traits.
pub fn tokens(open_enum: &OpenEnum) -> TokenStream {
    let name = &format_ident!("{}", open_enum.name);
    let values = &open_enum.values;
    let variants: &Vec<_> = &values
        .iter()
        .map(|value| format_ident!("{}", value.to_upper_camel_case()))
        .collect();
    [
        definition(name, &open_enum.description, values, variants),
        methods(name, values, variants),
        from_str_slice(name, values, variants),
        from_string(name, values, variants),
        from_str(name),
        display(name),
        partial_eq(name),
        hash(name),
        serialize(name),
        deserialize(name),
        decode(name),
        json_schema(name, values),
    ]
    .into_iter()
    .collect()
}

fn definition(
    name: &Ident,
    description: &str,
    values: &[String],
    variants: &[Ident],
) -> TokenStream {
    let variant_docs = values.iter().map(|value| format!("`{value}`"));
    quote! {
        #[doc = #description]
        ///
        /// Text that is none of the known values is kept unchanged in `Other`.
        /// Comparison ignores case.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum #name {
            #(#[doc = #variant_docs] #variants,)*
            /// A value that the description does not list.
            Other(::std::string::String),
        }
    }
}

fn methods(name: &Ident, values: &[String], variants: &[Ident]) -> TokenStream {
    quote! {
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
    }
}

fn from_str_slice(name: &Ident, values: &[String], variants: &[Ident]) -> TokenStream {
    quote! {
        impl ::std::convert::From<&str> for #name {
            fn from(text: &str) -> Self {
                match text {
                    #(#values => Self::#variants,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }
    }
}

fn from_string(name: &Ident, values: &[String], variants: &[Ident]) -> TokenStream {
    quote! {
        impl ::std::convert::From<::std::string::String> for #name {
            fn from(text: ::std::string::String) -> Self {
                match text.as_str() {
                    #(#values => Self::#variants,)*
                    _ => Self::Other(text),
                }
            }
        }
    }
}

fn from_str(name: &Ident) -> TokenStream {
    quote! {
        impl ::std::str::FromStr for #name {
            type Err = ::std::convert::Infallible;
            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                Ok(text.into())
            }
        }
    }
}

fn display(name: &Ident) -> TokenStream {
    quote! {
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    }
}

fn partial_eq(name: &Ident) -> TokenStream {
    quote! {
        impl ::std::cmp::PartialEq for #name {
            fn eq(&self, other: &Self) -> bool {
                self.as_str().eq_ignore_ascii_case(other.as_str())
            }
        }

        impl ::std::cmp::Eq for #name {}
    }
}

fn hash(name: &Ident) -> TokenStream {
    quote! {
        impl ::std::hash::Hash for #name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                for byte in self.as_str().bytes() {
                    state.write_u8(byte.to_ascii_lowercase());
                }
                state.write_u8(0xff);
            }
        }
    }
}

fn serialize(name: &Ident) -> TokenStream {
    quote! {
        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    }
}

fn deserialize(name: &Ident) -> TokenStream {
    quote! {
        impl<'de> ::serde::Deserialize<'de> for #name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::std::string::String::deserialize(deserializer).map(Self::from)
            }
        }
    }
}

fn decode(name: &Ident) -> TokenStream {
    quote! {
        impl crate::decode::slot::Decode for #name {
            fn slot(value: &mut ::std::option::Option<Self>) -> crate::decode::slot::Slot<'_> {
                crate::decode::slot::Slot::FromText(value)
            }
        }
    }
}

fn json_schema(name: &Ident, values: &[String]) -> TokenStream {
    let title = name.to_string();
    quote! {
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
