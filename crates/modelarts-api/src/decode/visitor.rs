//! The visitor that decodes any JSON value into any slot.
//!
//! serde derives a visitor for each type. A job consists of a hundred types, so decoding one ran
//! through a hundred copies of the same code, and fetching that code took most of the time. Here
//! the kind of the type is data, and there is one visitor.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde_json::Value;

use super::{
    numbers::{parse_boolean, parse_integer, parse_number, whole_number},
    pass::{ListDepth, Pass},
    slot::{JsonMap, List, Map, Object, ObjectSlot, Slot},
};

/// Decodes a value into a slot.
pub(super) struct SlotVisitor<'a, 'p> {
    slot: Slot<'a>,
    pass: &'p Pass<'p>,
}

impl<'a, 'p> SlotVisitor<'a, 'p> {
    pub(super) fn new(slot: Slot<'a>, pass: &'p Pass<'p>) -> Self {
        Self { slot, pass }
    }

    #[cold]
    fn wrong_type<E: Error>(&self, found: Unexpected<'_>) -> E {
        E::invalid_type(found, &self.slot)
    }

    #[cold]
    fn wrong_value<E: Error>(&self, found: Unexpected<'_>) -> E {
        E::invalid_value(found, &self.slot)
    }
}

impl<'de> DeserializeSeed<'de> for SlotVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SlotVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Expected::fmt(&self.slot, f)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.slot.clear();
        Ok(())
    }

    fn visit_bool<E: Error>(mut self, v: bool) -> Result<(), E> {
        match &mut self.slot {
            Slot::Text(slot) => **slot = Some(v.to_string()),
            Slot::FromText(text) => text.set_text(&v.to_string()).map_err(E::custom)?,
            Slot::Integer(slot) => **slot = Some(i64::from(v)),
            Slot::Boolean(slot) => **slot = Some(v),
            Slot::Any(slot) | Slot::AnyOrNull(slot) => **slot = Some(v.into()),
            Slot::Number(_) | Slot::Object(_) | Slot::List(_) | Slot::Map(_) => {
                return Err(self.wrong_type(Unexpected::Bool(v)));
            }
        }
        Ok(())
    }

    fn visit_i64<E: Error>(mut self, v: i64) -> Result<(), E> {
        match &mut self.slot {
            Slot::Text(slot) => **slot = Some(v.to_string()),
            Slot::FromText(text) => text.set_text(&v.to_string()).map_err(E::custom)?,
            Slot::Integer(slot) => **slot = Some(v),
            #[allow(clippy::cast_precision_loss)]
            Slot::Number(slot) => **slot = Some(v as f64),
            Slot::Boolean(slot) => match v {
                0 | 1 => **slot = Some(v == 1),
                _ => return Err(self.wrong_value(Unexpected::Signed(v))),
            },
            Slot::Any(slot) | Slot::AnyOrNull(slot) => **slot = Some(v.into()),
            Slot::Object(_) | Slot::List(_) | Slot::Map(_) => {
                return Err(self.wrong_type(Unexpected::Signed(v)));
            }
        }
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, v: u64) -> Result<(), E> {
        if let Ok(v) = i64::try_from(v) {
            return self.visit_i64(v);
        }
        match &mut self.slot {
            Slot::Text(slot) => **slot = Some(v.to_string()),
            Slot::FromText(text) => text.set_text(&v.to_string()).map_err(E::custom)?,
            #[allow(clippy::cast_precision_loss)]
            Slot::Number(slot) => **slot = Some(v as f64),
            Slot::Any(slot) | Slot::AnyOrNull(slot) => **slot = Some(v.into()),
            Slot::Integer(_) | Slot::Boolean(_) => {
                return Err(self.wrong_value(Unexpected::Unsigned(v)));
            }
            Slot::Object(_) | Slot::List(_) | Slot::Map(_) => {
                return Err(self.wrong_type(Unexpected::Unsigned(v)));
            }
        }
        Ok(())
    }

    fn visit_f64<E: Error>(mut self, v: f64) -> Result<(), E> {
        match &mut self.slot {
            Slot::Text(slot) => **slot = Some(Value::from(v).to_string()),
            Slot::FromText(text) => text
                .set_text(&Value::from(v).to_string())
                .map_err(E::custom)?,
            Slot::Integer(slot) => match whole_number(v) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Float(v))),
            },
            Slot::Number(slot) => **slot = Some(v),
            Slot::Any(slot) | Slot::AnyOrNull(slot) => **slot = Some(v.into()),
            Slot::Boolean(_) | Slot::Object(_) | Slot::List(_) | Slot::Map(_) => {
                return Err(self.wrong_type(Unexpected::Float(v)));
            }
        }
        Ok(())
    }

    fn visit_str<E: Error>(mut self, v: &str) -> Result<(), E> {
        match &mut self.slot {
            Slot::Text(slot) => {
                self.pass.allocate(v.len())?;
                **slot = Some(v.to_owned());
            }
            Slot::FromText(text) => {
                self.pass.allocate(v.len())?;
                text.set_text(v).map_err(E::custom)?;
            }
            Slot::Any(slot) | Slot::AnyOrNull(slot) => {
                self.pass.allocate(v.len())?;
                **slot = Some(v.into());
            }
            Slot::List(list) if !v.is_empty() => {
                return read_only_element(*list, self.pass, |visitor| visitor.visit_str(v));
            }
            _ if v.trim().is_empty() => self.slot.clear(),
            Slot::Integer(slot) => match parse_integer(v.trim()) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Str(v))),
            },
            Slot::Number(slot) => match parse_number(v.trim()) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Str(v))),
            },
            Slot::Boolean(slot) => match parse_boolean(v.trim()) {
                Some(v) => **slot = Some(v),
                None => return Err(self.wrong_value(Unexpected::Str(v))),
            },
            Slot::Object(_) | Slot::Map(_) | Slot::List(_) => {
                return Err(self.wrong_type(Unexpected::Str(v)));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        match self.slot {
            Slot::Object(object) => read_object(object, self.pass, members),
            Slot::Map(map) => {
                map.begin();
                read_entries(map, self.pass, members)
            }
            // A list of one, written as its element.
            Slot::List(list) => read_object_as_list(list, self.pass, members),
            Slot::Any(slot) | Slot::AnyOrNull(slot) => {
                let mut object = JsonMap::new();
                read_entries(&mut object, self.pass, members)?;
                *slot = Some(Value::Object(object));
                Ok(())
            }
            _ => Err(self.wrong_type(Unexpected::Map)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        match &mut self.slot {
            Slot::List(list) => read_list(*list, self.pass, seq),
            Slot::Object(slot) => {
                // An empty object is sent as `[]` where the sender's language has one type for
                // both, and an object may be written as a list of one (SOURCES D-18).
                let only = SlotVisitor::new(Slot::Object(&mut **slot), self.pass);
                if seq.next_element_seed(only)?.is_none() {
                    slot.clear();
                }
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(()),
                    Some(_) => Err(self.wrong_type(Unexpected::Seq)),
                }
            }
            // Answers of the documents have `environments` as a list of maps (SOURCES D-07).
            Slot::Map(map) => read_maps(*map, self.pass, seq),
            Slot::Any(slot) | Slot::AnyOrNull(slot) => {
                let mut items = Vec::new();
                read_any_list(&mut items, self.pass, seq)?;
                **slot = Some(Value::Array(items));
                Ok(())
            }
            _ => Err(self.wrong_type(Unexpected::Seq)),
        }
    }
}

