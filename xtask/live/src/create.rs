//! Records the calls about one job, from its creation to its deletion.

use std::{
    io::{self, BufRead, BufReader, IsTerminal},
    pin::pin,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use futures::future::{Either, select};
use modelarts_ext::{
    Client, CreateJob, Filter, Job, Outcome,
    types::{TrainingEngine, TrainingFlavor},
};
use tokio::task::JoinHandle;

use crate::record::{read_job, step};

/// Maximum time that the service may take to stop a job.
const GRACE: Duration = Duration::from_secs(180);
/// Maximum number of attempts to delete a job and to confirm its deletion.
const DELETIONS: u32 = 120;
const BETWEEN_DELETIONS: Duration = Duration::from_secs(1);

/// Command-line options of the job to create.
#[derive(Args, Debug)]
pub struct Create {
    /// Also create the cheapest possible job, watch it and delete it; this may cost money
    #[arg(long, requires = "record")]
    create: bool,
    /// Stop and delete the job after this many minutes, fractions included
    #[arg(long, value_name = "N", default_value_t = 15.0, requires = "create", value_parser = minutes)]
    budget_minutes: f64,
    /// Create the job without asking for confirmation
    #[arg(long, requires = "create")]
    yes: bool,
    /// The flavor; the cheapest of the public pool if not given
    #[arg(long, value_name = "ID", requires = "create")]
    flavor: Option<String>,
    /// The image, such as organization/name:tag; that of a preset engine if not given
    #[arg(
        long,
        value_name = "IMAGE",
        requires = "create",
        conflicts_with = "engine"
    )]
    image: Option<String>,
    /// The command that runs in the image
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "create",
        default_value = "echo started"
    )]
    command: String,
    /// A preset engine that runs the boot file
    #[arg(long, value_name = "ID", requires = "boot_file")]
    engine: Option<String>,
    /// The directory of the code, such as obs://bucket/code/
    #[arg(long, value_name = "OBS", requires = "create")]
    code_dir: Option<String>,
    /// A file in the directory of the code, which runs instead of the command
    #[arg(long, value_name = "OBS", requires_all = ["code_dir", "engine"])]
    boot_file: Option<String>,
    /// A directory for the logs, such as obs://bucket/logs/
    #[arg(long, value_name = "OBS", requires = "create")]
    log_dir: Option<String>,
}

impl Create {
    /// Returns whether a job is to be created.
    pub fn is_wanted(&self) -> bool {
        self.create
    }

    /// Fails if a job is to be created without `--yes` and stdin is not a terminal. Called before
    /// the first request is sent.
    pub fn can_ask(&self) -> Result<()> {
        ensure!(
            !self.create || self.yes || io::stdin().is_terminal(),
            "--create may cost money, and the question cannot be asked, as stdin is no terminal; \
             --yes must be given too"
        );
        Ok(())
    }

