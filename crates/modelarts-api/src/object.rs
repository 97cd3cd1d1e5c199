//! Objects, which are filled where they lie.
//!
//! serde's derive, with a variable for each field, is as fast, but so much code that
//! compiling the crate took twice as long, and running it missed the caches.

use std::{collections::BTreeMap, fmt};

use serde::{
    Serialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value};

use crate::{
    dropped::Pass,
    lenient::{Lenient, Target},
};

/// What has fields.
pub trait Object {
    /// The field of this name, if there is one.
    fn field(&mut self, name: &str) -> Option<Target<'_>>;
}

/// Puts fields into an object.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Object);

/// What is made of fields.
pub trait Make: Sized {
    /// How many bytes one takes on the heap, without what its fields hold.
    const HEAP: usize = 0;

    /// Makes one of the fields that `fill` puts in.
    ///
    /// # Errors
    /// The name of a field that must be there and is not.
    fn make(slot: &mut Option<Self>, fill: Fill<'_>) -> Result<(), &'static str>;
}

impl<T: Object + Default> Make for Box<T> {
    const HEAP: usize = size_of::<T>();

    fn make(slot: &mut Option<Self>, fill: Fill<'_>) -> Result<(), &'static str> {
        fill(&mut **slot.insert(Self::default()));
        Ok(())
    }
}

/// [`Make::make`] where all fields may be missing, which is what the service sends.
pub fn in_place<T: Object + Default>(
    slot: &mut Option<T>,
    fill: Fill<'_>,
) -> Result<(), &'static str> {
    fill(slot.insert(T::default()));
    Ok(())
}

/// A place for an object.
pub trait Nested {
    /// Nothing was said.
    fn nothing(&mut self);

    /// As [`Make::HEAP`].
    fn heap(&self) -> usize;

    /// As [`Make::make`].
    ///
    /// # Errors
    /// As [`Make::make`].
    fn make(&mut self, fill: Fill<'_>) -> Result<(), &'static str>;
}

impl<T: Make> Nested for Option<T> {
    fn nothing(&mut self) {
        *self = None;
    }
    fn heap(&self) -> usize {
        T::HEAP
    }
    fn make(&mut self, fill: Fill<'_>) -> Result<(), &'static str> {
        T::make(self, fill)
    }
}

/// Makes a generated struct an object all of whose fields may be missing: its fields, each
/// with its name in JSON.
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    ($object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        $crate::object!(@read $object { $($field: $name),* });
        impl $crate::object::Make for $object {
            fn make(
                slot: &mut ::std::option::Option<Self>,
                fill: $crate::object::Fill<'_>,
            ) -> ::std::result::Result<(), &'static str> {
                $crate::object::in_place(slot, fill)
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
                $($crate::object::write(&self.$field, $name, &mut map)?;)*
                ::serde::ser::SerializeMap::end(map)
            }
        }
    };
    (@lenient $object:ident) => {
        impl $crate::lenient::Lenient for $object {
            fn place(slot: &mut ::std::option::Option<Self>) -> $crate::lenient::Target<'_> {
                $crate::lenient::Target::Object(slot)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $object {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::object::deserialize(deserializer)
            }
        }
    };
    (@read $object:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::object::Object for $object {
            fn field(
                &mut self,
                name: &str,
            ) -> ::std::option::Option<$crate::lenient::Target<'_>> {
                ::std::option::Option::Some(match name {
                    $($name => $crate::object::Slot::place(&mut self.$field),)*
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
            impl $crate::object::Make for $object {
                fn make(
                    slot: &mut ::std::option::Option<Self>,
                    fill: $crate::object::Fill<'_>,
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

// --------------------------------------------------------------------- fields

/// What a field holds: something, or nothing.
pub trait Slot {
    /// Where its value goes.
    fn place(&mut self) -> Target<'_>;

    /// Whether there is nothing to write.
    fn is_vacant(&self) -> bool;
}

impl<T: Lenient> Slot for Option<T> {
    fn place(&mut self) -> Target<'_> {
        T::place(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_none()
    }
}

impl<T: Lenient> Slot for Vec<T> {
    fn place(&mut self) -> Target<'_> {
        Target::List(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Lenient> Slot for BTreeMap<String, T> {
    fn place(&mut self) -> Target<'_> {
        Target::Table(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

impl Slot for Map<String, Value> {
    fn place(&mut self) -> Target<'_> {
        Target::Table(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
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

// -------------------------------------------------------------------- reading

/// Finds the field that a name stands for.
struct Field<'a>(&'a mut dyn Object);

impl<'de, 'a> DeserializeSeed<'de> for Field<'a> {
    type Value = Option<Target<'a>>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'a> Visitor<'_> for Field<'a> {
    type Value = Option<Target<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(self.0.field(v))
    }
}

/// Reads all fields into an object that is empty.
fn fill<'de, A: MapAccess<'de>>(
    object: &mut dyn Object,
    pass: &Pass,
    mut map: A,
) -> Result<(), A::Error> {
    while let Some(field) = map.next_key_seed(Field(object))? {
        match field {
            Some(place) => map.next_value_seed(place.in_pass(pass))?,
            None => map.next_value::<IgnoredAny>().map(drop)?,
        }
    }
    Ok(())
}

/// Reads an object into its place.
pub(crate) fn nested<'de, A: MapAccess<'de>>(
    slot: &mut dyn Nested,
    pass: &Pass,
    map: A,
) -> Result<(), A::Error> {
    pass.count()?;
    pass.take(slot.heap())?;
    let mut map = Some(map);
    let mut outcome = Ok(());
    let made = slot.make(&mut |object| {
        if let Some(map) = map.take() {
            outcome = fill(object, pass, map);
        }
    });
    // What stopped the reading counts, not what is missing because of it.
    outcome?;
    made.map_err(A::Error::missing_field)
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
