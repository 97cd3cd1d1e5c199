//! The plan of `submit --dry-run`: the request body, and what would be sent.

use std::sync::{Arc, Mutex, PoisonError};

use modelarts_ext::{Client, masking::mask_described};
use modelarts_obs::{Staging, SyncEvent, staging::StagedDir};

use crate::{
    commands::create::{choices::complete, draft::Draft},
    exit_status::ExitStatus,
    failure::Failure,
    output::{self, Format},
    progress::amount,
    session::Session,
    terminal::note_masked,
};

/// Maximum number of files that are listed.
const MAX_FILES: usize = 20;

/// Prints the request body on stdout, and what would be sent on stderr. Nothing is sent. Secrets in
/// the body are masked unless `show_secrets` is set.
pub(crate) async fn print_plan(
    session: &Session,
    client: &Client,
    staging: &Staging,
    mut draft: Draft,
    show_secrets: bool,
) -> Result<ExitStatus, Failure> {
    if session.output.format == Format::Id {
        return Err(Failure::usage(
            "--output id: a job that is not submitted has no id; the format must be another",
        ));
    }
    complete(&mut draft, client).await?;
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
    let mut body = job.body();
    if !show_secrets {
        note_masked(mask_described(&mut body, &draft.inherited));
    }
    note!("dry run: nothing was sent");
    session.output.body(&body)?;
    Ok(ExitStatus::Success)
}

fn print_directory(name: &str, directory: &StagedDir) {
    let summary = &directory.summary;
    let sent = amount(summary.transferred);
    let mut text = format!("{name} → {}  {sent} to send", directory.url());
    if summary.unchanged.files > 0 {
        text += &format!(", {} unchanged", summary.unchanged.files);
    }
    if summary.deleted > 0 {
        text += &format!(", {} to delete", summary.deleted);
    }
    if !summary.skipped.is_empty() {
        text += &format!(", {} left out", summary.skipped.len());
    }
    note!("{text}");
}
