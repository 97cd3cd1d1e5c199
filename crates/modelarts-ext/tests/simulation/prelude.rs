//! Names that many modules use.

pub(crate) use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

pub(crate) use bytes::Bytes;
pub(crate) use fastrand::Rng;
pub(crate) use futures::{StreamExt, TryStreamExt, future::join_all};
pub(crate) use http::{HeaderMap, HeaderValue, StatusCode, header};
pub(crate) use modelarts_ext::{
    Client, Error, Event, Job, LogItem, Outcome, api::BoxFuture, jobs::ListJobs,
};
pub(crate) use serde_json::{Value, json};
pub(crate) use tokio::time::{sleep, timeout};

pub(crate) use crate::{
    calls::{Attempt, Call, End, Kind, Op},
    checks,
    clock::{ClientClock, ServiceClock, hold},
    conditions::{Conditions, EMPTY_BODIES, Fate},
    service::{Answer, AnyError, Change, Service},
    trace::Trace,
    wish::{WORKSPACES, Wish},
    workload::{JOB_WITH_EVENTS, KINDS},
    world::{Ended, World, fail, metadata, one, seconds},
};
