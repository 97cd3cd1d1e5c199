//! Conversion of OBS errors to errors of modelarts-ext. A converted error contains the operation,
//! and the error code and advice if there are any.

use std::{error::Error as StdError, io, iter, path::Path};

use http::HeaderMap;
use modelarts_ext::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// Response headers with the request id, in the APIs of OBS and S3.
const REQUEST_ID_HEADERS: [&str; 2] = ["x-obs-request-id", "x-amz-request-id"];
/// Prefix of the text of [`ErrorFacts`] in the errors of the crate `object_store`, which contain
/// the body of a response only as text.
const MARKER: &str = "obs-error:";

/// Error codes for access keys that do not exist, and security tokens that are invalid or expired.
const EXPIRED: [&str; 3] = ["InvalidAccessKeyId", "ExpiredToken", "InvalidToken"];

/// Status of an error response, and facts from its headers and its body.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ErrorFacts {
    status: u16,
    code: Option<String>,
    message: Option<String>,
    request_id: Option<String>,
    /// Endpoint or region of the bucket, if the request was sent to a different one.
    right_place: Option<String>,
    /// Access key that the request was signed with.
    access_key: Option<String>,
}

/// Body of an error response, in XML.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorBody {
    code: Option<String>,
    message: Option<String>,
    request_id: Option<String>,
    endpoint: Option<String>,
    region: Option<String>,
}

impl ErrorFacts {
    pub(crate) fn of_response(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let body: ErrorBody = quick_xml::de::from_str(&text).unwrap_or_default();
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Self {
            status,
            code: body.code.or_else(|| header("x-obs-error-code")),
            message: body.message.or_else(|| header("x-obs-error-message")),
            request_id: body.request_id.or_else(|| REQUEST_ID_HEADERS.into_iter().find_map(header)),
            right_place: body.endpoint.or(body.region).or_else(|| header("x-amz-bucket-region")),
            access_key: None,
        }
    }

    pub(crate) fn with_access_key(mut self, access_key: Option<String>) -> Self {
        self.access_key = access_key;
        self
    }

    /// Returns the facts for a local directory that is used as a bucket and does not exist.
    pub(crate) fn no_such_bucket() -> Self {
        Self {
            status: 404,
            code: Some("NoSuchBucket".to_owned()),
            message: Some("there is no such bucket".to_owned()),
            ..Self::default()
        }
    }

    /// Returns the facts as text, which [`find`](Self::find) parses.
    pub(crate) fn to_text(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{MARKER}{json}")
    }

    pub(crate) fn into_error(self) -> object_store::Error {
        object_store::Error::Generic { store: "OBS", source: self.to_text().into() }
    }

    /// Finds the facts in the text of an error or of one of its causes.
    fn find(error: &object_store::Error) -> Option<Self> {
        chain(error).find_map(|cause| {
            let text = cause.to_string();
            let (_, json) = text.split_once(MARKER)?;
            let mut values = serde_json::Deserializer::from_str(json).into_iter();
            values.next()?.ok()
        })
    }

    /// Returns advice on how to correct the error, or `None` if none is known.
    fn advice(&self) -> Option<String> {
        let advice = match self.code.as_deref() {
            _ if matches!(self.status, 301 | 307 | 308) || self.right_place.is_some() => {
                let place = self.right_place.as_deref().unwrap_or("another region");
                return Some(format!(
                    "the bucket is in {place}; set the region of the bucket (MODELARTS_REGION), or \
                     use a bucket of the region of the job"
                ));
            }
            Some("NoSuchBucket") => {
                "check the name and the region of the bucket, or create it with Bucket::create"
            }
            // A response to HEAD has no body, so the code may be missing.
            code if code == Some("AccessDenied") || code.is_none() && self.status == 403 => {
                "check that the policies of the user and of the bucket admit this request; an \
                 IAM policy for OBS takes up to 15 minutes to apply"
            }
            Some("InvalidAccessKeyId") => {
                "check the access key, and that its temporary keys have not expired"
            }
            Some("SignatureDoesNotMatch") => "check the secret key and the region",
            Some("RequestTimeTooSkewed") => "set the clock of this machine",
            Some("ExpiredToken" | "InvalidToken") => "request new temporary keys",
            Some("BucketAlreadyOwnedByYou") => {
                "the bucket is yours and exists already, maybe in another region"
            }
            Some("BucketAlreadyExists") => {
                "choose another name; the names of buckets are shared by all users of the cloud"
            }
            Some("InsufficientStorageSpace" | "QuotaExceeded") => {
                "delete objects, or raise the quota of the bucket"
            }
            _ => return None,
        };
        Some(advice.to_owned())
    }
}

