//! Objects, which are filled where they lie.
//!
//! serde's derive, with a variable for each field, is as fast, but so much code that
//! compiling the crate took twice as long, and running it missed the caches.

use std::fmt;

use serde::{
    Serialize,
    de::{Deserializer, Error, MapAccess, Visitor},
    ser::SerializeMap,
};

use super::{pass::Pass, reader::nested};

pub use super::{
    slot::{Fill, Lenient, Make, Nested, Object, Slot, Target},
    types::in_place,
};

/// Makes a generated struct an object all of whose fields may be missing: its fields, each
/// with its name in JSON.
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    ($object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        $crate::object!(@read $object { $($field: $name),* });
        impl $crate::decode::object::Make for $object {
            fn make(
                slot: &mut ::std::option::Option<Self>,
                fill: $crate::decode::object::Fill<'_>,
            ) -> ::std::result::Result<(), &'static str> {
                $crate::decode::object::in_place(slot, fill)
            }
        }
        $crate::object!(@lenient $object);
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
    (@lenient $object:ident) => {
        impl $crate::decode::object::Lenient for $object {
            fn place(slot: &mut ::std::option::Option<Self>) -> $crate::decode::object::Target<'_> {
                $crate::decode::object::Target::Object(slot)
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
    (@read $object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::decode::object::Object for $object {
            fn field(
                &mut self,
                name: &str,
            ) -> ::std::option::Option<$crate::decode::object::Target<'_>> {
                ::std::option::Option::Some(match name {
                    $($name => $crate::decode::object::Slot::place(&mut self.$field),)*
                    _ => return ::std::option::Option::None,
                })
            }
        }
    };
}

/// Makes a generated struct an object some of whose fields must be there: those fields, each
/// with its type and its name in JSON, then all others.
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
            $crate::object!(@read Draft { $($field: $name,)* $($optional: $also),* });
            impl $crate::decode::object::Make for $object {
                fn make(
                    slot: &mut ::std::option::Option<Self>,
                    fill: $crate::decode::object::Fill<'_>,
                ) -> ::std::result::Result<(), &'static str> {
                    let mut draft = Draft::default();
                    fill(&mut draft);
                    *slot = ::std::option::Option::Some(Self {
                        $($field: draft.$field.ok_or($name)?,)*
                        $($optional: draft.$optional,)*
                    });
                    ::std::result::Result::Ok(())
                }
            }
        };
        $crate::object!(@lenient $object);
    };
}

/// Writes what a field holds.
pub fn write<T: Slot + Serialize, M: SerializeMap>(
    slot: &T,
    name: &'static str,
    map: &mut M,
) -> Result<(), M::Error> {
    if slot.is_vacant() {
        return Ok(());
    }
    map.serialize_entry(name, slot)
}

struct Strict<'a>(&'a mut dyn Nested);

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        nested(self.0, &Pass::default(), map)
    }
}

/// `Deserialize` of an object: an object, not nothing.
pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Make,
{
    let mut slot = None;
    deserializer.deserialize_map(Strict(&mut slot))?;
    slot.ok_or_else(|| D::Error::custom("nothing where an object belongs"))
}
