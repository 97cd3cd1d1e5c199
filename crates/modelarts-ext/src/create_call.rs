//! The call that makes a job.
//!
//! The generated operation takes a type that has the documented fields only. A job may have
//! others (one that was copied from a newer service has), and what [`CreateJob::body`] shows is
//! what is to be sent. So the body goes as it is, on the way of the generated operation: signed,
//! retried and decoded by the same code.
//!
//! [`CreateJob::body`]: crate::CreateJob::body

use modelarts_api::{Error as Generated, OPERATIONS, decode, types::TrainingJob};
use progenitor_client::{ClientHooks, ClientInfo, OperationInfo};
use reqwest::header::ACCEPT;
use serde_json::Value;

use crate::{answer::Answer, client::Client, error::Error};

/// The name of the generated method.
const OPERATION: &str = "create_training_job";

pub(crate) async fn send(client: &Client, body: &Value) -> Result<Answer<TrainingJob>, Error> {
    let mut operations = OPERATIONS.iter();
    let path = operations
        .find(|operation| operation.method_name == OPERATION)
        .map_or("", |operation| operation.path)
        .replace("{project_id}", client.project_id());
    let call = async |api: &modelarts_api::Client| {
        let request = api
            .client()
            .post(format!("{}{path}", api.baseurl()))
            .header(ACCEPT, "application/json")
            .json(body)
            .build()?;
        let operation = OperationInfo {
            operation_id: OPERATION,
        };
        let response = api.exec(request, &operation).await?;
        match response.status().as_u16() {
            200..=299 => decode::response(response).await,
            400..=599 => Err(Generated::ErrorResponse(decode::response(response).await?)),
            _ => Err(Generated::UnexpectedResponse(response)),
        }
    };
    client.call(call).await
}
