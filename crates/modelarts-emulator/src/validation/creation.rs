//! Create request to be validated, and the state of the service that determines the result.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::Value;

use crate::{
    catalog::{cloud::Cloud, engines::Engine, flavors::Flavor, pools::Pool},
    files::confined_dir::ConfinedDir,
    validation::fields::ignored::is_empty,
};

#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) cloud: Cloud,
    pub(crate) pools: Vec<Pool>,
    /// Encrypted buckets, which jobs cannot use.
    pub(crate) encrypted: BTreeSet<String>,
    /// Organizations in which images may be saved. An empty set permits all.
    pub(crate) organizations: BTreeSet<String>,
    /// Directory of data sets, with the subdirectory `<id>/<version id>` for each version.
    pub(crate) datasets: Option<PathBuf>,
    pub(crate) obs: ConfinedDir,
    /// `true` if documented fields without an effect in the emulator are rejected.
    pub(crate) strict: bool,
}

/// Create request, with access by JSON Pointer. Null and empty strings count as absent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Creation<'a> {
    pub(crate) body: &'a Value,
    pub(crate) offer: &'a Offer,
    /// Stored algorithm with the id `algorithm.id`, if it exists.
    pub(crate) stored: Option<&'a Value>,
    /// `true` for an algorithm to be stored, which is validated in the form of a job.
    pub(crate) is_algorithm: bool,
    pub(crate) may_prioritise: bool,
}

/// Returns the field in which a job specifies a model of the platform for fine-tuning.
pub(crate) fn fine_tuned_field(body: &Value) -> Option<&'static str> {
    let fields = ["/train_type", "/ftjob_config", "/spec/asset_id", "/spec/asset_model"];
    let given = |field: &&str| body.pointer(field).is_some_and(|value| !is_empty(value));
    fields.into_iter().find(given)
}

impl<'a> Creation<'a> {
    pub(crate) fn at(&self, pointer: &str) -> Option<&'a Value> {
        value_at(self.body, pointer)
    }

    pub(crate) fn text(&self, pointer: &str) -> Option<&'a str> {
        text_of(self.body, pointer)
    }

    pub(super) fn has(&self, pointer: &str) -> bool {
        self.text(pointer).is_some()
    }

    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        list_of(self.body, pointer)
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&'a str> {
        self.at("/metadata/annotations")?.get(key)?.as_str()
    }

    pub(super) fn is_fine_tuning(&self) -> bool {
        fine_tuned_field(self.body).is_some()
    }

    /// Returns `true` for a heterogeneous job, whose tasks contain code, data and resources.
    pub(super) fn has_tasks(&self) -> bool {
        !self.list("/tasks").is_empty()
    }

    pub(super) fn names_stored(&self) -> bool {
        self.has("/algorithm/id") || self.has("/algorithm/subscription_id")
    }

    pub(super) fn engine(&self) -> Option<&'static Engine> {
        match self.text("/algorithm/engine/engine_id") {
            Some(id) => Engine::by_id(id),
            None => Engine::by_name(
                self.text("/algorithm/engine/engine_name")?,
                self.text("/algorithm/engine/engine_version")?,
            ),
        }
    }

    pub(super) fn pool(&self) -> Option<&'a Pool> {
        let id = self.text("/spec/resource/pool_id")?;
        self.offer.pools.iter().find(|pool| pool.id == id)
    }

    /// Returns `true` for a job in a dedicated pool, or in a federation of pools.
    pub(super) fn has_pool(&self) -> bool {
        self.has("/spec/resource/pool_id") || self.has("/spec/resource/pool_group_id")
    }

    pub(super) fn flavor(&self) -> Option<&'static Flavor> {
        Flavor::find(self.text("/spec/resource/flavor_id")?)
    }
}

/// Returns the value at a JSON Pointer; null counts as absent.
pub(super) fn value_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    value.pointer(pointer).filter(|value| !value.is_null())
}

/// Returns the string at a JSON Pointer in a value; an empty string counts as absent.
pub(crate) fn text_of<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = value.pointer(pointer)?.as_str();
    text.filter(|text| !text.is_empty())
}

pub(super) fn list_of<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