// -------------------------------------------------------------------- objects

/// Decodes the name of a field to its slot.
struct FieldName<'a>(&'a mut dyn Object);

impl<'de, 'a> DeserializeSeed<'de> for FieldName<'a> {
    type Value = Option<Slot<'a>>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'a> Visitor<'_> for FieldName<'a> {
    type Value = Option<Slot<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(self.0.field(v))
    }
}

/// Decodes all fields of an object.
fn read_fields<'de, A: MapAccess<'de>>(
    object: &mut dyn Object,
    pass: &Pass,
    mut map: A,
) -> Result<(), A::Error> {
    while let Some(field) = map.next_key_seed(FieldName(object))? {
        match field {
            Some(slot) => map.next_value_seed(SlotVisitor::new(slot, pass))?,
            None => map.next_value::<IgnoredAny>().map(drop)?,
        }
    }
    Ok(())
}

/// Decodes an object into its slot.
pub(super) fn read_object<'de, A: MapAccess<'de>>(
    slot: &mut dyn ObjectSlot,
    pass: &Pass,
    map: A,
) -> Result<(), A::Error> {
    pass.count_value()?;
    pass.allocate(slot.heap_size())?;
    let mut map = Some(map);
    let mut outcome = Ok(());
    let made = slot.fill(&mut |object| {
        if let Some(map) = map.take() {
            outcome = read_fields(object, pass, map);
        }
    });
    // The error that stopped the decoding takes precedence over fields that are missing because of
    // it.
    outcome?;
    made.map_err(A::Error::missing_field)
}

// ------------------------------------------------------------- lists and maps

