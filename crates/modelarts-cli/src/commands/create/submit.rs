//! Command `modelarts submit`, which creates a job.

use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use modelarts_ext::{Client, ErrorKind, masking::mask_described};
use modelarts_obs::{Staging, SyncEvent, staging::StagedDir};

use crate::{
    commands::create::{
        check::require_sound_file,
        choices::complete,
        draft::Draft,
        flags::JobFlags,
        input_size::require_disk,
        outputs::{named_outputs, require_free_names, require_free_outputs},
        submission::{
            FollowFlags, IfExists, IfExistsFlag, SubmitFlags, Target, TokenFlags, add_tags,
            job_of_name, printer, require_tags,
        },
    },
    commands::sync::{LeftOut, left_out_lines},
    exit_status::ExitStatus,
    failure::Failure,
    follow::{Interrupt, JobEnd},
    output::{self, Format},
    progress,
    session::Session,
    terminal::note_masked,
};

/// Maximum number of files that the plan lists.
const MAX_FILES: usize = 20;

const EXAMPLES: &str = "\
Examples:
  modelarts submit train.py --flavor modelarts.vm.cpu.8u --data ./data --out train_url -p epochs=20
  modelarts submit train.py --flavor modelarts.vm.cpu.8u -- --epochs 20 --lr 0.1
  modelarts submit -f job.yaml --set spec.resource.node_count=4 --dry-run
  modelarts submit train.py --detach -o id | modelarts wait -

The script is started with --NAME=VALUE for each hyper-parameter, input and output. The code is the
directory of the script, without what .gitignore or .modelartsignore leaves out.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Submit {
    #[command(flatten)]
    job: JobFlags,
    #[command(flatten)]
    follow: FollowFlags,
    #[command(flatten)]
    submit: SubmitFlags,
    #[command(flatten)]
    if_exists: IfExistsFlag,
    #[command(flatten)]
    token: TokenFlags,
    /// Prints the request body and the files that would be sent, without sending anything.
    /// Environment variables with names of credentials, and those of --env NAME, are printed as
    /// ***.
    #[arg(long, conflicts_with = "detach")]
    dry_run: bool,
    /// Prints secrets in the request body of --dry-run.
    #[arg(long, requires = "dry_run")]
    show_secrets: bool,
    /// Prints the id of the job, and does not follow it.
    #[arg(short, long, conflicts_with_all = ["timeout", "exit_code", "download", "quiet"])]
    detach: bool,
}

impl Submit {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let context = session.selection.context()?;
        let client = session.client().await?;
        let base = Draft::base(&self.job, session).await?;
        let draft = Draft::new(&self.job, base.as_ref(), &client.training_jobs(), context)?;
        let mode = match (self.dry_run, self.detach) {
            (true, _) => Mode::Plan { show_secrets: self.show_secrets },
            (false, true) => Mode::Detach,
            (false, false) => Mode::Follow(&self.follow),
        };
        let if_exists = self.if_exists.if_exists;
        submit(session, client, draft, &self.submit, if_exists, &self.token, mode).await
    }
}

/// Extent of the command: plan, creation, or creation and following.
pub(crate) enum Mode<'a> {
    /// Prints the plan of the job, and sends nothing.
    Plan {
        show_secrets: bool,
    },
    Detach,
    Follow(&'a FollowFlags),
}

/// Submits a draft to the service, or only prints its plan, depending on `mode`.
pub(crate) async fn submit(
    session: &Session,
    client: &Client,
    mut draft: Draft,
    flags: &SubmitFlags,
    if_exists: IfExists,
    token: &TokenFlags,
    mode: Mode<'_>,
) -> Result<ExitStatus, Failure> {
    require_tags(&flags.tag, client)?;
    draft.job = token.apply(draft.job);
    let is_new = match if_exists {
        IfExists::Adopt => !exists("--if-exists adopt", &draft, client).await?,
        IfExists::Fail => !token.is_given() || !exists("--token", &draft, client).await?,
    };
    require_sound_file(&draft, client).await?;
    let staging = staging(session, &draft).await?;
    if !flags.overwrite_outputs && is_new {
        require_free_outputs(&draft, client, &staging).await?;
        if if_exists == IfExists::Adopt {
            let name = draft.name();
            require_free_names([name.as_str()].into_iter(), &draft.outputs, &staging).await?;
        }
    }
    require_disk(&draft, client, &staging).await?;
    if let Mode::Plan { show_secrets } = mode {
        return print_plan(session, client, &staging, draft, if_exists, show_secrets).await;
    }
    draft.confirm_versions(&staging, session.terminal, flags.yes).await?;
    let mut interrupt = Interrupt::new();
    let target = Target { session, client, staging, is_local: false, if_exists, exists: !is_new };
    let is_quiet = matches!(mode, Mode::Follow(flags) if flags.quiet);
    let mut printer = printer(session, is_quiet);
    let job = target.submit(draft, &mut printer, &mut interrupt).await?;
    if is_new {
        add_tags(&flags.tag, client, &job).await;
    }
    let Mode::Follow(flags) = mode else {
        if session.output.format != Format::Ndjson {
            drop(printer);
            session.output.document(&JobEnd::new(&job))?;
        }
        return Ok(ExitStatus::Success);
    };
    if session.output.format == Format::Id {
        session.output.document(&JobEnd::new(&job))?;
    }
    note!("  Ctrl-C leaves the job running; come back with: modelarts logs -f {}", job.name());
    let followed = target.follow(&job, flags, &mut printer, &mut interrupt).await?;
    followed.print(session, printer)
}

