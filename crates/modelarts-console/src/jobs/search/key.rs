//! `Key`: the conditions that a search may have.

/// Condition of a search. The service offers no other conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Name,
    Phase,
    Mine,
    User,
    Created,
    Pool,
    Tag,
    Algorithm,
    Id,
    Kind,
    Runtime,
    Priority,
    Experiment,
    Host,
    Workspace,
}

pub(crate) struct KeyHelp {
    pub(crate) key: Key,
    /// Name of the key, before the colon.
    pub(crate) name: &'static str,
    /// Description of the jobs that match the condition.
    pub(crate) finds: &'static str,
    pub(crate) example: &'static str,
}

const fn help(key: Key, name: &'static str, example: &'static str, finds: &'static str) -> KeyHelp {
    KeyHelp { key, name, finds, example }
}

/// All keys, in the order of the help.
pub(crate) const KEYS: [KeyHelp; 15] = [
    help(Key::Name, "name", "name:bert", "The name contains this text. The key may be omitted."),
    help(Key::Phase, "phase", "phase:Running,Pending", "The job is in one of these phases."),
    help(Key::Mine, "mine", "mine", "The job was created by the user of these credentials."),
    help(
        Key::User,
        "user",
        "user:4b0e7ec1d8a84ff0b8a1e0dd39c0f6a2",
        "The job was created by the user with this IAM id. Few releases of the service accept a \
         name.",
    ),
    help(
        Key::Created,
        "created",
        "created:7d",
        "The job was created since then, on this day, or in this range (2026-01-01..2026-01-31) of \
         at most 31 days.",
    ),
    help(Key::Pool, "pool", "pool:pool-7a1b", "The job runs in the dedicated pool with this id."),
    help(
        Key::Tag,
        "tag",
        "tag:team=nlp",
        "The job has this tag, with this value or with any. Without created, the service searches \
         the last 31 days.",
    ),
    help(
        Key::Algorithm,
        "algorithm",
        "algorithm:resnet",
        "The name of the algorithm contains this text.",
    ),
    help(Key::Id, "id", "id:cf63aba9-63b1-4219-b717-708a2665100b", "The job has one of these ids."),
    help(Key::Kind, "kind", "kind:visualization_job", "The job is of this kind."),
    help(Key::Runtime, "runtime", "runtime:debug", "The job has this runtime type."),
    help(Key::Priority, "priority", "priority:3", "The job has this priority in its pool, 1 to 3."),
    help(
        Key::Experiment,
        "experiment",
        "experiment:0f3a",
        "The job belongs to the experiment with this id.",
    ),
    help(
        Key::Host,
        "host",
        "host:192.168.0.7",
        "The job ran on the host with this address. Without created, the service searches the last \
         31 days.",
    ),
    help(
        Key::Workspace,
        "workspace",
        "workspace:0",
        "The job is in the workspace with this id; otherwise in the default one.",
    ),
];

impl Key {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut keys = KEYS.iter();
        keys.find(|help| help.name == name).map(|help| help.key)
    }

    pub(crate) fn help(self) -> &'static KeyHelp {
        let mut keys = KEYS.iter();
        // Every key has a row, so the default is never used.
        keys.find(|help| help.key == self).unwrap_or(&KEYS[0])
    }

    /// Returns `true` if the value may be a comma-separated list.
    pub(crate) fn has_list(self) -> bool {
        !matches!(self, Self::Name | Self::Algorithm | Self::Created | Self::Workspace | Self::Mine)
    }

    /// Returns `true` if a search may have the condition only once.
    pub(crate) fn is_single(self) -> bool {
        matches!(self, Self::Created | Self::Workspace)
    }
}
