//! Parameters of operations, for programs that call operations by name.

use crate::{
    generated::PARAMETERS,
    operation::{Operation, ParameterLocation},
    schema::Shape,
};

/// Parameter of an operation, or the request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Name of the operation, such as `ListTrainingJobEvents`.
    pub operation: &'static str,
    /// Name in requests, such as `training_job_id`. The name of the request body is `body`.
    pub name: &'static str,
    /// Part of the request that contains the parameter.
    pub location: ParameterLocation,
    /// `true` if every call must contain the parameter.
    pub required: bool,
    /// Name of the schema of the values, such as `TrainingJobId`. The limits of the schema are in
    /// [`LIMITS`](crate::LIMITS). Empty for an unnamed schema.
    pub schema: &'static str,
    /// JSON type of the values.
    pub shape: Shape,
}

impl Operation {
    /// Returns the parameters of the operation, with path parameters first and the body last.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> + use<> {
        let id = self.id;
        PARAMETERS.iter().filter(move |row| row.operation == id)
    }
}