    /// Creates the job, watches it and deletes it. The job is deleted even if watching fails.
    pub async fn run(&self, client: &Client) -> Result<()> {
        // From this point on, Ctrl-C does not end the program, so that a created job is always
        // deleted.
        let stop = tokio::spawn(stop_signal());
        let Some(job) = self.plan(client).await? else {
            return Ok(());
        };
        ensure!(!stop.is_finished(), "interrupted; no job was created");
        let name = job.body()["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        // A signal does not cancel the create request, because only its response contains the id of
        // the job.
        let job = match job.submit().await {
            Ok(job) => job,
            Err(error) if error.is_uncertain() => {
                return self.settle(client, &name).await.context(error.to_string());
            }
            Err(error) => return Err(error).context("the job was not created"),
        };
        eprintln!("created the job {name} ({})", job.id());
        let ended = self.watch(client, &job, stop).await;
        let deleted = delete(client, job).await;
        deleted.and(ended)
    }

    async fn plan(&self, client: &Client) -> Result<Option<CreateJob>> {
        let (flavor, about, cards) = match &self.flavor {
            Some(id) => (id.clone(), "as given".to_owned(), false),
            None => {
                let flavors = client.flavors(None).collect(1000).await;
                cheapest(flavors.context("the flavors are not known; give --flavor")?)?
            }
        };
        let mut job = client.training_jobs().create_unnamed().flavor(&flavor);
        let code = match (&self.boot_file, &self.image, &self.engine) {
            (Some(file), _, Some(engine)) => {
                job = job.preset_engine(engine).boot_file(file);
                file.clone()
            }
            (_, Some(image), _) => {
                job = job.custom_image(image).command(&self.command);
                format!("{:?} in {image}", self.command)
            }
            _ => {
                let engines = client.engines().collect(1000).await;
                let image = preset(
                    engines.context("the engines are not known; give --image")?,
                    cards,
                )?;
                job = job.custom_image(&image).command(&self.command);
                format!("{:?} in {image}", self.command)
            }
        };
        if let Some(path) = &self.code_dir {
            job = job.code_dir(path);
        }
        if let Some(path) = &self.log_dir {
            job = job.log_path(path);
        }
        // With this limit, the service stops the job even if this program or its machine fails.
        let hours = self.budget().as_secs() / 3600 + 1;
        job = job.auto_stop(Duration::from_secs(hours * 3600));
        eprintln!(
            "A job will be created at {}, and deleted when it has ended, or after {} minutes:\n  \
             flavor  {flavor} ({about})\n  runs    {code}\nThe operator of the service may \
             charge for it.",
            client.endpoint(),
            self.budget_minutes,
        );
        if self.yes || confirmed(BufReader::new(io::stdin())).await {
            return Ok(Some(job));
        }
        eprintln!("no job was created");
        Ok(None)
    }

    fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.budget_minutes * 60.0)
    }

    /// Watches the job until it ends, the budget is used up, or a signal arrives.
    async fn watch(&self, client: &Client, job: &Job, stop: JoinHandle<()>) -> Result<()> {
        let wait = job.wait().timeout(self.budget());
        match select(pin!(async { wait.await }), stop).await {
            Either::Left((waited, _)) => {
                let waited = waited.context("the job was not watched to its end")?;
                eprintln!("it ended: {:?}", waited.outcome());
                if *waited.outcome() == Outcome::TimedOut {
                    bail!("the budget of {} minutes is used up", self.budget_minutes);
                }
                read_job(client, waited.job()).await;
                Ok(())
            }
            Either::Right(_) => {
                eprintln!("interrupted; the job is stopped and deleted, which takes a while");
                bail!("interrupted")
            }
        }
    }

    /// Searches for the job after a create request whose result is unknown.
    async fn settle(&self, client: &Client, name: &str) -> Result<()> {
        let list = client
            .training_jobs()
            .list()
            .filter(Filter::name().like(name));
        let found = list.collect(50).await;
        let found = found.with_context(|| format!("look for the job {name} in the console"))?;
        for job in found.into_iter().filter(|job| job.name() == name) {
            delete(client, job).await?;
        }
        bail!("the result of the creation is unknown")
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|it| *it > 0.0 && *it <= 1440.0);
    minutes.ok_or_else(|| "must be more than 0, and at most 1440".to_owned())
}

/// Stops the job if it has not ended, and deletes it.
async fn delete(client: &Client, mut job: Job) -> Result<()> {
    let id = job.id().to_owned();
    let _ = step("its details", job.refresh()).await;
    if !job.is_final() {
        step("stop it", job.terminate()).await;
        step("wait for that", async { job.wait().timeout(GRACE).await }).await;
    }
    // The service may return the job for some time after it has accepted the delete request.
    let mut accepted = false;
    for _ in 0..DELETIONS {
        accepted = accepted || step("delete it", job.delete()).await.is_some();
        match client.training_jobs().get(&id).await {
            Err(error) if error.is_not_found() => {
                eprintln!("deleted the job");
                return Ok(());
            }
            _ => tokio::time::sleep(BETWEEN_DELETIONS).await,
        }
    }
    bail!("the job {id} is still there; delete it in the console, as it may cost money")
}

/// Chooses a free flavor if the service offers one. Otherwise, prefers a flavor without accelerator
/// cards, with the fewest units, cores and memory. Also returns the reason for the choice, and true
/// if the flavor has cards.
fn cheapest(flavors: Vec<TrainingFlavor>) -> Result<(String, String, bool)> {
    let rank = |flavor: &TrainingFlavor| {
        let info = flavor.flavor_info.as_ref();
        let code = flavor.billing.as_ref().and_then(|it| it.code.as_deref());
        let free = [flavor.flavor_id.as_deref(), code];
        let free = free
            .into_iter()
            .flatten()
            .any(|it| it.split('.').any(|it| it == "free"));
        let cards = info.is_none_or(|it| it.gpu.is_some() || it.npu.is_some());
        let units = flavor.billing.as_ref().and_then(|it| it.unit_num);
        let cores = info.and_then(|it| it.cpu.as_ref()?.core_num);
        let memory = info.and_then(|it| it.memory.as_ref()?.size);
        let last = |number: Option<i64>| number.unwrap_or(i64::MAX);
        (!free, cards, last(units), last(cores), last(memory))
    };
    let public = flavors
        .into_iter()
        .filter(|it| it.flavor_id.is_some() && it.pool_id.is_none());
    let Some(flavor) = public.min_by_key(rank) else {
        bail!("the service lists no flavor of the public pool; give --flavor");
    };
    let (not_free, cards, _, cores, _) = rank(&flavor);
    let about = match (not_free, cards) {
        (false, _) => "free by its name".to_owned(),
        (true, false) => format!("{cores} cores, no cards"),
        (true, true) => "the service lists none without cards".to_owned(),
    };
    Ok((flavor.flavor_id.unwrap_or_default(), about, cards))
}

