//! Tests of the view, and of its rows on terminals of 80 and 40 columns.

use std::time::Duration;

use ansi_to_tui::IntoText;
use modelarts_ext::{Client, Credentials};
use ratatui::{Terminal as Tui, backend::TestBackend};
use serde_json::json;

use super::*;

fn time(seconds: u64) -> Timestamp {
    Timestamp::UNIX_EPOCH + Duration::from_secs(1_768_466_000 + seconds)
}

fn job(name: &str, phase: &str, tasks: usize) -> Job {
    let client = Client::builder()
        .endpoint("http://127.0.0.1:1")
        .project_id("p")
        .credentials(Credentials::token("t"))
        .build()
        .unwrap();
    let tasks: Vec<_> = (0..tasks).map(|number| format!("worker-{number}")).collect();
    let job = json!({
        "metadata": {"id": "cf63aba9", "name": name, "create_time": 1_768_466_000_000_u64},
        "status": {"phase": phase, "tasks": tasks, "start_time": 1_768_466_190_000_u64},
    });
    client.training_jobs().job_from_json(job.to_string()).unwrap()
}

fn event(seconds: u64, level: &str, message: &str) -> Input {
    let event = json!({"time": time(seconds), "level": level, "source": "Job", "message": message});
    Input::Update(JobUpdate::Event(serde_json::from_value(event).unwrap()))
}

fn line(text: &str) -> Input {
    let (task, item) = ("worker-0".to_owned(), LogItem::Line(text.to_owned()));
    Input::Update(JobUpdate::Log { task, item })
}

fn lost() -> Input {
    let error = Client::builder().endpoint("not an address").build().unwrap_err();
    Input::Update(JobUpdate::Interrupted { error })
}

/// Returns a view after inputs, which arrive a second apart.
fn view(job: Job, inputs: impl IntoIterator<Item = Input>) -> View {
    let mut view = View::new(job);
    for (input, seconds) in inputs.into_iter().zip(200..) {
        view.step(input, time(seconds));
    }
    view
}

/// Returns the text that ratatui draws on a terminal.
fn drawn(view: &View, width: u16, height: u16) -> String {
    let rows = view.rows((width, height), time(250));
    let mut terminal = Tui::new(TestBackend::new(width, rows.len() as u16)).unwrap();
    let text = rows.join("\n").into_text().unwrap();
    terminal.draw(|frame| frame.render_widget(text, frame.area())).unwrap();
    let drawn = terminal.backend().buffer().content().chunks(usize::from(width)).map(|cells| {
        let row: String = cells.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", row.trim_end())
    });
    drawn.collect()
}

fn running() -> View {
    let series = |metric, values: [f64; 6]| MetricSeries::new(metric, time(0), values);
    let usage = |cpu| {
        let cpu = series("cpuUsage", [0.0, 30.0, -1.0, 55.0, 80.0, cpu]);
        vec![cpu, series("memUsage", [20.0; 6]), series("npuUtil", [-1.0; 6])]
    };
    let names = ["worker-0", "worker-1"].map(str::to_owned);
    let usage = names.into_iter().zip([usage(130.0), usage(7.4)]);
    let status = r#"{"progressPercentage": 45, "estimatedRemainingSeconds": 795,
        "metrics": [{"name": "loss", "value": "0.2347"}, {"name": "accuracy", "value": "0.98"}]}"#;
    view(
        job("leaves", "Running", 2),
        [
            event(0, "Info", "Training job created."),
            event(10, "Info", "The training job is queuing and awaiting resource allocation."),
            event(190, "Info", "Training job is running."),
            event(
                191,
                "Warning",
                "[modelarts-job-cf63aba9-worker-0] the output grows very quickly.",
            ),
            Input::Usage(usage.collect()),
            line(status),
        ],
    )
}

#[test]
fn rows_fit_on_a_terminal_of_eighty_columns() {
    let expected = "\
────────────────────────────────────────────────────────────────────────────────
leaves  ◌ Creating 10s → ◌ Pending 3m0s → ● Running 1m0s
worker-0  CPU 130% ▁▃ ▅▇█                MEM  20% ▂▂▂▂▂▂
worker-1  CPU   7% ▁▃ ▅▇▁                MEM  20% ▂▂▂▂▂▂
━━━━━━━━━━━━━━━━━━━━  45%  ETA 12m30s  loss 0.2347  accuracy 0.98
[worker-0] the output grows very quickly.
q leaves it running, t stops it
";
    assert_eq!(drawn(&running(), 80, 24), expected);
}

#[test]
fn a_terminal_of_forty_columns_has_the_more_important_parts_with_whole_words() {
    let expected = "\
────────────────────────────────────────
leaves  ◌ Pending 3m0s → ● Running 1m0s
worker-0  CPU 130% ▃ ▅▇█  MEM  20% ▂▂▂▂▂
worker-1  CPU   7% ▃ ▅▇▁  MEM  20% ▂▂▂▂▂
━━━━━━━━━━  45%  ETA 12m30s  loss 0.2347
[worker-0] the output grows very…
q leaves it running, t stops it
";
    assert_eq!(drawn(&running(), 40, 24), expected);
}

