//! Fields of requests and responses: limits of pages, encodings, ranges and tokens.

use std::ops;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use s3s::{
    S3Result,
    dto::{CommonPrefix, ETag, EncodingType, Object, ObjectStorageClass, Owner, Range},
    s3_error,
};

use crate::obs::pages::Entry;

/// Maximum number of rows of a page.
const MAX_ROWS: i32 = 1000;
/// Content type of an object that was stored without a type.
pub(super) const DEFAULT_TYPE: &str = "binary/octet-stream";
/// Characters that `encoding-type=url` encodes.
const URL_ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Creates the stored headers of an object from the input of an operation.
macro_rules! stored_headers {
    ($input:expr) => {
        $crate::obs::records::StoredHeaders {
            content_type: $input.content_type,
            content_encoding: $crate::obs::fields::content_encoding($input.content_encoding),
            content_language: $input.content_language,
            content_disposition: $input.content_disposition,
            cache_control: $input.cache_control,
            expires: $input.expires,
            metadata: $input.metadata.unwrap_or_default(),
        }
    };
}

pub(super) use stored_headers;

/// Returns the maximum number of rows of a page: at most 1,000, which is also the default.
pub(super) fn rows(given: Option<i32>, name: &str) -> S3Result<i32> {
    match given.unwrap_or(MAX_ROWS) {
        rows @ 0.. => Ok(rows.min(MAX_ROWS)),
        rows => Err(s3_error!(InvalidArgument, "{name} must not be negative, and is {rows}.")),
    }
}

/// Returns the delimiter of a list; `None` if it is missing or empty.
pub(super) fn delimiter(given: Option<&str>) -> Option<String> {
    given.filter(|given| !given.is_empty()).map(str::to_owned)
}

pub(super) fn is_url(encoding: Option<&EncodingType>) -> S3Result<bool> {
    match encoding.map(EncodingType::as_str) {
        None | Some("") => Ok(false),
        Some(EncodingType::URL) => Ok(true),
        Some(other) => {
            Err(s3_error!(InvalidArgument, "encoding-type must be url, and is {other:?}."))
        }
    }
}

pub(super) fn encoded(text: String, url: bool) -> String {
    match url {
        true => utf8_percent_encode(&text, URL_ENCODED).to_string(),
        false => text,
    }
}

/// Returns the continuation token of the page after a key, a common prefix or a bucket.
pub(super) fn encode_token(last: &str) -> String {
    utf8_percent_encode(last, NON_ALPHANUMERIC).to_string()
}

pub(super) fn decode_token(token: &str) -> S3Result<String> {
    let decoded = percent_decode_str(token).decode_utf8().map_err(|_| {
        s3_error!(
            InvalidArgument,
            "continuation-token must be the NextContinuationToken of the previous page."
        )
    })?;
    Ok(decoded.into_owned())
}

pub(super) fn contents(entries: Vec<Entry>, owner: Option<&Owner>, url: bool) -> Vec<Object> {
    let rows = entries.into_iter().map(|entry| Object {
        e_tag: Some(ETag::Strong(entry.etag)),
        key: Some(encoded(entry.key, url)),
        last_modified: Some(entry.modified.into()),
        owner: owner.cloned(),
        size: i64::try_from(entry.size).ok(),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
        ..Object::default()
    });
    rows.collect()
}

pub(super) fn common_prefixes(prefixes: Vec<String>, url: bool) -> Vec<CommonPrefix> {
    let rows =
        prefixes.into_iter().map(|prefix| CommonPrefix { prefix: Some(encoded(prefix, url)) });
    rows.collect()
}

/// Removes `aws-chunked`, which encodes only the transfer of the request.
pub(super) fn content_encoding(given: Option<String>) -> Option<String> {
    let given = given?;
    let kept = given.split(',').map(str::trim);
    let kept: Vec<_> =
        kept.filter(|encoding| !encoding.is_empty() && *encoding != "aws-chunked").collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

/// Rejects requests for a version or a part of an object, because the emulator stores neither.
pub(super) fn no_versions(version: Option<&str>, part_number: Option<i32>) -> S3Result<()> {
    if version.is_some_and(|version| version != "null") {
        return Err(s3_error!(
            NotImplemented,
            "This emulator stores no versions of objects: leave out versionId."
        ));
    }
    if part_number.is_some_and(|number| number != 1) {
        return Err(s3_error!(
            NotImplemented,
            "This emulator does not keep the parts of an object: read it by ranges."
        ));
    }
    Ok(())
}

pub(super) fn part(range: Option<Range>, size: u64) -> S3Result<Option<ops::Range<u64>>> {
    let Some(range) = range else {
        return Ok(None);
    };
    match range.check(size) {
        // A range of the last bytes of an empty object is empty.
        Ok(bytes) if !bytes.is_empty() => Ok(Some(bytes)),
        _ => Err(s3_error!(
            InvalidRange,
            "Range must select at least one of the {size} bytes of the object."
        )),
    }
}

pub(super) fn content_range(bytes: &ops::Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", bytes.start, bytes.end.saturating_sub(1))
}
