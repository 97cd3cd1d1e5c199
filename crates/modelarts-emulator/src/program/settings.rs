//! Conversion of the arguments to settings of the builder.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use crate::{
    accounts::User,
    catalog::quirks::Quirks,
    clock::{ManualClock, timing::Timing},
    cluster::{config::Config, system::Slurm},
    emulator::{Emulator, builder::Builder, runner::RunnerKind},
    execution::seeds::Seeds,
    program::arguments::{ClockName, LauncherName, RunnerName, Serve, TimingName, load},
    runner::simulated::script::Script,
};

/// Calls a setter of the builder with each of the values.
fn each<T>(
    builder: Builder,
    values: impl IntoIterator<Item = T>,
    set: impl Fn(Builder, T) -> Builder,
) -> Builder {
    values.into_iter().fold(builder, set)
}

pub(crate) fn builder(given: Serve) -> Result<Builder, String> {
    let slurm = slurm(&given)?;
    let obs_root = given.obs_root.unwrap_or_else(|| match &given.shared {
        Some(shared) => shared.join("obs"),
        None => PathBuf::from("modelarts-emulator-data/obs"),
    });
    let mut builder = Emulator::builder()
        .listen(given.listen)
        .obs_listen(given.obs_listen)
        .data_dir(given.data_dir)
        .obs_root(obs_root)
        .timing(match given.timing {
            _ if given.speed.is_some() => Timing::faster(given.speed.unwrap_or_default()),
            TimingName::Instant => Timing::instant(),
            TimingName::Quick => Timing::default(),
            TimingName::Documented => Timing::documented(),
        })
        .event_wording(given.wording)
        .cloud(given.cloud)
        .restart_on(given.restart_on)
        .log_cap(given.log_cap)
        .least_disk(given.least_disk)
        .job_quota(given.job_quota)
        .one_job_per_output(given.one_job_per_output)
        .strict(given.strict)
        .show_secrets(given.show_secrets)
        .high_priority(given.high_priority)
        .container(given.container)
        .install_packages(!given.no_packages);
    builder = each(builder, given.pool, Builder::pool);
    builder = each(builder, given.public_nodes, Builder::public_nodes);
    builder = each(builder, given.encrypted_bucket, Builder::encrypted_bucket);
    builder = each(builder, given.organization, Builder::organization);
    builder = each(builder, given.password, Builder::password);
    builder = each(builder, given.datasets, Builder::datasets);
    builder = each(builder, given.nfs_root, Builder::nfs_root);
    builder = each(builder, given.project_id, Builder::project_id);
    builder = each(builder, given.access_key, Builder::access_key);
    builder = each(builder, given.secret_key, Builder::secret_key);
    builder = each(builder, given.token, Builder::token);
    let mut quirks = Quirks::default();
    for choice in &given.choose {
        let set = quirks.set(choice);
        set.map_err(|what| format!("cannot choose: {what}"))?;
    }
    builder = builder.quirks(quirks);
    for path in given.seed {
        builder = builder.seed_jobs(load(&path, Seeds::from_json)?);
    }
    let script = match given.script {
        None => Script::default(),
        Some(path) if given.runner == RunnerName::Process => {
            let path = path.display();
            return Err(format!("cannot use {path}: only --runner simulated follows a script"));
        }
        Some(path) => load(&path, Script::from_json)?,
    };
    if given.runner == RunnerName::Simulated {
        builder = builder.runner(RunnerKind::Simulated(script));
    }
    if let Some(slurm) = slurm {
        builder = builder.runner(RunnerKind::Slurm(slurm));
    }
    if let ClockName::Manual = given.clock {
        builder = builder.clock(Arc::new(ManualClock::at(SystemTime::now())));
    }
    if let Some(path) = given.users {
        builder = each(builder, load(&path, User::list_from_json)?, Builder::user);
    }
    Ok(builder)
}

/// Returns the cluster on which jobs run, if they do not run on this machine.
fn slurm(given: &Serve) -> Result<Option<Slurm>, String> {
    if given.launcher == LauncherName::Local {
        let flags = [
            ("--shared", given.shared.is_some()),
            ("--launcher-config", given.launcher_config.is_some()),
        ];
        return match flags.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(format!("{flag} must be given with --launcher slurm")),
            None => Ok(None),
        };
    }
    if given.runner == RunnerName::Simulated {
        let error =
            "--launcher slurm must not be given with --runner simulated, which starts no code";
        return Err(error.to_owned());
    }
    if let ClockName::Manual = given.clock {
        let error = "--launcher slurm must not be given with --clock manual, because Slurm runs \
             in real time";
        return Err(error.to_owned());
    }
    let shared = given.shared.as_ref().ok_or(
        "--launcher slurm must be given with --shared DIR, a directory that this machine and all \
         nodes mount at the same path",
    )?;
    let config = match &given.launcher_config {
        Some(path) => load(path, Config::from_toml)?,
        None => Config::default(),
    };
    Ok(Some(Slurm::new(shared).config(config)))
}
