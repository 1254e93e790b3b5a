//! A Job and its pods at one moment.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Pod;

use super::tracking::{Count, count, waits_for_end};
use crate::controllers::pod;

/// A Job and its pods at one moment.
pub(super) struct View<'a> {
    pub(super) job: &'a Job,
    pub(super) spec: JobSpec,
    /// All pods that are its own.
    pub(super) pods: &'a [Pod],
    /// Those that run or are going to.
    pub(super) active: Vec<Pod>,
    /// How many are being deleted and have not ended yet.
    pub(super) terminating: usize,
    pub(super) count: Count,
    pub(super) now: Timestamp,
}

impl<'a> View<'a> {
    pub(super) fn new(job: &'a Job, pods: &'a [Pod], now: Timestamp) -> Self {
        let leaves = |pod: &&Pod| pod::is_terminating(pod) && !pod::is_finished(pod);
        Self {
            job,
            spec: job.spec.clone().unwrap_or_default(),
            pods,
            active: pods.iter().filter(|pod| pod::is_active(pod)).cloned().collect(),
            terminating: pods.iter().filter(leaves).count(),
            count: count(job, pods),
            now,
        }
    }

    /// How many pods have to end before others take their places.
    pub(super) fn to_wait_for(&self) -> usize {
        if waits_for_end(self.job) { self.terminating } else { 0 }
    }
}
