//! The parameters of the form, in the order of the console of the service.

use modelarts_ext::api::request_path::{
    create_training_job::{
        algorithm::{self, engine},
        metadata,
        spec::{self, log_export_path, resource, schedule_policy},
    },
    input, output, parameter, volume,
};

/// Name of the choice between a preset image, a custom image and a stored algorithm.
pub(super) const MODE: &str = "mode";
/// Name of the field with the settings that the form does not have, as JSON.
pub(super) const OTHER: &str = "other";
/// Name of the field with the id of the draft, which has the dropped files.
pub(super) const DRAFT: &str = "draft";
/// Name of the field with the id of the job whose secrets the form shows as masks.
pub(super) const FROM: &str = "from";
/// Name of the column with the members of an element that the form does not have, as JSON.
pub(super) const EXTRA: &str = "extra";
/// Number of parameters in the form of the service.
#[cfg(test)]
const COUNT: u8 = 32;

/// Source of the code of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// A script, started by an engine of the platform.
    #[default]
    Preset,
    /// An image with a command.
    Custom,
    /// An algorithm that the service stores.
    Stored,
}

impl Mode {
    pub(super) const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Preset, "preset", "Preset image"),
        (Self::Custom, "custom", "Custom image"),
        (Self::Stored, "stored", "My algorithm"),
    ];

    /// Returns the mode with this name; that of a preset image if no mode has it.
    pub(super) fn named(name: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == name);
        found.map(|(mode, ..)| *mode).unwrap_or_default()
    }

    pub(super) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(mode, ..)| *mode == self);
        found.map_or("preset", |(_, name, _)| name)
    }
}

/// Modes that use a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum In {
    All,
    Preset,
    Custom,
    /// Code of the user: a preset or a custom image.
    Own,
    Stored,
}

impl In {
    pub(super) fn has(self, mode: Mode) -> bool {
        match self {
            Self::All => true,
            Self::Preset => mode == Mode::Preset,
            Self::Custom => mode == Mode::Custom,
            Self::Own => mode != Mode::Stored,
            Self::Stored => mode == Mode::Stored,
        }
    }

    /// Returns the class of the style sheet, which hides controls of other modes.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Preset => "of-preset",
            Self::Custom => "of-custom",
            Self::Own => "of-own",
            Self::Stored => "of-stored",
        }
    }
}

/// Kind of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Text of several lines.
    Lines,
    Number,
    /// Fixed values with their labels.
    Choice(&'static [(&'static str, &'static str)]),
    /// The preset images of the service.
    Engine,
    /// The algorithms of the project.
    Algorithm,
    /// The flavors of the service.
    Flavor,
    /// Code: an address in OBS, or dropped files.
    Code,
    /// Data: an address in OBS, or dropped files.
    Data,
}

/// A control of the form, or a column of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    /// Number of the parameter in the form of the service.
    pub(super) number: u8,
    /// Name in the form.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// Path in the body; that of a column is relative to the element. Empty for a control that
    /// only limits the choices of another.
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    pub(super) modes: In,
    /// Limits and default.
    pub(super) help: &'static str,
}

/// Rows that each become an element of a list or of a map in the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Noun of the button that adds a row.
    pub(super) item: &'static str,
    pub(super) path: &'static str,
    pub(super) columns: &'static [Control],
    pub(super) help: &'static str,
}

/// Entry of a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// Choice of the mode.
    Mode,
    Control(Control),
    List(List),
}

/// Group of the form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) items: &'static [Item],
}

const fn one(
    number: u8,
    name: &'static str,
    label: &'static str,
    path: &'static str,
    kind: Kind,
    modes: In,
    help: &'static str,
) -> Item {
    Item::Control(Control {
        number,
        name,
        label,
        path,
        kind,
        modes,
        help,
    })
}

const fn column(
    number: u8,
    name: &'static str,
    label: &'static str,
    path: &'static str,
    kind: Kind,
    help: &'static str,
) -> Control {
    Control {
        number,
        name,
        label,
        path,
        kind,
        modes: In::All,
        help,
    }
}

const PASSED_BY: Kind = Kind::Choice(&[("", "Hyper-parameter"), ("env", "Environment variable")]);
const NO_YES: Kind = Kind::Choice(&[("", "No"), ("true", "Yes")]);

