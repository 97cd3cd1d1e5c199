//! Check that a response is to the request, and not to another one.

use crate::{
    client::{Client, response::Response},
    error::{Error, ErrorKind},
};

impl<T> Response<T> {
    /// Rejects a response whose `field` differs from the requested value `asked`: a faulty proxy
    /// has mixed it up with that of another request. Closes the idle connections in this case.
    /// `found` reads the field; a response without the field is rejected, too.
    pub(crate) fn require_match(
        self,
        client: &Client,
        field: &str,
        asked: &str,
        found: impl FnOnce(&T) -> Option<&str>,
    ) -> Result<Self, Error> {
        let other = match found(&self.value) {
            // Case is ignored, because some parts of the service do not distinguish it in ids and
            // names.
            Some(other) if !other.eq_ignore_ascii_case(asked) => other,
            Some(_) => return Ok(self),
            None => return Err(self.without(field)),
        };
        let masked = self.call.mask().text(other);
        let other = masked.as_deref().unwrap_or(other);
        client.transport().connector.reset();
        let message = format!(
            "the answer is to another request: its {field} is {other:?}, and must be {asked:?}"
        );
        let solution = "something on the way mixes up answers, so the connections were replaced; \
                        try again";
        Err(Error::new(ErrorKind::Unexpected, message)
            .with_status(self.status())
            .with_solution(Some(solution.to_owned()))
            .with_call(self.call.summary.clone())
            .with_retryable(true))
    }
}
