//! Objects all of whose fields may be missing, which is what the service sends.
//!
//! An object begins empty, and its fields are filled where they lie. serde's derive, with a
//! variable for each field, is as fast, but so much code that compiling the crate took twice
//! as long.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Serialize, Serializer,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value};

use crate::lenient::{FromMap, Lenient, or_default};

/// An object that is empty until its fields are read.
pub trait Object: Default {
    /// Reads the value that follows in `map`, into the field of this name if there is one.
    ///
    /// # Errors
    /// The deserializer's own error when the value is of no accepted spelling.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;

    /// Writes the fields that say something.
    ///
    /// # Errors
    /// The serializer's own error.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// Makes a generated struct an [`Object`] that is read leniently: its fields, each with its
/// name in JSON.
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    ($object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::object::Object for $object {
            fn read<'de, A: ::serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                map: &mut A,
            ) -> ::std::result::Result<(), A::Error> {
                match name {
                    $($name => $crate::object::read(&mut self.$field, map),)*
                    _ => $crate::object::skip(map),
                }
            }
            fn write<M: ::serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> ::std::result::Result<(), M::Error> {
                $($crate::object::write(&self.$field, $name, map)?;)*
                ::std::result::Result::Ok(())
            }
        }
        impl $crate::lenient::FromMap for $object {
            fn fill_from<'de, A: ::serde::de::MapAccess<'de>>(
                slot: &mut ::std::option::Option<Self>,
                map: A,
            ) -> ::std::result::Result<(), A::Error> {
                $crate::object::fill(slot.insert(Self::default()), map)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $object {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::object::deserialize(deserializer)
            }
        }
        impl ::serde::Serialize for $object {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::object::serialize(self, serializer)
            }
        }
        impl $crate::lenient::Lenient for $object {
            fn maybe<'de, D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<::std::option::Option<Self>, D::Error> {
                $crate::lenient::object(deserializer)
            }
            fn fill<'de, D: ::serde::Deserializer<'de>>(
                slot: &mut ::std::option::Option<Self>,
                deserializer: D,
            ) -> ::std::result::Result<(), D::Error> {
                $crate::lenient::fill_object(slot, deserializer)
            }
            fn boxed<'de, D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<::std::option::Option<::std::boxed::Box<Self>>, D::Error>
            {
                $crate::lenient::object(deserializer)
            }
        }
    };
}

// --------------------------------------------------------------------- fields

/// What a field holds: something, or nothing.
pub trait Slot: Serialize {
    /// Reads a value; nothing said leaves the slot empty.
    ///
    /// # Errors
    /// The deserializer's own error when the value is of no accepted spelling.
    fn fill<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;

    /// Whether there is nothing to write.
    fn is_vacant(&self) -> bool;
}

impl<T: Lenient + Serialize> Slot for Option<T> {
    fn fill<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        T::fill(self, deserializer)
    }
    fn is_vacant(&self) -> bool {
        self.is_none()
    }
}

impl<T: Lenient + Serialize> Slot for Vec<T> {
    fn fill<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = or_default(deserializer)?;
        Ok(())
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Lenient + Serialize> Slot for BTreeMap<String, T> {
    fn fill<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = or_default(deserializer)?;
        Ok(())
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

impl Slot for Map<String, Value> {
    fn fill<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = or_default(deserializer)?;
        Ok(())
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

/// Reads a value into a slot.
struct Fill<'a, T>(&'a mut T);

impl<'de, T: Slot> DeserializeSeed<'de> for Fill<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.fill(deserializer)
    }
}

/// Reads the value that follows in `map`.
pub fn read<'de, T: Slot, A: MapAccess<'de>>(slot: &mut T, map: &mut A) -> Result<(), A::Error> {
    map.next_value_seed(Fill(slot))
}

/// Passes over the value that follows in `map`.
pub fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// Writes what a field holds.
pub fn write<T: Slot, M: SerializeMap>(
    slot: &T,
    name: &'static str,
    map: &mut M,
) -> Result<(), M::Error> {
    if slot.is_vacant() {
        return Ok(());
    }
    map.serialize_entry(name, slot)
}

// -------------------------------------------------------------------- objects

/// The name of a field, borrowed from the text when it is written there as it is.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }
    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_owned()))
    }
    fn visit_string<E>(self, v: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v))
    }
}

/// Reads all fields into an object that is empty.
pub fn fill<'de, T: Object, A: MapAccess<'de>>(object: &mut T, mut map: A) -> Result<(), A::Error> {
    while let Some(name) = map.next_key_seed(Name)? {
        object.read(&name, &mut map)?;
    }
    Ok(())
}

impl<T: Object> FromMap for Box<T> {
    fn fill_from<'de, A: MapAccess<'de>>(slot: &mut Option<Self>, map: A) -> Result<(), A::Error> {
        fill(&mut **slot.insert(Self::default()), map)
    }
}

struct Strict<T>(PhantomData<T>);

impl<'de, T: Object> Visitor<'de> for Strict<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let mut object = T::default();
        fill(&mut object, map)?;
        Ok(object)
    }
}

/// `Deserialize` of an object: an object, not nothing.
pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Object,
{
    deserializer.deserialize_map(Strict(PhantomData))
}

/// `Serialize` of an object.
pub fn serialize<S, T>(object: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Object,
{
    let mut map = serializer.serialize_map(None)?;
    object.write(&mut map)?;
    map.end()
}
