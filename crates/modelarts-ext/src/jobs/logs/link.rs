//! Reader of a whole log, by the link to it in OBS.
//!
//! The service returns a pre-signed URL, which is valid for some minutes. Requests to OBS have no
//! credentials and no signature of the client. The URL is a secret, so messages contain only its
//! host.

use std::{pin::pin, time::SystemTime};

use bytes::{Buf, Bytes};
use futures::future::{Either, select};
use modelarts_api::{
    Effect,
    types::{ApiError, LogLinkType},
};
use reqwest::{
    Method, Request, Response, StatusCode, Url,
    header::{ACCEPT_ENCODING, CONTENT_RANGE, HeaderMap, HeaderValue, LOCATION, RANGE},
};

use crate::{
    clock::{self, since},
    error::{Error, ErrorKind, mask::Mask},
    http::{body, headers, observer::Attempt, url::is_loopback},
    jobs::logs::Logs,
    transport::{
        HttpTransport,
        attempt::{AttemptError, connection_error, origin},
        retry::{AttemptResult, may_retry},
    },
};

/// Length at which the body of an error is truncated, in bytes.
const ERROR_BODY_CAP: usize = 16 << 10;
/// Headers with the request id: that of OBS, and that of the S3 protocol.
const REQUEST_ID_HEADERS: [&str; 2] = ["x-obs-request-id", "x-amz-request-id"];

/// Reader of one log. After a failed attempt, the reader continues with a new link.
#[derive(Debug)]
pub(super) struct LinkReader {
    logs: Logs,
    /// Position in the log of the next byte to return.
    offset: u64,
    /// Position at which the reader ends; `None` for the end of the log.
    end: Option<u64>,
    download: Option<Download>,
    has_ended: bool,
    /// Number of retries since the last byte was received.
    retries: usize,
    /// Time of the first attempt since the last byte was received.
    started: Option<SystemTime>,
}

/// Response that is being read.
#[derive(Debug)]
struct Download {
    response: Response,
    host: Url,
    /// Number of bytes to skip before the position of the reader, if the server ignores ranges.
    skip: u64,
}

impl LinkReader {
    /// Creates a reader of the bytes from `offset` on, up to `end` or the end of the log.
    pub(super) fn new(logs: &Logs, offset: u64, end: Option<u64>) -> Self {
        Self {
            logs: logs.clone(),
            offset,
            end,
            download: None,
            has_ended: false,
            retries: 0,
            started: None,
        }
    }

