//! Runs a first training job with the client that OpenAPI Generator generates from the plain
//! variant of the description.

use std::{
    env,
    error::Error,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use modelarts::{
    apis::{
        configuration::{ApiKey, Configuration},
        training_jobs_api::{
            create_training_job, list_training_job_events, list_training_jobs,
            show_training_job_details,
        },
    },
    models::{
        CreateTrainingJobRequest, FilterOperator, JobAlgorithmRequest, JobEngineRequest, JobFilter,
        JobMetadataRequest, JobResourceRequest, JobSpecRequest, ListTrainingJobsRequest,
        ParameterRequest,
    },
};
use serde_json::Value;

const FINAL: [&str; 4] = ["Completed", "Failed", "Terminated", "Abnormal"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let project = env::var("HUAWEICLOUD_SDK_PROJECT_ID")?;
    let client = Configuration {
        base_path: env::var("MODELARTS_ENDPOINT")?,
        api_key: Some(ApiKey {
            prefix: None,
            key: env::var("MODELARTS_TOKEN")?,
        }),
        ..Configuration::default()
    };

    let millis = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let name = format!("from-rust-{millis}");
    let request = request(&name, &env::var("MODELARTS_OBS")?);
    let job = create_training_job(&client, &project, request).await?;
    let id = job.metadata.id.ok_or("the new job has no id")?;
    println!("created {name} {id}");

    let mut last = String::new();
    while !FINAL.contains(&last.as_str()) {
        let job = show_training_job_details(&client, &project, &id).await?;
        let phase = job
            .status
            .and_then(|status| status.phase)
            .unwrap_or_default();
        if phase != last {
            println!("phase {phase}");
            last = phase;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    let filter = JobFilter {
        operator: Some(FilterOperator::Like),
        ..JobFilter::new("name".into(), vec![name])
    };
    let search = ListTrainingJobsRequest {
        limit: Some(10),
        filters: Some(vec![filter]),
        ..ListTrainingJobsRequest::default()
    };
    let page = list_training_jobs(&client, &project, search).await?;
    for found in page.items.flatten().unwrap_or_default() {
        println!("listed {}", found.metadata.name.unwrap_or_default());
    }

    let (events, pages) = count_events(&client, &project, &id).await?;
    println!("events {events} pages {pages}");
    Ok(())
}

fn request(name: &str, obs: &str) -> CreateTrainingJobRequest {
    let engine = JobEngineRequest {
        engine_name: Some("PyTorch".into()),
        engine_version: Some("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64".into()),
        ..JobEngineRequest::default()
    };
    let epochs = ParameterRequest {
        name: Some("epochs".into()),
        value: Some("3".into()),
        ..ParameterRequest::default()
    };
    let algorithm = JobAlgorithmRequest {
        code_dir: Some(format!("{obs}/code/")),
        boot_file: Some(format!("{obs}/code/train.py")),
        engine: Some(Box::new(engine)),
        parameters: Some(Some(vec![epochs])),
        ..JobAlgorithmRequest::default()
    };
    let resource = JobResourceRequest {
        flavor_id: Some("modelarts.vm.cpu.2u".into()),
        node_count: Some(1),
        ..JobResourceRequest::default()
    };
    CreateTrainingJobRequest {
        algorithm: Some(Box::new(algorithm)),
        spec: Some(Box::new(JobSpecRequest {
            resource: Some(Box::new(resource)),
            ..JobSpecRequest::default()
        })),
        ..CreateTrainingJobRequest::new("job".into(), JobMetadataRequest::new(name.into()))
    }
}

/// Returns the numbers of events and pages. The offset counts entries, as `x-pagination` of
/// ListTrainingJobEvents states.
async fn count_events(
    client: &Configuration,
    project: &str,
    id: &str,
) -> Result<(usize, usize), Box<dyn Error>> {
    let (mut events, mut pages) = (0, 0);
    loop {
        let offset = Some(i32::try_from(events)?);
        let page = list_training_job_events(
            client,
            project,
            id,
            offset,
            Some(5),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        )
        .await?;
        let rows = page.events.flatten().unwrap_or_default().len();
        pages += 1;
        events += rows;
        let total = match page.total.flatten() {
            Some(Value::String(text)) => text.parse()?,
            Some(number) => number.as_u64().unwrap_or_default(),
            None => 0,
        };
        if rows == 0 || events as u64 >= total {
            return Ok((events, pages));
        }
    }
}
