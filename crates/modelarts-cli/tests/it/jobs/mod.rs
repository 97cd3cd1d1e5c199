//! Commands on existing jobs.

mod events;
mod explain;
mod live;
mod logs;
mod ls;
mod references;
mod rm;
mod show;
mod stop;
mod update;
mod wait;
