//! Consistency of the times in the job examples, from which readers derive units, order and sums.

use serde_json::{Value, json};

use crate::examples::{bodies, operations};

/// Collects the jobs in an example.
fn jobs<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(object) => {
            let is_job = value["status"]["phase"].is_string();
            if is_job && value["metadata"]["create_time"].is_i64() {
                found.push(value);
            }
            object.values().for_each(|member| jobs(member, found));
        }
        Value::Array(list) => list.iter().for_each(|member| jobs(member, found)),
        _ => {}
    }
}

/// Returns descriptions of the contradictions between the fields of a job.
fn contradictions(job: &Value) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut expect = |holds: bool, rule| {
        if !holds && !found.contains(&rule) {
            found.push(rule);
        }
    };
    let status = &job["status"];
    let created = job["metadata"]["create_time"].as_i64().unwrap();
    let start = status["start_time"].as_i64().unwrap();
    let duration = status["duration"].as_i64().unwrap();
    let has_run = start != 0;
    expect(!has_run || created <= start, "it starts before its creation");
    expect(has_run || duration == 0, "it never ran, but has a duration");

    let pair = |row: &Value| (row[0].as_i64().unwrap(), row[1].as_i64().unwrap());
    let rows = status["node_count_metrics"].as_array();
    let rows: Vec<(i64, i64)> = rows.into_iter().flatten().map(pair).collect();
    let whole = rows.iter().all(|(at, _)| at % 1000 == 0);
    expect(whole, "a sample is not cut to whole seconds");
    expect(rows.is_sorted_by_key(|row| row.0), "samples are out of order");
    let first = rows.first().is_none_or(|(at, _)| created <= *at);
    expect(first, "a sample is older than the job");
    let first_run = rows.iter().find(|(_, nodes)| *nodes > 0);
    if let Some((last, _)) = rows.last() {
        let begins = first_run.map_or(0, |(at, _)| *at);
        expect(begins == start, "the first nodes run at another time than its start");
        let spans = !has_run || last - start == duration;
        expect(spans, "its duration is not the time from its start to the last sample");
    }

    let Some(records) = status["running_records"].as_array() else {
        return found;
    };
    // A record without an end time lasts until the last sample.
    let latest = rows.last().map_or(start + duration, |(at, _)| *at);
    let ends = records.iter().map(|record| match &record["end_at"] {
        Value::Null => latest,
        end => end.as_i64().unwrap() * 1000,
    });
    let starts = records.iter().map(|record| record["start_at"].as_i64().unwrap() * 1000);
    let runs: Vec<(i64, i64)> = starts.zip(ends).collect();
    expect(runs[0].0 == start, "its first run begins at another time than the job");
    expect(runs.iter().all(|(start, end)| start <= end), "a run ends before it begins");
    expect(runs.windows(2).all(|two| two[0].1 <= two[1].0), "runs overlap");
    expect(runs.iter().all(|(_, end)| *end <= latest), "a run ends after the job");
    let in_a_run = |at: i64| runs.iter().any(|(start, end)| (*start..=*end).contains(&at));
    let running = rows.iter().filter(|(_, nodes)| *nodes > 0);
    expect({ running }.all(|(at, _)| in_a_run(*at)), "nodes run outside of its runs");
    let open = records.iter().rev().skip(1).any(|record| record["end_at"].is_null());
    expect(!open, "a run that others follow has no end");
    let last_is_open = records.last().is_some_and(|record| record["end_at"].is_null());
    let runs_now = status["phase"] == "Running";
    expect(runs_now == last_is_open, "its phase and its last run disagree");
    found
}

#[test]
fn the_times_of_every_job_in_an_example_agree() {
    let root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let mut visited = 0;
    for operation in operations(&root) {
        for body in bodies(&root, operation) {
            let mut found = Vec::new();
            body.examples.iter().for_each(|example| jobs(example, &mut found));
            for job in found {
                assert_eq!(contradictions(job), [""; 0], "{}: {job:#}", body.place);
                visited += 1;
            }
        }
    }
    // The examples that contain a job: job creation, job search, job details, job stop, and details
    // of a job with fault tolerance.
    assert_eq!(visited, 5);
}

#[test]
fn contradictions_are_found() {
    let job = |status: Value| json!({"metadata": {"create_time": 1123}, "status": status});
    let sound = json!({
        "phase": "Running", "start_time": 3000, "duration": 6000,
        "node_count_metrics": [[2000, 0], [3000, 2], [4000, 2], [5000, 0], [6000, 2], [9000, 2]],
        "running_records": [{"start_at": 3, "end_at": 4}, {"start_at": 6}],
    });
    assert_eq!(contradictions(&job(sound.clone())), [""; 0]);
    let never = json!({"phase": "Creating", "start_time": 0, "duration": 0,
        "node_count_metrics": null});
    assert_eq!(contradictions(&job(never)), [""; 0]);
    for (field, value, contradiction) in [
        ("start_time", json!(1000), "it starts before its creation"),
        ("start_time", json!(0), "it never ran, but has a duration"),
        ("start_time", json!(6000), "the first nodes run at another time than its start"),
        ("duration", json!(3000), "its duration is not the time from its start to the last sample"),
        ("phase", json!("Completed"), "its phase and its last run disagree"),
    ] {
        let mut status = sound.clone();
        status[field] = value;
        assert!(contradictions(&job(status)).contains(&contradiction), "{contradiction}");
    }
    for (rows, contradiction) in [
        (json!([[2000, 0], [3001, 2]]), "a sample is not cut to whole seconds"),
        (json!([[3000, 2], [2000, 0]]), "samples are out of order"),
        (json!([[1000, 0], [3000, 2]]), "a sample is older than the job"),
        (json!([[3000, 2], [5000, 2], [9000, 2]]), "nodes run outside of its runs"),
    ] {
        let mut status = sound.clone();
        status["node_count_metrics"] = rows;
        assert!(contradictions(&job(status)).contains(&contradiction), "{contradiction}");
    }
    for (records, contradiction) in [
        (json!([{"start_at": 2}]), "its first run begins at another time than the job"),
        (json!([{"start_at": 3, "end_at": 2}]), "a run ends before it begins"),
        (json!([{"start_at": 3, "end_at": 7}, {"start_at": 6}]), "runs overlap"),
        (json!([{"start_at": 3, "end_at": 10}]), "a run ends after the job"),
        (json!([{"start_at": 3}, {"start_at": 6}]), "a run that others follow has no end"),
    ] {
        let mut status = sound.clone();
        status["running_records"] = records;
        assert!(contradictions(&job(status)).contains(&contradiction), "{contradiction}");
    }
}
