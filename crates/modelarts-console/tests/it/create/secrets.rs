//! Secrets of a job in the form of its copy.

use serde_json::json;

use super::{Field, attribute, check, errors, post, send, valid_with};
use crate::support::Fixture;

/// A page with a job that has secrets, and the id of that job.
async fn copied() -> (Fixture, String) {
    let fixture = Fixture::start().await;
    fixture.emulator.put("bucket/code/train.py", "print('hello')").unwrap();
    let job = fixture.client().training_jobs().create("oak");
    let job = job
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .env("DB_PASSWORD", "hunter2")
        .env("SEED", "17171")
        .flavor("modelarts.vm.cpu.2u")
        .submit();
    let id = job.await.unwrap().id().to_owned();
    (fixture, id)
}

/// Returns the fields of a copy of the job whose values were not shown.
fn fields<'a>(id: &'a str, others: &[Field<'a>]) -> Vec<Field<'a>> {
    let mut fields = valid_with(&[
        ("from", id),
        ("environments[0].name", "DB_PASSWORD"),
        ("environments[0].value", "***"),
        ("environments[1].name", "SEED"),
        ("environments[1].value", "***"),
    ]);
    for (name, value) in others {
        fields.retain(|(known, _)| known != name);
        fields.push((name, value));
    }
    fields
}

#[tokio::test]
async fn a_copy_keeps_the_values_that_its_form_does_not_show() {
    let (fixture, id) = copied().await;
    let page = fixture.page(&format!("/create?from={id}")).await;
    assert_eq!(attribute(&page, "name=\"environments[0].value\" type=\"text\" value=\""), "***");
    assert_eq!(attribute(&page, "name=\"from\" value=\""), id);
    assert!(!page.contains("hunter2") && !page.contains("17171"), "{page}");
    let form = fields(
        &id,
        &[
            ("environments[1].value", "2"),
            ("environments[2].name", "API_KEY"),
            ("environments[2].value", "typed"),
            ("action", "create"),
        ],
    );
    // Typed values are secrets, too.
    let (body, errors) = check(&fixture, &form).await;
    assert_eq!(errors, [""; 0]);
    let shown = json!({"DB_PASSWORD": "***", "SEED": "2", "API_KEY": "***"});
    assert_eq!(body["algorithm"]["environments"], shown);
    let response = post(&fixture, "/create", &form).await;
    assert_eq!(response.status(), 303);
    let location = response.headers()["location"].to_str().unwrap();
    let id = location.strip_prefix("/jobs/").unwrap();
    let job = fixture.client().training_jobs().get(id).await.unwrap();
    let algorithm = job.details().algorithm.clone().unwrap();
    let kept = json!({"DB_PASSWORD": "hunter2", "SEED": "2", "API_KEY": "typed"});
    assert_eq!(serde_json::to_value(algorithm.environments).unwrap(), kept);
}

#[tokio::test]
async fn a_mask_never_becomes_a_value() {
    let (fixture, id) = copied().await;
    let rule = "environments[0].value: must be entered: *** is shown in place of a value ()";
    let renamed = fields(&id, &[("environments[0].name", "OTHER"), ("action", "create")]);
    let copied_text = fields("", &[("action", "create"), ("environments[1].value", "1")]);
    for form in [renamed, copied_text] {
        let result = send(&fixture, "/create", &form).await;
        assert_eq!(errors(&result), [rule]);
        assert!(!result.to_string().contains("17171"), "{result}");
        let page = post(&fixture, "/create", &form).await;
        assert_eq!(page.status(), 422);
        let page = page.text().await.unwrap();
        assert!(!page.contains("17171"), "{page}");
    }
    let other = r#"{"metadata": {"annotations": {"password": "***"}}}"#;
    let form = fields("", &[("other", other), ("action", "create")]);
    let result = send(&fixture, "/create", &form).await;
    let rule = "other: must be entered: *** is shown in place of a value ()";
    assert!(errors(&result).contains(&rule.to_owned()), "{result}");
    let gone = fields("00000000-0000-4000-8000-000000000000", &[("action", "create")]);
    let result = send(&fixture, "/create", &gone).await;
    assert_eq!(result["error"]["title"], "Not found", "{result}");
    assert_eq!(fixture.client().training_jobs().list().collect(9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_form_shows_the_values_when_the_user_asks_for_them() {
    let (fixture, id) = copied().await;
    let page = fixture.page(&format!("/create?from={id}")).await;
    assert!(page.contains("name=\"action\" value=\"show\""), "{page}");
    let form = fields(&id, &[("name", "edited"), ("action", "show")]);
    let page = post(&fixture, "/create", &form).await;
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    let value = |name: &str| attribute(&page, &format!("name=\"{name}\" type=\"text\" value=\""));
    assert_eq!(value("name"), "edited");
    assert_eq!(value("environments[0].value"), "hunter2");
    assert_eq!(value("environments[1].value"), "17171");
    assert!(!page.contains("value=\"show\""), "{page}");
}
