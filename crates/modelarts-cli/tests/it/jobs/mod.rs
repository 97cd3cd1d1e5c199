//! Commands on existing jobs.

mod download;
mod events;
mod explain;
mod live;
mod local;
mod logs;
mod ls;
mod references;
mod rm;
mod show;
mod stop;
mod update;
mod values;
mod wait;
