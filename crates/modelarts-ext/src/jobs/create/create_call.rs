//! The call that makes a job.
//!
//! The generated operation takes a type that has the documented fields only. A job may have
//! others (one that was copied from a newer service has), and what [`CreateJob::body`] shows is
//! what is to be sent. So the body goes as it is, on the way of the generated operation: signed,
//! retried and decoded by the same code.
//!
//! [`CreateJob::body`]: crate::jobs::create::CreateJob::body

use std::sync::Arc;

use modelarts_api::{Error as Generated, Operation, decode, types::TrainingJob};
use progenitor_client::ClientInfo;
use reqwest::header::ACCEPT;
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    error::Error,
    transport::call::Record,
};

// Looked for when this is compiled.
#[allow(clippy::panic)]
const OPERATION: &Operation = match Operation::named("create_training_job") {
    Some(operation) => operation,
    None => panic!("no operation has this method"),
};

pub(crate) async fn send(
    client: &Client,
    body: &Value,
    record: &Arc<Record>,
) -> Result<Response<TrainingJob>, Error> {
    let path = OPERATION.path.replace("{project_id}", client.project_id());
    let call = async |api: &modelarts_api::Client| {
        let request = api
            .client()
            .post(format!("{}{path}", api.baseurl()))
            .header(ACCEPT, "application/json")
            .json(body)
            .build()?;
        let response = modelarts_api::send(api, request, OPERATION).await?;
        match response.status.as_u16() {
            200..=299 => decode::response(response),
            400..=599 => Err(Generated::ErrorResponse(decode::response(response)?)),
            _ => Err(Generated::UnexpectedResponse(response.into())),
        }
    };
    client.call_on_record(record, call).await
}
