//! Specs of the algorithm and the flavor of a job, and the engines of the service, for validation.

use crate::validation::{
    algorithm_spec::AlgorithmSpec, flavor_spec::FlavorSpec, known_engines::KnownEngines,
};

/// Specs that the service returned or the caller supplied.
#[derive(Clone, Default)]
pub(crate) struct KnownSpecs {
    pub(crate) algorithm: KnownSpec<AlgorithmSpec>,
    pub(crate) flavor: KnownSpec<FlavorSpec>,
    pub(crate) engines: Option<KnownEngines>,
}

/// Spec, if known, and the id of its algorithm or flavor. A spec from the caller has no id and
/// applies to every job.
#[derive(Clone, Default)]
pub(crate) struct KnownSpec<T>(Option<(Option<String>, T)>);

impl<T> KnownSpec<T> {
    /// Returns the spec of the algorithm or flavor with this id.
    pub(crate) fn of(&self, id: Option<&str>) -> Option<&T> {
        let (known, spec) = self.0.as_ref()?;
        let fits = known.is_none() || known.as_deref() == id;
        fits.then_some(spec)
    }

    pub(crate) fn set(&mut self, id: Option<&str>, spec: T) {
        self.0 = Some((id.map(str::to_owned), spec));
    }
}
