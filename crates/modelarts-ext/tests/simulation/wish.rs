//! Jobs that users ask for, and the comparison with what the service has executed and with what the
//! client returns. The comparison reads JSON, and uses no function of the client.

use modelarts_ext::CreateJob;

use crate::prelude::*;

/// The settings of a job that users choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) workspace: String,
    pub(crate) description: String,
    rate: Option<String>,
    nodes: u64,
    flavor: String,
    image: String,
    command: String,
    mode: Option<String>,
    output: Option<String>,
}

const FLAVORS: [&str; 2] = ["modelarts.vm.cpu.8u", "modelarts.vm.cpu.2u"];
const IMAGES: [&str; 2] = ["org/image:1", "org/image:2"];
const COMMANDS: [&str; 2] = ["run", "run --all"];
/// Names of the workspaces. The first is that of jobs without a workspace.
pub(crate) const WORKSPACES: [&str; 2] = ["0", "w"];

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

impl Wish {
    /// Returns a random job, whose name is its kind and `suffix`.
    pub(crate) fn draw(rng: &mut Rng, suffix: &str) -> Self {
        let kind = one(rng, &KINDS);
        let mut wish = Self {
            name: format!("{kind}-{suffix}"),
            workspace: WORKSPACES[usize::from(rng.u8(..4) == 0)].to_owned(),
            description: String::new(),
            rate: None,
            nodes: 1,
            flavor: FLAVORS[0].to_owned(),
            image: IMAGES[0].to_owned(),
            command: COMMANDS[0].to_owned(),
            mode: None,
            output: None,
        };
        for _ in 0..rng.u8(..6) {
            wish.change(rng);
        }
        wish
    }

    /// Changes one setting at random, or none.
    pub(crate) fn change(&mut self, rng: &mut Rng) {
        match rng.u8(..8) {
            0 => self.description = one(rng, &["", "first", "second"]).to_owned(),
            1 => self.rate = owned(one(rng, &[None, Some("0.1"), Some("0.01")])),
            2 => (self.nodes, self.flavor) = (rng.u64(1..3), FLAVORS[0].to_owned()),
            3 => (self.nodes, self.flavor) = (1, one(rng, &FLAVORS).to_owned()),
            4 => self.image = one(rng, &IMAGES).to_owned(),
            5 => self.command = one(rng, &COMMANDS).to_owned(),
            6 => self.mode = owned(one(rng, &[None, Some("quick"), Some("slow")])),
            _ => {
                self.output = owned(one(rng, &[None, Some("/bucket/out/"), Some("/bucket/other/")]))
            }
        }
    }

    pub(crate) fn request(&self, client: &Client) -> CreateJob {
        let mut job = client
            .training_jobs()
            .create(&self.name)
            .custom_image(&self.image)
            .command(&self.command)
            .flavor(&self.flavor)
            .nodes(u32::try_from(self.nodes).unwrap_or(1));
        if self.workspace != WORKSPACES[0] {
            job = job.workspace(&self.workspace);
        }
        if !self.description.is_empty() {
            job = job.description(&self.description);
        }
        if let Some(rate) = &self.rate {
            job = job.parameter("rate", rate);
        }
        if let Some(mode) = &self.mode {
            job = job.env("MODE", mode);
        }
        if let Some(output) = &self.output {
            job = job.output("out", format!("obs:/{output}"));
        }
        job
    }

    /// Reads the settings from a request or from the details of a job.
    pub(crate) fn read(job: &Value) -> Self {
        let text = |path: &str| job.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let parameters = job["algorithm"]["parameters"].as_array();
        let mut parameters = parameters.into_iter().flatten();
        let rate = parameters.find(|one| one["name"] == "rate");
        let output = text("/algorithm/outputs/0/remote/obs/obs_url");
        Self {
            name: text("/metadata/name").unwrap_or_default(),
            workspace: text("/metadata/workspace_id").unwrap_or_else(|| WORKSPACES[0].to_owned()),
            description: text("/metadata/description").unwrap_or_default(),
            rate: owned(rate.and_then(|rate| rate["value"].as_str())),
            nodes: job["spec"]["resource"]["node_count"].as_u64().unwrap_or(0),
            flavor: text("/spec/resource/flavor_id").unwrap_or_default(),
            image: text("/algorithm/engine/image_url").unwrap_or_default(),
            command: text("/algorithm/command").unwrap_or_default(),
            mode: text("/algorithm/environments/MODE"),
            output: output.map(|path| path.trim_start_matches("obs:/").to_owned()),
        }
    }

    /// Returns true if the job has the name and workspace of this one.
    pub(crate) fn is_named_as(&self, other: &Self) -> bool {
        (&self.name, &self.workspace) == (&other.name, &other.workspace)
    }

    /// Returns the differences to another job, apart from the description, which users change.
    pub(crate) fn differences(&self, other: &Self) -> Option<String> {
        let mut other = other.clone();
        other.description.clone_from(&self.description);
        (*self != other).then(|| format!("{other:?} instead of {self:?}"))
    }
}
