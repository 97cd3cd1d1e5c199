//! Newest part of a log, as the service returns it.

use modelarts_api::types::LogPreview;

use crate::{error::Error, jobs::logs::Logs};

/// Size in bytes from which a preview may lack the beginning of the log, if the response states no
/// valid sizes. The service shortens previews to 5 MB.
const SHORT_PREVIEW: u64 = 4_000_000;

/// Newest part of a log, from [`Logs::end`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogEnd {
    /// Text of the log, at most 5 MB. The first line may lack its beginning, unless the text is the
    /// whole log.
    pub text: String,
    /// `true` if the text is the whole log.
    pub is_whole: bool,
}

impl Logs {
    /// Reads the newest part of the log, and determines if that part is the whole log.
    ///
    /// # Errors
    /// Returns the errors of [`preview`](Self::preview).
    pub async fn end(&self) -> Result<LogEnd, Error> {
        let preview = self.preview().await?;
        let full = preview.full_size.and_then(|size| u64::try_from(size).ok());
        let length = content(&preview).len() as u64;
        Ok(LogEnd {
            is_whole: first_position(&preview) == Some(0) && full.is_none_or(|full| full <= length),
            text: preview.content.or(preview.context).unwrap_or_default(),
        })
    }

    /// Reads the newest part of the log, at most 5 MB, as the service returns it.
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_ready`] if the log does not exist yet.
    pub async fn preview(&self) -> Result<LogPreview, Error> {
        let client = self.job.client();
        let answer = client
            .call(|api| {
                api.show_training_job_logs_preview()
                    .project_id(client.project().clone())
                    .training_job_id(self.job.training_job_id().clone())
                    .task_id(self.task.clone())
                    .send()
            })
            .await?;
        Ok(answer.into_inner())
    }
}

/// Returns the text of a preview.
pub(super) fn content(preview: &LogPreview) -> &str {
    // Before 2022, the field was named `context`.
    let content = preview.content.as_deref().or(preview.context.as_deref());
    content.unwrap_or_default()
}

/// Returns the position in the log at which a preview begins, from the sizes in the response if
/// these are plausible (SOURCES D-79). Without plausible sizes, a short preview is the whole log.
pub(super) fn first_position(preview: &LogPreview) -> Option<u64> {
    let length = content(preview).len() as u64;
    let size = |size: Option<i64>| u64::try_from(size?).ok();
    let sizes = size(preview.current_size).zip(size(preview.full_size));
    match sizes {
        Some((current, full)) if current == length && full >= current => Some(full - current),
        _ => (length < SHORT_PREVIEW).then_some(0),
    }
}
