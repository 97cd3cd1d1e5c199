//! Where a value goes, and the one reader of all values.
//!
//! serde reads a value with a visitor for each type. A job is made of a hundred types, so
//! that reading one went through a hundred copies of the same code, and most of what they
//! cost was fetching it. Here the kind of the type is data, and the reader is one.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::{Map, Value};

use crate::{
    collection::{self, List, Table},
    dropped::Pass,
    lenient::Word,
    object::{self, Nested},
};

/// Where a value goes, by its kind.
#[non_exhaustive]
pub enum Target<'a> {
    /// Text; numbers and flags are taken as they are written.
    Text(&'a mut Option<String>),
    /// Text of a certain form.
    Word(&'a mut dyn Word),
    /// An integer, also as text, as a number without a fraction, or as a flag.
    Integer(&'a mut Option<i64>),
    /// A number, also as text.
    Number(&'a mut Option<f64>),
    /// A flag, also as 0, 1, or text.
    Flag(&'a mut Option<bool>),
    /// Any JSON; `null` is nothing.
    Any(&'a mut Option<Value>),
    /// Any JSON; `null` is a value.
    Cell(&'a mut Option<Value>),
    /// An object; also as a list of it alone.
    Object(&'a mut dyn Nested),
    /// A list; also its only element.
    List(&'a mut dyn List),
    /// Names with values; also as a list of such.
    Table(&'a mut dyn Table),
}

impl<'a> Target<'a> {
    pub(crate) fn in_pass(self, pass: &Pass) -> Reader<'a, '_> {
        Reader { place: self, pass }
    }

    pub(crate) fn nothing(self) {
        match self {
            Target::Text(slot) => *slot = None,
            Target::Word(word) => word.nothing(),
            Target::Integer(slot) => *slot = None,
            Target::Number(slot) => *slot = None,
            Target::Flag(slot) => *slot = None,
            Target::Any(slot) => *slot = None,
            Target::Cell(slot) => *slot = Some(Value::Null),
            Target::Object(slot) => slot.nothing(),
            Target::List(list) => list.nothing(),
            Target::Table(table) => table.nothing(),
        }
    }
}

/// What is said to be expected in a place.
impl Expected for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Target::Text(_) | Target::Word(_) => "text, also as a number or flag",
            Target::Integer(_) => "an integer, also as text",
            Target::Number(_) => "a number, also as text",
            Target::Flag(_) => "a flag: true, false, 1, 0, or one of them as text",
            Target::Any(_) | Target::Cell(_) => "any JSON",
            Target::Object(_) | Target::Table(_) => "an object",
            Target::List(_) => "a list",
        })
    }
}

/// Reads a value into a place.
pub(crate) struct Reader<'a, 'p> {
    place: Target<'a>,
    pass: &'p Pass,
}

impl Reader<'_, '_> {
    #[cold]
    fn wrong_type<E: Error>(&self, found: Unexpected<'_>) -> E {
        E::invalid_type(found, &self.place)
    }

    #[cold]
    fn wrong_value<E: Error>(&self, found: Unexpected<'_>) -> E {
        E::invalid_value(found, &self.place)
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Expected::fmt(&self.place, f)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.place.nothing();
        Ok(())
    }

    fn visit_bool<E: Error>(mut self, v: bool) -> Result<(), E> {
        match &mut self.place {
            Target::Text(slot) => **slot = Some(v.to_string()),
            Target::Word(word) => word.set(&v.to_string()).map_err(E::custom)?,
            Target::Integer(slot) => **slot = Some(i64::from(v)),
            Target::Flag(slot) => **slot = Some(v),
            Target::Any(slot) | Target::Cell(slot) => **slot = Some(v.into()),
            Target::Number(_) | Target::Object(_) | Target::List(_) | Target::Table(_) => {
                return Err(self.wrong_type(Unexpected::Bool(v)));
            }
        }
        Ok(())
    }

    fn visit_i64<E: Error>(mut self, v: i64) -> Result<(), E> {
        match &mut self.place {
            Target::Text(slot) => **slot = Some(v.to_string()),
            Target::Word(word) => word.set(&v.to_string()).map_err(E::custom)?,
            Target::Integer(slot) => **slot = Some(v),
            #[allow(clippy::cast_precision_loss)]
            Target::Number(slot) => **slot = Some(v as f64),
            Target::Flag(slot) => match v {
                0 | 1 => **slot = Some(v == 1),
                _ => return Err(self.wrong_value(Unexpected::Signed(v))),
            },
            Target::Any(slot) | Target::Cell(slot) => **slot = Some(v.into()),
            Target::Object(_) | Target::List(_) | Target::Table(_) => {
                return Err(self.wrong_type(Unexpected::Signed(v)));
            }
        }
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, v: u64) -> Result<(), E> {
        if let Ok(v) = i64::try_from(v) {
            return self.visit_i64(v);
        }
        match &mut self.place {
            Target::Text(slot) => **slot = Some(v.to_string()),
            Target::Word(word) => word.set(&v.to_string()).map_err(E::custom)?,
            #[allow(clippy::cast_precision_loss)]
            Target::Number(slot) => **slot = Some(v as f64),
            Target::Any(slot) | Target::Cell(slot) => **slot = Some(v.into()),
            Target::Integer(_) | Target::Flag(_) => {
                return Err(self.wrong_value(Unexpected::Unsigned(v)));
            }
            Target::Object(_) | Target::List(_) | Target::Table(_) => {
                return Err(self.wrong_type(Unexpected::Unsigned(v)));
            }
        }
        Ok(())
    }

    fn visit_f64<E: Error>(mut self, v: f64) -> Result<(), E> {
        match &mut self.place {
            Target::Text(slot) => **slot = Some(Value::from(v).to_string()),
            Target::Word(word) => word.set(&Value::from(v).to_string()).map_err(E::custom)?,
            Target::Integer(slot) => match whole(v) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Float(v))),
            },
            Target::Number(slot) => **slot = Some(v),
            Target::Any(slot) | Target::Cell(slot) => **slot = Some(v.into()),
            Target::Flag(_) | Target::Object(_) | Target::List(_) | Target::Table(_) => {
                return Err(self.wrong_type(Unexpected::Float(v)));
            }
        }
        Ok(())
    }

    fn visit_str<E: Error>(mut self, v: &str) -> Result<(), E> {
        match &mut self.place {
            Target::Text(slot) => {
                self.pass.take(v.len())?;
                **slot = Some(v.to_owned());
            }
            Target::Word(word) => {
                self.pass.take(v.len())?;
                word.set(v).map_err(E::custom)?;
            }
            Target::Any(slot) | Target::Cell(slot) => {
                self.pass.take(v.len())?;
                **slot = Some(v.into());
            }
            Target::List(list) if !v.is_empty() => {
                return collection::only(*list, self.pass, |reader| reader.visit_str(v));
            }
            _ if v.trim().is_empty() => self.place.nothing(),
            Target::Integer(slot) => match integer(v.trim()) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Str(v))),
            },
            Target::Number(slot) => match number(v.trim()) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Str(v))),
            },
            Target::Flag(slot) => match flag(v.trim()) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Str(v))),
            },
            Target::Object(_) | Target::Table(_) | Target::List(_) => {
                return Err(self.wrong_type(Unexpected::Str(v)));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.place {
            Target::Object(slot) => object::nested(slot, self.pass, map),
            Target::Table(table) => {
                table.begin();
                collection::entries(table, self.pass, map)
            }
            // A list of one, written as its element.
            Target::List(list) => collection::alone(list, self.pass, map),
            Target::Any(slot) | Target::Cell(slot) => {
                let mut members = Map::new();
                collection::entries(&mut members, self.pass, map)?;
                *slot = Some(Value::Object(members));
                Ok(())
            }
            _ => Err(self.wrong_type(Unexpected::Map)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        match &mut self.place {
            Target::List(list) => collection::elements(*list, self.pass, seq),
            Target::Object(slot) => {
                // An empty object reaches the wire as `[]` where the sender's language has
                // one type for both, and some documents write an object as a list of one.
                let only = Target::Object(&mut **slot).in_pass(self.pass);
                if seq.next_element_seed(only)?.is_none() {
                    slot.nothing();
                }
                match seq.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(()),
                    Some(_) => Err(self.wrong_type(Unexpected::Seq)),
                }
            }
            // `environments` is documented as a list of maps in answers.
            Target::Table(table) => collection::tables(*table, self.pass, seq),
            Target::Any(slot) | Target::Cell(slot) => {
                let mut items = Vec::new();
                collection::cells(&mut items, self.pass, seq)?;
                **slot = Some(Value::Array(items));
                Ok(())
            }
            _ => Err(self.wrong_type(Unexpected::Seq)),
        }
    }
}

/// Reads an integer that a JSON parser may hand over as a float (`5.0`).
fn whole(number: f64) -> Option<i64> {
    // 2^53: up to here every integer has exactly one float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation)]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

fn integer(text: &str) -> Option<i64> {
    let float = || text.parse().ok().and_then(whole);
    text.parse().ok().or_else(float)
}

fn number(text: &str) -> Option<f64> {
    // Rust reads "NaN" and "inf"; JSON has no way to give them back.
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn flag(text: &str) -> Option<bool> {
    let is = |known: &str| text.eq_ignore_ascii_case(known);
    if is("true") || is("1") {
        Some(true)
    } else if is("false") || is("0") {
        Some(false)
    } else {
        None
    }
}
