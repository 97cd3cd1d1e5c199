//! Command `modelarts data`, which lists and removes versions of local data in OBS.

use std::time::SystemTime;

use clap::{Args, Subcommand};
use futures::stream;
use modelarts_ext::Timestamp;
use modelarts_obs::{
    Staging,
    staging::{DataRemoval, DataVersion},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::create::submit::require_bucket,
    confirmation::confirm,
    exit_status::ExitStatus,
    failure::Failure,
    output::{self, Column, Row, or_dash},
    progress::{amount, count},
    session::Session,
    terminal::note,
};

const NOTES: &str = "\
A directory that `submit --data DIR` sends has a version for each of its contents. A later submit
removes versions of the same directory that no job names and that were not used for 24 hours.";

const RM_NOTES: &str = "\
A version is kept if a job that has not ended names it, if it was used less than 24 hours ago, if it
belongs to another user or machine, and if the jobs cannot be read. Without a terminal, --yes must
be given.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct DataCommand {
    #[command(subcommand)]
    action: Action,
    /// Bucket of the data. Default: that of the context, or MODELARTS_OBS_BUCKET.
    #[arg(long, value_name = "BUCKET", global = true)]
    bucket: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the versions, the last used first, with the jobs that name them.
    #[command(visible_alias = "list")]
    Ls,
    /// Removes versions.
    #[command(after_help = RM_NOTES)]
    Rm {
        /// Ids of versions, such as v-0123456789abcdef.
        #[arg(
            value_name = "VERSION",
            required_unless_present = "unused",
            conflicts_with = "unused"
        )]
        versions: Vec<String>,
        /// All versions that no job names and that are not kept for another reason.
        #[arg(long)]
        unused: bool,
        /// Removes without a question.
        #[arg(short, long)]
        yes: bool,
        /// Prints the results, and removes nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// A version of local data in OBS.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VersionRow {
    /// Id of the version.
    id: String,
    /// Size in bytes.
    bytes: u64,
    /// Number of files.
    files: u64,
    /// Time of the last use by a submission, up to 12 hours early, RFC 3339; of an unfinished
    /// version, the time of its newest object.
    used_at: String,
    /// Jobs that name the version; null if they cannot be read.
    jobs: Option<Vec<String>>,
    /// Local directory; null for an unfinished version.
    directory: Option<String>,
    /// Local user.
    user: String,
    /// Machine; null for an unfinished version.
    host: Option<String>,
    /// `false` if the upload was interrupted, or is running.
    is_complete: bool,
    /// Address of the objects.
    address: String,
    #[serde(skip)]
    used: Timestamp,
}

impl Row for VersionRow {
    const LIST: &'static str = "versions";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("VERSION", |row| row.id.clone()),
        Column::new("SIZE", |row| output::bytes(row.bytes)),
        Column::new("FILES", |row| row.files.to_string()),
        Column::new("AGE", |row| {
            output::age(Timestamp::from(SystemTime::now()).duration_since(row.used))
        }),
        Column::new("JOBS", |row| match &row.jobs {
            None => "?".to_owned(),
            Some(jobs) if jobs.is_empty() => "-".to_owned(),
            Some(jobs) => jobs.join(", "),
        }),
        Column::new("DIRECTORY", |row| match row.is_complete {
            true => or_dash(row.directory.as_ref()),
            false => "unfinished".to_owned(),
        }),
        Column::wide("USER", |row| row.user.clone()),
        Column::wide("HOST", |row| or_dash(row.host.as_ref())),
        Column::wide("ADDRESS", |row| row.address.clone()),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// Result of the removal of a version.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovalRow {
    /// Id of the version.
    id: String,
    /// `removed`, `kept`, or in a dry run `removable`.
    result: &'static str,
    /// Reason to keep the version.
    reason: Option<String>,
}

