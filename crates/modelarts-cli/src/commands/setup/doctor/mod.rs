//! Command `modelarts doctor`, which checks the configuration.

mod call;
mod report;
mod storage;

use std::{path::Path, time::Duration};

use clap::Args;
use modelarts_ext::{
    Client, ClientBuilder, Credentials, Error, RetryPolicy, config::Environment, credentials,
};
use modelarts_obs::ObsPath;

pub(crate) use self::report::Report;
use self::{
    call::{Call, OTHER_PROJECT},
    report::{Finding, Subject},
    storage::{Origins, check_obs},
};

use crate::{
    context::{CONNECTION_FILE, Contexts},
    exit_status::ExitStatus,
    failure::Failure,
    session::Session,
};

const TIMEOUT: Duration = Duration::from_secs(15);

const NOTES: &str = "\
It reads a list of one job, and writes and deletes an empty object in the bucket and in each PLACE.
The exit code is 1 if there is a problem. Secrets are never printed.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Doctor {
    /// Further directories in OBS that must be writable, such as that of --log-url:
    /// obs://BUCKET/DIR/.
    #[arg(value_name = "PLACE")]
    places: Vec<ObsPath>,
}

impl Doctor {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let mut report = Report::default();
        let environment = match session.selection.environment() {
            Ok(environment) => {
                report.add(Subject::Settings, settings(session)?);
                Some(environment)
            }
            Err(failure) => {
                let advice = "correct the settings; `modelarts context` manages them";
                report.add(Subject::Settings, Finding::problem(&failure, advice));
                None
            }
        };
        match &environment {
            Some(environment) => {
                report.add(Subject::Files, files(session, environment)?);
                check_service(session, environment, &self.places, &mut report).await?;
            }
            None => report.skip(
                &[
                    Subject::Files,
                    Subject::Region,
                    Subject::Endpoint,
                    Subject::Credentials,
                    Subject::Project,
                    Subject::Service,
                    Subject::Clock,
                    Subject::Obs,
                    Subject::Bucket,
                    Subject::Upload,
                ],
                "the settings cannot be read",
            ),
        }
        report.add(Subject::Python, python().await);
        report.add(Subject::Container, container().await);
        #[cfg(unix)]
        if let Some(finding) = undelivered() {
            report.add(Subject::Storage, finding);
        }
        session.output.document(&report)?;
        Ok(match report.problems {
            0 => ExitStatus::Success,
            _ => ExitStatus::Refused,
        })
    }
}

/// Reports the outputs of jobs on this machine that were not delivered, and the size of their files.
#[cfg(unix)]
fn undelivered() -> Option<Finding> {
    let jobs = crate::local_jobs::undelivered();
    if jobs.is_empty() {
        return None;
    }
    let mut storages: Vec<_> = jobs.iter().map(|(_, stored)| &stored.storage).collect();
    storages.dedup();
    let size = storages.iter().map(|storage| crate::local_jobs::storage::size(storage)).sum();
    let names: Vec<&str> = jobs.iter().map(|(name, _)| name.as_str()).collect();
    Some(Finding::warning(
        format_args!(
            "{} in storages of jobs on this machine whose outputs were not delivered: {}",
            crate::output::bytes(size),
            names.join(", ")
        ),
        "`modelarts download --local JOB` delivers outputs, `modelarts rm --local JOB` deletes them",
    ))
}

/// Reports the file of the contexts, and the selected context.
fn settings(session: &Session) -> Result<Finding, Failure> {
    let path = Contexts::path().map_err(Failure::usage)?;
    let file = match path.exists() {
        true => path.display().to_string(),
        false => format!("{} does not exist", path.display()),
    };
    let context = session.selection.context()?;
    let found = match session.selection.name()? {
        None => format!("{file}; no context is selected, so variables and files apply"),
        Some(name) => {
            let reason = match session.selection.requested() {
                Some(_) => "selected by --context or MODELARTS_CONTEXT",
                None => "the current one",
            };
            let emulator = context.data_dir.as_ref();
            let emulator = emulator.map(|path| format!(", the emulator in {}", path.display()));
            let emulator = emulator.unwrap_or_default();
            format!("{file}; context {name} ({reason}){emulator}")
        }
    };
    Ok(match session.selection.difference()? {
        None => Finding::ok(found),
        Some(difference) => {
            Finding::warning(format_args!("{found}; {}", difference.result()), difference.remedy())
        }
    })
}

