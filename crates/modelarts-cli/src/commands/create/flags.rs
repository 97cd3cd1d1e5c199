//! `JobFlags`: the flags of `submit`, `run` and `check` that describe a job.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use modelarts_console::parameters::{Flag, Method, Parameter, parameters};
use modelarts_ext::CreateJob;
use modelarts_obs::staging::DataVersioning;

use crate::commands::{
    create::values::{Channel, DataSet, Mount, Pair, Topic, Variable},
    jobs::{time_span, whole_number},
};

/// Handling of local data that has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataVersionFlag {
    /// Makes a new version of a directory of up to 5,000 files and 2 GB; a larger one is not
    /// versioned.
    #[default]
    Auto,
    /// Makes a new version of a directory of any size.
    New,
}

impl From<DataVersionFlag> for DataVersioning {
    fn from(flag: DataVersionFlag) -> Self {
        match flag {
            DataVersionFlag::Auto => Self::Auto,
            DataVersionFlag::New => Self::New,
        }
    }
}

/// Headings of the flags of the parameter table, in order. Flags without a heading come first.
const HEADINGS: [&str; 4] = ["", "Code", "Resources", "Run"];

/// Description of a job. Flags take precedence over the file, and `--set` over both.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobFlags {
    /// Script to run: a Python file on this machine, whose directory is sent as the code, or
    /// obs://BUCKET/CODE/train.py; or the code directory, with --boot-file or --command.
    #[arg(
        value_name = "SCRIPT",
        required_unless_present_any = ["file", "from", "command", "algorithm", "code_dir"]
    )]
    pub(crate) script: Option<String>,
    /// Hyper-parameters in the form in which the script takes them: -- --epochs 20 --lr=0.1.
    #[arg(last = true, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) script_arguments: Vec<String>,
    /// Job in YAML or JSON, in the form of a request body; - reads stdin. Relative paths of code and
    /// inputs are local directories. `modelarts init` writes a file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Job with the settings to begin with: code, data, hyper-parameters and resources are those of
    /// this job unless they are given; outputs get new addresses, and the name is new.
    #[arg(long, value_name = "JOB", conflicts_with = "file")]
    pub(crate) from: Option<String>,
    /// Field of the request body: spec.resource.node_count=4; may be repeated.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Pair>,

    /// Code directory, if not that of the script: a local directory, or obs://BUCKET/CODE/.
    #[arg(long, value_name = "DIR", help_heading = "Code")]
    pub(crate) code_dir: Option<String>,
    /// Script to start, if SCRIPT is the code directory: a path in it.
    #[arg(long, value_name = "PATH", help_heading = "Code")]
    pub(crate) boot_file: Option<String>,
    /// Hyper-parameter: epochs=20; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", help_heading = "Code", display_order = 200)]
    pub(crate) param: Vec<Pair>,
    /// Environment variable: SEED=1, or API_KEY to take its local value; may be repeated.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Code", display_order = 201)]
    pub(crate) env: Vec<Variable>,

    /// Input: a local directory or obs://BUCKET/DIR/; NAME is data_url by default; may be repeated.
    #[arg(long, value_name = "[NAME=]DIR", help_heading = "Data")]
    pub(crate) data: Vec<Channel>,
    /// Version of local data that has changed.
    #[arg(long, value_enum, default_value_t, value_name = "VERSION", help_heading = "Data")]
    pub(crate) data_version: DataVersionFlag,
    /// Input from a data set of the service; may be repeated.
    #[arg(long, value_name = "NAME=ID[:VERSION]", help_heading = "Data")]
    pub(crate) dataset: Vec<DataSet>,
    /// Output: train_url is the recommended name; its address is new unless one is given; may be
    /// repeated.
    #[arg(long, value_name = "NAME[=obs://BUCKET/DIR/]", help_heading = "Data")]
    pub(crate) out: Vec<String>,
    /// Inputs and outputs whose directories the script receives as environment variables with their
    /// names, not as arguments.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", help_heading = "Data")]
    pub(crate) pass_by_env: Vec<String>,
    /// Outputs whose files are copied into the container before the start, to continue a run.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", help_heading = "Data")]
    pub(crate) predownload: Vec<String>,
    /// Mounted file system: SERVER:/SHARE:/PATH, pfs://FILE-SYSTEM/DIR:/PATH or
    /// obs://BUCKET/DIR:/PATH; :ro at the end makes SFS Turbo read-only; may be repeated.
    #[arg(long, value_name = "SOURCE:PATH", help_heading = "Data")]
    pub(crate) volume: Vec<Mount>,
    /// Bucket for code, data and outputs. Default: that of the context, or MODELARTS_OBS_BUCKET.
    #[arg(long, value_name = "BUCKET", help_heading = "Data")]
    pub(crate) bucket: Option<String>,

    // Flags of the parameter table. Their headings follow the headings above.
    #[command(flatten)]
    pub(crate) parameters: ParameterFlags,
    /// Restarts a job that hangs; needs --restarts.
    #[arg(long, help_heading = "Run")]
    pub(crate) hang_retry: bool,
    /// Restarts the job after a failure of any kind, at most three times in succession.
    #[arg(long, help_heading = "Run")]
    pub(crate) unconditional_retry: bool,
    /// Topic for notifications about the job, urn:smn:REGION:PROJECT_ID:TOPIC, with a list of
    /// events; by default, JobCompleted, JobFailed and JobTerminated.
    #[arg(long, value_name = "URN[=EVENTS]", help_heading = "Run")]
    pub(crate) notify: Option<Topic>,
}

