//! Operations of the OpenAPI description that the emulator implements, and operations of OBS.

use modelarts_api::{OPERATIONS, Operation};

/// Operations on fine-tuning, which the emulator refuses. No source states which products and
/// metrics a fine-tuning job has.
const NOT_MODELLED: [&str; 4] =
    ["ListFtArtifacts", "PublishFtArtifacts", "ShowFtDetail", "ShowFtMetrics"];

/// Operations of OBS: names of the S3 API with the prefix `obs.`.
const OBS_OPERATIONS: &[&str] = if cfg!(feature = "obs") {
    &[
        "obs.ListBuckets",
        "obs.CreateBucket",
        "obs.HeadBucket",
        "obs.DeleteBucket",
        "obs.ListObjects",
        "obs.ListObjectsV2",
        "obs.PutObject",
        "obs.GetObject",
        "obs.HeadObject",
        "obs.CopyObject",
        "obs.DeleteObject",
        "obs.DeleteObjects",
        "obs.CreateMultipartUpload",
        "obs.UploadPart",
        "obs.UploadPartCopy",
        "obs.CompleteMultipartUpload",
        "obs.AbortMultipartUpload",
    ]
} else {
    &[]
};

pub(crate) fn modelled() -> impl Iterator<Item = &'static Operation> {
    let is_modelled = |operation: &&Operation| !NOT_MODELLED.contains(&operation.id);
    OPERATIONS.iter().filter(is_modelled)
}

/// Returns the path of an operation relative to `/v2/{project_id}`.
pub(crate) fn relative_path(operation: &Operation) -> &'static str {
    let path = operation.path.strip_prefix("/v2/{project_id}");
    path.unwrap_or(operation.path)
}

pub(crate) fn operation_ids() -> impl Iterator<Item = &'static str> {
    let ids = modelled().map(|operation| operation.id);
    ids.chain(OBS_OPERATIONS.iter().copied())
}

#[cfg(feature = "obs")]
pub(crate) fn obs_operation(name: &str) -> Option<&'static str> {
    let mut names = OBS_OPERATIONS.iter().copied();
    names.find(|known| known.strip_prefix("obs.") == Some(name))
}
