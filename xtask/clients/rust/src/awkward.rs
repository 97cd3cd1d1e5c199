//! Reads unusual responses, and prints a line for each: `CASE JSON` or `CASE ! ERROR`.

use std::env;

use modelarts::{
    apis::{
        Error,
        configuration::Configuration,
        training_jobs_api::{
            ListTrainingJobEventsError, ShowTrainingJobDetailsError, list_training_job_events,
            show_training_job_details,
        },
    },
    models::{ListTrainingJobEventsResponse, TrainingJob},
};
use serde_json::{Value, json};

struct Reader(Configuration);

impl Reader {
    async fn show(&self, case: &str) -> Result<TrainingJob, Error<ShowTrainingJobDetailsError>> {
        show_training_job_details(&self.0, case, "c1b7e5de").await
    }

    async fn job(&self, case: &str) -> Result<TrainingJob, String> {
        self.show(case).await.map_err(name)
    }

    async fn events(&self, case: &str) -> Result<ListTrainingJobEventsResponse, String> {
        list_training_job_events(
            &self.0, case, "c1b7e5de", None, None, None, None, None, None, None, None, None,
        )
        .await
        .map_err(name::<ListTrainingJobEventsError>)
    }

    async fn read(&self, case: &str) -> Result<Value, String> {
        Ok(match case {
            "unknown-enum" | "missing-field" => {
                json!(self.job(case).await?.status.and_then(|status| status.phase))
            }
            "number-as-text" => json!(self.events(case).await?.total),
            "beyond-double" => json!(self.job(case).await?.status.and_then(|it| it.duration)),
            "null-list" => {
                let events = self.events(case).await?.events.flatten();
                json!(events.unwrap_or_default().len())
            }
            "null-object" => json!(self.job(case).await?.algorithm),
            "extra-field" => json!(self.job(case).await?.metadata.name),
            "missing-job" => match self.show(case).await {
                Err(Error::ResponseError(refused)) => match refused.entity {
                    Some(
                        ShowTrainingJobDetailsError::Status4XX(error)
                        | ShowTrainingJobDetailsError::Status5XX(error),
                    ) => json!(error.error_code),
                    _ => Value::Null,
                },
                other => return Err(other.err().map(name).unwrap_or_default()),
            },
            "html-502" => match self.show(case).await {
                Err(Error::ResponseError(refused)) => json!(refused.status.as_u16()),
                other => return Err(other.err().map(name).unwrap_or_default()),
            },
            _ => Value::Null,
        })
    }
}

fn name<T>(error: Error<T>) -> String {
    match error {
        Error::Reqwest(_) => "Reqwest",
        Error::Serde(_) => "Serde",
        Error::Io(_) => "Io",
        Error::ResponseError(_) => "ResponseError",
    }
    .into()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), env::VarError> {
    let reader = Reader(Configuration {
        base_path: env::var("MODELARTS_ENDPOINT")?,
        ..Configuration::default()
    });
    for case in [
        "unknown-enum",
        "number-as-text",
        "beyond-double",
        "null-list",
        "null-object",
        "missing-field",
        "extra-field",
        "missing-job",
        "html-502",
    ] {
        match reader.read(case).await {
            Ok(value) => println!("{case} {value}"),
            Err(error) => println!("{case} ! {error}"),
        }
    }
    Ok(())
}
