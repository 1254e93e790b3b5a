//! What a cluster says about itself, live or from files.

pub(super) mod live;
pub(super) mod recorded;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::Alerts;

/// What tells which updates there are.
pub(super) struct Outlook {
    pub(super) version: ClusterVersion,
    pub(super) components: Vec<ClusterOperator>,
    pub(super) alerts: Alerts,
}