    /// Returns the position in the log of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next bytes, or `None` at the end. The next call after an error continues. Errors
    /// of OBS have no [`Error::operation`], unlike errors of the request for the link.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if self.has_ended || self.end.is_some_and(|end| self.offset >= end) {
                return Ok(None);
            }
            match self.read().await {
                Ok(Some(bytes)) => {
                    self.retries = 0;
                    self.started = None;
                    return Ok(Some(bytes));
                }
                Ok(None) => self.has_ended = true,
                Err(failed) => {
                    self.download = None;
                    self.prepare_retry(failed).await?;
                }
            }
        }
    }

    /// Reads the next bytes in one attempt. Returns `None` at the end of the log.
    async fn read(&mut self) -> Result<Option<Bytes>, AttemptError> {
        let mut download = match self.download.take() {
            Some(download) => download,
            None => {
                let clock = self.logs.job.client().clock();
                self.started.get_or_insert_with(|| clock.now());
                match self.open().await? {
                    Some(download) => download,
                    None => return Ok(None),
                }
            }
        };
        loop {
            let transport = self.logs.job.client().transport();
            let chunk = in_time(transport, &download.host, download.response.chunk()).await?;
            let chunk = chunk.map_err(|error| {
                connection_error(error.into(), &download.host, transport.access.context.proxy())
            })?;
            let Some(mut chunk) = chunk else {
                return match download.skip {
                    0 => Ok(None),
                    _ => Err(replaced()),
                };
            };
            let length = chunk.len() as u64;
            if download.skip >= length {
                download.skip -= length;
                continue;
            }
            chunk.advance(usize::try_from(std::mem::take(&mut download.skip)).unwrap_or(0));
            if let Some(end) = self.end {
                chunk.truncate(usize::try_from(end - self.offset).unwrap_or(usize::MAX));
            }
            self.offset += chunk.len() as u64;
            self.download = Some(download);
            return Ok(Some(chunk));
        }
    }

    /// Requests a link, and the log from the position on. Returns `None` if the log ends there.
    async fn open(&self) -> Result<Option<Download>, AttemptError> {
        let transport = self.logs.job.client().transport();
        let url = self.logs.link().await.map_err(without_retry)?;
        let secrets: Vec<_> = url.query_pairs().map(|(_, value)| value).collect();
        let mask = Mask::new(secrets.iter().map(AsRef::as_ref));
        let host = origin(url.as_str()).and_then(|origin| Url::parse(&origin).ok());
        let Some(host) = host else {
            return Err(without_retry(no_link()));
        };
        let mut request = Request::new(Method::GET, url);
        let headers = request.headers_mut();
        // Positions refer to the log, not to a compressed form of the log.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if self.offset > 0 || self.end.is_some() {
            let last = self.end.map(|end| (end - 1).to_string());
            let range = format!("bytes={}-{}", self.offset, last.unwrap_or_default());
            if let Ok(range) = HeaderValue::try_from(range) {
                headers.insert(RANGE, range);
            }
        }
        let masked = |mut failed: AttemptError| {
            failed.error = failed.error.with_mask(&mask);
            failed
        };
        let (context, started) = (&transport.access.context, transport.clock.now());
        let response = in_time(transport, &host, transport.connector.send(request)).await;
        let response = response.and_then(|response| {
            response.map_err(|error| connection_error(error, &host, context.proxy()))
        });
        let response = response.map_err(masked);
        let result = match &response {
            Ok(response) => Ok(response.status().as_u16()),
            Err(failed) => Err(&failed.error as _),
        };
        context.observe(&Attempt::new("OBS GET", result, since(&*transport.clock, started)));
        let mut response = response?;
        let start = match response.status() {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT => match content_range(response.headers()) {
                Some((Some(start), _)) if start <= self.offset => start,
                _ => {
                    let message = format!("{} sends another part of the log", place(&host));
                    return Err(without_retry(Error::new(ErrorKind::Unexpected, message)));
                }
            },
            // The position is at or after the end of the log.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                return match content_range(response.headers()) {
                    Some((_, Some(length))) if length < self.offset => Err(replaced()),
                    _ => Ok(None),
                };
            }
            status => {
                let failed = in_time(transport, &host, refusal(&mut response, &host, &mask));
                let mut failed = failed.await.map_err(masked)?;
                let wait = headers::retry_after(response.headers(), || transport.clock.now());
                failed = failed.with_retry_after(wait);
                return Err(AttemptError {
                    result: AttemptResult::Response(status),
                    error: failed,
                    permanent: false,
                });
            }
        };
        Ok(Some(Download { response, host, skip: self.offset - start }))
    }

    /// Waits before the next attempt. Returns the error if no further attempt is made.
    async fn prepare_retry(&mut self, failed: AttemptError) -> Result<(), Error> {
        let transport = self.logs.job.client().transport();
        let elapsed = self.started.map(|started| since(&*transport.clock, started));
        let delay = (!failed.permanent && may_retry(Effect::Read, failed.result))
            .then(|| {
                let wait = failed.error.retry_after();
                transport.retry.delay(self.retries, wait, elapsed.unwrap_or_default())
            })
            .flatten()
            .filter(|_| transport.take_retry());
        let Some(delay) = delay else {
            self.retries = 0;
            self.started = None;
            return Err(failed.error);
        };
        tracing::debug!(error = %failed.error, offset = self.offset, pause = ?delay, "reading on");
        clock::pause(&*transport.clock, delay).await;
        self.retries += 1;
        Ok(())
    }
}

