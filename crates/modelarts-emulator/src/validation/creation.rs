//! A creation to be checked, with the state of the service.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::{Map, Value};

use crate::{
    catalog::{cloud::Cloud, engines::Engine, flavors::Flavor, pools::Pool},
    files::confined_dir::ConfinedDir,
    validation::fields::ignored::is_empty,
};

/// The offer of the service, with its permissions.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) cloud: Cloud,
    pub(crate) pools: Vec<Pool>,
    /// Encrypted buckets, which jobs cannot use.
    pub(crate) encrypted: BTreeSet<String>,
    /// Organizations of the image registry that the user may save images to; any if empty.
    pub(crate) organizations: BTreeSet<String>,
    /// Directory of data sets, `<id>/<version id>`.
    pub(crate) datasets: Option<PathBuf>,
    pub(crate) obs: ConfinedDir,
    /// Refuses documented fields without an effect here.
    pub(crate) strict: bool,
}

/// The body of a creation, with the offer that it is checked against. Members are named by JSON
/// pointers; null and empty text count as absent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Creation<'a> {
    pub(crate) body: &'a Value,
    pub(crate) offer: &'a Offer,
    /// The algorithm with the id `algorithm.id`, if it exists.
    pub(crate) stored: Option<&'a Value>,
    /// True for an algorithm to be stored, which is checked in the form of a job.
    pub(crate) is_algorithm: bool,
    /// The user may request priority 3.
    pub(crate) may_prioritise: bool,
}

/// The field with which a job names a model of the platform for fine-tuning.
pub(crate) fn fine_tuned_field(body: &Value) -> Option<&'static str> {
    let fields = [
        "/train_type",
        "/ftjob_config",
        "/spec/asset_id",
        "/spec/asset_model",
    ];
    let given = |field: &&str| body.pointer(field).is_some_and(|value| !is_empty(value));
    fields.into_iter().find(given)
}

impl<'a> Creation<'a> {
    pub(crate) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.body.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, pointer: &str) -> Option<&'a str> {
        self.at(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.text(pointer).is_some()
    }

    pub(crate) fn list(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// True for a fine-tuning job, whose code is that of the platform.
    pub(super) fn is_fine_tuning(&self) -> bool {
        fine_tuned_field(self.body).is_some()
    }

    /// True for a heterogeneous job: code, data and resources are in its tasks.
    pub(super) fn has_tasks(&self) -> bool {
        !self.list("/tasks").is_empty()
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&'a str> {
        self.annotations()?.get(key)?.as_str()
    }

    pub(crate) fn annotations(&self) -> Option<&'a Map<String, Value>> {
        self.at("/metadata/annotations")?.as_object()
    }

    /// The preset engine, if the request names one that exists.
    pub(crate) fn engine(&self) -> Option<&'static Engine> {
        let engine = |name: &str| self.text(&format!("/algorithm/engine/{name}"));
        match (
            engine("engine_id"),
            engine("engine_name"),
            engine("engine_version"),
        ) {
            (Some(id), _, _) => Engine::by_id(id),
            (None, Some(name), Some(version)) => Engine::by_name(name, version),
            _ => None,
        }
    }

    pub(crate) fn pool(&self) -> Option<&'a Pool> {
        let id = self.text("/spec/resource/pool_id")?;
        self.offer.pools.iter().find(|pool| pool.id == id)
    }

    /// True for a job in a dedicated pool, or in a federation of pools.
    pub(super) fn has_pool(&self) -> bool {
        let fields = ["pool_id", "pool_group_id"];
        let mut fields = fields.iter();
        fields.any(|name| self.has(&format!("/spec/resource/{name}")))
    }

    pub(crate) fn flavor(&self) -> Option<&'static Flavor> {
        self.text("/spec/resource/flavor_id").and_then(Flavor::find)
    }
}

/// A text member of an element of a list.
pub(crate) fn text_of<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value
        .pointer(pointer)?
        .as_str()
        .filter(|text| !text.is_empty())
}
