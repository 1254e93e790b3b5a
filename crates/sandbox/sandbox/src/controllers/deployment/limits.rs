//! How many pods a Deployment may have at a time.

use k8s_openapi::api::apps::v1::{Deployment, RollingUpdateDeployment};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::controllers::share::{Rounding, share};

/// What the API takes where nothing is said.
const DEFAULT_SHARE: &str = "25%";

/// How many pods it wants.
pub(super) fn replicas(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1).max(0)
}

/// Whether pods are replaced a few at a time, not all at once.
pub(super) fn is_rolling(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy.and_then(|strategy| strategy.type_.as_deref()) != Some("Recreate")
}

/// How many more pods than it wants there may be.
pub(super) fn max_surge(deployment: &Deployment) -> i32 {
    if is_rolling(deployment) { bounds(deployment).0 } else { 0 }
}

/// How many of the pods that it wants may be unavailable.
pub(super) fn max_unavailable(deployment: &Deployment) -> i32 {
    let replicas = replicas(deployment);
    if is_rolling(deployment) && replicas > 0 { bounds(deployment).1.min(replicas) } else { 0 }
}

/// The surge is rounded up, the unavailable down; if nothing could move, one pod may be missing.
fn bounds(deployment: &Deployment) -> (i32, i32) {
    let total = replicas(deployment);
    let rolling = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    let rolling = rolling.and_then(|strategy| strategy.rolling_update.clone()).unwrap_or_default();
    let RollingUpdateDeployment { max_surge, max_unavailable } = rolling;
    let default = || IntOrString::String(DEFAULT_SHARE.to_owned());
    let surge = share(&max_surge.unwrap_or_else(default), total, Rounding::Up);
    let unavailable = share(&max_unavailable.unwrap_or_else(default), total, Rounding::Down);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}
