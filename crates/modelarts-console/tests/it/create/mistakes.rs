//! Forms with mistakes, and services that refuse a job.

use futures::TryStreamExt;
use modelarts_emulator::faults::{Fault, FaultRule};

use super::{VALID, check, errors, post, send, valid_with};
use crate::support::Fixture;

const FIVE_MISTAKES: &[super::Field<'_>] = &[
    ("name", "not a name"),
    ("boot_file", "train.sh"),
    ("nodes", "many"),
    ("auto_stop", "99"),
    ("environments[4].name", "1ST"),
    ("environments[4].value", "x"),
];

/// Returns the number of jobs of the service.
async fn jobs(fixture: &Fixture) -> usize {
    let jobs = fixture.client().training_jobs().list().stream();
    jobs.try_collect::<Vec<_>>().await.unwrap().len()
}

#[tokio::test]
async fn five_mistakes_are_reported_at_once_at_their_controls() {
    let fixture = Fixture::start().await;
    let fields = valid_with(FIVE_MISTAKES);
    let (_, found) = check(&fixture, &fields).await;
    let mut fields_of: Vec<&str> =
        found.iter().filter_map(|error| error.split(": ").next()).collect();
    fields_of.sort_unstable();
    assert_eq!(
        fields_of,
        ["auto_stop", "boot_file", "environments[4].value", "name", "nodes"],
        "{found:#?}"
    );
    // Rules and codes are those of the SDK.
    for expected in
        ["boot_file: must end in .py (ModelArts.2758)", "nodes: must be a whole number ()"]
    {
        assert!(found.iter().any(|error| error == expected), "{found:#?}");
    }
    let report = fixture.client().training_jobs().create("not a name").check();
    let rule = report.violations.iter().find(|violation| violation.field() == "metadata.name");
    let rule = rule.unwrap();
    let expected = format!("name: {} ({})", rule.rule(), rule.code().unwrap());
    assert!(found.contains(&expected), "{found:#?}");

    // The page has the same errors beside the values, and no job is created.
    let mut fields = fields;
    fields.push(("action", "create"));
    let response = post(&fixture, "/create", &fields).await;
    assert_eq!(response.status(), 422);
    let page = response.text().await.unwrap();
    assert_eq!(page.matches("aria-invalid=\"true\"").count(), 5, "{page}");
    assert!(page.contains("5 rules are broken."), "{page}");
    assert!(page.contains("<a href=\"#f-environments-4-value\">Environment variables, value</a>"));
    assert!(page.contains("value=\"not a name\""), "{page}");
    let script = send(&fixture, "/create", &fields).await;
    assert_eq!(errors(&script).len(), 5, "{script:#}");
    assert_eq!(jobs(&fixture).await, 0);
}

#[tokio::test]
async fn markup_in_every_control_is_text() {
    let fixture = Fixture::start().await;
    let markup = "\"><script>alert(1)</script><b title='&lt;'>";
    let blank = fixture.page("/create").await;
    let names = blank.split(" name=\"").skip(1);
    let names: Vec<String> = names
        .map(|rest| rest.split_once('"').unwrap().0.to_owned())
        .filter(|name| !matches!(name.as_str(), "csrf" | "action" | "draft" | "mode"))
        .filter(|name| !name.contains("INDEX") && !name.contains("token") && name != "viewport")
        .collect();
    assert!(names.len() > 40, "{names:?}");
    for mode in ["preset", "custom", "stored"] {
        let mut fields: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), markup)).collect();
        fields.extend([("mode", mode), ("draft", markup), ("action", "check")]);
        let response = post(&fixture, "/create", &fields).await;
        let page = response.text().await.unwrap();
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(!page.contains("<b title"), "{page}");
        assert!(page.contains("&#60;script&#62;alert(1)"), "{page}");
    }
    assert_eq!(jobs(&fixture).await, 0);
}

