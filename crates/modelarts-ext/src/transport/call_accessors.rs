//! What a job or a page knows about the call that brought it: its [`CallInfo`](crate::transport::call::CallInfo).

/// The public face of it, for what has it in a field `told`, or where this path leads.
macro_rules! accessors {
    () => {
        $crate::transport::call_accessors::accessors!(told);
    };
    ($($told:tt)+) => {
        /// The id of the request that brought it, which support asks for.
        #[must_use]
        pub fn request_id(&self) -> Option<&str> {
            self.$($told)+.request_id.as_deref()
        }

        /// How often that request was sent.
        #[must_use]
        pub fn attempts(&self) -> u32 {
            self.$($told)+.attempts
        }

        /// How long that call took, all attempts together.
        #[must_use]
        pub fn elapsed(&self) -> std::time::Duration {
            self.$($told)+.elapsed
        }
    };
}
pub(crate) use accessors;