/// Decodes the elements of a list.
fn read_list<'de, A: SeqAccess<'de>>(
    list: &mut dyn List,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    let depth = pass.enter_list();
    list.begin();
    if pass.is_salvaging() {
        loop {
            let before = pass.memory_left();
            let mut element = None;
            let next = SlotVisitor::new(Slot::AnyOrNull(&mut element), pass);
            if seq.next_element_seed(next)?.is_none() {
                return Ok(());
            }
            let held = before - pass.memory_left();
            reserve(list, pass)?;
            if salvage_element(list, pass, &depth, element.unwrap_or_default())? {
                pass.release(held);
            } else {
                pass.reset_memory_left(before);
            }
        }
    }
    loop {
        let before = pass.memory_left();
        reserve(list, pass)?;
        let mut outcome = Ok(None);
        let added = list.push_with(&mut |slot| {
            outcome = seq.next_element_seed(SlotVisitor::new(slot, pass));
            matches!(outcome, Ok(Some(())))
        });
        if outcome?.is_none() {
            return Ok(());
        }
        if !added {
            depth.skip(None);
            pass.reset_memory_left(before);
        }
    }
}

/// Decodes the elements of a list of any JSON.
fn read_any_list<'de, A: SeqAccess<'de>>(
    items: &mut Vec<Value>,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    loop {
        reserve(items, pass)?;
        let mut item = None;
        let next = SlotVisitor::new(Slot::AnyOrNull(&mut item), pass);
        if seq.next_element_seed(next)?.is_none() {
            return Ok(());
        }
        items.push(item.unwrap_or_default());
    }
}

/// Reserves memory for one more element.
fn reserve<E: Error>(list: &mut dyn List, pass: &Pass) -> Result<(), E> {
    pass.count_value()?;
    let (needed, freed) = list.growth();
    if needed > 0 {
        // Growing moves the elements; for a moment, both allocations exist.
        pass.allocate(needed)?;
        pass.release(freed);
    }
    Ok(())
}

/// Decodes the only element of a list, which is sent without the list.
fn read_only_element<E>(
    list: &mut dyn List,
    pass: &Pass,
    read: impl FnOnce(SlotVisitor<'_, '_>) -> Result<(), E>,
) -> Result<(), E> {
    list.begin();
    let mut read = Some(read);
    let mut outcome = Ok(());
    list.push_with(&mut |slot| {
        if let Some(read) = read.take() {
            outcome = read(SlotVisitor::new(slot, pass));
        }
        outcome.is_ok()
    });
    outcome
}

/// Decodes an object that is sent in place of a list of one object.
fn read_object_as_list<'de, A: MapAccess<'de>>(
    list: &mut dyn List,
    pass: &Pass,
    map: A,
) -> Result<(), A::Error> {
    let depth = pass.enter_list();
    if !pass.is_salvaging() {
        return read_only_element(list, pass, |visitor| visitor.visit_map(map));
    }
    list.begin();
    let mut element = None;
    SlotVisitor::new(Slot::AnyOrNull(&mut element), pass).visit_map(map)?;
    salvage_element(list, pass, &depth, element.unwrap_or_default())?;
    Ok(())
}

/// Decodes one element of a list, and returns whether it was added; an element that cannot be
/// decoded is skipped.
fn salvage_element<E: Error>(
    list: &mut dyn List,
    pass: &Pass,
    depth: &ListDepth<'_>,
    element: Value,
) -> Result<bool, E> {
    let mut element = Some(element);
    let mut outcome = Ok(());
    let added = list.push_with(&mut |slot| {
        if let Some(element) = element.take() {
            outcome = SlotVisitor::new(slot, pass).deserialize(element);
        }
        outcome.is_ok()
    });
    if !added {
        depth.skip(outcome.err().map(|error| error.to_string()));
    }
    pass.check_stopped()?;
    Ok(added)
}

/// Decodes the entries of a map.
fn read_entries<'de, A: MapAccess<'de>>(
    map: &mut dyn Map,
    pass: &Pass,
    mut entries: A,
) -> Result<(), A::Error> {
    while let Some(name) = entries.next_key::<String>()? {
        pass.count_value()?;
        pass.allocate(name.len() + map.growth())?;
        let mut outcome = Ok(());
        map.insert_with(name, &mut |slot| {
            outcome = entries.next_value_seed(SlotVisitor::new(slot, pass));
            outcome.is_ok()
        });
        outcome?;
    }
    Ok(())
}

/// Decodes a list of maps into one map.
fn read_maps<'de, A: SeqAccess<'de>>(
    map: &mut dyn Map,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    map.begin();
    while seq.next_element_seed(MoreEntries { map, pass })?.is_some() {}
    Ok(())
}

/// Decodes a map and adds its entries to those of another.
struct MoreEntries<'a> {
    map: &'a mut dyn Map,
    pass: &'a Pass<'a>,
}

impl<'de> DeserializeSeed<'de> for MoreEntries<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MoreEntries<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        read_entries(self.map, self.pass, map)
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
