//! Job that is created for a recording, and then deleted.

use std::time::Duration;

use clap::Args;
use modelarts_ext::{CreateJob, JobHandle, Outcome, types::TrainingFlavor};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    commands::{
        create::choices::default_engine,
        jobs::time_span,
        record::recorder::{JOB, Recorder, Values},
    },
    confirmation::confirm,
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    output,
    session::Session,
    terminal::note,
};

/// Time after which the service stops the job, in case this program cannot.
const AUTO_STOP: Duration = Duration::from_secs(3_600);
/// Maximum wait for the service to stop a job.
const STOP_TIME: Duration = Duration::from_secs(180);
/// Maximum number of checks for the deletion of the job, and the pause between two checks.
const CHECKS: (u32, Duration) = (120, Duration::from_secs(1));

/// Arguments of the job that is created.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// Also creates a job with the cheapest flavor, reads it at its end, and deletes it. The
    /// service may charge for it.
    #[arg(long)]
    create: bool,
    /// Time after which the job is stopped and deleted: 10m, 1h.
    #[arg(long, value_name = "TIME", requires = "create", default_value = "15m")]
    #[arg(value_parser = time_span)]
    timeout: Duration,
    /// Creates the job without a question.
    #[arg(short, long, requires = "create")]
    yes: bool,
}

impl Create {
    /// Asks for a confirmation, and returns the job to create; `None` if no job is requested.
    pub(super) async fn plan(&self, session: &Session) -> Result<Option<CreateJob>, Failure> {
        if !self.create {
            return Ok(None);
        }
        let client = session.client().await?;
        let flavors = client.flavors(None).collect(usize::MAX).await?.into_iter();
        let flavor = flavors.filter(|it| it.pool_id.is_none()).min_by_key(rank);
        let refusal = "the service lists no flavor; --create must be left out";
        let flavor = flavor.ok_or_else(|| Failure::usage(refusal))?;
        let (name, version) = default_engine(client).await?;
        let id = flavor.flavor_id.as_deref().unwrap_or_default();
        let code = flavor.billing.as_ref().and_then(|it| it.code.as_deref());
        let hardware = flavor.flavor_info.as_deref().map(output::hardware);
        let (hardware, code) = (hardware.unwrap_or_default(), code.unwrap_or(id));
        let limit = output::duration(self.timeout);
        let cost = format!("1 x {id} ({hardware}) for at most {limit}, charged as {code}");
        let place = Session::place(client);
        confirm(session.terminal, self.yes, format!("create a job in {place}: {cost}"))?;
        let job = client.training_jobs().create_unnamed().flavor(id);
        let job = job.preset_image(name, version).command("echo started");
        Ok(Some(job.auto_stop(AUTO_STOP)))
    }

    /// Creates the job, waits for its end, reads the job and deletes it.
    pub(super) async fn run(
        &self,
        job: CreateJob,
        recorder: &mut Recorder<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<(), Failure> {
        let (body, jobs) = (job.body(), recorder.client.training_jobs());
        let name = body["metadata"]["name"].as_str().map(str::to_owned);
        let created = recorder.call("CreateTrainingJob", Values::new(), Some(body));
        let job = match created.await {
            Ok(job) => jobs.job(job["metadata"]["id"].as_str().unwrap_or_default())?,
            Err(error) if error.is_uncertain() => {
                note("the job may exist; `modelarts ls` lists it");
                jobs.job(jobs.get_by_name(name.unwrap_or_default()).await?.id())?
            }
            Err(error) => return Err(Failure::NotCreated(error)),
        };
        note!("created the job {}", job.id());
        let wait = job.wait().timeout(self.timeout).into_future();
        let result = match interrupt.unless(wait).await.transpose() {
            Ok(None) => Err(Failure::Status(ExitStatus::Interrupted)),
            Ok(Some(waited)) if *waited.outcome() == Outcome::TimedOut => {
                note("the time of --timeout has passed");
                Err(Failure::Status(ExitStatus::TimedOut))
            }
            Ok(Some(_)) => recorder.read_job(job.id().to_owned()).await,
            Err(error) => Err(error.into()),
        };
        delete(recorder, &job).await?;
        result
    }
}

/// Stops the job if it has not ended, and deletes it. Waits until the service has deleted the job.
async fn delete(recorder: &mut Recorder<'_>, job: &JobHandle) -> Result<(), Failure> {
    let values = Values::from([(JOB, job.id().to_owned())]);
    if !job.get().await.is_ok_and(|job| job.is_final()) {
        let body = json!({"action_type": "terminate"});
        let stop = recorder.call("StopTrainingJob", values.clone(), Some(body));
        let _ = stop.await;
        let _ = job.wait().timeout(STOP_TIME).await;
    }
    let mut is_accepted = false;
    for _ in 0..CHECKS.0 {
        if !is_accepted {
            let delete = recorder.call("DeleteTrainingJob", values.clone(), None);
            is_accepted = delete.await.is_ok();
        }
        if job.get().await.is_err_and(|error| error.is_not_found()) {
            note("deleted the job");
            return Ok(());
        }
        sleep(CHECKS.1).await;
    }
    let advice = format!("`modelarts rm {}` deletes it", job.id());
    Err(Failure::local(format!("the job still exists, and may cost money; {advice}")))
}

/// Returns the rank of a flavor by its probable price, which the service does not state. Free
/// flavors come first, then those without cards, then those with few units, cores and memory.
fn rank(flavor: &TrainingFlavor) -> (bool, bool, [i64; 3]) {
    let info = flavor.flavor_info.as_ref();
    let id = flavor.flavor_id.as_deref().unwrap_or_default();
    let has_price = id.split('.').all(|word| word != "free");
    let has_cards = info.is_none_or(|info| info.gpu.is_some() || info.npu.is_some());
    let units = flavor.billing.as_ref().and_then(|billing| billing.unit_num);
    let cores = info.and_then(|info| info.cpu.as_ref()?.core_num);
    let memory = info.and_then(|info| info.memory.as_ref()?.size);
    let size = [units, cores, memory].map(|number| number.unwrap_or(i64::MAX));
    (has_price, has_cards, size)
}