/// Flags of the parameter table with their values, as texts that the types of the flags accept.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParameterFlags(Vec<(&'static Parameter, String)>);

impl ParameterFlags {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let (_, text) = self.0.iter().find(|(parameter, _)| parameter.name == name)?;
        Some(text)
    }

    pub(crate) fn set(&self, mut job: CreateJob) -> Result<CreateJob, String> {
        for (parameter, text) in &self.0 {
            job = match parameter.method() {
                None => job,
                Some(Method::Text(set)) => set(job, text.clone()),
                Some(Method::Number(set)) => set(job, whole_number(text)?),
                Some(Method::SmallNumber(set)) => set(job, whole_number(text)?),
                Some(Method::Time(set)) => set(job, time_span(text)?),
            };
        }
        Ok(job)
    }
}

/// Returns the flags of the parameter table in the order of their headings.
fn table() -> impl Iterator<Item = (&'static Parameter, &'static Flag)> {
    HEADINGS.iter().flat_map(|heading| {
        let flags = parameters().filter_map(|it| Some((it, it.flag.as_ref()?)));
        flags.filter(|(_, flag)| flag.heading == *heading)
    })
}

/// Returns the value of a flag, or an error if the type of the flag does not accept the value.
fn checked(parameter: &Parameter, text: &str) -> Result<String, String> {
    match parameter.method() {
        Some(Method::Number(_)) => whole_number::<u32>(text).map(drop)?,
        Some(Method::SmallNumber(_)) => whole_number::<u8>(text).map(drop)?,
        Some(Method::Time(_)) => time_span(text).map(drop)?,
        None | Some(Method::Text(_)) => {}
    }
    Ok(text.to_owned())
}

impl Args for ParameterFlags {
    fn augment_args(command: Command) -> Command {
        let flags = table().map(|(parameter, flag)| {
            let argument = Arg::new(parameter.name)
                .long(flag.name.trim_start_matches('-'))
                .value_name(flag.value)
                .value_parser(move |text: &str| checked(parameter, text))
                .help(flag.help);
            match flag.heading {
                "" => argument,
                heading => argument.help_heading(heading),
            }
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParameterFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = table().filter_map(|(parameter, _)| {
            Some((parameter, matches.get_one::<String>(parameter.name)?.clone()))
        });
        Ok(Self(values.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
