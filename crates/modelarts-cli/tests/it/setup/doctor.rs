//! `modelarts doctor`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::clock::{Clock, Sleep, SystemClock};
use serde_json::Value;
use snapbox::cmd::{Command, OutputAssert};
use tempfile::TempDir;

use crate::support::{Fixture, assert, isolated};

/// The checks, in their order.
const CHECKS: [&str; 13] = [
    "settings",
    "files",
    "region",
    "endpoint",
    "credentials",
    "project",
    "service",
    "clock",
    "obs",
    "bucket",
    "upload",
    "python",
    "container",
];

/// A report, whose JSON has all checks.
struct Report(Value);

impl Report {
    /// Runs the command, which must end with this exit code.
    async fn of(command: Command, code: i32) -> Self {
        let output = assert(command.args(["doctor", "-o", "json"])).await;
        Self::from(&output.code(code).stderr_eq(""))
    }

    fn from(output: &OutputAssert) -> Self {
        let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let names: Vec<&str> =
            checks.iter().map(|check| check["check"].as_str().unwrap()).collect();
        assert_eq!(names, CHECKS);
        for (field, status) in [("problems", "problem"), ("warnings", "warning")] {
            let found = checks.iter().filter(|check| check["status"] == status);
            assert_eq!(report[field], found.count());
        }
        for check in checks {
            let has_advice = check["advice"].is_string();
            let needs_advice = ["problem", "warning"].contains(&check["status"].as_str().unwrap());
            assert_eq!(has_advice, needs_advice, "{check}");
        }
        Self(report)
    }

    /// Returns status and text of a check.
    fn check(&self, name: &str) -> (&str, &str) {
        let index = CHECKS.iter().position(|known| *known == name).unwrap();
        let check = &self.0["checks"][index];
        (check["status"].as_str().unwrap(), check["found"].as_str().unwrap())
    }

    fn advice(&self, name: &str) -> &str {
        let index = CHECKS.iter().position(|known| *known == name).unwrap();
        self.0["checks"][index]["advice"].as_str().unwrap()
    }

    /// Returns the checks with this status.
    fn with_status(&self, status: &str) -> Vec<&str> {
        let checks = CHECKS.into_iter();
        // Not every machine has a container view.
        checks.filter(|name| *name != "container" && self.check(name).0 == status).collect()
    }
}

