//! Page of the list: search, phases, pages.

use modelarts_emulator::User;
use serde_json::{Value, json};

use crate::{
    jobs::{Site, between, names, service},
    support::Fixture,
};

fn number<'a>(page: &'a str, chip: &str) -> &'a str {
    let chip = between(page, &format!("<a id=\"chip-{chip}\""), "</a>");
    between(chip, "<span class=\"number\">", "</span>")
}

#[tokio::test]
async fn a_job_is_listed_with_its_phase() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{ "name": "resnet-50", "phase": "Completed" }])).await;
    let page = fixture.page("/jobs").await;
    assert!(page.contains(&format!("<a href=\"/jobs/{}\">resnet-50</a>", ids[0])), "{page}");
    assert!(page.contains("</span> Completed</span>"), "{page}");
    assert!(page.contains("1 in all"), "{page}");
}

#[tokio::test]
async fn the_log_of_a_running_job_is_its_reason() {
    let fixture = Fixture::start().await;
    let log = "2026-01-03 18:19:40 upload failed: OBS_ERR_InsufficientStorageSpace\n";
    fixture
        .seed(json!([{ "name": "full", "phase": "Running", "logs": { "worker-0": log } }]))
        .await;
    let page = fixture.page("/jobs").await;
    assert!(page.contains("OBS has refused writes since 2026-01-03 18:19:40"), "{page}");
}

#[tokio::test]
async fn a_search_has_conditions_of_the_service() {
    let fixture = Fixture::start().await;
    fixture
        .seed(json!([
            { "name": "old", "phase": "Failed", "created": "2026-01-15T08:30:00Z" },
            { "name": "bert-a", "phase": "Completed", "tags": { "team": "nlp" } },
            { "name": "bert-b", "phase": "Failed", "tags": { "team": "cv" } },
            { "name": "resnet", "phase": "Running" },
        ]))
        .await;
    for (search, expected) in [
        ("", &["resnet", "bert-b", "bert-a", "old"][..]),
        ("bert", &["bert-b", "bert-a"]),
        ("name:bert+phase:failed", &["bert-b"]),
        ("phase:Running,Completed", &["resnet", "bert-a"]),
        ("tag:team=nlp", &["bert-a"]),
        ("tag:team", &["bert-b", "bert-a"]),
        ("created:2026-01-10..2026-01-20", &["old"]),
        ("mine+phase:Failed", &["bert-b", "old"]),
        ("none", &[]),
    ] {
        let page = fixture.page(&format!("/jobs?search={search}")).await;
        assert_eq!(names(&page), expected, "{search}");
    }
    let page = fixture.page("/jobs?search=none").await;
    let empty = "<p id=\"empty\" class=\"empty\">No jobs meet these conditions.</p>";
    assert!(page.contains(empty), "{page}");
}

#[tokio::test]
async fn phases_have_numbers_and_toggle_the_search() {
    let fixture = Fixture::start().await;
    fixture
        .seed(json!([
            { "name": "a-{n}", "count": 3, "phase": "Failed" },
            { "name": "b", "phase": "Running" },
            { "name": "c-{n}", "count": 2, "phase": "Running" },
        ]))
        .await;
    let page = fixture.page("/jobs").await;
    let numbers = ["all", "failed", "running", "pending"].map(|chip| number(&page, chip));
    assert_eq!(numbers, ["6", "3", "3", "0"]);
    let page = fixture.page("/jobs?search=b+phase:Running").await;
    let numbers = ["all", "failed", "running"].map(|chip| number(&page, chip));
    // The numbers are those of the other conditions.
    assert_eq!(numbers, ["1", "0", "1"]);
    let running = "class=\"chip running\" href=\"/jobs?search=b\" aria-current=\"true\"";
    assert!(page.contains(running), "{page}");
    let failed = "href=\"/jobs?search=b+phase%3ARunning%2CFailed\">";
    assert!(page.contains(failed), "{page}");
}

#[tokio::test]
async fn only_mine_are_the_jobs_of_the_user_of_the_keys() {
    let user = |name: &str| {
        let mut user = User::new(name);
        user.project_id = "0123456789abcdef0123456789abcdef".to_owned();
        user
    };
    let fixture =
        Fixture::with(|emulator| emulator.user(user("ada")).user(user("bob")), |console| console)
            .await;
    fixture
        .seed(json!([{ "name": "of-ada", "user": "ada" }, { "name": "of-bob", "user": "bob" }]))
        .await;
    let page = fixture.page("/jobs").await;
    assert_eq!(names(&page), ["of-bob", "of-ada"]);
    assert!(
        page.contains(
            "<a id=\"chip-mine\" class=\"chip\" href=\"/jobs?search=mine\">Only mine</a>"
        )
    );
    let page = fixture.page("/jobs?search=mine").await;
    assert_eq!(names(&page), ["of-ada"]);
    assert_eq!(number(&page, "all"), "1");
}

