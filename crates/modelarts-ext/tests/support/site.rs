//! Test site: an emulator with a client.

use std::{fs, sync::Arc, time::Duration};

use futures::TryStreamExt;
use modelarts_emulator::{
    Builder, Emulator, Timing,
    faults::{Fault, FaultRule},
    jobs::Container,
    traffic::RequestCount,
};
use modelarts_ext::{Client, ClientBuilder, CreateJob, Credentials, Error, Job};

use super::clock::TestClock;

pub(crate) struct Site {
    pub(crate) emulator: Arc<Emulator>,
    pub(crate) clock: TestClock,
    pub(crate) client: Client,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(set: impl FnOnce(Builder) -> Builder) -> Self {
        assert!(
            Emulator::python3().await.is_some(),
            "these tests run training scripts: python3 is required on the PATH"
        );
        let clock = TestClock::new();
        // Jobs of these tests write to temporary directories, which a container view hides.
        let builder = Emulator::builder()
            .timing(Timing::instant())
            .container(Container::None)
            .clock(Arc::new(clock.clone()));
        let emulator = Arc::new(set(builder).start().await.unwrap());
        let client = client(&emulator, &clock).build().unwrap();
        Self { emulator, clock, client }
    }

    /// Returns the builder of another client for the same emulator.
    pub(crate) fn client(&self) -> ClientBuilder {
        client(&self.emulator, &self.clock)
    }

    /// Writes an object to OBS.
    pub(crate) fn put(&self, key: &str, content: impl AsRef<[u8]>) {
        let path = self.emulator.obs_root().join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Returns the builder of a job that runs `script`. The job is not submitted.
    pub(crate) fn script(&self, name: &str, script: &str) -> CreateJob {
        self.put(&format!("bucket/{name}/code/train.py"), script);
        self.client
            .training_jobs()
            .create(name)
            .preset_image("PyTorch", "pytorch_1.8.0")
            .code_dir(format!("obs://bucket/{name}/code/"))
            .boot_file(format!("obs://bucket/{name}/code/train.py"))
            .flavor("modelarts.vm.cpu.8u")
    }

    /// Submits a job, waits until it no longer changes, and returns it.
    pub(crate) async fn run(&self, job: CreateJob) -> Job {
        let mut job = job.submit().await.unwrap();
        self.emulator.wait_until_settled(job.id()).await;
        job.refresh().await.unwrap();
        job
    }

    /// Queues an action for a pause of the client, which ends when the job no longer changes.
    pub(crate) fn at_pause(&self, id: &str, action: impl Future<Output = ()> + Send + 'static) {
        let (emulator, id) = (Arc::clone(&self.emulator), id.to_owned());
        self.clock.step(async move {
            action.await;
            emulator.wait_until_settled(&id).await;
        });
    }

    /// Injects a fault into the next `times` requests of an operation.
    pub(crate) fn fault(&self, times: u32, operation: &str, fault: Fault) {
        let rule = FaultRule::times(times, operation, fault);
        self.emulator.faults().add(rule).unwrap();
    }

    /// Returns the number of requests of an operation that were received, and the number that were
    /// executed successfully.
    pub(crate) fn count(&self, operation: &str) -> (u64, u64) {
        let RequestCount { received, executed, .. } = self.emulator.requests()[operation];
        (received, executed)
    }
    /// Returns all jobs of the project.
    pub(crate) async fn list(&self) -> Result<Vec<Job>, Error> {
        let jobs = self.client.training_jobs().list().stream();
        jobs.try_collect().await
    }
}

fn client(emulator: &Emulator, clock: &TestClock) -> ClientBuilder {
    Client::builder()
        .endpoint(emulator.url())
        .project_id(emulator.project_id())
        .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
        .clock(clock.clone())
        // The clock advances in jumps; the long limit prevents accidental timeouts.
        .timeout(Duration::from_secs(3600))
}
