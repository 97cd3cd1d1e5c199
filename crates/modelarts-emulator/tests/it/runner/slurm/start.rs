//! Refusals and warnings when the program starts.

use std::{fs, process::Stdio};

use crate::{runner::slurm::Cluster, support::program};

impl Cluster {
    /// Starts the program, which must refuse to run with exit code 1, and returns its message.
    /// Commands other than the stand-ins are not on its `PATH`.
    async fn refusal(&self, flags: &[&str]) -> String {
        let mut command = program::command(self.place.path(), flags);
        command.env("PATH", self.bin("")).stdin(Stdio::null());
        let output = command.output().await.unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(output.stdout, b"", "{message}");
        message
    }

    /// Like [`Self::refusal`], with the flags of this cluster.
    async fn start_error(&self) -> String {
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        self.refusal(&flags).await
    }
}

#[tokio::test]
async fn a_missing_command_of_slurm_is_named_at_the_start() {
    for name in ["sbatch", "squeue", "scancel", "scontrol"] {
        let cluster = Cluster::new();
        fs::remove_file(cluster.bin(name)).unwrap();
        assert_eq!(
            cluster.start_error().await,
            format!(
                "modelarts-emulator: cannot run jobs on Slurm: there is no {name} on the PATH: \
                 start \
                 the emulator on a machine with the commands of Slurm, such as a login node \
                 (package slurm-client of Debian)\n"
            )
        );
    }
}

#[tokio::test]
async fn a_controller_that_is_down_is_an_error_at_the_start() {
    let cluster = Cluster::new();
    let error = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
    cluster.set("squeue.error", error);
    assert_eq!(
        cluster.start_error().await,
        format!("modelarts-emulator: cannot run jobs on Slurm: squeue: {error}\n")
    );
    assert!(cluster.calls("sbatch").is_empty());
}

#[tokio::test]
async fn a_command_that_does_not_respond_is_ended_at_its_time_limit() {
    let cluster = Cluster::new();
    let gate = cluster.gate("squeue.gate").await;
    let error = async { cluster.start_error().await };
    let (error, waiting) = tokio::join!(error, gate.reached());
    assert_eq!(
        error,
        "modelarts-emulator: cannot run jobs on Slurm: squeue did not respond within 15 s\n"
    );
    waiting.wait_until_gone().await;
}

#[tokio::test]
async fn a_wrong_configuration_is_refused_with_its_key() {
    let cluster = Cluster::new();
    let config = cluster.place.path().join("slurm.toml");
    fs::write(&config, "[default]\nmem = \"1G\"\npartitoin = \"batch\"\n").unwrap();
    let path = config.to_str().unwrap();
    let flags = cluster.flags();
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.extend(["--launcher-config", path]);
    assert_eq!(
        cluster.refusal(&flags).await,
        format!(
            "modelarts-emulator: cannot use {path}: default: partitoin must be one of partition, qos, \
             reservation, constraint, cpus-per-task, mem, gres, comment, time\n"
        )
    );
    fs::remove_file(&config).unwrap();
    assert_eq!(
        cluster.refusal(&flags).await,
        format!(
            "modelarts-emulator: cannot use {path}: there is no such file: name one that exists, \
             as \
             seen from the current directory\n"
        )
    );
}

#[tokio::test]
async fn flags_that_do_not_fit_are_refused() {
    let cluster = Cluster::new();
    for (flags, message) in [
        ("--shared DIR", "--shared must be given with --launcher slurm"),
        ("--launcher-config FILE", "--launcher-config must be given with --launcher slurm"),
        (
            "--launcher slurm",
            "--launcher slurm must be given with --shared DIR, a directory that this machine and \
             all nodes mount at the same path",
        ),
        (
            "--launcher slurm --shared DIR --runner simulated",
            "--launcher slurm must not be given with --runner simulated, which starts no code",
        ),
        (
            "--launcher slurm --shared DIR --clock manual",
            "--launcher slurm must not be given with --clock manual, because Slurm runs in real \
             time",
        ),
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        assert_eq!(cluster.refusal(&flags).await, format!("modelarts-emulator: {message}\n"));
    }
    assert!(cluster.calls("squeue").is_empty());
}
