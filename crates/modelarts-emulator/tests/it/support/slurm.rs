//! Tests on a Slurm cluster: a scenario of `tests/slurm` repeats those that do not depend on the
//! launcher.

use std::path::PathBuf;

use modelarts_emulator::{
    Builder,
    jobs::RunnerKind,
    slurm::{Config, Slurm},
};

/// Variable with a directory that the nodes of the cluster share. If it is set, jobs of the tests
/// run on the cluster of `SLURM_CONF`.
pub(crate) const SHARED: &str = "MODELARTS_TEST_SLURM";

/// Options of jobs: nodes of a test cluster are small.
const CONFIG: &str = r#"
[flavors."modelarts.vm.cpu.8u"]
cpus-per-task = 1
mem = "50M"

[flavors."modelarts.p3.large.public"]
cpus-per-task = 1
mem = "50M"
gres = "gpu:1"
"#;

/// Returns a builder that runs jobs on the cluster, if there is one, with the shared directory.
pub(super) fn on_cluster(builder: Builder) -> (Builder, Option<PathBuf>) {
    let Some(shared) = std::env::var_os(SHARED) else {
        return (builder, None);
    };
    // The directories of one emulator must not be those of another.
    let directory = tempfile::tempdir_in(shared).unwrap().keep();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_modelarts-emulator"));
    let slurm = Slurm::new(&directory).program(program);
    let slurm = slurm.config(Config::from_toml(CONFIG).unwrap());
    (builder.runner(RunnerKind::Slurm(slurm)), Some(directory))
}
