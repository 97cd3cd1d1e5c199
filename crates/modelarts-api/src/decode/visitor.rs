//! Visitor that decodes any JSON value into any slot.
//!
//! The derives of serde would generate a visitor for each type. A response with a job contains
//! about a hundred types. In measurements, loading the instructions of a hundred visitors took most
//! of the decoding time. All types therefore share this visitor, which receives the kind of JSON
//! that a type expects as data.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde_json::Value;

use super::{
    numbers,
    pass::{ListDepth, Pass},
    slot::{Container, JsonMap, List, Map, Object, Slot},
};

/// Visitor that decodes a JSON value into a slot.
pub(super) struct SlotVisitor<'a, 'p> {
    slot: Slot<'a>,
    pass: &'p Pass<'p>,
}

impl<'a, 'p> SlotVisitor<'a, 'p> {
    pub(super) fn new(slot: Slot<'a>, pass: &'p Pass<'p>) -> Self {
        Self { slot, pass }
    }

    /// Stores a number, a boolean, or a string in place of either, in the slot.
    #[inline]
    fn scalar<E: Error>(mut self, scalar: Unexpected<'_>) -> Result<(), E> {
        let is_set = match &mut self.slot {
            Slot::Text(slot) => set(*slot, Some(numbers::json(scalar).to_string())),
            Slot::FromText(slot) => {
                let set = slot.set_text(&numbers::json(scalar).to_string());
                return set.map_err(E::custom);
            }
            Slot::Any(slot) | Slot::AnyOrNull(slot) => set(*slot, Some(numbers::json(scalar))),
            Slot::Integer(slot) => set(*slot, numbers::integer(scalar)),
            Slot::Number(slot) => set(*slot, numbers::number(scalar)),
            Slot::Boolean(slot) => set(*slot, numbers::boolean(scalar)),
            Slot::Object(_) | Slot::List(_) | Slot::Map(_) => false,
        };
        match is_set {
            true => Ok(()),
            false => Err(self.wrong_scalar(scalar)),
        }
    }

    #[cold]
    fn wrong_scalar<E: Error>(&self, found: Unexpected<'_>) -> E {
        match (&self.slot, found) {
            (Slot::Object(_) | Slot::List(_) | Slot::Map(_), _)
            | (Slot::Number(_), Unexpected::Bool(_))
            | (Slot::Boolean(_), Unexpected::Float(_)) => self.wrong_type(found),
            _ => E::invalid_value(found, &self.slot),
        }
    }

    #[cold]
    fn wrong_type<E: Error>(&self, found: Unexpected<'_>) -> E {
        E::invalid_type(found, &self.slot)
    }
}

