//! Check of preset engines, and the specs that are known to a validation.

use std::sync::Arc;

use modelarts_api::{
    request_path::create_training_job::algorithm::engine,
    types::{ShowTrainingJobEnginesResponse, TrainingEngine},
};

use crate::{
    spelling::near_names,
    validation::{
        draft::Draft,
        json_path::Located,
        report::Report,
        rules::rule,
        specs::{AlgorithmSpec, FlavorSpec},
    },
};

#[derive(Clone)]
pub(crate) struct KnownEngines(Arc<[TrainingEngine]>);

struct UnknownEngine<'a> {
    field: Located<'a>,
    /// Name of the engine, if the engine exists and only the version does not.
    of_name: Option<&'a str>,
    known: Vec<&'a str>,
}

impl UnknownEngine<'_> {
    /// Returns `true` for a prefix of a version, such as `pytorch_1.8.0`, which may be accepted.
    fn is_abbreviated(&self) -> bool {
        let wanted = self.field.text().unwrap_or_default();
        let continues = |known: &&str| {
            let rest = known.strip_prefix(wanted);
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        self.of_name.is_some() && self.known.iter().any(continues)
    }
}

impl KnownEngines {
    /// Returns the engines of a response. Returns `None` if the response is empty or incomplete.
    pub(crate) fn new(answer: ShowTrainingJobEnginesResponse) -> Option<Self> {
        let count = answer.items.len();
        let total = answer.total.and_then(|total| usize::try_from(total).ok());
        let is_whole = count > 0 && total.is_none_or(|total| total <= count);
        is_whole.then(|| Self(answer.items.into()))
    }

    /// Returns `true` if a job uses a preset engine, and not only states the framework of an image.
    pub(crate) fn are_used_by(job: Draft<'_>) -> bool {
        !job.has_stored_algorithm()
            && !job.has(engine::IMAGE_URL)
            && (job.has(engine::ENGINE_ID) || job.has(engine::ENGINE_NAME))
    }

    pub(crate) fn check(&self, job: Draft<'_>, report: &mut Report) {
        if !Self::are_used_by(job) {
            return;
        }
        if let Some(unknown) = find_unknown(&self.0, job)
            && !unknown.is_abbreviated()
        {
            let requirement = match unknown.of_name {
                Some(name) => format!("must be a version of {name} that the service has"),
                None => "must be an engine that the service has".to_owned(),
            };
            let wanted = unknown.field.text().unwrap_or_default();
            let advice = near_names(wanted, &unknown.known);
            report.add(rule("engine-exists"), &unknown.field, requirement, advice);
        }
    }
}

pub(crate) fn engine_advice(engines: &[TrainingEngine], job: Draft<'_>) -> Option<String> {
    let unknown = find_unknown(engines, job)?;
    let wanted = unknown.field.text()?;
    let what = match unknown.of_name {
        Some(name) => format!("{name} has no version"),
        None if job.has(engine::ENGINE_ID) => "no engine has the id".to_owned(),
        None => "no engine has the name".to_owned(),
    };
    let near = near_names(wanted, &unknown.known);
    Some(format!("{what} {wanted:?}; {near}"))
}

/// Returns the engine of a job if the engine is unknown, with the values that exist.
fn find_unknown<'a>(engines: &'a [TrainingEngine], job: Draft<'a>) -> Option<UnknownEngine<'a>> {
    let (field, of_name, known) = if job.has(engine::ENGINE_ID) {
        let ids = engines.iter().map(|engine| engine.engine_id.as_deref());
        (job.at(engine::ENGINE_ID), None, distinct(ids))
    } else {
        let field = job.at(engine::ENGINE_NAME);
        let name = field.text()?;
        let names = distinct(engines.iter().map(|engine| engine.engine_name.as_deref()));
        if names.contains(&name) {
            let of_name = |engine: &&TrainingEngine| engine.engine_name.as_deref() == Some(name);
            let versions = engines.iter().filter(of_name);
            let versions = distinct(versions.map(|engine| engine.engine_version.as_deref()));
            (job.at(engine::ENGINE_VERSION), Some(name), versions)
        } else {
            (field, None, names)
        }
    };
    let wanted = field.text()?;
    let is_unknown = !known.is_empty() && !known.contains(&wanted);
    is_unknown.then_some(UnknownEngine { field, of_name, known })
}

/// Returns the distinct texts that are not empty, in order.
fn distinct<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for text in texts.flatten().filter(|text| !text.is_empty()) {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}

#[derive(Clone, Default)]
pub(crate) struct KnownSpecs {
    pub(crate) algorithm: KnownSpec<AlgorithmSpec>,
    pub(crate) flavor: KnownSpec<FlavorSpec>,
    pub(crate) engines: Option<KnownEngines>,
}

/// Spec, if known, with the id to which it applies. A spec without an id applies to every job.
#[derive(Clone, Default)]
pub(crate) struct KnownSpec<T>(Option<(Option<String>, T)>);

impl<T> KnownSpec<T> {
    pub(crate) fn of(&self, id: Option<&str>) -> Option<&T> {
        let (known, spec) = self.0.as_ref()?;
        let fits = known.is_none() || known.as_deref() == id;
        fits.then_some(spec)
    }

    pub(crate) fn set(&mut self, id: Option<&str>, spec: T) {
        self.0 = Some((id.map(str::to_owned), spec));
    }
}