/// A service with 10,000 jobs, `job-0` the newest, of which each page has those that the request
/// has conditions for.
async fn large_service() -> Site {
    const TOTAL: u64 = 10_000;
    let client = service(|request: Value| {
        let number = |name: &str| request[name].as_u64().unwrap();
        let (limit, offset) = (number("limit"), number("offset"));
        let is_other = request["filters"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|filter| filter["key"] == "phase" && filter["value"] != json!(["Completed"]));
        let total = if is_other { 0 } else { TOTAL };
        let numbers = (offset * limit).min(total)..((offset + 1) * limit).min(total);
        let job = |number: u64| {
            json!({
                "metadata": { "id": format!("id-{number}"), "name": format!("job-{number}") },
                "status": { "phase": "Completed" },
            })
        };
        json!({
            "total": TOTAL, "count": total, "limit": limit, "offset": offset,
            "items": numbers.map(job).collect::<Vec<_>>(),
        })
    });
    Site::start(client.await).await
}

#[tokio::test]
async fn ten_thousand_jobs_are_paged() {
    let site = large_service().await;
    let page = site.page("/jobs").await;
    assert_eq!((names(&page).len(), names(&page)[0]), (50, "job-0"));
    assert!(page.contains("10,000 in all"));
    assert!(page.contains("<span>Page 1 of 200</span>"));
    assert!(page.contains("rel=\"next\" href=\"/jobs?page=2\">Next</a>"));
    assert!(page.contains("href=\"/jobs?page=200\">Last</a>"));
    assert!(!page.contains(">Previous</a>"));
    assert_eq!(number(&page, "completed"), "10,000");

    let page = site.page("/jobs?search=job&page=3").await;
    assert_eq!((names(&page).len(), names(&page)[0]), (50, "job-100"));
    let previous = "rel=\"prev\" href=\"/jobs?search=job&#38;page=2\">Previous</a>";
    assert!(page.contains(previous), "{page}");

    let page = site.page("/jobs?page=200").await;
    assert_eq!(names(&page).last(), Some(&"job-9999"));
    assert!(!page.contains(">Next</a>"));

    let page = site.page("/jobs?page=201").await;
    assert_eq!(names(&page), [""; 0]);
    assert!(page.contains("No jobs on this page."));
    assert!(page.contains("rel=\"prev\" href=\"/jobs?page=200\">Previous</a>"));
}

#[tokio::test]
async fn the_pages_of_the_emulator_have_each_job_once() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{ "name": "job-{n}", "count": 120 }])).await;
    let mut all = Vec::new();
    for (page, count) in [(1, 50), (2, 50), (3, 20)] {
        let page = fixture.page(&format!("/jobs?page={page}")).await;
        assert_eq!(names(&page).len(), count);
        all.extend(names(&page).iter().map(ToString::to_string));
    }
    let expected: Vec<_> = (0..120).rev().map(|number| format!("job-{number}")).collect();
    assert_eq!(all, expected);
}

#[tokio::test]
async fn a_read_only_page_only_compares() {
    let fixture = Fixture::with(|emulator| emulator, |console| console.read_only(true)).await;
    fixture.seed(json!([{ "name": "a" }])).await;
    let page = fixture.page("/jobs").await;
    assert_eq!(names(&page), ["a"]);
    assert!(page.contains("formaction=\"/jobs/compare\""), "{page}");
    assert!(!page.contains("name=\"action\"") && !page.contains("<dialog"), "{page}");
    let response = fixture.change("/jobs/stop", "id=a").await;
    assert_eq!(response.status(), 403);
    let confirmation = fixture.request("GET", "/jobs/confirm?action=stop&id=a").send().await;
    assert_eq!(confirmation.unwrap().status(), 403);
}

#[tokio::test]
async fn hyper_parameters_are_columns_of_the_list() {
    let fixture = Fixture::start().await;
    fixture.emulator.put("bucket/code/train.py", "1\n").unwrap();
    let job = json!({
        "kind": "job",
        "metadata": {"name": "tuned"},
        "algorithm": {
            "code_dir": "/bucket/code/", "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            "parameters": [{"name": "lr", "value": "0.1"}, {"name": "seed", "value": "<i>"}],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    });
    fixture.seed(json!([{ "name": "tuned", "job": job, "logs": {"worker-0": "step 1 loss=0.5\nstep 2 loss=0.25\nfinal acc: 0.9\n"} }])).await;
    let page = fixture.page("/jobs?columns=lr,+seed,%3Cb%3E").await;
    for part in [
        "<th role=\"columnheader\" scope=\"col\">lr</th>",
        "<td role=\"cell\" data-label=\"lr\">0.1</td>",
        "<td role=\"cell\" data-label=\"seed\">&#60;i&#62;</td>",
        "<td role=\"cell\" data-label=\"&#60;b&#62;\"></td>",
        "href=\"/jobs?search=phase%3ARunning&#38;columns=lr%2Cseed%2C%3Cb%3E\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = fixture.page("/jobs?columns=log:loss,log:acc,log:none").await;
    for (name, value) in [("log:loss", "0.25"), ("log:acc", "0.9"), ("log:none", "")] {
        let cell = format!("<td role=\"cell\" data-label=\"{name}\">{value}</td>");
        assert!(page.contains(&cell), "{cell}: {page}");
    }
}
