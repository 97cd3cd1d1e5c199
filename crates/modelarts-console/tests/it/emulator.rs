//! Control of the emulator.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use axum::{Router, extract::Request, http::StatusCode};
use modelarts_console::Console;
use modelarts_emulator::{Emulator, clock::ManualClock, faults::FaultRule};
use modelarts_ext::ClientBuilder;
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::Fixture;

/// Sends a form of the page.
async fn submit(fixture: &Fixture, path: &str, form: &str) -> (u16, String) {
    let response = fixture.change(path, form.to_owned()).await;
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

#[tokio::test]
async fn a_fault_is_added_by_the_form_and_shown_until_it_is_used_up() {
    let fixture = Fixture::start().await;
    let form =
        "fault=status&operation=ShowTrainingJobDetails&times=2&status=503&error_msg=busy&ms=";
    assert_eq!(submit(&fixture, "/emulator/faults", form).await, (303, String::new()));
    let rules = fixture.emulator.faults().list();
    let rule = json!({
        "fault": "status", "operation": "ShowTrainingJobDetails", "times": 2, "status": 503,
        "error_msg": "busy",
    });
    let rule: FaultRule = serde_json::from_value(rule).unwrap();
    assert_eq!(rules, [rule]);
    let page = fixture.page("/emulator").await;
    assert!(
        page.contains(
            "<code>ShowTrainingJobDetails</code></th><td>Error response, not executed</td>\
             <td>status 503, error_msg busy</td><td class=\"number\">2</td>"
        ),
        "{page}"
    );
    assert_eq!(submit(&fixture, "/emulator/faults/clear", "").await.0, 303);
    assert!(fixture.emulator.faults().list().is_empty());
    assert!(fixture.page("/emulator").await.contains("No rules."));
}

#[tokio::test]
async fn a_wrong_fault_is_refused_and_the_form_keeps_its_values() {
    let fixture = Fixture::start().await;
    let form = "fault=delay&operation=CreateTrainingJob&times=7&ms=soon";
    let (status, page) = submit(&fixture, "/emulator/faults", form).await;
    assert_eq!(status, 422);
    assert!(
        page.contains(
            "Delay, milliseconds: it must be a whole number up to 4294967295, and is &#34;soon&#34;"
        ),
        "{page}"
    );
    assert!(page.contains("<option value=\"delay\" selected>"), "{page}");
    assert!(page.contains("name=\"times\" type=\"number\" min=\"1\" value=\"7\""), "{page}");
    // A rule of the emulator itself.
    let (status, page) = submit(&fixture, "/emulator/faults", "fault=reset&operation=Oops").await;
    assert_eq!(status, 422);
    assert!(page.contains("unknown operation `Oops`, expected *"), "{page}");
    assert!(fixture.emulator.faults().list().is_empty());
}

#[tokio::test]
async fn each_kind_of_fault_of_the_form_is_one_of_the_emulator() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/emulator").await;
    let options = page.split("<select name=\"fault\">").nth(1).unwrap();
    let options = options.split("</select>").next().unwrap();
    let kinds: Vec<&str> = options
        .split("<option value=\"")
        .skip(1)
        .map(|option| option.split('"').next().unwrap())
        .collect();
    assert_eq!(kinds.len(), 13);
    for kind in &kinds {
        let form = format!("fault={kind}&always=on&status=503&seconds=1&ms=1&phase=Odd");
        assert_eq!(submit(&fixture, "/emulator/faults", &form).await.0, 303, "{kind}");
    }
    assert_eq!(fixture.emulator.faults().list().len(), kinds.len());
}