/// Returns the program with a bucket that exists.
fn with_bucket(fixture: &Fixture) -> Command {
    fs::create_dir_all(fixture.emulator.obs_root().join("team")).unwrap();
    fixture.command("").env("MODELARTS_OBS_BUCKET", "team")
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_right() {
    let fixture = Fixture::start().await;
    let output = assert(with_bucket(&fixture).arg("doctor")).await;
    let output = output.code(0).stderr_eq("");
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let milliseconds = regex::Regex::new(r"\d+ ms").unwrap();
    let python = text.lines().find(|line| line.contains(" python "));
    let python = python.unwrap().rsplit_once(' ').unwrap().1;
    // Only some machines have a container view.
    let container = text.lines().find(|line| line.contains(" container "));
    let container = container.unwrap();
    let emulator = &fixture.emulator;
    assert_eq!(
        milliseconds.replace_all(&text, "[MS]"),
        format!(
            "✓ settings     {}/config.toml does not exist; no context is selected, so variables \
             and \
             files apply\n✓ files        no file with secrets\n✓ region       none, because the \
             endpoint is outside of the clouds\n✓ endpoint     {}, from MODELARTS_ENDPOINT\n✓ \
             credentials  keys, access key {}…, from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK\n✓ \
             project      {}, from HUAWEICLOUD_SDK_PROJECT_ID\n✓ service      responds in [MS]; \
             the project has 0 jobs\n✓ clock        as that of the service\n✓ obs          {}, \
             from MODELARTS_OBS_ENDPOINT\n✓ bucket       obs://team/modelarts\n✓ upload       \
             wrote and deleted obs://team/modelarts/.modelarts-doctor in [MS]\n✓ python       \
             {python}\n{container}\nno problems, no warnings\n",
            fixture.path().display(),
            emulator.url(),
            &emulator.access_key()[..4],
            emulator.project_id(),
            emulator.obs_url(),
        )
    );
    for secret in [emulator.access_key(), emulator.secret_key()] {
        assert!(!text.contains(secret));
    }
    let left = fs::read_dir(emulator.obs_root().join("team"))
        .unwrap()
        .flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
    assert_eq!(left.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_configured() {
    let home = TempDir::new().unwrap();
    let report = Report::of(isolated(home.path()), 1).await;
    assert_eq!(report.with_status("problem"), ["endpoint", "credentials"]);
    assert_eq!(report.with_status("ok"), ["settings", "files", "python"]);
    assert_eq!(report.check("endpoint").1, "neither a region nor an endpoint is set");
    assert_eq!(
        report.advice("endpoint"),
        "set MODELARTS_REGION, such as eu-de, or create a context: `modelarts context set NAME \
         region=eu-de`"
    );
    let found = report.check("credentials").1;
    let expected = "none; these places have none:\n- the variables HUAWEICLOUD_OIDC_*: not set\n- \
                    HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set\n";
    assert!(found.starts_with(expected), "{found}");
    assert!(report.advice("credentials").contains("[basic]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_a_problem_of_the_credentials() {
    let fixture = Fixture::start().await;
    let command = with_bucket(&fixture).env("HUAWEICLOUD_SDK_SK", "WrongSecret");
    let report = Report::of(command, 1).await;
    assert_eq!(report.with_status("problem"), ["credentials", "upload"]);
    let (_, found) = report.check("credentials");
    assert!(found.starts_with("ListTrainingJobs: "), "{found}");
    assert!(found.contains("APIGW.0301, HTTP 401"), "{found}");
    let advice = report.advice("credentials");
    assert!(advice.contains("check the secret key"), "{advice}");
    assert!(
        advice.ends_with("the credentials are from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK"),
        "{advice}"
    );
    // The service responds, so neither it nor the clock is the cause.
    assert_eq!(report.check("service").0, "ok");
    assert_eq!(report.check("clock"), ("ok", "as that of the service"));
    assert!(!report.0.to_string().contains("WrongSecret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_project_is_a_problem_of_the_project() {
    let fixture = Fixture::start().await;
    let other = "0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b";
    let command = with_bucket(&fixture).env("HUAWEICLOUD_SDK_PROJECT_ID", other);
    let report = Report::of(command, 1).await;
    assert_eq!(report.with_status("problem"), ["project"]);
    let (_, found) = report.check("project");
    assert!(found.contains(other) && found.contains("ModelArts.2786"), "{found}");
    assert!(report.advice("project").contains("HUAWEICLOUD_SDK_PROJECT_ID"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_not_set_is_looked_up() {
    let fixture = Fixture::start().await;
    let command = with_bucket(&fixture).env_remove("HUAWEICLOUD_SDK_PROJECT_ID");
    let report = Report::of(command, 0).await;
    let expected = format!("{}, from the look-up in IAM", fixture.emulator.project_id());
    assert_eq!(report.check("project"), ("ok", expected.as_str()));
}

/// A clock that differs from that of this machine by a number of seconds. Unlike a manual clock, it
/// keeps the difference while a slow machine runs the test.
#[derive(Debug)]
struct SkewedClock(i64);

impl Clock for SkewedClock {
    fn now(&self) -> SystemTime {
        let difference = Duration::from_secs(self.0.unsigned_abs());
        match self.0 {
            0.. => SystemClock.now() + difference,
            _ => SystemClock.now() - difference,
        }
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        SystemClock.sleep(duration)
    }
}

/// Returns the report with a service whose clock differs by this number of seconds.
async fn with_skew(ahead: i64, code: i32) -> Report {
    let clock = Arc::new(SkewedClock(ahead));
    let fixture = Fixture::with(|builder| builder.clock(clock)).await;
    let report = Report::of(fixture.command(""), code).await;
    fixture.emulator.shutdown().await;
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_off_is_a_warning_and_then_a_problem() {
    let report = with_skew(600 + 30, 0).await;
    let (status, found) = report.check("clock");
    assert_eq!(status, "warning");
    let expected = regex::Regex::new("^10m[0-9]+s behind that of the service$").unwrap();
    assert!(expected.is_match(found), "{found}");
    let report = with_skew(-3630, 1).await;
    let (status, found) = report.check("clock");
    assert_eq!((status, found), ("problem", "1h0m ahead of that of the service"));
    assert!(report.advice("clock").contains("timedatectl set-ntp true"));
    // The client adopts the time of the service, so other calls succeed.
    assert_eq!(report.with_status("problem"), ["clock"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_is_a_warning_and_a_wrong_one_a_problem() {
    let fixture = Fixture::start().await;
    let report = Report::of(fixture.command(""), 0).await;
    assert_eq!(report.with_status("warning"), ["bucket"]);
    assert_eq!(report.with_status("skipped"), ["upload"]);
    assert!(report.advice("bucket").starts_with("set MODELARTS_OBS_BUCKET"));
    let command = fixture.command("").env("MODELARTS_OBS_BUCKET", "other");
    let report = Report::of(command, 1).await;
    assert_eq!(report.with_status("problem"), ["upload"]);
    let (_, found) = report.check("upload");
    assert!(found.contains("NoSuchBucket"), "{found}");
    let command = fixture.command("").env("MODELARTS_OBS_BUCKET", "No_Bucket");
    let report = Report::of(command, 1).await;
    assert_eq!(report.with_status("problem"), ["bucket"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_down_is_a_problem_of_the_service() {
    let fixture = Fixture::start().await;
    // A port that is free again.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let command = with_bucket(&fixture).env("MODELARTS_ENDPOINT", &url);
    let report = Report::of(command, 1).await;
    assert_eq!(report.with_status("problem"), ["service"]);
    assert_eq!(report.with_status("skipped"), ["clock"]);
    let advice = report.advice("service");
    assert!(advice.ends_with(&format!("and the endpoint {url}")), "{advice}");
    // The other checks do not need the service.
    assert_eq!(report.check("upload").0, "ok");
    assert_eq!(report.check("credentials").0, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_others_can_read_are_a_warning() {
    let fixture = Fixture::start().await;
    let emulator = &fixture.emulator;
    let text = format!("[basic]\nak = {}\nsk = {}\n", emulator.access_key(), emulator.secret_key());
    let file = fixture.write(".huaweicloud/credentials", &text);
    let report = async |mode| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let command =
            with_bucket(&fixture).env_remove("HUAWEICLOUD_SDK_AK").env_remove("HUAWEICLOUD_SDK_SK");
        Report::of(command, 0).await
    };
    let path = file.display().to_string();
    let open = report(0o644).await;
    let expected = format!("{path} holds secrets, and other users can read it (mode 644)");
    assert_eq!(open.check("files"), ("warning", expected.as_str()));
    assert_eq!(open.advice("files"), format!("chmod 600 {path}"));
    let closed = report(0o600).await;
    let expected = format!("only this user can read {path}");
    assert_eq!(closed.check("files"), ("ok", expected.as_str()));
    let start = &emulator.access_key()[..4];
    let expected = format!("keys, access key {start}…, from {path}");
    assert_eq!(closed.check("credentials"), ("ok", expected.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_context_are_named_as_such() {
    let fixture = Fixture::start().await;
    let url = fixture.emulator.url();
    let text =
        format!("current = \"lab\"\n[context.lab]\nendpoint = \"{url}\"\nbucket = \"lab\"\n");
    fixture.write("config.toml", &text);
    fs::create_dir(fixture.emulator.obs_root().join("lab")).unwrap();
    let report = Report::of(fixture.command(""), 0).await;
    let expected = format!("{url}, from the context lab");
    assert_eq!(report.check("endpoint"), ("ok", expected.as_str()));
    assert_eq!(report.check("bucket"), ("ok", "obs://lab/modelarts"));
    let (_, found) = report.check("settings");
    assert!(found.ends_with("/config.toml; context lab (the current one)"), "{found}");
    fixture.write("config.toml", "[context.lab]\naccess_key = \"S3CRET\"\n");
    let report = Report::of(fixture.command(""), 1).await;
    assert_eq!(report.with_status("problem"), ["settings"]);
    assert_eq!(report.with_status("ok"), ["python"]);
    let (_, found) = report.check("settings");
    assert!(found.contains("config.toml, line 2: unknown field \"access_key\""), "{found}");
    assert!(!report.0.to_string().contains("S3CRET"));
}
