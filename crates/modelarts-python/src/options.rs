//! `Options`: the keyword arguments that describe a job.

use std::path::{Path, PathBuf, absolute};

use modelarts_ext::{
    CreateJob,
    jobs::create::{Input, Output},
};
use pyo3::{
    Borrowed, Bound, FromPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    types::{PyAnyMethods, PyBytes, PyDict, PyDictMethods, PyString},
};
use serde_json::Value;

use crate::{
    convert::{OneOrMore, Pairs, Span},
    errors::{invalid, to_exception},
};

/// Recommended names of an input and of an output, used if the user gives none.
const INPUT: &str = "data_url";
const OUTPUT: &str = "train_url";

/// Defines the keyword arguments, each of which may be left out or `None`, with their types.
macro_rules! options {
    ($($name:ident: $type:ty = $rule:literal,)*) => {
        /// Keyword arguments of `submit` and `prepare`.
        #[derive(Default)]
        pub(crate) struct Options {
            $(pub(crate) $name: Option<$type>,)*
        }

        const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl Options {
            fn read_one(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
                match name {
                    $(stringify!($name) => {
                        self.$name = value.extract().map_err(|_| wrong(name, $rule, value))?;
                    })*
                    _ => {
                        return Err(PyTypeError::new_err(format!(
                            "unexpected keyword argument {name}; must be one of {}",
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
    name: String = "a text",
    description: String = "a text",
    engine: String = "a text, NAME:VERSION",
    image: String = "a text",
    algorithm: String = "a text",
    flavor: String = "a text",
    pool: String = "a text",
    nodes: u32 = "a whole number from 1 on",
    code_dir: PathBuf = "a path or an address",
    boot_file: String = "a text",
    command: String = "a text",
    data: Data = "a path or an address, or several by name",
    out: Out = "a name, a list of names, or addresses by name",
    parameters: Pairs<Option<Scalar>> = "texts, numbers or booleans by name",
    env: Pairs<String> = "texts by name",
    auto_stop: Span = "a timedelta, or a number of seconds",
    restarts: u32 = "a whole number",
    priority: u8 = "a whole number from 1 to 3",
    set: Pairs<Py<PyAny>> = "values by the paths of fields",
    bucket: String = "a text",
    adopt: bool = "True or False",
    token: String = "a text",
}

fn wrong(name: &str, rule: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let shown = value.repr().map_or_else(|_| "another value".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("{name}: must be {rule}, and is {shown}"))
}

/// Inputs: a directory or an address, or several by their names.
#[derive(FromPyObject)]
pub(crate) enum Data {
    One(PathBuf),
    Named(Pairs<PathBuf>),
}

/// Outputs: names, or addresses by names. `None` as an address is a new one.
#[derive(FromPyObject)]
pub(crate) enum Out {
    Names(OneOrMore),
    Addresses(Pairs<Option<String>>),
}

/// Value of a hyper-parameter, as text in the form of Python.
pub(crate) struct Scalar(String);

impl<'py> FromPyObject<'_, 'py> for Scalar {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let is_text = value.is_instance_of::<PyString>();
        if value.is_instance_of::<PyBytes>() || !is_text && value.len().is_ok() {
            return Err(PyTypeError::new_err("must be a text, a number or a boolean"));
        }
        Ok(Self(value.str()?.to_string()))
    }
}

/// Inputs and outputs that get their addresses when the job is staged.
#[derive(Default)]
pub(crate) struct Channels {
    pub(crate) data: Vec<(String, PathBuf)>,
    pub(crate) outputs: Vec<String>,
}

impl Options {
    /// Reads keyword arguments. The error for a wrong one names it.
    pub(crate) fn read(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut options = Self::default();
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            options.read_one(&name.extract::<String>()?, &value)?;
        }
        Ok(options)
    }

    /// Sets what the service takes as it is: all arguments except code, data, outputs and `set`.
    pub(crate) fn apply(&self, mut job: CreateJob) -> PyResult<CreateJob> {
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
        let texts: [(&Option<String>, Set); 8] = [
            (&self.name, |job, name| job.name(name)),
            (&self.description, |job, text| job.description(text)),
            (&self.image, |job, url| job.custom_image(url)),
            (&self.algorithm, |job, id| job.algorithm(id)),
            (&self.flavor, |job, id| job.flavor(id)),
            (&self.pool, |job, id| job.pool(id)),
            (&self.command, |job, command| job.command(command)),
            (&self.token, |job, token| job.token(token)),
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
        for (name, value) in pairs(&self.parameters) {
            job = job.without_parameter(name);
            if let Some(Scalar(value)) = value {
                job = job.parameter(name, value);
            }
        }
        for (name, value) in pairs(&self.env) {
            job = job.env(name, value);
        }
        Ok(job)
    }

    /// Sets the fields of `set`, which take precedence over all other arguments.
    pub(crate) fn set_fields(&self, py: Python<'_>, mut job: CreateJob) -> PyResult<CreateJob> {
        for (path, value) in pairs(&self.set) {
            let value = value.bind(py);
            let text = match value.cast::<PyString>() {
                Ok(text) => text.to_string(),
                Err(_) => pythonize::depythonize::<Value>(value)?.to_string(),
            };
            job = job.set_field(path, &text).map_err(|error| to_exception(py, &error))?;
        }
        Ok(job)
    }

    /// Adds the inputs and outputs, with placeholders for the addresses of those that are returned.
    pub(crate) fn channels(
        &self,
        py: Python<'_>,
        mut job: CreateJob,
    ) -> PyResult<(CreateJob, Channels)> {
        let mut unstaged = Channels::default();
        let mut names: Vec<&str> = Vec::new();
        let data: Vec<(&str, &PathBuf)> = match &self.data {
            None => Vec::new(),
            Some(Data::One(place)) => vec![(INPUT, place)],
            Some(Data::Named(places)) => {
                places.0.iter().map(|(name, place)| (name.as_str(), place)).collect()
            }
        };
        for (name, place) in data {
            names.push(name);
            let address = address(place).unwrap_or_else(|| {
                unstaged.data.push((name.to_owned(), full(place)));
                format!("obs://staged/data/{name}/")
            });
            job = job.without_input(name).add_input(Input::obs(name, address));
        }
        let out: Vec<(&str, Option<&String>)> = match &self.out {
            None => Vec::new(),
            Some(Out::Names(OneOrMore::One(text))) if text.starts_with("obs://") => {
                vec![(OUTPUT, Some(text))]
            }
            Some(Out::Names(OneOrMore::One(name))) => vec![(name, None)],
            Some(Out::Names(OneOrMore::More(names))) => {
                names.iter().map(|name| (name.as_str(), None)).collect()
            }
            Some(Out::Addresses(Pairs(pairs))) => {
                pairs.iter().map(|(name, address)| (name.as_str(), address.as_ref())).collect()
            }
        };
        for (name, address) in out {
            names.push(name);
            let address = address.cloned().unwrap_or_else(|| {
                unstaged.outputs.push(name.to_owned());
                format!("obs://staged/out/{name}/")
            });
            job = job.without_output(name).add_output(Output::obs(name, address));
        }
        let repeated = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        match repeated {
            None => Ok((job, unstaged)),
            Some((_, name)) => Err(invalid(
                py,
                format!("two inputs or outputs are named {name}; each must have its own name"),
            )),
        }
    }
}

/// Returns the address if a place is not on this machine. `Path` removes one of the slashes.
pub(crate) fn address(place: &Path) -> Option<String> {
    let rest = place.to_str()?.strip_prefix("obs:/")?;
    Some(format!("obs://{}", rest.trim_start_matches('/')))
}

/// Returns a path that a change of the current directory does not change.
pub(crate) fn full(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn pairs<T>(given: &Option<Pairs<T>>) -> impl Iterator<Item = &(String, T)> {
    given.iter().flat_map(|pairs| &pairs.0)
}
