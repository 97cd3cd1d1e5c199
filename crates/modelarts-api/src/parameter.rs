//! Parameters of operations, for programs that call operations by name.

use crate::{
    generated::PARAMETERS,
    operation::{Operation, ParameterLocation},
    schema::Shape,
};

/// One parameter of an operation, or its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The operation, such as `ListTrainingJobEvents`.
    pub operation: &'static str,
    /// Name on the wire, such as `training_job_id`. The name of the request body is `body`.
    pub name: &'static str,
    /// The part of the request that contains the parameter.
    pub location: ParameterLocation,
    /// True if every call must contain the parameter.
    pub required: bool,
    /// Schema of the values, such as `TrainingJobId`, whose limits are in
    /// [`LIMITS`](crate::LIMITS); empty for an unnamed schema.
    pub schema: &'static str,
    /// Type of the values.
    pub shape: Shape,
}

impl Operation {
    /// Returns the parameters of the operation: path parameters first, the body last.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> + use<> {
        let id = self.id;
        PARAMETERS.iter().filter(move |row| row.operation == id)
    }
}