/// All parameters.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    Group { title: "Basic settings", items: &[
        one(1, "name", "Name", metadata::NAME, Kind::Text, In::All,
            "1 to 64 letters, digits, - and _. No other job may have it."),
        one(2, "description", "Description", metadata::DESCRIPTION, Kind::Lines, In::All,
            "Optional, up to 256 characters."),
    ] },
    Group { title: "Algorithm", items: &[
        Item::Mode,
        one(3, "engine", "Preset image", engine::ENGINE_ID, Kind::Engine, In::Preset,
            "Engine that starts the boot file."),
        one(4, "code_dir", "Code directory", algorithm::CODE_DIR, Kind::Code, In::Preset,
            "A directory in OBS, such as obs://bucket/code/, or files from this computer. At most 5 GB, 1,000 files and 32 levels."),
        one(5, "boot_file", "Boot file", algorithm::BOOT_FILE, Kind::Text, In::Preset,
            "Python file in the code directory, such as train.py."),
        one(6, "image", "Custom image", engine::IMAGE_URL, Kind::Text, In::Custom,
            "organization/name:tag, without the registry."),
        one(7, "custom_code_dir", "Code directory of the image", algorithm::CODE_DIR, Kind::Code, In::Custom,
            "Optional. The command finds it in ${MA_JOB_DIR}/NAME, where NAME is the last part of the address."),
        one(8, "run_user", "User ID", engine::RUN_USER, Kind::Number, In::Custom,
            "Default 1000. 1000 to 65535 in the public pool, 0 to 65535 in a dedicated pool."),
        one(9, "command", "Boot command", algorithm::COMMAND, Kind::Text, In::Custom,
            "One line, such as python ${MA_JOB_DIR}/code/train.py; join several commands with ; or &&."),
        one(10, "local_code_dir", "Local code directory", algorithm::LOCAL_CODE_DIR, Kind::Text, In::Own,
            "Directory in the container. Default /home/ma-user/modelarts/user-job-dir."),
        one(11, "working_dir", "Work directory", algorithm::WORKING_DIR, Kind::Text, In::Own,
            "Directory in the container where the job starts: an absolute path. Optional."),
        one(12, "algorithm", "Algorithm", algorithm::ID, Kind::Algorithm, In::Stored,
            "Algorithm of this project, which has its own code and image. A subscribed algorithm needs algorithm.subscription_id and item_version_id in the other settings."),
    ] },
    Group { title: "Inputs, outputs and parameters", items: &[
        Item::List(List { name: "inputs", title: "Inputs", item: "input", path: algorithm::INPUTS,
            help: "The service copies the data into the container before the start. The recommended name is data_url. Either a data path or a data set is needed; the version of a data set is optional on Huawei Cloud only.",
            columns: &[
                column(13, "name", "Name", input::NAME, Kind::Text, "data_url"),
                column(14, "dataset", "Data set", input::remote::dataset::ID, Kind::Text, "id"),
                column(14, "version", "Version", input::remote::dataset::VERSION_ID, Kind::Text, "version id"),
                column(15, "path", "Data path", input::remote::obs::OBS_URL, Kind::Data, "obs://bucket/data/"),
                column(16, "access", "Obtained from", input::ACCESS_METHOD, PASSED_BY, ""),
            ] }),
        Item::List(List { name: "outputs", title: "Outputs", item: "output", path: algorithm::OUTPUTS,
            help: "The service copies the files of the directory to the data path. The recommended name is train_url. The directory in OBS should be empty. Predownload copies its files into the container before the start, to continue a run.",
            columns: &[
                column(17, "name", "Name", output::NAME, Kind::Text, "train_url"),
                column(18, "path", "Data path", output::remote::obs::OBS_URL, Kind::Text, "obs://bucket/out/"),
                column(19, "access", "Obtained from", output::ACCESS_METHOD, PASSED_BY, ""),
                column(20, "predownload", "Predownload", output::PREFETCH_TO_LOCAL, NO_YES, ""),
            ] }),
        Item::List(List { name: "parameters", title: "Hyper-parameters", item: "hyper-parameter", path: algorithm::PARAMETERS,
            help: "The script receives each as --NAME=VALUE. A name has 1 to 64 letters, digits, _ and -.",
            columns: &[
                column(21, "name", "Name", parameter::NAME, Kind::Text, "epochs"),
                column(21, "value", "Value", parameter::VALUE, Kind::Text, "20"),
            ] }),
        Item::List(List { name: "environments", title: "Environment variables", item: "variable", path: algorithm::ENVIRONMENTS,
            help: "A name has letters, digits and _, and does not begin with a digit. A value must not refer to another variable with $.",
            columns: &[
                column(22, "name", "Name", "", Kind::Text, "SEED"),
                column(22, "value", "Value", "", Kind::Text, "1"),
            ] }),
        one(23, "restarts", "Auto restart", "metadata.annotations.fault-tolerance/job-retry-num", Kind::Number, In::All,
            "Number of restarts after a failure: 1 to 3, on Huawei Cloud up to 128. Default: none."),
        one(23, "hang_restart", "Restart a hanging job", "metadata.annotations.fault-tolerance/hang-retry", NO_YES, In::All,
            "Needs a number of restarts. Default: no."),
    ] },
    Group { title: "Resources", items: &[
        one(24, "pool", "Resource pool", resource::POOL_ID, Kind::Text, In::All,
            "Id of a dedicated pool. Default: the public pool."),
        one(25, "resource_type", "Resource type", "", Kind::Choice(&[("", "Any"), ("CPU", "CPU"), ("GPU", "GPU"), ("Ascend", "Ascend (NPU)")]), In::All,
            "Limits the specifications to this type."),
        one(26, "flavor", "Specifications", resource::FLAVOR_ID, Kind::Flavor, In::All,
            "Flavor of each node. A dedicated pool needs a flavor of pools."),
        one(27, "nodes", "Compute nodes", resource::NODE_COUNT, Kind::Number, In::All,
            "Default 1."),
        one(28, "priority", "Job priority", schedule_policy::PRIORITY, Kind::Choice(&[("", "Default"), ("1", "1"), ("2", "2"), ("3", "3 (needs a permission)")]), In::All,
            "1 to 3 in a dedicated pool; 3 is the highest. Default 1."),
        Item::List(List { name: "nfs", title: "SFS Turbo", item: "SFS Turbo mount", path: spec::VOLUMES,
            help: "Dedicated pools only. At most 8 volumes, each file system and each local path once. The local path must not be /, /cache or /home/ma-user/modelarts.",
            columns: &[
                column(29, "source", "Server path", volume::nfs::NFS_SERVER_PATH, Kind::Text, "10.0.0.5:/share"),
                column(29, "local", "Local path", volume::nfs::LOCAL_PATH, Kind::Text, "/mnt/data"),
                column(29, "read_only", "Read-only", volume::nfs::READ_ONLY, NO_YES, ""),
            ] }),
        Item::List(List { name: "pfs", title: "Parallel file systems", item: "parallel file system", path: spec::VOLUMES,
            help: "File systems of OBS, as /FILE-SYSTEM/DIRECTORY.",
            columns: &[
                column(30, "source", "Storage", volume::pfs::PFS_PATH, Kind::Text, "/file-system/data"),
                column(30, "local", "Mount path", volume::pfs::LOCAL_PATH, Kind::Text, "/mnt/pfs"),
            ] }),
        one(31, "log_url", "Persistent log saving", log_export_path::OBS_URL, Kind::Text, In::All,
            "Empty directory in OBS for a copy of the logs, such as obs://bucket/logs/. Default: none; the service keeps logs for 30 days."),
        one(32, "auto_stop", "Auto stop", AUTO_STOP, Kind::Number, In::All,
            "Hours after which the job is stopped: 1 to 72. Default: no limit."),
    ] },
];

/// Path of the hours of auto stop.
pub(super) const AUTO_STOP: &str = "spec.auto_stop.duration";
/// Path of the unit of auto stop.
pub(super) const AUTO_STOP_UNIT: &str = "spec.auto_stop.time_unit";

/// Returns all controls outside lists.
pub(super) fn controls() -> impl Iterator<Item = &'static Control> {
    let items = GROUPS.iter().flat_map(|group| group.items);
    items.filter_map(|item| match item {
        Item::Control(control) => Some(control),
        _ => None,
    })
}

pub(super) fn lists() -> impl Iterator<Item = &'static List> {
    let items = GROUPS.iter().flat_map(|group| group.items);
    items.filter_map(|item| match item {
        Item::List(list) => Some(list),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_all_parameters_in_order() {
        let items = GROUPS.iter().flat_map(|group| group.items);
        let mut numbers: Vec<u8> = items
            .flat_map(|item| match item {
                Item::Mode => Vec::new(),
                Item::Control(control) => vec![control.number],
                Item::List(list) => list.columns.iter().map(|column| column.number).collect(),
            })
            .collect();
        numbers.dedup();
        assert_eq!(numbers, (1..=COUNT).collect::<Vec<_>>());
    }
}
