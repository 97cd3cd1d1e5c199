//! Detection of responses that belong to another request, mixed up by a faulty proxy.

use crate::{
    client::{Client, response::Response},
    error::{Error, ErrorKind},
};

impl<T> Response<T> {
    /// Rejects a response whose `field` differs from the requested value `asked`, and closes the
    /// idle connections in that case. `found` reads the field; a response without it is accepted.
    pub(crate) fn require_match(
        self,
        client: &Client,
        field: &str,
        asked: &str,
        found: impl FnOnce(&T) -> Option<&str>,
    ) -> Result<Self, Error> {
        let other = match found(&self.value) {
            // Case is ignored: not every part of the service distinguishes it in ids and names.
            Some(other) if !other.eq_ignore_ascii_case(asked) => other,
            _ => return Ok(self),
        };
        let masked = self.call.mask().text(other);
        let other = masked.as_deref().unwrap_or(other);
        client.reset_connections();
        let message = format!(
            "the answer is to another request: its {field} is {other:?}, and must be {asked:?}"
        );
        let solution = "something on the way mixes up answers, so the connections were replaced; \
                        try again";
        Err(Error::new(ErrorKind::Unexpected, message)
            .with_status(self.status())
            .with_solution(Some(solution.to_owned()))
            .with_call(self.call.summary())
            .with_retryable(true))
    }
}
