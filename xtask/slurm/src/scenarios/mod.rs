//! Scenarios: jobs on the cluster, each with its assertions.

mod acceptance;
mod faults;
mod gpus;
mod kills;
mod official;
mod preemption;
mod queue;
mod quick_start;
mod stops;
mod workers;

use anyhow::Result;
use futures::future::LocalBoxFuture;

use crate::site::Site;

/// Scenario of `cargo xtask slurm`.
pub struct Scenario {
    pub name: &'static str,
    /// True if the scenario runs in CI.
    pub in_ci: bool,
    pub run: for<'a> fn(&'a Site<'a>) -> LocalBoxFuture<'a, Result<()>>,
}

/// All scenarios, in the order in which they run.
pub const ALL: &[Scenario] = &[
    Scenario {
        name: "quick-start",
        in_ci: true,
        run: |site| Box::pin(quick_start::run(site)),
    },
    Scenario {
        name: "three-workers",
        in_ci: true,
        run: |site| Box::pin(workers::three_meet(site)),
    },
    Scenario {
        name: "exit-code",
        in_ci: true,
        run: |site| Box::pin(workers::one_exits_with_7(site)),
    },
    Scenario {
        name: "kill",
        in_ci: true,
        run: |site| Box::pin(kills::run(site, 1)),
    },
    Scenario {
        name: "kills",
        in_ci: false,
        run: |site| Box::pin(kills::run(site, 5)),
    },
    Scenario {
        name: "gpus",
        in_ci: false,
        run: |site| Box::pin(gpus::run(site)),
    },
    Scenario {
        name: "waiting",
        in_ci: false,
        run: |site| Box::pin(queue::a_job_waits(site)),
    },
    Scenario {
        name: "rejected",
        in_ci: false,
        run: |site| Box::pin(queue::a_job_is_rejected(site)),
    },
    Scenario {
        name: "twenty-jobs",
        in_ci: false,
        run: |site| Box::pin(queue::twenty_jobs(site)),
    },
    Scenario {
        name: "preemption",
        in_ci: false,
        run: |site| Box::pin(preemption::run(site)),
    },
    Scenario {
        name: "terminate",
        in_ci: false,
        run: |site| Box::pin(stops::terminate(site)),
    },
    Scenario {
        name: "auto-stop",
        in_ci: false,
        run: |site| Box::pin(stops::auto_stop(site)),
    },
    Scenario {
        name: "controller",
        in_ci: false,
        run: |site| Box::pin(faults::controller(site)),
    },
    Scenario {
        name: "node",
        in_ci: false,
        run: |site| Box::pin(faults::node(site)),
    },
    Scenario {
        name: "official-sdk",
        in_ci: false,
        run: |site| Box::pin(official::run(site)),
    },
    Scenario {
        name: "acceptance",
        in_ci: false,
        run: |site| Box::pin(acceptance::run(site)),
    },
];
