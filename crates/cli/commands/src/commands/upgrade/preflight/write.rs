//! A request for a preflight is written, and taken back where what is left of it would be an update.

use anyhow::Context as _;
use fairway_api::cluster_version::Update;

use super::super::change::{self, Change as _};
use super::request::{Plan, Wish};
use super::withdrawal;
use crate::cluster::Cluster;
use crate::errors::{CannotTell, WithHint};

/// Asks for a preflight. The definition of ClusterVersion may be replaced by an older one after the
/// request was tried: then the mode is dropped from the request itself.
pub(super) async fn request(cluster: &Cluster, wish: &Wish) -> anyhow::Result<Plan> {
    let decide = |object: &_| Plan::of(object, wish);
    let (plan, written) = change::make_and_see(cluster, false, decide).await?;
    if written.is_none_or(|written| plan.check(&written).is_ok()) {
        return Ok(plan);
    }
    let without_mode = Update { mode: None, ..plan.update.clone() };
    let withdraw =
        |object: &_| withdrawal::Plan::give_back(object, &without_mode, plan.before.as_ref(), true);
    change::make(cluster, false, withdraw).await.with_context(|| WithHint {
        message:
            "the API server dropped the mode of the request, and the remaining update request \
             cannot be withdrawn"
                .to_owned(),
        hint: "withdraw it immediately with `fairway upgrade --clear`".to_owned(),
    })?;
    Err(dropped().into())
}

fn dropped() -> CannotTell {
    CannotTell {
        message:
            "the API server dropped the mode of the request, and the remaining update request is \
             withdrawn: the installed ClusterVersion CRD is too old"
                .to_owned(),
        hint:
            "run `fairway upgrade` to check whether an update has started; install the current CRD \
             with `fairway crds | kubectl apply -f -`"
                .to_owned(),
    }
}