#[tokio::test]
async fn a_refusal_of_the_service_keeps_the_form() {
    let fixture = Fixture::start().await;
    fixture.emulator.put("bucket/code/train.py", "print(1)").unwrap();
    let mut fields = valid_with(&[("description", "green leaves")]);
    fields.push(("action", "create"));
    assert_eq!(post(&fixture, "/create", &fields).await.status(), 303);
    let response = post(&fixture, "/create", &fields).await;
    assert!(response.status().is_client_error(), "{}", response.status());
    let page = response.text().await.unwrap();
    assert!(page.contains("ModelArts.2751"), "{page}");
    assert!(page.contains("green leaves"), "{page}");
    // The advice is not repeated.
    assert_eq!(page.matches("Change training job name").count(), 1, "{page}");
    let script = send(&fixture, "/create", &fields).await;
    assert_eq!(script["error"]["code"], "ModelArts.2751");
    assert_eq!(jobs(&fixture).await, 1);
}

#[tokio::test]
async fn only_the_button_that_creates_a_job_creates_one() {
    let fixture = Fixture::start().await;
    let fields = valid_with(&[("inputs[3].name", "rows"), ("action", "check")]);
    let response = post(&fixture, "/create", &fields).await;
    assert_eq!(response.status(), 200);
    let page = response.text().await.unwrap();
    // Each list has a blank row after the others.
    assert!(page.contains("name=\"inputs[3].name\" type=\"text\" value=\"rows\""), "{page}");
    assert!(page.contains("name=\"inputs[4].name\" type=\"text\" value=\"\""), "{page}");
    assert_eq!(post(&fixture, "/create", VALID).await.status(), 200);
    assert_eq!(jobs(&fixture).await, 0);
}

#[tokio::test]
async fn what_is_missing_is_reported_at_a_control_of_its_mode() {
    let fixture = Fixture::start().await;
    for (mode, controls) in [
        ("preset", ["engine", "flavor"]),
        ("custom", ["image", "flavor"]),
        ("stored", ["algorithm", "flavor"]),
    ] {
        let (_, found) = check(&fixture, &[("name", "a"), ("mode", mode)]).await;
        let fields: Vec<&str> = found.iter().filter_map(|error| error.split(": ").next()).collect();
        assert_eq!(fields, controls, "{found:?}");
    }
    let fields = valid_with(&[("mode", "custom"), ("custom_code_dir", "obs://b/c/")]);
    let (_, found) = check(&fixture, &fields).await;
    assert!(found.len() == 1 && found[0].starts_with("command: must be given"), "{found:?}");
}

#[tokio::test]
async fn names_are_given_once_and_with_their_values() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/create").await;
    assert!(page.contains("No bucket is set for files and new outputs"), "{page}");
    assert!(!page.contains(" data-files"), "{page}");
    let (_, found) = check(
        &fixture,
        &valid_with(&[
            ("environments[0].name", "SEED"),
            ("environments[1].name", "SEED"),
            ("environments[2].value", "x"),
            ("outputs[0].name", "train_url"),
        ]),
    )
    .await;
    assert_eq!(
        found,
        [
            "outputs[0].path: must be an address in OBS, because no bucket is set for files and \
             new \
             outputs ()",
            "environments[1].name: must differ from the names of other variables ()",
            "environments[2].name: must be given with a value ()",
        ]
    );
}

#[tokio::test]
async fn a_read_only_page_checks_and_creates_nothing() {
    let fixture = Fixture::with(|emulator| emulator, |console| console.read_only(true)).await;
    let (_, found) = check(&fixture, VALID).await;
    assert_eq!(found, [""; 0]);
    let page = fixture.page("/create").await;
    assert!(page.contains("class=\"primary\" disabled"), "{page}");
    let mut fields = VALID.to_vec();
    fields.push(("action", "create"));
    assert_eq!(post(&fixture, "/create", &fields).await.status(), 403);
    let upload = format!("/create/files/{}/code/train.py", "0".repeat(32));
    assert_eq!(fixture.change(&upload, "x").await.status(), 403);
}

#[tokio::test]
async fn lists_that_cannot_be_read_leave_texts_and_the_reason() {
    let fixture = Fixture::start().await;
    let refused = Fault::error(403, "ModelArts.0010", "no permission");
    let rule = FaultRule::always("ShowTrainingJobEngines", refused);
    fixture.emulator.faults().add(rule).unwrap();
    let page = fixture.page("/create").await;
    assert!(page.contains("The list of preset images cannot be read: "), "{page}");
    assert!(page.contains("<input id=\"f-engine\""), "{page}");
}