/// Checks that other users have no access to files with secrets.
fn files(session: &Session, environment: &Environment) -> Result<Finding, Failure> {
    let mut files = credentials::files(environment);
    let emulator = session.selection.context()?.data_dir.as_ref();
    files.extend(emulator.map(|directory| directory.join(CONNECTION_FILE)));
    let open: Vec<(String, u32)> = files
        .iter()
        .filter_map(|path| Some((path.display().to_string(), open_mode(path)?)))
        .collect();
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    Ok(match (open.as_slice(), names.as_slice()) {
        ([], []) => Finding::ok("no file with secrets"),
        ([], names) => Finding::ok(format_args!("only this user can read {}", names.join(", "))),
        (open, _) => {
            let found = open.iter();
            let found = found.map(|(path, mode)| {
                format!("{path} holds secrets, and other users can read it (mode {mode:03o})")
            });
            let paths: Vec<&str> = open.iter().map(|(path, _)| path.as_str()).collect();
            Finding::warning(
                found.collect::<Vec<_>>().join("\n"),
                format_args!("chmod 600 {}", paths.join(" ")),
            )
        }
    })
}

/// Returns the mode of a file to which other users have access; `None` for other files.
#[cfg(unix)]
fn open_mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;

    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Returns `None`, because only Unix permissions are checked.
#[cfg(not(unix))]
fn open_mode(_: &Path) -> Option<u32> {
    None
}

/// Returns a builder of a client without retries, so that the cause of an error is found soon.
fn builder(environment: &Environment) -> ClientBuilder {
    ClientBuilder::default()
        .environment(environment.clone())
        .user_agent(concat!("modelarts-cli/", env!("CARGO_PKG_VERSION")))
        .retry(RetryPolicy::none())
        .timeout(TIMEOUT)
        .overall_timeout(TIMEOUT)
}

async fn check_service(
    session: &Session,
    environment: &Environment,
    places: &[ObsPath],
    report: &mut Report,
) -> Result<(), Failure> {
    let origins = Origins::new(session)?;
    // The endpoint and the credentials are checked separately.
    let address = builder(environment)
        .credentials(Credentials::keys("none", "none"))
        .project_id("none")
        .build();
    add_address(report, &address, &origins);
    let source = builder(environment).endpoint("http://127.0.0.1:1").project_id("none").build();
    let client = match (&address, &source) {
        (Ok(_), Ok(_)) => Some(builder(environment).connect().await),
        _ => None,
    };
    let call = match &client {
        Some(Ok(client)) => Some(Call::send(client).await),
        _ => None,
    };
    let rejection = call.as_ref().and_then(Call::rejection);
    report.add(
        Subject::Credentials,
        match (&source, &client) {
            (Err(error), _) => no_credentials(error),
            (Ok(_), Some(Err(error))) if error.is_auth() => Finding::error(error),
            (Ok(source), client) => match (rejection, client) {
                (Some(error), _) if error.code() != Some(OTHER_PROJECT) => Finding::error(error),
                (_, Some(Ok(client))) => keys(client, &origins).await,
                _ => Finding::ok(format_args!("from {}", origin_of(source, &origins))),
            },
        },
    );
    report.add(
        Subject::Project,
        match (&client, rejection) {
            (None, _) => Finding::skipped("not looked up without address and credentials"),
            (Some(Err(error)), _) if error.is_auth() => {
                Finding::skipped("not looked up without valid credentials")
            }
            (Some(Err(error)), _) => Finding::error(error).with_advice(
                "set HUAWEICLOUD_SDK_PROJECT_ID, or project_id of the context; the console lists \
                 the projects under My Credentials",
            ),
            (Some(Ok(_)), Some(error)) if error.code() == Some(OTHER_PROJECT) => {
                Finding::error(error)
            }
            (Some(Ok(client)), _) => Finding::ok(format_args!(
                "{}, from {}",
                client.project_id(),
                origins.place(client.origins().project)
            )),
        },
    );
    let Some(Ok(client)) = &client else {
        report.skip(&[Subject::Service, Subject::Clock], "no call was possible");
        let of_obs = [Subject::Obs, Subject::Bucket, Subject::Upload];
        report.skip(&of_obs, "not checked without a client");
        return Ok(());
    };
    if let Some(call) = call {
        report.add(Subject::Service, call.service(client, &origins));
        report.add(Subject::Clock, call.clock());
    }
    check_obs(client, &origins, places, report).await;
    Ok(())
}

