//! Conditions of requests: `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`.

use std::time::{Duration, SystemTime};

use axum::http::{
    HeaderMap, HeaderValue,
    header::{ETAG, LAST_MODIFIED},
};
use s3s::{
    S3Error, S3Result,
    dto::{ETag, ETagCondition, Timestamp, TimestampFormat},
    s3_error,
};

use crate::obs::records::StoredObject;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Conditions {
    pub(super) if_match: Option<ETagCondition>,
    pub(super) if_none_match: Option<ETagCondition>,
    pub(super) if_modified_since: Option<Timestamp>,
    pub(super) if_unmodified_since: Option<Timestamp>,
}

impl Conditions {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks a read. For an unchanged object, returns the error `NotModified` with ETag and time.
    pub(super) fn check_read(&self, object: &StoredObject) -> S3Result<()> {
        self.check_equal(object)?;
        if self.is_unchanged(object) {
            let mut error = S3Error::new(s3s::S3ErrorCode::NotModified);
            error.set_headers(validators(object));
            return Err(error);
        }
        Ok(())
    }

    pub(super) fn check_source(&self, object: &StoredObject) -> S3Result<()> {
        self.check_equal(object)?;
        if self.is_unchanged(object) {
            return Err(failed("the source of the copy has not changed"));
        }
        Ok(())
    }

    /// Checks the conditions of a write. `object` is the object that the write replaces.
    pub(super) fn check_write(&self, object: Option<&StoredObject>) -> S3Result<()> {
        match (&self.if_none_match, object) {
            (Some(ETagCondition::Any), Some(_)) => return Err(failed("the object exists")),
            (Some(ETagCondition::ETag(etag)), Some(object)) if matches(etag, object) => {
                return Err(failed("the object has the ETag of If-None-Match"));
            }
            _ => {}
        }
        match (&self.if_match, object) {
            (Some(_), None) => Err(failed("the object does not exist")),
            (Some(ETagCondition::ETag(etag)), Some(object)) if !matches(etag, object) => {
                Err(failed("the object has another ETag than that of If-Match"))
            }
            _ => Ok(()),
        }
    }

    fn check_equal(&self, object: &StoredObject) -> S3Result<()> {
        match (&self.if_match, &self.if_unmodified_since) {
            (Some(ETagCondition::ETag(etag)), _) if !matches(etag, object) => {
                Err(failed("the object has another ETag than that of If-Match"))
            }
            // If-Match takes precedence over If-Unmodified-Since.
            (None, Some(time)) if seconds(object.modified) > *time => {
                Err(failed("the object has been modified"))
            }
            _ => Ok(()),
        }
    }

    fn is_unchanged(&self, object: &StoredObject) -> bool {
        match (&self.if_none_match, &self.if_modified_since) {
            (Some(ETagCondition::Any), _) => true,
            (Some(ETagCondition::ETag(etag)), _) => matches(etag, object),
            (None, Some(time)) => seconds(object.modified) <= *time,
            (None, None) => false,
        }
    }
}

fn matches(etag: &ETag, object: &StoredObject) -> bool {
    etag.value() == object.etag
}

fn failed(reason: &str) -> S3Error {
    s3_error!(PreconditionFailed, "A condition of the request is not met: {reason}.")
}

/// Truncates the time to whole seconds, the precision of dates in headers.
fn seconds(time: SystemTime) -> Timestamp {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let whole = Duration::from_secs(since.unwrap_or_default().as_secs());
    Timestamp::from(SystemTime::UNIX_EPOCH + whole)
}

fn validators(object: &StoredObject) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(etag) = ETag::Strong(object.etag.clone()).to_http_header() {
        headers.insert(ETAG, etag);
    }
    let mut date = Vec::new();
    let formatted = Timestamp::from(object.modified).format(TimestampFormat::HttpDate, &mut date);
    if let (Ok(()), Ok(date)) = (formatted, HeaderValue::from_bytes(&date)) {
        headers.insert(LAST_MODIFIED, date);
    }
    headers
}
