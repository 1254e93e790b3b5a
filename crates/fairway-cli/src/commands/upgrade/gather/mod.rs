//! What a cluster says about itself, live or from files.

pub(super) mod live;
pub(super) mod recorded;
