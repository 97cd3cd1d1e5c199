//! `Options`: the keyword arguments that describe a job.

use std::{collections::HashMap, path::PathBuf};

use modelarts_ext::{
    CreateJob, Error,
    jobs::create::{Input, Output},
};
use pyo3::{
    Bound, FromPyObject, Py, PyAny, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    types::{PyAnyMethods, PyDict, PyDictMethods, PyString},
};
use serde_json::Value;

use crate::{
    convert::{OneOrMore, Span},
    errors::to_exception,
};

/// Recommended names of an input and of an output, used if the user gives none.
const INPUT: &str = "data_url";
const OUTPUT: &str = "train_url";

/// Defines the keyword arguments, each of which may be left out or `None`.
macro_rules! options {
    ($($name:ident: $type:ty,)*) => {
        /// Keyword arguments of `submit` and `prepare`.
        #[derive(Default)]
        pub(crate) struct Options {
            $(pub(crate) $name: Option<$type>,)*
        }

        const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl Options {
            fn read_one(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
                match name {
                    $(stringify!($name) => self.$name = value.extract()?,)*
                    _ => {
                        return Err(PyTypeError::new_err(format!(
                            "must be one of {}",
                            NAMES.join(", ")
                        )));
                    }
                }
                Ok(())
            }
        }
    };
}

options! {
    name: String,
    description: String,
    engine: String,
    image: String,
    algorithm: String,
    flavor: String,
    pool: String,
    nodes: u32,
    code_dir: PathBuf,
    boot_file: String,
    command: String,
    data: Data,
    out: Out,
    parameters: HashMap<String, Scalar>,
    env: HashMap<String, String>,
    auto_stop: Span,
    restarts: u32,
    priority: u8,
    set: HashMap<String, Py<PyAny>>,
    bucket: String,
    adopt: bool,
}

/// Inputs: a directory or an address, or several by their names.
#[derive(FromPyObject)]
pub(crate) enum Data {
    One(PathBuf),
    Named(HashMap<String, PathBuf>),
}

/// Outputs: names, or addresses by names. `None` as an address is a new one.
#[derive(FromPyObject)]
pub(crate) enum Out {
    Names(OneOrMore),
    Addresses(HashMap<String, Option<String>>),
}

/// Value of a hyper-parameter, as text in the form of Python.
pub(crate) struct Scalar(String);

impl<'a, 'py> FromPyObject<'a, 'py> for Scalar {
    type Error = pyo3::PyErr;

    fn extract(value: pyo3::Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(value.str()?.to_string()))
    }
}

impl Options {
    /// Reads keyword arguments. The error for a wrong one names it.
    pub(crate) fn read(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut options = Self::default();
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            let name: String = name.extract()?;
            options.read_one(&name, &value).map_err(|error| {
                let reason = error.value(value.py());
                PyTypeError::new_err(format!("keyword argument {name}: {reason}"))
            })?;
        }
        Ok(options)
    }

    /// Sets what the service takes as it is: all arguments except code, data and outputs.
    pub(crate) fn set(&self, py: Python<'_>, mut job: CreateJob) -> PyResult<CreateJob> {
        if let Some(engine) = &self.engine {
            let (name, version) = engine.split_once(':').ok_or_else(|| {
                PyValueError::new_err(format!(
                    "engine: {engine:?} must have the form NAME:VERSION, such as \
                     PyTorch:pytorch_1.8.0"
                ))
            })?;
            job = job.preset_image(name, version);
        }
        type Set = fn(CreateJob, &str) -> CreateJob;
        let texts: [(&Option<String>, Set); 7] = [
            (&self.name, |job, name| job.name(name)),
            (&self.description, |job, text| job.description(text)),
            (&self.image, |job, url| job.custom_image(url)),
            (&self.algorithm, |job, id| job.algorithm(id)),
            (&self.flavor, |job, id| job.flavor(id)),
            (&self.pool, |job, id| job.pool(id)),
            (&self.command, |job, command| job.command(command)),
        ];
        for (text, set) in texts {
            if let Some(text) = text {
                job = set(job, text);
            }
        }
        if let Some(nodes) = self.nodes {
            job = job.nodes(nodes);
        }
        if let Some(priority) = self.priority {
            job = job.priority(priority);
        }
        if let Some(restarts) = self.restarts {
            job = job.auto_restart(restarts);
        }
        if let Some(time) = self.auto_stop {
            job = job.auto_stop(time.duration("auto_stop")?);
        }
        for (name, Scalar(value)) in sorted(&self.parameters) {
            job = job.without_parameter(name).parameter(name, value);
        }
        for (name, value) in sorted(&self.env) {
            job = job.env(name, value);
        }
        for (path, value) in sorted(&self.set) {
            let value = value.bind(py);
            let text = match value.cast::<PyString>() {
                Ok(text) => text.to_string(),
                Err(_) => pythonize::depythonize::<Value>(value)?.to_string(),
            };
            job = job.set_field(path, &text).map_err(|error| to_exception(py, &error))?;
        }
        Ok(job)
    }

    /// Adds inputs and outputs with addresses. Returns the local inputs and the other outputs.
    pub(crate) fn channels(
        &self,
        mut job: CreateJob,
    ) -> (CreateJob, Vec<(String, PathBuf)>, Vec<String>) {
        let (mut local, mut new) = (Vec::new(), Vec::new());
        let data = match &self.data {
            None => Vec::new(),
            Some(Data::One(place)) => vec![(INPUT, place)],
            Some(Data::Named(places)) => {
                places.iter().map(|(name, place)| (name.as_str(), place)).collect()
            }
        };
        for (name, place) in data {
            match address(place) {
                Some(address) => {
                    job = job.without_input(name).add_input(Input::obs(name, address));
                }
                None => local.push((name.to_owned(), place.clone())),
            }
        }
        let out: Vec<(String, Option<&String>)> = match &self.out {
            None => Vec::new(),
            Some(Out::Names(names)) => match names {
                OneOrMore::One(text) if text.starts_with("obs://") => {
                    vec![(OUTPUT.to_owned(), Some(text))]
                }
                OneOrMore::One(name) => vec![(name.clone(), None)],
                OneOrMore::More(names) => names.iter().map(|name| (name.clone(), None)).collect(),
            },
            Some(Out::Addresses(addresses)) => {
                let pairs = addresses.iter();
                pairs.map(|(name, address)| (name.clone(), address.as_ref())).collect()
            }
        };
        for (name, address) in out {
            match address {
                Some(address) => {
                    job = job.without_output(&name).add_output(Output::obs(&name, address));
                }
                None => new.push(name),
            }
        }
        local.sort();
        new.sort();
        (job, local, new)
    }

    /// Returns `true` if the arguments choose the program that runs the code.
    pub(crate) fn has_engine(&self) -> bool {
        self.engine.is_some() || self.image.is_some() || self.algorithm.is_some()
    }
}

/// Returns the address if a place is not on this machine.
pub(crate) fn address(place: &std::path::Path) -> Option<&str> {
    place.to_str().filter(|text| text.starts_with("obs://"))
}

/// Returns the pairs in the order of their names, so that equal arguments make equal requests.
fn sorted<T>(pairs: &Option<HashMap<String, T>>) -> Vec<(&String, &T)> {
    let mut pairs: Vec<_> = pairs.iter().flatten().collect();
    pairs.sort_by_key(|(name, _)| *name);
    pairs
}

/// Error of an argument that is found after the arguments were read.
pub(crate) fn invalid(py: Python<'_>, message: String) -> pyo3::PyErr {
    to_exception(py, &Error::new(modelarts_ext::ErrorKind::Invalid, message))
}
