//! ListTrainingJobStages: the stages of a job.

use serde_json::{Value, json};

use crate::{
    clock::timestamp::Timestamp,
    job::event::{Event, EventKind},
};

/// Stages of a job, each with its name and its English and Chinese texts.
const STAGES: [(&str, &str, &str); 4] = [
    ("scheduling", "Waiting for resources", "等待资源"),
    ("preparing", "Preparing the environment", "准备环境"),
    ("running", "Running", "运行中"),
    ("end", "Ended", "已结束"),
];

/// Renders the stages as records, one for each time that the job is scheduled.
pub(crate) fn render(id: &str, events: &[Event]) -> Value {
    let mut records: Vec<Vec<(usize, Timestamp)>> = Vec::new();
    for event in events {
        let stage = match &event.kind {
            EventKind::Queuing => 0,
            EventKind::PodStarted { .. } => 1,
            EventKind::Running => 2,
            kind if kind.is_final() => 3,
            _ => continue,
        };
        match records.last_mut() {
            Some(record) if stage > 0 => {
                if record.last().is_none_or(|(last, _)| *last != stage) {
                    record.push((stage, event.time));
                }
            }
            _ => records.push(vec![(stage, event.time)]),
        }
    }
    let shown = records.iter().zip(1..).map(|(record, order)| {
        let stages = record.iter().enumerate().map(|(at, (stage, start))| {
            let (name, english, chinese) = STAGES[*stage];
            let next = record.get(at + 1).map(|(_, start)| start);
            let end = next.or((name == "end").then_some(start));
            json!({
                "job_id": id,
                "name": name,
                "en_message": english,
                "zh_message": chinese,
                "start_time": start.rfc3339(),
                "end_time": end.map(|end| end.rfc3339()).unwrap_or_default(),
                "stage_order": stage + 1,
                "sub_stages": [],
            })
        });
        json!({"record_order": order, "stages": stages.collect::<Value>()})
    });
    json!({"total_count": records.len(), "running_records": shown.collect::<Value>()})
}
