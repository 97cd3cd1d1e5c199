//! Plain structs for the pages that [`crate::decode`] reads.

// A real program would read the decoded fields; this benchmark does not.
#![allow(dead_code)]

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Events {
    pub total: i64,
    pub limit: i64,
    pub offset: i64,
    pub order: String,
    pub start_time: String,
    pub end_time: String,
    pub events: Vec<Event>,
}

#[derive(Deserialize)]
pub struct Event {
    pub time: String,
    pub level: String,
    pub source: String,
    pub message: String,
}

/// Page of jobs; `Job` is the struct that a job is decoded into.
#[derive(Deserialize)]
pub struct Jobs<Job> {
    pub total: i64,
    pub count: i64,
    pub limit: i64,
    pub offset: i64,
    pub sort_by: String,
    pub order: String,
    pub group_by: String,
    pub workspace_id: String,
    pub items: Vec<Job>,
}

/// Generated structs of a job with all documented fields.
pub mod documented {
    include!(concat!(env!("OUT_DIR"), "/plain.rs"));
}
