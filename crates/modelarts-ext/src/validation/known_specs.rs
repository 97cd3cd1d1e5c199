//! Specs of the algorithm and the flavor of a job, for its check.

use serde_json::Value;

use crate::validation::{algorithm_spec::AlgorithmSpec, flavor_spec::FlavorSpec};

/// The specs that the service returned or the caller supplied.
#[derive(Clone, Default)]
pub(crate) struct KnownSpecs {
    algorithm: Option<Spec<AlgorithmSpec>>,
    flavor: Option<Spec<FlavorSpec>>,
}

/// A spec, and the id of its algorithm or flavor. A spec from the caller has no id and applies to
/// every job.
#[derive(Clone)]
struct Spec<T> {
    id: Option<String>,
    spec: T,
}

impl<T> Spec<T> {
    fn new(id: Option<&str>, spec: T) -> Self {
        Self {
            id: id.map(str::to_owned),
            spec,
        }
    }

    fn of(&self, id: Option<&str>) -> Option<&T> {
        let fits = self.id.is_none() || self.id.as_deref() == id;
        fits.then_some(&self.spec)
    }
}

impl KnownSpecs {
    /// The spec of the algorithm with this id.
    pub(crate) fn algorithm(&self, id: Option<&str>) -> Option<&AlgorithmSpec> {
        self.algorithm.as_ref()?.of(id)
    }

    /// Sets the spec of the algorithm with this id; without an id it applies to any algorithm.
    pub(crate) fn set_algorithm(&mut self, id: Option<&str>, spec: AlgorithmSpec) {
        self.algorithm = Some(Spec::new(id, spec));
    }

    /// The spec of the flavor with this id.
    pub(crate) fn flavor(&self, id: Option<&str>) -> Option<&FlavorSpec> {
        self.flavor.as_ref()?.of(id)
    }

    /// Sets the spec of the flavor with this id; without an id it applies to any flavor.
    pub(crate) fn set_flavor(&mut self, id: Option<&str>, spec: FlavorSpec) {
        self.flavor = Some(Spec::new(id, spec));
    }
}

/// The id of the stored algorithm that a body names.
pub(crate) fn algorithm_of(body: &Value) -> Option<&str> {
    text(body, "/algorithm/id")
}

/// The id of the flavor of the public pool that a body names. The service does not list flavors of
/// dedicated pools.
pub(crate) fn flavor_of(body: &Value) -> Option<&str> {
    match text(body, "/spec/resource/pool_id") {
        Some(_) => None,
        None => text(body, "/spec/resource/flavor_id"),
    }
}

fn text<'a>(body: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = body.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