impl Row for RemovalRow {
    const LIST: &'static str = "removals";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("VERSION", |row| row.id.clone()),
        Column::new("RESULT", |row| row.result.to_owned()),
        Column::new("REASON", |row| or_dash(row.reason.as_ref())),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl DataCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let staging = session.staging().await?;
        let staging = match self.bucket {
            Some(bucket) => staging.bucket(bucket),
            None => staging,
        };
        let staging = require_bucket(staging)?;
        match self.action {
            Action::Ls => list(session, &staging).await,
            Action::Rm { versions, yes, dry_run, .. } => {
                remove(session, &staging, &versions, yes, dry_run).await
            }
        }
    }
}

async fn list(session: &Session, staging: &Staging) -> Result<ExitStatus, Failure> {
    let versions = staging.data_versions().await?;
    let jobs = match staging.data_readers(&versions).await {
        Ok(jobs) => jobs.into_iter().map(Some).collect(),
        Err(error) => {
            note(format_args!("the jobs that name the versions are unknown: {error}"));
            vec![None; versions.len()]
        }
    };
    let rows = versions.into_iter().zip(jobs).map(|(version, jobs)| VersionRow {
        bytes: version.amount.bytes,
        files: version.amount.files,
        used_at: Timestamp::from(version.used).to_string(),
        jobs: jobs.map(|jobs| jobs.iter().map(|job| job.name().to_owned()).collect()),
        directory: version.directory,
        user: version.user,
        host: version.host,
        is_complete: version.is_complete,
        address: version.path.to_string(),
        used: version.used.into(),
        id: version.id,
    });
    let rows = stream::iter([Ok(rows.collect())]);
    session.output.list_or_note(rows, "no versions of data").await?;
    Ok(ExitStatus::Success)
}

/// Removes the versions with these ids. Without ids, those that no job names.
async fn remove(
    session: &Session,
    staging: &Staging,
    ids: &[String],
    yes: bool,
    dry_run: bool,
) -> Result<ExitStatus, Failure> {
    let all = staging.data_versions().await?;
    if let Some(id) = ids.iter().find(|id| !all.iter().any(|version| version.id == **id)) {
        let text = format!("the version {id} does not exist; `modelarts data ls` lists versions");
        return Err(Failure::NotFound(text));
    }
    let is_chosen = |version: &DataVersion| ids.is_empty() || ids.contains(&version.id);
    let mut chosen: Vec<DataVersion> = all.into_iter().filter(is_chosen).collect();
    if ids.is_empty() {
        let jobs = staging.data_readers(&chosen).await?;
        let mut jobs = jobs.iter();
        chosen.retain(|_| jobs.next().is_some_and(Vec::is_empty));
    }
    let mut planned = staging.remove_data(chosen, true).await?;
    planned.retain(|row| !ids.is_empty() || row.kept.is_none());
    let removable = planned.iter().filter(|row| row.kept.is_none());
    let versions: Vec<DataVersion> = removable.map(|row| row.version.clone()).collect();
    if !versions.is_empty() && !dry_run {
        for DataVersion { id, amount: size, path, .. } in &versions {
            note(format_args!("  {id}  {}  {path}", amount(*size)));
        }
        let number = count(versions.len() as u64, "version");
        confirm(session.terminal, yes, format!("remove {number} of data"))?;
        let removed = staging.remove_data(versions, false).await?;
        planned.retain(|row| row.kept.is_some());
        planned.extend(removed);
    }
    let is_kept = planned.iter().any(|row| row.kept.is_some());
    let row = |row: DataRemoval| RemovalRow {
        id: row.version.id,
        result: match (&row.kept, dry_run) {
            (Some(_), _) => "kept",
            (None, true) => "removable",
            (None, false) => "removed",
        },
        reason: row.kept,
    };
    let rows = stream::iter([Ok(planned.into_iter().map(row).collect())]);
    session.output.list_or_note(rows, "no versions to remove").await?;
    if dry_run {
        note("dry run: nothing was removed");
    }
    Ok(if is_kept { ExitStatus::Refused } else { ExitStatus::Success })
}
