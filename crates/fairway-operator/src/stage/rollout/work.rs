//! One release on its way into the cluster, and kept there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fairway_api::ClusterOperator;
use fairway_release::task_graph::{Round, Task};
use fairway_release::{Manifest, ObjectId, TaskGraph};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::ResourceExt as _;
use tokio::sync::{Semaphore, watch};

use super::attend::{Attended, Place};
use super::board::Board;
use super::pace::Pace;
use super::{Phase, introduce};
use crate::apply::{Applier, Changes, Context};
use crate::cluster::Objects;
use crate::metrics;
use crate::stage::target::Target;

/// Manifests that are applied at once: as many as an API server answers without making others wait.
const AT_ONCE: usize = 16;

/// The other release's operator goes on from here.
pub(super) struct Superseded;

/// One release on its way into the cluster. First every manifest is attended to in the order of the
/// graph; from then on, whenever its object changes.
pub(super) struct Work<'a> {
    pub(super) target: Arc<Target>,
    pub(super) own_image: &'a str,
    pub(super) context: Context,
    pub(super) applier: &'a Applier,
    pub(super) operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    pub(super) board: &'a Board,
    pub(super) pace: &'a Pace,
    pub(super) metrics: &'a metrics::Rollout,
    pub(super) places: Vec<Place>,
    pub(super) permits: Semaphore,
}
