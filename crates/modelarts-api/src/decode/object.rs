//! Macro that implements decoding and encoding for generated structs, with its helper functions.
//!
//! The derives of serde generate a local variable for each field. Derived code for all types of
//! this crate doubled the compile time and exceeded the instruction cache. For a single type,
//! derived code is as fast as the code of the macro.

use std::fmt;

use serde::{
    Serialize,
    de::{Deserializer, MapAccess, Visitor},
    ser::SerializeMap,
};

use super::{pass::Pass, slot::Container, visitor::read_object};

pub use super::slot::{FieldValue, Holder, Object, Slot};

/// Defines the struct in its argument, whose fields are all optional, and implements
/// [`Decode`](crate::decode::Decode) and the traits of serde for it. If the JSON name of a field
/// differs from the field name, `#[json]` after the documentation of the field states it.
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $object:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[json = $json:literal])?
                $(#[cfg_attr($($cfg:tt)*)])*
                $field_visibility:vis $field:ident: $ty:ty,
            )*
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $object {
            $(
                $(#[doc = $doc])*
                $(#[cfg_attr($($cfg)*)])*
                $field_visibility $field: $ty,
            )*
        }
        impl $crate::decode::object::Object for $object {
            fn field(
                &mut self,
                name: &str,
            ) -> ::std::option::Option<$crate::decode::object::Slot<'_>> {
                ::std::option::Option::Some(match name {
                    $(
                        $crate::json_name!($field $($json)?) => {
                            $crate::decode::object::FieldValue::slot(&mut self.$field)
                        }
                    )*
                    _ => return ::std::option::Option::None,
                })
            }
        }
        impl $crate::decode::object::Holder for $object {
            type Content = dyn $crate::decode::object::Object;
            fn content(&mut self) -> &mut Self::Content {
                self
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $object {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::decode::object::deserialize(deserializer)
            }
        }
        impl ::serde::Serialize for $object {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                let mut map = ::serde::Serializer::serialize_map(
                    serializer,
                    ::std::option::Option::None,
                )?;
                $(
                    let name = $crate::json_name!($field $($json)?);
                    $crate::decode::object::write(&self.$field, name, &mut map)?;
                )*
                ::serde::ser::SerializeMap::end(map)
            }
        }
    };
}

/// Returns the JSON name of a field: the name in `#[json]`, or otherwise the field name.
#[doc(hidden)]
#[macro_export]
macro_rules! json_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $json:literal) => {
        $json
    };
}

/// Writes a field to the map, unless the field is absent.
pub fn write<T: FieldValue + Serialize, M: SerializeMap>(
    value: &T,
    name: &'static str,
    map: &mut M,
) -> Result<(), M::Error> {
    if value.is_absent() {
        return Ok(());
    }
    map.serialize_entry(name, value)
}

/// Visitor for `Deserialize` that accepts only a JSON object, and decodes it into the container.
struct ObjectOnly<'a>(&'a mut dyn Container<dyn Object>);

impl<'de> Visitor<'de> for ObjectOnly<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        read_object(self.0, &Pass::default(), map)
    }
}

/// Decodes an object as an implementation of `Deserialize`. Returns an error for `null`.
pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Holder<Content = dyn Object>,
{
    let mut value = T::default();
    deserializer.deserialize_map(ObjectOnly(&mut value))?;
    Ok(value)
}
