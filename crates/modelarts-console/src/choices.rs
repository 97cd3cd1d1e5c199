//! `Choices`: engines, flavors and algorithms of the service, and ids that jobs use.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use modelarts_ext::{
    Client, Error, Job,
    types::{Algorithm, TrainingEngine, TrainingFlavor},
};
use parking_lot::Mutex;
use tokio::time::Instant;

const MAX_ROWS: usize = 500;
/// Time limit for reading the lists, so that an unresponsive service does not block the form.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Times for which the lists are cached: if all could be read, and if one of them could not.
const KEPT: Duration = Duration::from_secs(60);
const KEPT_ERRORS: Duration = Duration::from_secs(5);

/// Cache of the lists, which all forms share.
#[derive(Default)]
pub(crate) struct Choices {
    kept: Mutex<Option<(Instant, Arc<Lists>)>>,
    /// Lock that lets one request read the lists, while other requests wait.
    reading: tokio::sync::Mutex<()>,
}

/// Lists of the service. A list that cannot be read is replaced by the error message.
pub(crate) struct Lists {
    pub(crate) engines: Result<Vec<TrainingEngine>, String>,
    pub(crate) flavors: Result<Vec<TrainingFlavor>, String>,
    pub(crate) algorithms: Result<Vec<Algorithm>, String>,
    pub(crate) used: UsedIds,
}

/// Pools, data sets and their versions that the newest jobs use: no operation of training management
/// lists them. The text of an id names the newest of these jobs.
#[derive(Default)]
pub(crate) struct UsedIds {
    pub(crate) pools: BTreeMap<String, String>,
    pub(crate) datasets: BTreeMap<String, String>,
    pub(crate) versions: BTreeMap<String, String>,
}

impl UsedIds {
    /// Returns the ids that these jobs use, which are the newest ones first.
    fn of(jobs: &[Job]) -> Self {
        let mut used = Self::default();
        for job in jobs {
            let name = job.name();
            let add = |ids: &mut BTreeMap<String, String>, id: Option<&String>, of: &str| {
                if let Some(id) = id.filter(|id| !id.is_empty()) {
                    ids.entry(id.clone()).or_insert_with(|| format!("{of}used by {name}"));
                }
            };
            let details = job.details();
            let resource = details.spec.as_deref().and_then(|spec| spec.resource.as_ref());
            add(&mut used.pools, resource.and_then(|resource| resource.pool_id.as_ref()), "");
            let algorithm = details.algorithm.as_deref();
            for input in algorithm.map_or(&[][..], |algorithm| &algorithm.inputs) {
                let remote = input.remote.as_deref();
                if let Some(dataset) = remote.and_then(|remote| remote.dataset.as_ref()) {
                    let of = format!("of {}, ", dataset.id.as_deref().unwrap_or_default());
                    add(&mut used.datasets, dataset.id.as_ref(), "");
                    add(&mut used.versions, dataset.version_id.as_ref(), &of);
                }
            }
        }
        used
    }
}

impl Choices {
    /// Returns the cached lists. Reads them from the service if they are missing or too old.
    pub(crate) async fn lists(&self, client: &Client) -> Arc<Lists> {
        let _reading = self.reading.lock().await;
        if let Some((until, lists)) = &*self.kept.lock()
            && Instant::now() < *until
        {
            return Arc::clone(lists);
        }
        let lists = Arc::new(Lists::read(client).await);
        let time = match lists.problems().next() {
            None => KEPT,
            Some(_) => KEPT_ERRORS,
        };
        *self.kept.lock() = Some((Instant::now() + time, Arc::clone(&lists)));
        lists
    }

    /// Returns the cached lists of any age, so that a check does not wait for the service. Reads
    /// the lists if none are cached.
    pub(crate) async fn known_lists(&self, client: &Client) -> Arc<Lists> {
        let known = self.kept.lock().as_ref().map(|(_, lists)| Arc::clone(lists));
        match known {
            Some(lists) => lists,
            None => self.lists(client).await,
        }
    }
}

impl Lists {
    async fn read(client: &Client) -> Self {
        let (engines, flavors, algorithms) =
            (client.engines(), client.flavors(None), client.algorithms());
        // The first page has the 50 newest jobs.
        let jobs = client.training_jobs().list();
        let (engines, flavors, algorithms, jobs) = tokio::join!(
            limited(engines.collect(MAX_ROWS)),
            limited(flavors.collect(MAX_ROWS)),
            limited(algorithms.collect(MAX_ROWS)),
            limited(jobs.page(0)),
        );
        // Suggestions may be missing.
        let used = jobs.map(|page| UsedIds::of(&page.items)).unwrap_or_default();
        Self { engines, flavors, algorithms, used }
    }

    /// Returns a text with the reason for each list that cannot be read.
    pub(crate) fn problems(&self) -> impl Iterator<Item = String> {
        let problems = [
            ("preset images", self.engines.as_ref().err()),
            ("specifications", self.flavors.as_ref().err()),
            ("algorithms", self.algorithms.as_ref().err()),
        ];
        let found = problems.into_iter();
        found.filter_map(|(list, problem)| {
            Some(format!("The list of {list} cannot be read: {}", problem?))
        })
    }

    pub(crate) fn flavor(&self, id: &str) -> Option<&TrainingFlavor> {
        let mut flavors = self.flavors.iter().flatten();
        flavors.find(|flavor| flavor.flavor_id.as_deref() == Some(id))
    }

    pub(crate) fn algorithm(&self, id: &str) -> Option<&Algorithm> {
        let mut algorithms = self.algorithms.iter().flatten();
        algorithms.find(|algorithm| {
            let metadata = algorithm.metadata.as_deref();
            metadata.and_then(|metadata| metadata.id.as_deref()) == Some(id)
        })
    }
}

async fn limited<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(Ok(list)) => Ok(list),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the service did not respond in time".to_owned()),
    }
}