fn add_address(report: &mut Report, address: &Result<Client, Error>, origins: &Origins) {
    let client = match address {
        Ok(client) => client,
        Err(error) => {
            let skipped = "not known without an address of the service";
            report.add(Subject::Region, Finding::skipped(skipped));
            let advice = "set MODELARTS_REGION, such as eu-de, or create a context: `modelarts \
                          context set NAME region=eu-de`";
            let finding = match error.to_string().starts_with("no endpoint;") {
                true => Finding::problem("neither a region nor an endpoint is set", advice),
                false => Finding::error(error).with_advice(advice),
            };
            report.add(Subject::Endpoint, finding);
            return;
        }
    };
    let found = client.origins();
    let region = match (client.region(), found.region) {
        (Some(region), Some(origin)) => format!("{region}, from {}", origins.place(origin)),
        (Some(region), None) => region.to_owned(),
        (None, _) => "none, because the endpoint is outside of the clouds".to_owned(),
    };
    report.add(Subject::Region, Finding::ok(region));
    let endpoint = client.endpoint().trim_end_matches('/');
    let origin = match found.endpoint {
        "the region" => "the region".to_owned(),
        origin => origins.place(origin),
    };
    report.add(Subject::Endpoint, Finding::ok(format_args!("{endpoint}, from {origin}")));
}

fn no_credentials(error: &Error) -> Finding {
    let text = error.to_string();
    match text.split_once("Looked at:") {
        Some((_, places)) => {
            // Only Rust programs can enable the metadata service, so it is not listed.
            let places = places.lines().filter(|place| !place.contains("metadata()"));
            let places: Vec<&str> = places.collect();
            Finding::problem(
                format_args!("none; these places have none:{}", places.join("\n")),
                "set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or write ak and sk below [basic] \
                 in ~/.huaweicloud/credentials; the console creates keys under My Credentials",
            )
        }
        None => Finding::error(error).with_advice("correct or remove this source of credentials"),
    }
}

fn origin_of(client: &Client, origins: &Origins) -> String {
    let origin = client.origins().credentials;
    origin.map_or_else(|| "the program".to_owned(), |origin| origins.place(origin))
}

/// Reports the credentials: their source, and the first characters of the access key.
async fn keys(client: &Client, origins: &Origins) -> Finding {
    let provider = client.credentials();
    let fetched = provider.credentials(client.provider_context()).await;
    let form = match &fetched {
        Err(error) => return Finding::error(error),
        Ok(credentials) => match credentials.access_keys() {
            Some(keys) => {
                let start: String = keys.access_key.chars().take(4).collect();
                let temporary = keys.security_token.filter(|token| !token.is_empty());
                let kind = if temporary.is_some() { "temporary keys" } else { "keys" };
                format!("{kind}, access key {start}…")
            }
            None => "a token".to_owned(),
        },
    };
    Finding::ok(format_args!("{form}, from {}", origin_of(client, origins)))
}

/// Checks that the `PATH` has a python3, which runs jobs on this machine.
#[cfg(unix)]
async fn python() -> Finding {
    match modelarts_emulator::Emulator::python3().await {
        Some(path) => Finding::ok(path.display()),
        None => Finding::warning(
            "the PATH has no python3, so `run --local` and `dev` cannot run scripts",
            "install Python 3",
        ),
    }
}

/// Checks that jobs on this machine find the paths of the service.
#[cfg(unix)]
async fn container() -> Finding {
    match modelarts_emulator::jobs::Container::check().await {
        Ok(()) => Finding::ok("jobs on this machine find the paths of the service"),
        // Jobs also run without these paths.
        Err(reason) => Finding::skipped(format_args!(
            "jobs on this machine do not find /home/ma-user and /cache at their paths; {reason}"
        )),
    }
}

/// Skips the check, because jobs run only on Unix systems.
#[cfg(not(unix))]
async fn python() -> Finding {
    Finding::skipped("jobs run on this machine on Linux and macOS only")
}

#[cfg(not(unix))]
async fn container() -> Finding {
    python().await
}