/// Returns the access key that OBS rejected as expired or unknown, or `None` for any other error.
pub(crate) fn rejected_key(error: &object_store::Error) -> Option<String> {
    let facts = ErrorFacts::find(error)?;
    let is_rejected = EXPIRED.contains(&facts.code.as_deref()?);
    facts.access_key.filter(|_| is_rejected)
}

/// Converts an error to an error of modelarts-ext. `doing` describes the operation, such as
/// `writing obs://bucket/key`.
pub(crate) fn convert(error: &object_store::Error, doing: &str) -> Error {
    // Errors of the credentials provider are returned unchanged.
    if let Some(cause) = chain(error).find_map(|cause| cause.downcast_ref::<Error>()) {
        return cause.clone();
    }
    if let Some(facts) = ErrorFacts::find(error) {
        let reason = match (&facts.message, &facts.code, facts.status) {
            (Some(message), _, _) => message.trim().trim_end_matches('.').to_owned(),
            (None, Some(code), _) => code.clone(),
            (None, None, 403) => "access denied".to_owned(),
            (None, None, 404) => "no such object".to_owned(),
            (None, None, 300..400) => "the server redirects".to_owned(),
            (None, None, _) => "the server gave no reason".to_owned(),
        };
        let advice = facts.advice();
        return Error::new(ErrorKind::Service, format!("{doing}: {reason}"))
            .with_status(facts.status)
            .with_code(facts.code)
            .with_request_id(facts.request_id)
            .with_advice(advice);
    }
    let (kind, reason) = match error {
        object_store::Error::NotFound { .. } => (ErrorKind::NotFound, "no such object".to_owned()),
        // Keys that other tools wrote may be invalid paths. Keys from callers are checked earlier.
        object_store::Error::InvalidPath { source } => {
            let advice = "rename or delete the object with another tool, or choose a directory \
                          without it";
            return Error::new(ErrorKind::Invalid, format!("{doing}: {source}"))
                .with_advice(advice.to_owned());
        }
        other => match kind_of(other) {
            ErrorKind::Timeout => (ErrorKind::Timeout, "no response in time".to_owned()),
            kind => {
                let cause = chain(other).last();
                (kind, cause.map_or_else(String::new, ToString::to_string))
            }
        },
    };
    Error::new(kind, format!("{doing}: {reason}"))
}

/// Returns the kind of an error that is not an error response.
fn kind_of(error: &object_store::Error) -> ErrorKind {
    let is_local = |cause: &&(dyn StdError + 'static)| cause.is::<std::io::Error>();
    let http = chain(error).find_map(|cause| cause.downcast_ref::<reqwest::Error>());
    let timeout = chain(error).any(|cause| cause.is::<tokio::time::error::Elapsed>());
    match http {
        _ if timeout => ErrorKind::Timeout,
        Some(error) if error.is_timeout() => ErrorKind::Timeout,
        Some(_) => ErrorKind::Connection,
        None if chain(error).find(is_local).is_some() => ErrorKind::Invalid,
        None => ErrorKind::Unexpected,
    }
}

/// Returns the error, then its cause, the cause of the cause, and so on.
fn chain<'a>(error: &'a object_store::Error) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let first: &'a (dyn StdError + 'static) = error;
    iter::successors(Some(first), |error| StdError::source(*error))
}

/// Creates the error for a failure of the local file system. `doing` describes the operation, such
/// as `reading`.
pub(crate) fn local(doing: &str, path: &Path, failure: &io::Error) -> Error {
    let advice = match failure.kind() {
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its directory",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free space on the disk; the next call continues"
        }
        io::ErrorKind::ResourceBusy => "wait until the other one has ended",
        io::ErrorKind::InvalidFilename => "shorten the name",
        _ => "",
    };
    let advice = Some(advice.to_owned()).filter(|advice| !advice.is_empty());
    let source = io::Error::new(failure.kind(), failure.to_string());
    Error::new(ErrorKind::Invalid, format!("{doing} {}: {failure}", path.display()))
        .with_advice(advice)
        .with_source(source)
}