#[tokio::test]
async fn a_manual_clock_is_moved_by_the_form() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let fixture = Fixture::with(|emulator| emulator.clock(clock as _), |console| console).await;
    let before = fixture.page("/emulator").await;
    let time = |page: &str| {
        let rest = page.split("It is <time datetime=\"").nth(1).unwrap();
        let text = rest.split('"').next().unwrap();
        text.parse::<modelarts_ext::Timestamp>().unwrap()
    };
    let form = "amount=1.5&unit=hours";
    assert_eq!(submit(&fixture, "/emulator/clock", form).await.0, 303);
    let after = fixture.page("/emulator").await;
    let passed = time(&after).duration_since(time(&before));
    assert_eq!(passed.as_secs(), 5_400);
    // Signatures are those of the time of the emulator.
    fixture.page("/jobs").await;
    for (form, reason) in [
        ("amount=-1", "it must be a number from 0 to ten years, and is &#34;-1&#34;"),
        ("amount=inf&unit=days", "it must be a number from 0 to ten years, and is &#34;inf&#34;"),
        ("amount=9999&unit=days", "and is &#34;9999&#34;"),
        ("amount=1&unit=years", "Unit: it must be seconds, minutes, hours or days"),
    ] {
        let (status, page) = submit(&fixture, "/emulator/clock", form).await;
        assert_eq!(status, 422, "{form}");
        assert!(page.contains(reason), "{form}: {page}");
    }
}

#[tokio::test]
async fn the_clock_of_the_machine_cannot_be_moved() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/emulator").await;
    assert!(page.contains("The clock is that of this machine."), "{page}");
    assert!(!page.contains("action=\"/emulator/clock\""), "{page}");
    let (status, page) = submit(&fixture, "/emulator/clock", "amount=1").await;
    assert_eq!(status, 422);
    assert!(page.contains("This emulator runs on the system clock"), "{page}");
}

#[tokio::test]
async fn requests_are_read_back_and_filtered() {
    let fixture = Fixture::start().await;
    let jobs = fixture.client().training_jobs();
    let job = jobs
        .create("read-back")
        .custom_image("own/image:1")
        .command("true")
        .flavor("modelarts.vm.cpu.2u")
        .submit()
        .await
        .unwrap();
    jobs.get(job.id()).await.unwrap();
    let page = fixture.page("/emulator").await;
    let (created, read) = (
        "<code>CreateTrainingJob</code></th><td role=\"cell\">201</td>",
        "<code>ShowTrainingJobDetails</code></th><td role=\"cell\">200</td>",
    );
    let (create, show) = (page.find(created).unwrap(), page.find(read).unwrap());
    assert!(show < create, "the newest is not the first: {page}");
    assert!(page.contains("&#34;name&#34;: &#34;read-back&#34;"), "{page}");
    assert!(
        page.contains(
            "<code>CreateTrainingJob</code></th><td class=\"number\">1</td><td \
                       class=\"number\">1</td>"
        ),
        "{page}"
    );
    let page = fixture.page("/emulator?changes=only").await;
    assert!(page.contains(created) && !page.contains(read), "{page}");
    let page = fixture.page("/emulator?operation=ShowTrainingJobDetails").await;
    assert!(!page.contains(created) && page.contains(read), "{page}");
}

#[tokio::test]
async fn a_reset_deletes_the_jobs() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{ "name": "old" }])).await;
    assert!(fixture.page("/jobs").await.contains(">old</a>"));
    assert_eq!(submit(&fixture, "/emulator/reset", "").await.0, 303);
    assert!(!fixture.page("/jobs").await.contains(">old</a>"));
}

#[tokio::test]
async fn a_real_service_is_asked_for_its_health_only() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let paths = Arc::clone(&asked);
    let record = move |request: Request| {
        paths.lock().unwrap().push(request.uri().path().to_owned());
        async { StatusCode::NOT_FOUND }
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(axum::serve(listener, Router::new().fallback(record)).into_future());
    // A service on this machine that is not the emulator.
    let emulator = Emulator::start().await.unwrap();
    let client = ClientBuilder::from_vars(emulator.vars()).endpoint(endpoint);
    let console = Console::builder(client.build().unwrap());
    let console = console.start().await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["/_emulator/health"]);
    drop(console);
    server.abort();
}
