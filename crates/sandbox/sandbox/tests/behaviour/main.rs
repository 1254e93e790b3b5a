//! How a Kubernetes API behaves, whichever stands behind it: every case asserts the same of the
//! sandbox and of a real cluster. Where the real one of the tests is too old for that,
//! [`differences`] says so and why.

mod differences;
mod support;

mod access;
mod apply;
mod create;
mod custom;
mod delete;
mod discovery;
mod forms;
mod garbage;
mod hostile;
mod jobs;
mod list;
mod logs;
mod namespaces;
mod patch;
mod pods;
mod records;
mod surroundings;
mod update;
mod watch;
mod webhooks;
mod workloads;