#[test]
fn many_workers_and_a_long_name_leave_space_for_the_phase_and_the_keys() {
    let name = "a-very-long-name-of-a-job-that-nobody-can-read";
    let view = view(job(name, "Running", 64), []);
    let expected = "\
────────────────────────────────────────
a-very-long-name-…  ● Running 1m0s
worker-0
worker-1
worker-2
worker-3
worker-4
worker-5
and 58 more
q leaves it running, t stops it
";
    assert_eq!(drawn(&view, 40, 24), expected);
    let low = drawn(&view, 40, 8);
    assert!(low.ends_with("worker-0\nworker-1\nand 62 more\nq leaves it running, t stops it\n"));
}

#[test]
fn an_interruption_is_shown_until_the_service_responds_again() {
    let shows = |view: &View| drawn(view, 40, 24).contains("connection lost at ");
    let mut view = view(job("leaves", "Running", 1), [lost(), lost()]);
    assert!(shows(&view));
    let since = view.lost;
    assert_eq!(since, Some((time(200), false)));
    view.step(Input::Update(JobUpdate::Resumed), time(300));
    assert!(!shows(&view));
}

/// Presses a key each second. Returns the last row and the name of the last action.
fn press(view: &mut View, keys: &str) -> (String, &'static str) {
    let mut action = None;
    for (second, key) in (200..).zip(keys.chars()) {
        action = view.step(Input::Key(key), time(second));
    }
    let name = match action {
        None => "none",
        Some(Action::Print(_)) => "print",
        Some(Action::Stop) => "stop",
        Some(Action::Leave(End::Stopping)) => "left",
        Some(Action::Leave(End::Interrupted)) => "interrupted",
        Some(Action::Leave(_)) => "ended",
    };
    (drawn(view, 40, 24).lines().last().unwrap().to_owned(), name)
}

#[test]
fn a_job_is_stopped_only_after_a_question() {
    let (idle, question) = ("q leaves it running, t stops it", "stop the job? y/n");
    let stopping = "stopping the job";
    for (keys, row, action) in [
        ("y", idle, "none"),
        ("q", idle, "interrupted"),
        ("\u{3}", idle, "interrupted"),
        ("t", question, "none"),
        ("t\0", question, "none"),
        ("tn", idle, "none"),
        // No other answer than `y` is one, also the key that leaves.
        ("tq", idle, "none"),
        ("t\u{3}", question, "interrupted"),
        ("ty", stopping, "stop"),
        ("tyty", stopping, "none"),
        // The request is not dropped.
        ("tyq", stopping, "none"),
        // A line break is a key that is no character, such as Enter.
        ("t\n", idle, "none"),
        ("t\ny", idle, "none"),
    ] {
        let mut view = view(job("leaves", "Running", 1), []);
        assert_eq!(press(&mut view, keys), (row.to_owned(), action), "{keys:?}");
    }
}

#[test]
fn text_that_is_pasted_does_not_stop_the_job() {
    let mut view = view(job("leaves", "Running", 1), []);
    for key in "type".chars() {
        assert!(view.step(Input::Key(key), time(200)).is_none(), "{key}");
    }
    assert!(drawn(&view, 40, 24).ends_with("q leaves it running, t stops it\n"));
}

#[test]
fn after_an_accepted_stop_the_view_can_be_left() {
    let mut view = view(job("leaves", "Running", 1), []);
    press(&mut view, "ty");
    view.step(Input::Stopped(Ok("stopping")), time(300));
    assert_eq!(press(&mut view, "q"), ("stopping the job, q leaves".to_owned(), "left"));
}

#[test]
fn a_stop_that_the_service_refuses_can_be_repeated() {
    let mut view = view(job("leaves", "Running", 1), []);
    press(&mut view, "ty");
    let error = Client::builder().endpoint("not an address").build().unwrap_err();
    view.step(Input::Stopped(Err(error)), time(200));
    let (row, _) = press(&mut view, "\0");
    assert!(row.starts_with("not known whether it is stopped: ") && row.ends_with('…'), "{row}");
    assert_eq!(press(&mut view, "ty").1, "stop");
}

#[test]
fn a_job_that_has_ended_is_not_stopped() {
    let mut view = view(job("leaves", "Running", 1), []);
    press(&mut view, "t");
    for phase in ["Terminating", "Terminated"] {
        let job = Box::new(job("leaves", phase, 1));
        view.step(Input::Update(JobUpdate::Phase(job)), time(200));
        assert_eq!(press(&mut view, "ty"), ("q leaves".to_owned(), "none"));
    }
    assert_eq!(press(&mut view, "q").1, "ended");
}

#[test]
fn a_bar_that_a_program_redraws_is_printed_once() {
    let mut view = view(job("leaves", "Running", 1), []);
    for (text, printed) in [("  0%|  |\r 50%|# |\r", " 50%|# |"), ("\r", ""), ("a", "a")] {
        match view.step(line(text), time(200)) {
            Some(Action::Print(JobUpdate::Log { item: LogItem::Line(line), .. })) => {
                assert_eq!(line, printed, "{text:?}");
            }
            _ => panic!("{text:?} is not printed"),
        }
    }
}

#[test]
fn rows_are_not_wider_than_a_terminal_of_any_size() {
    let mut view = running();
    for dialogue in [Dialogue::Idle, Dialogue::Refused("the service does not respond".to_owned())] {
        view.dialogue = dialogue;
        for width in 0..=100 {
            for row in view.rows((width, width / 8), time(250)) {
                assert!(measure_text_width(&row) <= usize::from(width.max(1)), "{width}: {row}");
            }
        }
    }
}