impl Logs {
    /// Requests a link to the log, and returns the URL. The scheme is https, unless the service and
    /// the link are on this machine.
    async fn link(&self) -> Result<Url, Error> {
        let client = self.job.client();
        let answer = client
            .call(|api| {
                api.show_obs_url_of_training_job_logs()
                    .project_id(client.project().clone())
                    .training_job_id(self.job.training_job_id().clone())
                    .task_id(self.task.clone())
                    .content_type(LogLinkType::ApplicationOctetStream)
                    .send()
            })
            .await?
            .into_inner();
        let url = answer.obs_url.and_then(|link| Url::parse(link.expose()).ok());
        let mut url = url.ok_or_else(no_link)?;
        // A link can start with `http`, but OBS also supports https (SOURCES D-51). The signature
        // of a link does not include the scheme.
        let is_local = || is_loopback(&url) && is_loopback(&client.transport().endpoint);
        if url.scheme() == "http" && !is_local() {
            url.set_scheme("https").map_err(|()| no_link())?;
        }
        match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err(no_link()),
        }
    }
}

/// Waits for a part of a response, for at most the time limit of a call.
async fn in_time<T>(
    transport: &HttpTransport,
    host: &Url,
    work: impl Future<Output = T>,
) -> Result<T, AttemptError> {
    match select(pin!(work), transport.clock.sleep(transport.timeout)).await {
        Either::Left((result, _)) => Ok(result),
        Either::Right(((), _)) => Err(AttemptError {
            result: AttemptResult::Lost,
            error: Error::new(
                ErrorKind::Timeout,
                format!("{} sent nothing for {:?}", place(host), transport.timeout),
            ),
            permanent: false,
        }),
    }
}

/// Returns the error for a response that does not contain the log.
async fn refusal(response: &mut Response, host: &Url, mask: &Mask) -> Error {
    let status = response.status();
    if status.is_redirection() {
        let target = response.headers().get(LOCATION);
        let target = target.and_then(|target| origin(target.to_str().ok()?));
        let message = format!(
            "{} redirects to {}, which is not followed",
            place(host),
            target.as_deref().unwrap_or("an unknown place")
        );
        return Error::new(ErrorKind::Unexpected, message).with_status(status.as_u16());
    }
    // A response without a readable body still has its status.
    let body = body::read(response, ERROR_BODY_CAP).await;
    let body = body.map(|body| body.bytes).unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    let text = |name| {
        let text = element(&body, name)?;
        Some(mask.text(text).unwrap_or_else(|| text.to_owned()))
    };
    let code = text("Code");
    // The bucket of the log path exists before the first log, so a missing bucket is another error.
    if status == StatusCode::NOT_FOUND && code.as_deref() != Some("NoSuchBucket") {
        let message = format!("the log is not in OBS yet ({})", place(host));
        return Error::new(ErrorKind::NotReady, message).with_status(status.as_u16());
    }
    let reason = text("Message").unwrap_or_else(|| "no reason is given".to_owned());
    let mut error = ApiError::default();
    error.error_code = code;
    error.error_msg = Some(format!("{} refuses the log: {reason}", place(host)));
    let request_id = REQUEST_ID_HEADERS.iter().find_map(|name| response.headers().get(*name));
    error.request_id = request_id.and_then(|id| {
        let id = id.to_str().ok()?;
        Some(mask.text(id).unwrap_or_else(|| id.to_owned()))
    });
    Error::service(status.as_u16(), &error)
}

/// Returns the text of the first XML element with this name.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Parses `Content-Range`, such as `bytes 7-12/13` or `bytes */13`, into start and total length.
fn content_range(headers: &HeaderMap) -> Option<(Option<u64>, Option<u64>)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, length) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    let start = range.split_once('-').and_then(|(start, _)| start.parse().ok());
    Some((start, length.parse().ok()))
}

/// Returns the URL of the server for messages, without a trailing slash.
fn place(host: &Url) -> &str {
    host.as_str().trim_end_matches('/')
}

fn no_link() -> Error {
    Error::new(ErrorKind::Unexpected, "the service returned no valid link to the log")
}

/// Returns the error for a log that is shorter than before.
fn replaced() -> AttemptError {
    without_retry(
        Error::new(
            ErrorKind::Unexpected,
            "the log was replaced by a shorter one while it was read, as by a restart of the task",
        )
        .with_retryable(true),
    )
}

/// Returns the error of an attempt that must not be retried.
fn without_retry(error: Error) -> AttemptError {
    AttemptError { result: AttemptResult::NotSent, error, permanent: true }
}
