//! Texts of an error: `Display` as one sentence if possible, `Debug` with one detail per line.

use std::{error::Error as StdError, fmt, iter};

use modelarts_api::{Effect, OPERATIONS, codes};

use crate::error::{Error, ErrorKind};

impl Error {
    fn headline(&self) -> String {
        let inner = &*self.0;
        let operation = inner.call.operation.map(|name| format!("{name}: "));
        let reason = match inner.kind {
            ErrorKind::Service if inner.message.is_empty() => {
                let message = self.message().unwrap_or("the service gave no reason");
                // The canonical request is omitted, because the advice explains the difference.
                let reason = message.split(", canonicalRequest:").next();
                reason.unwrap_or_default().trim().trim_end_matches('.')
            }
            _ => &inner.message,
        };
        operation.unwrap_or_default() + reason
    }

    fn advice_below_headline(&self) -> Option<&str> {
        match self.solution() {
            None if !self.violations().is_empty() => None,
            _ => self.advice(),
        }
    }

    fn causes(&self, text: &str) -> Option<String> {
        let causes = iter::successors(self.source(), |error| (*error).source());
        let mut shown: Vec<String> = Vec::new();
        for cause in causes.map(ToString::to_string) {
            let is_known = |text: &str| text.contains(cause.as_str());
            if !is_known(text) && !shown.iter().any(|text| is_known(text)) {
                shown.push(cause);
            }
        }
        (!shown.is_empty()).then(|| shown.join(": "))
    }

    /// Returns names and values for `Debug`. Omits the body, because it may contain secrets.
    fn facts(&self, headline: &str) -> Vec<(&'static str, String)> {
        let call = &self.0.call;
        let attempts = (call.attempts > 0).then(|| match call.elapsed {
            elapsed if elapsed.is_zero() => call.attempts.to_string(),
            elapsed => format!("{} in {elapsed:.1?}", call.attempts),
        });
        let code = self.code().map(|code| match self.code_name() {
            Some(name) => format!("{code} ({name})"),
            None => code.to_owned(),
        });
        let facts = [
            ("kind", Some(format!("{:?}", self.kind()))),
            ("status", self.status().map(|status| status.to_string())),
            ("code", code),
            ("request id", self.request_id().map(str::to_owned)),
            ("attempts", attempts),
            (
                "effect",
                (self.is_uncertain() && !self.is_read())
                    .then(|| "the service may have executed the call".to_owned()),
            ),
            (
                "retry",
                self.is_retryable().then(|| match self.retry_after() {
                    Some(wait) => format!("the same call may succeed after {wait:?}"),
                    // Under load, the service also returns this code for an existing input.
                    None if self.code() == Some(codes::INVALID_OBS_PATH) => {
                        "the same call may succeed later if the path exists".to_owned()
                    }
                    None => "the same call may succeed later".to_owned(),
                }),
            ),
            (
                "position",
                self.position()
                    .map(|position| format!("resume() continues after row {}", position.rows())),
            ),
            (
                "advice",
                self.advice_below_headline()
                    .map(|advice| advice.trim().trim_end_matches('.').to_owned()),
            ),
            ("caused by", self.causes(headline)),
        ];
        let known = facts.into_iter();
        known.filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl Error {
    fn is_read(&self) -> bool {
        let mut known = OPERATIONS.iter();
        let found = known.find(|known| Some(known.id) == self.operation());
        found.is_some_and(|operation| operation.effect == Effect::Read)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        let headline = self.headline();
        f.write_str(&headline)?;
        let mut details = Vec::new();
        details.extend(self.code().map(str::to_owned));
        details.extend(self.status().map(|status| format!("HTTP {status}")));
        details.extend(self.request_id().map(|id| format!("request id {id}")));
        if inner.call.attempts > 1 {
            details.push(format!("{} attempts", inner.call.attempts));
        }
        if !details.is_empty() {
            write!(f, " ({})", details.join(", "))?;
        }
        match self.advice_below_headline() {
            // After several lines, such as those of a log, the advice needs a separate line.
            Some(advice) if headline.contains('\n') => write!(f, "\nadvice: {advice}"),
            // Advice outside of the table may begin with a name, so its case is not changed.
            Some(own) if self.solution().or(inner.advice.as_deref()).is_some() => {
                write!(f, "; {}", own.trim().trim_end_matches('.'))
            }
            Some(advice) => write!(f, "; {}", clause(advice)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headline = self.headline();
        f.write_str(&headline.replace('\n', "\n  "))?;
        for (name, value) in self.facts(&headline) {
            write!(f, "\n  {name}: {}", value.replace('\n', "\n    "))?;
        }
        Ok(())
    }
}

pub(crate) fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

pub(crate) fn chain_message(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    for error in iter::successors(error.source(), |error| (*error).source()) {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
    }
    text
}