/// Stores `value` in a slot. Returns `true` if `value` is present.
fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    *slot = value;
    slot.is_some()
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

    fn visit_bool<E: Error>(self, v: bool) -> Result<(), E> {
        self.scalar(Unexpected::Bool(v))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<(), E> {
        self.scalar(Unexpected::Signed(v))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<(), E> {
        match i64::try_from(v) {
            Ok(v) => self.visit_i64(v),
            Err(_) => self.scalar(Unexpected::Unsigned(v)),
        }
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<(), E> {
        self.scalar(Unexpected::Float(v))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<(), E> {
        match self.slot {
            Slot::Text(slot) => {
                self.pass.allocate(v.len())?;
                *slot = Some(v.to_owned());
                return Ok(());
            }
            Slot::FromText(slot) => {
                self.pass.allocate(v.len())?;
                return slot.set_text(v).map_err(E::custom);
            }
            Slot::Any(_) | Slot::AnyOrNull(_) => self.pass.allocate(v.len())?,
            Slot::List(list) if !v.is_empty() => {
                return read_only_element(list, self.pass, |visitor| visitor.visit_str(v));
            }
            _ if v.trim().is_empty() => {
                self.slot.clear();
                return Ok(());
            }
            _ => {}
        }
        self.scalar(Unexpected::Str(v))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        match self.slot {
            Slot::Object(object) => read_object(object, self.pass, members),
            Slot::Map(map) => read_entries(map.begin(), self.pass, members),
            // The service sent the only element of the list instead of the list.
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
                // The service may send an empty object as `[]`, because some languages use the same
                // type for lists and maps. The service may also send an object as a list of one
                // object (`openapi/SOURCES.md`, D-18).
                let only = SlotVisitor::new(Slot::Object(&mut **slot), self.pass);
                if seq.next_element_seed(only)?.is_none() {
                    slot.clear();
                }
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(()),
                    Some(_) => Err(self.wrong_type(Unexpected::Seq)),
                }
            }
            // In documented responses, `environments` is a list of maps (`openapi/SOURCES.md`,
            // D-07).
            Slot::Map(map) => {
                let mut more = MoreEntries(map.begin());
                loop {
                    let next = SlotVisitor::new(Slot::Map(&mut more), self.pass);
                    if seq.next_element_seed(next)?.is_none() {
                        return Ok(());
                    }
                }
            }
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

/// Seed that decodes the JSON name of a field, and returns the slot of the field.
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

/// Decodes an object into a container. Ignores unknown fields.
pub(super) fn read_object<'de, A: MapAccess<'de>>(
    slot: &mut dyn Container<dyn Object>,
    pass: &Pass,
    mut map: A,
) -> Result<(), A::Error> {
    pass.count_value()?;
    pass.allocate(slot.heap_size())?;
    let object = slot.begin();
    while let Some(field) = map.next_key_seed(FieldName(object))? {
        match field {
            Some(slot) => map.next_value_seed(SlotVisitor::new(slot, pass))?,
            None => map.next_value::<IgnoredAny>().map(drop)?,
        }
    }
    Ok(())
}

// ------------------------------------------------------------- lists and maps

/// Decodes the elements of a list into a container, and counts the skipped elements.
fn read_list<'de, A: SeqAccess<'de>>(
    list: &mut dyn Container<dyn List>,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    let depth = pass.enter_list();
    let list = list.begin();
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

/// Decodes the elements of a list of any JSON, and keeps elements that are `null`.
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

/// Counts a value, and reserves memory for one more element of a list.
fn reserve<E: Error>(list: &mut dyn List, pass: &Pass) -> Result<(), E> {
    pass.count_value()?;
    let (needed, freed) = list.growth();
    if needed > 0 {
        // While the list grows, the old and the new allocation exist at the same time.
        pass.allocate(needed)?;
        pass.release(freed);
    }
    Ok(())
}

/// Decodes a value that the service sent instead of a list with this value as its only element.
fn read_only_element<E>(
    list: &mut dyn Container<dyn List>,
    pass: &Pass,
    read: impl FnOnce(SlotVisitor<'_, '_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut read = Some(read);
    let mut outcome = Ok(());
    list.begin().push_with(&mut |slot| {
        if let Some(read) = read.take() {
            outcome = read(SlotVisitor::new(slot, pass));
        }
        outcome.is_ok()
    });
    outcome
}

/// Decodes an object that the service sent instead of a list with this object as its only element.
fn read_object_as_list<'de, A: MapAccess<'de>>(
    list: &mut dyn Container<dyn List>,
    pass: &Pass,
    map: A,
) -> Result<(), A::Error> {
    let depth = pass.enter_list();
    if !pass.is_salvaging() {
        return read_only_element(list, pass, |visitor| visitor.visit_map(map));
    }
    let mut element = None;
    SlotVisitor::new(Slot::AnyOrNull(&mut element), pass).visit_map(map)?;
    salvage_element(list.begin(), pass, &depth, element.unwrap_or_default()).map(drop)
}

/// Decodes an element and appends it to a list. Returns `false` if the element was skipped because
/// it cannot be decoded or is `null`.
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

/// Decodes the entries of a JSON object into a map.
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

/// Container that keeps the entries of its map when another map is decoded into the container.
struct MoreEntries<'a>(&'a mut (dyn Map + 'static));

impl Container<dyn Map> for MoreEntries<'_> {
    fn clear(&mut self) {}
    fn begin(&mut self) -> &mut (dyn Map + 'static) {
        self.0
    }
    fn heap_size(&self) -> usize {
        0
    }
}
