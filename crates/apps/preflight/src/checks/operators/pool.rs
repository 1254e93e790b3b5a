//! `MachineConfigPool`s: nodes that are configured alike, and updated one after the other.

use fairway_findings::Finding;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::wording::{are, explained, listed, said};

/// What counts of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pool {
    name: String,
    paused: bool,
    updating: bool,
    /// What it says about its trouble, if it has some.
    degraded: Option<String>,
}

impl Pool {
    pub(super) fn read(object: &DynamicObject) -> Self {
        let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
        let holds = |type_: &str| {
            let mut conditions = conditions.into_iter().flatten();
            conditions.find(|it| it["type"] == type_ && it["status"] == "True")
        };
        Self {
            name: object.name_any(),
            paused: object.data.pointer("/spec/paused") == Some(&Value::Bool(true)),
            updating: holds("Updating").is_some(),
            degraded: holds("Degraded").map(|condition| said(condition["message"].as_str())),
        }
    }
}

pub(super) fn findings(pools: &[Pool]) -> impl Iterator<Item = Finding> {
    [degraded(pools), paused(pools), updating(pools)].into_iter().flatten()
}

fn names(pools: &[Pool], counts: impl Fn(&Pool) -> bool) -> Vec<String> {
    pools.iter().filter(|pool| counts(pool)).map(|pool| pool.name.clone()).collect()
}

fn degraded(pools: &[Pool]) -> Option<Finding> {
    let told = |pool: &Pool| Some((pool.name.clone(), pool.degraded.clone()?));
    let found: Vec<(String, String)> = pools.iter().filter_map(told).collect();
    let (first, _) = found.first()?;
    let message = format!(
        "{} degraded, and the update would not update their nodes: {}.",
        are(found.len(), "MachineConfigPool"),
        explained(&found),
    );
    let remediation = format!(
        "Resolve the cause before the update: `kubectl describe machineconfigpool {first}`."
    );
    Some(Finding::critical("MachineConfigPoolsDegraded", message).remediation(remediation))
}

fn paused(pools: &[Pool]) -> Option<Finding> {
    let found = names(pools, |pool| pool.paused);
    let first = found.first()?;
    let message = format!(
        "{} paused. Nodes of paused pools keep their version, fall behind with every update, and \
         get no new certificates: {}.",
        are(found.len(), "MachineConfigPool"),
        listed(&found),
    );
    let remediation = format!(
        "Resume the pool: `kubectl patch machineconfigpool {first} --type=merge -p \
         '{{\"spec\":{{\"paused\":false}}}}'`."
    );
    Some(Finding::warning("MachineConfigPoolsPaused", message).remediation(remediation))
}

fn updating(pools: &[Pool]) -> Option<Finding> {
    let found = names(pools, |pool| pool.updating && !pool.paused);
    let first = found.first()?;
    let message = format!(
        "{} still updating nodes, and the update restarts these nodes again: {}.",
        are(found.len(), "MachineConfigPool"),
        listed(&found),
    );
    let remediation = format!(
        "Wait for the pool: `kubectl wait --for=condition=Updated --timeout=1h \
         machineconfigpool/{first}`."
    );
    Some(Finding::info("MachineConfigPoolsUpdating", message).remediation(remediation))
}
