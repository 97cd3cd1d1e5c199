//! Configuration of the launcher: the options of `sbatch` for flavors, pools and priorities.

use std::{collections::BTreeMap, env, ffi::OsString, net::SocketAddr, path::Path, sync::Arc};

use serde::Deserialize;

use crate::{
    catalog::flavors::Flavor, job::request::JobRequest,
    runner::process::image_command::ImageCommand,
};

/// Options of `sbatch` for the jobs of an emulator, as an operator of the cluster defines them.
///
/// The options of a job are the options in `default`, overridden by those of its flavor, its pool
/// and its priority, in this order. A flavor without an entry requests its CPU cores, memory and
/// accelerator cards.
///
/// ```
/// use modelarts_emulator::slurm::Config;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::from_toml(
///     r#"
///     account = "lab"
///
///     [flavors."modelarts.vm.cpu.8u"]
///     cpus-per-task = 2
///     mem = "4G"
///
///     [pools.pool-gpu]
///     partition = "gpu"
///     "#,
/// )?;
/// # let _ = config;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    account: Option<OptionValue>,
    pub(super) image: Option<ImageCommand>,
    /// Commands of a shell before each job, such as `module load cuda`.
    #[serde(default)]
    prologue: String,
    /// Names of variables of the emulator that jobs get as well.
    #[serde(default)]
    environment: Vec<String>,
    /// Address of a network of the cluster on which the emulator serves OBS to its jobs.
    pub(crate) obs_listen: Option<SocketAddr>,
    #[serde(default)]
    default: Options,
    #[serde(default)]
    flavors: BTreeMap<String, Options>,
    #[serde(default)]
    pools: BTreeMap<String, Options>,
    #[serde(default)]
    priorities: BTreeMap<String, Options>,
}

/// Error of a launcher configuration. The text names the line or the key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

type Options = BTreeMap<String, OptionValue>;

/// Options of `sbatch` that can be set.
const OPTIONS: [&str; 9] =
    ["partition", "qos", "reservation", "constraint", CPUS, "mem", "gres", "comment", TIME];
const CPUS: &str = "cpus-per-task";
/// Maximum time in minutes.
const TIME: &str = "time";
/// Time in minutes for which nodes are requested in addition to the maximum running duration of a
/// job, for the copies before and after its code.
const COPY_MINUTES: u32 = 30;
/// Variables of the emulator with which batch scripts start: those without which neither Slurm nor
/// a shell works.
const BASE_VARIABLES: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "SLURM_JWT"];

/// Value of an option: a number, or a non-empty text without control characters.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Given")]
struct OptionValue(String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "the value of an option must be a text or a whole number")]
enum Given {
    Number(u32),
    Text(String),
}

impl OptionValue {
    fn minutes(&self) -> Option<u32> {
        self.0.parse().ok().filter(|minutes| *minutes > 0)
    }
}

impl TryFrom<Given> for OptionValue {
    type Error = &'static str;

    fn try_from(given: Given) -> Result<Self, Self::Error> {
        match given {
            Given::Number(number) => Ok(Self(number.to_string())),
            Given::Text(text) if text.is_empty() || text.contains(char::is_control) => {
                Err("the value of an option must be a text on one line that is not empty")
            }
            Given::Text(text) => Ok(Self(text)),
        }
    }
}