/// Returns the image of a preset engine without the address of its registry, because the service
/// rejects a full address. Engines that run as in version 1 of the API are chosen only if no others
/// exist.
fn preset(mut engines: Vec<TrainingEngine>, cards: bool) -> Result<String> {
    engines.sort_by_key(|engine| engine.v1_compatible == Some(true));
    let images = engines.into_iter().filter_map(|engine| {
        let images = engine.image_info?;
        let image = if cards {
            images.gpu_image_url
        } else {
            images.cpu_image_url
        };
        image.filter(|image| !image.is_empty())
    });
    let Some(image) = images.into_iter().next() else {
        bail!("the service lists no image of an engine for this flavor; give --image");
    };
    Ok(match image.split_once('/') {
        Some((host, rest)) if host.contains(['.', ':']) && rest.contains('/') => rest.to_owned(),
        _ => image,
    })
}

/// Asks the user for confirmation. A detached thread reads the reply, so that Ctrl-C can interrupt
/// the question; it counts as a refusal.
async fn confirmed(mut input: impl BufRead + Send + 'static) -> bool {
    eprint!("Create it? [y/N] ");
    let (tell, told) = futures::channel::oneshot::channel();
    std::thread::spawn(move || {
        let mut answer = String::new();
        let read = input.read_line(&mut answer);
        let _ = tell.send(read.map(|_| answer).unwrap_or_default());
    });
    match select(told, pin!(tokio::signal::ctrl_c())).await {
        Either::Left((Ok(answer), _)) => {
            ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
        }
        _ => false,
    }
}

/// Completes when the process receives Ctrl-C, the hang-up signal of its terminal, or a termination
/// signal.
async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = (
            signal(SignalKind::terminate()),
            signal(SignalKind::hangup()),
        );
        if let (Ok(mut terminate), Ok(mut hangup)) = signals {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_cheapest_flavor_is_free_or_small() {
        let flavor = |id: &str, cores: i64, gpu: bool| {
            let mut info = json!({"cpu": {"core_num": cores}, "memory": {"size": cores * 4}});
            if gpu {
                info["gpu"] = json!({"unit_num": 1});
            }
            let row = json!({"flavor_id": id, "billing": {"code": id, "unit_num": 1}, "flavor_info": info});
            serde_json::from_value::<TrainingFlavor>(row).unwrap()
        };
        let cpu = || {
            vec![
                flavor("cpu.8u", 8, false),
                flavor("gpu.1", 1, true),
                flavor("cpu.2u", 2, false),
            ]
        };
        let of = |flavors| cheapest(flavors).unwrap();
        assert_eq!(
            of(cpu()),
            ("cpu.2u".into(), "2 cores, no cards".into(), false)
        );
        let mut with_free = cpu();
        with_free.push(flavor("p3.public.free", 8, true));
        assert_eq!(
            of(with_free),
            ("p3.public.free".into(), "free by its name".into(), true)
        );
        let of_pool = json!({"flavor_id": "x", "pool_id": "mine"});
        let of_pool = serde_json::from_value(of_pool).unwrap();
        assert_eq!(
            cheapest(vec![of_pool]).unwrap_err().to_string(),
            "the service lists no flavor of the public pool; give --flavor"
        );
    }

    #[tokio::test]
    async fn only_y_and_yes_create_the_job() {
        for (answer, create) in [
            ("y\n", true),
            ("YES\r\n", true),
            (" y ", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
            ("yeah\n", false),
            ("n\ny\n", false),
        ] {
            assert_eq!(confirmed(answer.as_bytes()).await, create, "{answer:?}");
        }
        // A reply that is not valid UTF-8 counts as a refusal.
        assert!(!confirmed(&b"\xff\ny\n"[..]).await);
    }

    #[test]
    fn an_image_loses_the_address_of_its_registry() {
        for (listed, image) in [
            ("swr.eu-de.example.com/atelier/torch:1", "atelier/torch:1"),
            ("aip/torch:train", "aip/torch:train"),
            ("host.example/torch:1", "host.example/torch:1"),
        ] {
            let row = json!({"image_info": {"cpu_image_url": listed, "gpu_image_url": "a/gpu:1"}});
            let old = json!({"v1_compatible": true, "image_info": {"cpu_image_url": "a/old:1"}});
            let engines = [old, row].map(|row| serde_json::from_value(row).unwrap());
            assert_eq!(preset(engines.to_vec(), false).unwrap(), image);
            assert_eq!(preset(engines.to_vec(), true).unwrap(), "a/gpu:1");
        }
    }
}
