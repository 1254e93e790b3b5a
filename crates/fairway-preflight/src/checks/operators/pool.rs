//! `MachineConfigPool`s: nodes that are configured alike, and updated one after the other.

use fairway_findings::{Finding, Severity};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::Value;

use super::explained;
use crate::wording::{are, listed, quoted};

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
        let said = |condition: &Value| {
            let message = condition["message"].as_str().filter(|it| !it.is_empty());
            quoted(message.unwrap_or("it does not say why"))
        };
        Self {
            name: object.name_any(),
            paused: object.data.pointer("/spec/paused") == Some(&Value::Bool(true)),
            updating: holds("Updating").is_some(),
            degraded: holds("Degraded").map(said),
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
    Some(Finding {
        name: "MachineConfigPoolsDegraded".to_owned(),
        message: format!(
            "{} degraded, and nodes of it would not be updated: {}.",
            are(found.len(), "MachineConfigPool"),
            explained(&found),
        ),
        severity: Severity::Critical,
        remediation: format!(
            "Repair it before you update: `kubectl describe machineconfigpool {first}`."
        ),
        ..Finding::default()
    })
}

fn paused(pools: &[Pool]) -> Option<Finding> {
    let found = names(pools, |pool| pool.paused);
    let first = found.first()?;
    Some(Finding {
        name: "MachineConfigPoolsPaused".to_owned(),
        message: format!(
            "{} paused: its nodes stay at their version, fall behind with every update, and get no \
             new certificates: {}.",
            are(found.len(), "MachineConfigPool"),
            listed(&found),
        ),
        severity: Severity::Warning,
        remediation: format!(
            "Let it go on: `kubectl patch machineconfigpool {first} --type=merge -p \
             '{{\"spec\":{{\"paused\":false}}}}'`."
        ),
        ..Finding::default()
    })
}

fn updating(pools: &[Pool]) -> Option<Finding> {
    let found = names(pools, |pool| pool.updating && !pool.paused);
    let first = found.first()?;
    Some(Finding {
        name: "MachineConfigPoolsUpdating".to_owned(),
        message: format!(
            "{} still updating nodes, which restart once more with the update: {}.",
            are(found.len(), "MachineConfigPool"),
            listed(&found),
        ),
        severity: Severity::Info,
        remediation: format!(
            "Wait for it: `kubectl wait --for=condition=Updated --timeout=1h machineconfigpool/\
             {first}`."
        ),
        ..Finding::default()
    })
}
