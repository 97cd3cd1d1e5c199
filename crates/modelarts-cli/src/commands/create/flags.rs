//! `JobFlags`: the flags that describe a job, of `submit`, `run` and `check`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::commands::{
    create::values::{Channel, DataSet, Mount, Pair, Topic, Variable},
    jobs::{time_span, whole_number},
};

/// The description of a job. Flags take precedence over the file, and `--set` over both.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobFlags {
    /// Script to run: a Python file here, whose directory is sent as the code, or
    /// obs://BUCKET/CODE/train.py; or the code directory, with --boot-file or --command.
    #[arg(
        value_name = "SCRIPT",
        required_unless_present_any = ["file", "command", "algorithm", "code_dir"]
    )]
    pub(crate) script: Option<String>,
    /// Hyper-parameters in the form in which the script takes them: -- --epochs 20 --lr=0.1.
    #[arg(last = true, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) script_arguments: Vec<String>,
    /// Job in YAML or JSON, in the form of a request body; - reads stdin.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Field of the request body: spec.resource.node_count=4; may be repeated.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Pair>,
    /// Name of the job. Default: the name of the script with four random characters.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Description of the job.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Code directory, if it is not that of the script: a directory here, or obs://BUCKET/CODE/.
    #[arg(long, value_name = "DIR", help_heading = "Code")]
    pub(crate) code_dir: Option<String>,
    /// Script to start, if SCRIPT is the code directory: a path in it.
    #[arg(long, value_name = "PATH", help_heading = "Code")]
    pub(crate) boot_file: Option<String>,
    /// Preset image: NAME:VERSION, or the id of an engine. Default: the newest PyTorch; `modelarts
    /// engines` lists all.
    #[arg(long, value_name = "ENGINE", help_heading = "Code")]
    pub(crate) engine: Option<String>,
    /// Custom image: ORGANIZATION/IMAGE:TAG.
    #[arg(long, value_name = "IMAGE", help_heading = "Code")]
    pub(crate) image: Option<String>,
    /// Command of a custom image, in one line.
    #[arg(long, value_name = "COMMAND", help_heading = "Code")]
    pub(crate) command: Option<String>,
    /// Algorithm of the service, by its id.
    #[arg(long, value_name = "ID", help_heading = "Code")]
    pub(crate) algorithm: Option<String>,
    /// User id of a custom image.
    #[arg(long, value_name = "UID", value_parser = whole_number::<u32>, help_heading = "Code")]
    pub(crate) run_user: Option<u32>,
    /// Directory in the container for the code.
    #[arg(long, value_name = "PATH", help_heading = "Code")]
    pub(crate) local_code_dir: Option<String>,
    /// Working directory of the command in the container.
    #[arg(long, value_name = "PATH", help_heading = "Code")]
    pub(crate) working_dir: Option<String>,
    /// Hyper-parameter: epochs=20; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", help_heading = "Code")]
    pub(crate) param: Vec<Pair>,
    /// Environment variable: SEED=1, or API_KEY for its value here; may be repeated.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Code")]
    pub(crate) env: Vec<Variable>,

    /// Input: a directory here, or obs://BUCKET/DIR/; NAME is data_url by default; may be repeated.
    #[arg(long, value_name = "[NAME=]DIR", help_heading = "Data")]
    pub(crate) data: Vec<Channel>,
    /// Input from a data set of the service; may be repeated.
    #[arg(long, value_name = "NAME=ID[:VERSION]", help_heading = "Data")]
    pub(crate) dataset: Vec<DataSet>,
    /// Output: train_url is the recommended name; its address is new unless one is given; may be
    /// repeated.
    #[arg(long, value_name = "NAME[=obs://BUCKET/DIR/]", help_heading = "Data")]
    pub(crate) out: Vec<String>,
    /// Inputs and outputs whose directory the script finds in a variable of their name, not in an
    /// argument.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        help_heading = "Data"
    )]
    pub(crate) pass_by_env: Vec<String>,
    /// Outputs whose files are copied into the container before the start, to continue a run.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        help_heading = "Data"
    )]
    pub(crate) predownload: Vec<String>,
    /// Mounted file system: SERVER:/SHARE:/PATH, pfs://FILE-SYSTEM/DIR:/PATH or
    /// obs://BUCKET/DIR:/PATH; :ro at the end makes it read-only; may be repeated.
    #[arg(long, value_name = "SOURCE:PATH", help_heading = "Data")]
    pub(crate) volume: Vec<Mount>,
    /// Bucket for code, data and outputs. Default: that of the context, or MODELARTS_OBS_BUCKET.
    #[arg(long, value_name = "BUCKET", help_heading = "Data")]
    pub(crate) bucket: Option<String>,

    /// Flavor of the nodes. Default: that of the context; `modelarts flavors` lists all.
    #[arg(long, value_name = "FLAVOR", help_heading = "Resources")]
    pub(crate) flavor: Option<String>,
    /// Dedicated pool. Default: that of the context, or the public pool.
    #[arg(long, value_name = "ID", help_heading = "Resources")]
    pub(crate) pool: Option<String>,
    /// Number of nodes. Default: 1.
    #[arg(
        long,
        value_name = "NODES",
        value_parser = whole_number::<u32>,
        help_heading = "Resources"
    )]
    pub(crate) nodes: Option<u32>,
    /// Priority in a dedicated pool: 1 to 3.
    #[arg(
        long,
        value_name = "PRIORITY",
        value_parser = whole_number::<u8>,
        help_heading = "Resources"
    )]
    pub(crate) priority: Option<u8>,

    /// Stops the job after this time: 1h to 72h, whole hours.
    #[arg(long, value_name = "TIME", value_parser = time_span, help_heading = "Run")]
    pub(crate) auto_stop: Option<Duration>,
    /// Number of automatic restarts after a failure. Default: 0.
    #[arg(long, value_name = "TIMES", value_parser = whole_number::<u32>, help_heading = "Run")]
    pub(crate) restarts: Option<u32>,
    /// Address for a copy of the logs: obs://BUCKET/DIR/.
    #[arg(long, value_name = "ADDRESS", help_heading = "Run")]
    pub(crate) log_url: Option<String>,
    /// Topic for messages about the job, urn:smn:REGION:PROJECT_ID:TOPIC, with the events;
    /// JobCompleted, JobFailed and JobTerminated if none are given.
    #[arg(long, value_name = "URN[=EVENTS]", help_heading = "Run")]
    pub(crate) notify: Option<Topic>,
    /// Experiment of the job, by its id.
    #[arg(long, value_name = "ID", help_heading = "Run")]
    pub(crate) experiment: Option<String>,
    /// Workspace of the job. Default: 0.
    #[arg(long, value_name = "ID", help_heading = "Run")]
    pub(crate) workspace: Option<String>,
}
