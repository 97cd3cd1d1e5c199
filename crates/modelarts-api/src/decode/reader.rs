//! Where a value goes, and the one reader of all values.
//!
//! serde reads a value with a visitor for each type. A job is made of a hundred types, so
//! that reading one went through a hundred copies of the same code, and most of what they
//! cost was fetching it. Here the kind of the type is data, and the reader is one.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde_json::{Map, Value};

use super::{
    pass::{Level, Pass},
    slot::{List, Nested, Object, Table, Target},
};

/// Reads a value into a place.
pub(super) struct Reader<'a, 'p> {
    place: Target<'a>,
    pass: &'p Pass,
}

impl<'a, 'p> Reader<'a, 'p> {
    pub(super) fn new(place: Target<'a>, pass: &'p Pass) -> Self {
        Self { place, pass }
    }

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
                return only(*list, self.pass, |reader| reader.visit_str(v));
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
            Target::Object(slot) => nested(slot, self.pass, map),
            Target::Table(table) => {
                table.begin();
                entries(table, self.pass, map)
            }
            // A list of one, written as its element.
            Target::List(list) => alone(list, self.pass, map),
            Target::Any(slot) | Target::Cell(slot) => {
                let mut members = Map::new();
                entries(&mut members, self.pass, map)?;
                *slot = Some(Value::Object(members));
                Ok(())
            }
            _ => Err(self.wrong_type(Unexpected::Map)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        match &mut self.place {
            Target::List(list) => elements(*list, self.pass, seq),
            Target::Object(slot) => {
                // An empty object reaches the wire as `[]` where the sender's language has
                // one type for both, and some documents write an object as a list of one.
                let only = Reader::new(Target::Object(&mut **slot), self.pass);
                if seq.next_element_seed(only)?.is_none() {
                    slot.nothing();
                }
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(()),
                    Some(_) => Err(self.wrong_type(Unexpected::Seq)),
                }
            }
            // `environments` is documented as a list of maps in answers.
            Target::Table(table) => tables(*table, self.pass, seq),
            Target::Any(slot) | Target::Cell(slot) => {
                let mut items = Vec::new();
                cells(&mut items, self.pass, seq)?;
                **slot = Some(Value::Array(items));
                Ok(())
            }
            _ => Err(self.wrong_type(Unexpected::Seq)),
        }
    }
}

// -------------------------------------------------------------------- objects

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
            Some(place) => map.next_value_seed(Reader::new(place, pass))?,
            None => map.next_value::<IgnoredAny>().map(drop)?,
        }
    }
    Ok(())
}

/// Reads an object into its place.
pub(super) fn nested<'de, A: MapAccess<'de>>(
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

// ------------------------------------------------------------- lists and tables

/// Reads the elements of a list.
pub(super) fn elements<'de, A: SeqAccess<'de>>(
    list: &mut dyn List,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    let level = pass.enter();
    list.begin();
    if pass.salvages() {
        loop {
            let before = pass.room();
            let mut element = None;
            let next = Reader::new(Target::Cell(&mut element), pass);
            if seq.next_element_seed(next)?.is_none() {
                return Ok(());
            }
            let held = before - pass.room();
            make_room(list, pass)?;
            if salvage(list, pass, &level, element.unwrap_or_default())? {
                pass.give_back(held);
            } else {
                pass.restore(before);
            }
        }
    }
    loop {
        let before = pass.room();
        make_room(list, pass)?;
        let mut outcome = Ok(None);
        let added = list.add(&mut |place| {
            outcome = seq.next_element_seed(Reader::new(place, pass));
            matches!(outcome, Ok(Some(())))
        });
        if outcome?.is_none() {
            return Ok(());
        }
        if !added {
            level.dropped(None);
            pass.restore(before);
        }
    }
}

/// Reads the elements of a list of any JSON.
pub(super) fn cells<'de, A: SeqAccess<'de>>(
    items: &mut Vec<Value>,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    loop {
        make_room(items, pass)?;
        let mut item = None;
        let next = Reader::new(Target::Cell(&mut item), pass);
        if seq.next_element_seed(next)?.is_none() {
            return Ok(());
        }
        items.push(item.unwrap_or_default());
    }
}

/// Takes the memory for one more element.
fn make_room<E: Error>(list: &mut dyn List, pass: &Pass) -> Result<(), E> {
    pass.count()?;
    let (needed, freed) = list.growth();
    if needed > 0 {
        // The elements are moved: for a moment there are both.
        pass.take(needed)?;
        pass.give_back(freed);
    }
    Ok(())
}

/// Reads the only element of a list, which comes without one.
pub(super) fn only<E>(
    list: &mut dyn List,
    pass: &Pass,
    read: impl FnOnce(Reader<'_, '_>) -> Result<(), E>,
) -> Result<(), E> {
    list.begin();
    let mut read = Some(read);
    let mut outcome = Ok(());
    list.add(&mut |place| {
        if let Some(read) = read.take() {
            outcome = read(Reader::new(place, pass));
        }
        outcome.is_ok()
    });
    outcome
}

/// Reads an object that comes instead of a list of it alone.
pub(super) fn alone<'de, A: MapAccess<'de>>(
    list: &mut dyn List,
    pass: &Pass,
    map: A,
) -> Result<(), A::Error> {
    let level = pass.enter();
    if !pass.salvages() {
        return only(list, pass, |reader| reader.visit_map(map));
    }
    list.begin();
    let mut element = None;
    Reader::new(Target::Cell(&mut element), pass).visit_map(map)?;
    salvage(list, pass, &level, element.unwrap_or_default())?;
    Ok(())
}

/// Reads one element, and says whether it was added; what cannot be read is left out.
fn salvage<E: Error>(
    list: &mut dyn List,
    pass: &Pass,
    level: &Level<'_>,
    element: Value,
) -> Result<bool, E> {
    let mut element = Some(element);
    let mut outcome = Ok(());
    let added = list.add(&mut |place| {
        if let Some(element) = element.take() {
            outcome = Reader::new(place, pass).deserialize(element);
        }
        outcome.is_ok()
    });
    if !added {
        level.dropped(outcome.err().map(|error| error.to_string()));
    }
    pass.go_on()?;
    Ok(added)
}

/// Reads names with values.
pub(super) fn entries<'de, A: MapAccess<'de>>(
    table: &mut dyn Table,
    pass: &Pass,
    mut map: A,
) -> Result<(), A::Error> {
    while let Some(name) = map.next_key::<String>()? {
        pass.count()?;
        pass.take(name.len() + table.growth())?;
        let mut outcome = Ok(());
        table.put(name, &mut |place| {
            outcome = map.next_value_seed(Reader::new(place, pass));
            outcome.is_ok()
        });
        outcome?;
    }
    Ok(())
}

/// Reads a list of tables into one.
pub(super) fn tables<'de, A: SeqAccess<'de>>(
    table: &mut dyn Table,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    table.begin();
    while seq.next_element_seed(More { table, pass })?.is_some() {}
    Ok(())
}

/// Reads a table into one that has entries already.
struct More<'a> {
    table: &'a mut dyn Table,
    pass: &'a Pass,
}

impl<'de> DeserializeSeed<'de> for More<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for More<'_> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        entries(self.table, self.pass, map)
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

// ------------------------------------------------------------- text to values

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