impl Config {
    /// Parses a configuration.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, or has an unknown key or a wrong value.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let config: Self =
            toml_edit::de::from_str(text).map_err(|error| ConfigError(error.to_string()))?;
        for flavor in config.flavors.keys() {
            if Flavor::find(flavor).is_none() {
                let text = "must be a flavor of the emulator, as `modelarts flavors` lists them";
                return Err(ConfigError(format!("flavors.\"{flavor}\" {text}")));
            }
        }
        let tables = [
            ("flavors", &config.flavors),
            ("pools", &config.pools),
            ("priorities", &config.priorities),
        ];
        let tables = tables.into_iter().flat_map(|(kind, tables)| {
            tables.iter().map(move |(name, table)| (format!("{kind}.\"{name}\""), table))
        });
        for (table, options) in tables.chain([("default".to_owned(), &config.default)]) {
            if let Some(name) = options.keys().find(|name| !OPTIONS.contains(&name.as_str())) {
                let names = OPTIONS.join(", ");
                return Err(ConfigError(format!("{table}: {name} must be one of {names}")));
            }
            if options.get(TIME).is_some_and(|time| time.minutes().is_none()) {
                let text = "time must be a number of minutes, such as 1440";
                return Err(ConfigError(format!("{table}: {text}")));
            }
        }
        if config.obs_listen.is_some_and(|address| address.ip().is_unspecified()) {
            let text = "obs-listen must be an address that the nodes reach, such as 10.0.0.5:8081";
            return Err(ConfigError(text.to_owned()));
        }
        for priority in config.priorities.keys() {
            if !["1", "2", "3"].contains(&priority.as_str()) {
                return Err(ConfigError(format!("priorities.{priority} must be 1, 2 or 3")));
            }
        }
        Ok(config)
    }

    /// Returns the options of `sbatch` for a job, with values of the configuration and of the
    /// catalogue, and numbers of the request. Roles, each with its hardware, are separated by a colon.
    pub(super) fn arguments(&self, job: &Arc<JobRequest>, priority: i64) -> Vec<String> {
        let mut arguments = Vec::new();
        for role in job.role_requests() {
            if !arguments.is_empty() {
                arguments.push(":".to_owned());
            }
            let nodes = role.indexes().count();
            arguments.extend([
                format!("--nodes={nodes}"),
                format!("--ntasks={nodes}"),
                "--ntasks-per-node=1".to_owned(),
            ]);
            let mut options = self.options(role, priority);
            if let Some(hours) = job.auto_stop_hours {
                let wanted = hours.saturating_mul(60).saturating_add(COPY_MINUTES);
                let most = options.get(TIME).and_then(OptionValue::minutes);
                let minutes = most.map_or(wanted, |most| most.min(wanted));
                options.insert(TIME.to_owned(), OptionValue(minutes.to_string()));
            }
            arguments.extend(options.iter().map(|(name, value)| format!("--{name}={}", value.0)));
        }
        arguments
    }

    /// Returns the command line of `srun`, which starts `program` as a worker of each role.
    pub(super) fn srun(
        &self,
        job: &Arc<JobRequest>,
        program: &Path,
        directory: &Path,
    ) -> Vec<String> {
        let common = ["--kill-on-bad-exit=1", "--mpi=none", "--export=ALL"];
        let mut words: Vec<String> = common.map(str::to_owned).into();
        let roles = job.role_requests();
        for (at, role) in roles.iter().enumerate() {
            if at > 0 {
                words.push(":".to_owned());
            }
            if roles.len() > 1 {
                words.push(format!("--het-group={at}"));
            }
            // Since 22.05, `srun` does not take this option of its job.
            if let Some(cores) = self.options(role, 0).get(CPUS) {
                words.push(format!("--cpus-per-task={}", cores.0));
            }
            let paths = [program, directory].map(|path| path.to_string_lossy().into_owned());
            let [program, directory] = paths;
            words.extend([program, "worker".to_owned(), directory]);
        }
        words
    }

    /// Returns the batch script of a job, which contains no value of its request.
    pub(super) fn script(&self, program: &Path, arguments: &[&str]) -> String {
        let mut words = vec![program.to_string_lossy()];
        words.extend(arguments.iter().map(|word| (*word).into()));
        let words = words.iter().map(|word| shlex::try_quote(word).unwrap_or_default());
        let words = words.collect::<Vec<_>>().join(" ");
        format!("#!/bin/bash\n{}\nexec {words}\n", self.prologue)
    }

    /// Returns the environment of `sbatch`, which is that of the script.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let is_given = |name: &str| {
            BASE_VARIABLES.contains(&name)
                || self.environment.iter().any(|given| given == name || given == "*")
        };
        let all = env::vars_os();
        all.filter(|(name, _)| name.to_str().is_some_and(is_given)).collect()
    }

    /// Returns the properties of a waiting job that depend on its priority, such as `QOS=high`.
    pub(super) fn changes(&self, request: &JobRequest, priority: i64) -> Vec<String> {
        let options = self.options(request, priority);
        let names = [("partition", "Partition"), ("qos", "QOS")];
        let changes = names.into_iter().filter_map(|(option, name)| {
            let value = options.get(option)?;
            Some(format!("{name}={}", value.0))
        });
        changes.collect()
    }

    fn options(&self, request: &JobRequest, priority: i64) -> Options {
        let mut options = self.default.clone();
        options.extend(self.account.clone().map(|account| ("account".to_owned(), account)));
        let flavor = request.flavor_id.as_deref();
        options.extend(match flavor.and_then(|flavor| self.flavors.get(flavor)) {
            Some(own) => own.clone(),
            None => request.flavor().map(hardware).unwrap_or_default(),
        });
        let pool = request.pool_id.as_deref();
        let pool = pool.and_then(|pool| self.pools.get(pool));
        let priority = self.priorities.get(&priority.to_string());
        for own in [pool, priority].into_iter().flatten() {
            options.extend(own.clone());
        }
        options
    }
}