/// Returns `true` if a job with the name of a draft exists. The flag needs a name.
async fn exists(flag: &str, draft: &Draft, client: &Client) -> Result<bool, Failure> {
    if draft.has_generated_name {
        return Err(Failure::usage(format_args!(
            "{flag}: the job must have a name: --name, or metadata.name in the file"
        )));
    }
    let found = job_of_name(draft, client).await?;
    if let Some(job) = &found {
        note!("  Exists       {job}; the creation compares it");
    }
    Ok(found.is_some())
}

/// Returns the staging for code and data, with a bucket if the draft needs one.
pub(crate) async fn staging(session: &Session, draft: &Draft) -> Result<Staging, Failure> {
    let staging = session.staging().await?;
    let staging = match &draft.bucket {
        Some(bucket) => staging.bucket(bucket),
        None => match &draft.other_bucket {
            Some(bucket) if staging.root().is_err() => staging.bucket(bucket),
            _ => staging,
        },
    };
    if !draft.needs_staging() {
        return Ok(staging);
    }
    require_bucket(staging)
}

/// Returns a staging that has a bucket.
pub(crate) fn require_bucket(staging: Staging) -> Result<Staging, Failure> {
    match staging.root() {
        Ok(_) => Ok(staging),
        Err(error) if error.kind() == ErrorKind::Config => Err(Failure::usage(
            "no bucket for code, data and outputs; --bucket, the variable MODELARTS_OBS_BUCKET or \
             `bucket` of the context must name one",
        )),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// Prints the request body on stdout, and what would be sent on stderr. Nothing is sent. Secrets in
/// the body are masked unless `show_secrets` is set.
async fn print_plan(
    session: &Session,
    client: &Client,
    staging: &Staging,
    mut draft: Draft,
    if_exists: IfExists,
    show_secrets: bool,
) -> Result<ExitStatus, Failure> {
    if session.output.format == Format::Id {
        return Err(Failure::usage(
            "--output id: a job that is not submitted has no id; the format must be another",
        ));
    }
    complete(&mut draft, client).await?;
    let named = match if_exists {
        IfExists::Adopt => std::mem::take(&mut draft.outputs),
        IfExists::Fail => Vec::new(),
    };
    let job = if draft.needs_staging() {
        let sent = Arc::<Mutex<Vec<(String, u64)>>>::default();
        let files = Arc::clone(&sent);
        let stage = draft.stage(staging).on_progress(move |_, progress| {
            if let SyncEvent::Transferred { path, bytes } = &progress.event {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.push((path.clone(), *bytes));
            }
        });
        let staged = stage.dry_run().await.map_err(|error| draft.refusal(error))?;
        if let Some(directory) = &staged.code {
            print_directory("code", directory);
        }
        for (name, directory) in &staged.data {
            print_directory(name, directory);
        }
        let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, bytes) in sent.iter().take(MAX_FILES) {
            note!("  + {path}  {}", output::bytes(*bytes));
        }
        if let Some(more @ 1..) = sent.len().checked_sub(MAX_FILES) {
            note!("  + {more} more");
        }
        for (name, address) in &staged.outputs {
            note!("{name} ← {address}/");
        }
        staged.job
    } else {
        draft.looked_up().await?
    };
    let mut body = named_outputs(job, &draft.name(), &named, staging)?.body();
    if !show_secrets {
        note_masked(mask_described(&mut body, &draft.inherited));
    }
    note!("dry run: nothing was sent");
    session.output.body(&body)?;
    Ok(ExitStatus::Success)
}

fn print_directory(name: &str, directory: &StagedDir) {
    note!("{name} → {}  {}", directory.url(), progress::plan(&directory.summary, "send"));
    let left_out: Vec<LeftOut> = progress::left_out(&directory.summary).map(LeftOut::new).collect();
    left_out_lines(&left_out).iter().for_each(|line| note!("  {line}"));
}
