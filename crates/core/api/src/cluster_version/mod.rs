//! ClusterVersion: requested and current release of the cluster.

mod risk;
mod spec;
mod status;

pub use risk::{ConditionalUpdate, ConditionalUpdateRisk, MatchingRule, MatchingRuleType, PromQl};
pub use spec::{
    AcceptRisk, Architecture, Capabilities, ClusterVersion, ClusterVersionSpec, ComponentOverride,
    ConfigMapReference, SignatureStore, Update, UpdateMode,
};
pub use status::{CapabilitiesStatus, ClusterVersionStatus, Release, UpdateHistory, UpdateState};