fn hardware(flavor: &Flavor) -> Options {
    let (cores, memory_gb) = flavor.size();
    let mut options = Options::from([
        (CPUS.to_owned(), OptionValue(cores.to_string())),
        ("mem".to_owned(), OptionValue(format!("{memory_gb}G"))),
    ]);
    if flavor.cards() > 0 {
        let cards = format!("gpu:{}", flavor.cards());
        options.insert("gres".to_owned(), OptionValue(cards));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(flavor: &str, pool: Option<&str>) -> Arc<JobRequest> {
        Arc::new(JobRequest {
            flavor_id: Some(flavor.to_owned()),
            pool_id: pool.map(str::to_owned),
            node_count: 1,
            ..JobRequest::default()
        })
    }

    #[test]
    fn the_example_is_a_configuration() {
        let config = Config::from_toml(include_str!("../../examples/launcher.toml")).unwrap();
        let arguments = config.arguments(&request("modelarts.vm.cpu.8u", Some("pool-gpu")), 3);
        assert_eq!(
            arguments.join(" "),
            "--nodes=1 --ntasks=1 --ntasks-per-node=1 --account=lab --comment=modelarts \
             --cpus-per-task=4 --mem=8G \
             --partition=gpu --qos=high --time=2880"
        );
    }

    #[test]
    fn a_flavor_requests_its_hardware() {
        let config = Config::default();
        let arguments = config.arguments(&request("modelarts.vm.cpu.8u", None), 1);
        assert_eq!(arguments[3..], ["--cpus-per-task=8", "--mem=32G"]);
        let arguments = config.arguments(&request("modelarts.pool.visual.2xlarge", None), 1);
        assert_eq!(arguments[3..], ["--cpus-per-task=16", "--gres=gpu:2", "--mem=128G"]);
    }

    #[test]
    fn later_tables_override_earlier_ones() {
        let config = Config::from_toml(
            r#"
            account = "lab"
            [default]
            partition = "batch"
            qos = "low"
            [flavors."modelarts.vm.cpu.8u"]
            cpus-per-task = 2
            [pools.fast]
            partition = "fast"
            [priorities.3]
            qos = "high"
            "#,
        )
        .unwrap();
        let arguments = |pool, priority| {
            config.arguments(&request("modelarts.vm.cpu.8u", pool), priority)[3..].join(" ")
        };
        assert_eq!(
            arguments(None, 1),
            "--account=lab --cpus-per-task=2 --partition=batch --qos=low"
        );
        assert_eq!(
            arguments(Some("fast"), 3),
            "--account=lab --cpus-per-task=2 --partition=fast --qos=high"
        );
        let changes = config.changes(&request("modelarts.vm.cpu.8u", Some("fast")), 3);
        assert_eq!(changes, ["Partition=fast", "QOS=high"]);
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        for (text, expected) in [
            ("accuont = \"lab\"", "unknown field `accuont`"),
            ("[default]\nqos = \"\"", "must be a text on one line that is not empty"),
            ("[default]\nmem = true", "must be a text or a whole number"),
            ("image = \"apptainer exec {image}\"", "must be a program followed by {command}"),
            ("[default", "line 1"),
        ] {
            let error = Config::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.contains("line "), "{text}: {error}");
        }
        for (text, expected) in [
            ("[flavors.\"modelarts.vm.cpu.8U\"]", "must be a flavor"),
            ("[priorities.7]", "priorities.7 must be 1, 2 or 3"),
            ("obs-listen = \"0.0.0.0:8081\"", "obs-listen must be an address that the nodes reach"),
            ("[default]\nnodes = 3", "default: nodes must be one of partition"),
            ("[pools.a]\ntime = \"1-00\"", "pools.\"a\": time must be a number of minutes"),
        ] {
            let error = Config::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
