//! Macros and functions that decode generated structs in place. Used by generated code.
//!
//! serde's derive, with a variable for each field, is as fast in isolation, but generates so much
//! code that compiling the crate took twice as long and running it exceeded the instruction cache.

use std::fmt;

use serde::{
    Serialize,
    de::{Deserializer, Error, MapAccess, Visitor},
    ser::SerializeMap,
};

use super::{pass::Pass, visitor::read_object};

pub use super::{
    slot::{Decode, FieldValue, FillFields, FromFields, Object, ObjectSlot, Slot},
    types::fill_in_place,
};

/// Implements [`Decode`] and serde's traits for a struct whose fields are all optional. Takes the
/// list of its fields, each with its name in JSON.
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    ($object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        $crate::object!(@fields $object { $($field: $name),* });
        impl $crate::decode::object::FromFields for $object {
            fn from_fields(
                value: &mut ::std::option::Option<Self>,
                fill: $crate::decode::object::FillFields<'_>,
            ) -> ::std::result::Result<(), &'static str> {
                $crate::decode::object::fill_in_place(value, fill)
            }
        }
        $crate::object!(@decode $object);
        impl ::serde::Serialize for $object {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                let mut map = ::serde::Serializer::serialize_map(
                    serializer,
                    ::std::option::Option::None,
                )?;
                $($crate::decode::object::write(&self.$field, $name, &mut map)?;)*
                ::serde::ser::SerializeMap::end(map)
            }
        }
    };
    (@decode $object:ident) => {
        impl $crate::decode::object::Decode for $object {
            fn slot(value: &mut ::std::option::Option<Self>) -> $crate::decode::object::Slot<'_> {
                $crate::decode::object::Slot::Object(value)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $object {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::decode::object::deserialize(deserializer)
            }
        }
    };
    (@fields $object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::decode::object::Object for $object {
            fn field(
                &mut self,
                name: &str,
            ) -> ::std::option::Option<$crate::decode::object::Slot<'_>> {
                ::std::option::Option::Some(match name {
                    $($name => $crate::decode::object::FieldValue::slot(&mut self.$field),)*
                    _ => return ::std::option::Option::None,
                })
            }
        }
    };
}

/// Like [`object!`](crate::object), without `Serialize`, for a struct with required fields. Takes
/// these first, each with its type and its name in JSON, then all others.
#[doc(hidden)]
#[macro_export]
macro_rules! complete_object {
    ($object:ident {
        $($field:ident: $type:ty = $name:literal),* $(,)?;
        $($optional:ident: $other:ty = $also:literal),* $(,)?
    }) => {
        const _: () = {
            #[derive(Default)]
            struct Draft {
                $($field: ::std::option::Option<$type>,)*
                $($optional: $other,)*
            }
            $crate::object!(@fields Draft { $($field: $name,)* $($optional: $also),* });
            impl $crate::decode::object::FromFields for $object {
                fn from_fields(
                    value: &mut ::std::option::Option<Self>,
                    fill: $crate::decode::object::FillFields<'_>,
                ) -> ::std::result::Result<(), &'static str> {
                    let mut draft = Draft::default();
                    fill(&mut draft);
                    *value = ::std::option::Option::Some(Self {
                        $($field: draft.$field.ok_or($name)?,)*
                        $($optional: draft.$optional,)*
                    });
                    ::std::result::Result::Ok(())
                }
            }
        };
        $crate::object!(@decode $object);
    };
}

/// Writes a field, unless it is absent.
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

/// The visitor of `Deserialize`, which accepts only an object.
struct ObjectOnly<'a>(&'a mut dyn ObjectSlot);

impl<'de> Visitor<'de> for ObjectOnly<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        read_object(self.0, &Pass::default(), map)
    }
}

/// Implements `Deserialize` for an object, which must not be `null`.
pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromFields,
{
    let mut value = None;
    deserializer.deserialize_map(ObjectOnly(&mut value))?;
    value.ok_or_else(|| D::Error::custom("nothing where an object belongs"))
}
