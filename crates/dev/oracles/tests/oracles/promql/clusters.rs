//! Samples of hand-written clusters, with times relative to the query.

use fairway_promql::snapshot::{Snapshot, SnapshotLimits};
use jiff::Timestamp;

macro_rules! clusters {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("clusters/", $name, ".prom")))),*]
    };
}

/// Clusters in which real queries match, do not match, and fail.
pub(crate) fn all() -> Vec<Snapshot> {
    let taken = Timestamp::from_second(-30).unwrap();
    let texts = clusters![
        "metal",
        "aws",
        "aro",
        "azure",
        "hosted",
        "gcp",
        "vsphere",
        "openstack",
        "odd",
        "federated",
        "silent"
    ];
    let read = |(name, text)| {
        let samples = Snapshot::parse(text, taken, &SnapshotLimits::default());
        samples.unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    texts.into_iter().map(read).collect()
}
