//! `drain`: what would keep a node from being drained.
//!
//! Nodes are updated one after the other, and each is drained first. The check looks at
//! `PodDisruptionBudget`s that select pods which have to move and allow no eviction: for good
//! (`DisruptionBudgetsForbidDrain`) or as long as some of their pods are not healthy
//! (`DisruptionBudgetsDelayDrain`); at pods with more than one budget, which the API server never
//! evicts (`PodsWithSeveralBudgets`); and at pods that nobody brings back (`PodsWithoutController`).
//! Pods of DaemonSets and of the nodes themselves stay where they are. Local volumes are no
//! obstacle: such pods are evicted, and come back with their node. A cluster of one node is not
//! drained, and the check is skipped there.

use std::collections::BTreeMap;

use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::{PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::core::{Selector, SelectorExt as _};

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource, Unseen};
use crate::pods;
use crate::resources::{BUDGETS, NODES, PODS};
use crate::target::Target;
use crate::wording::{are, counted, listed};

/// Versions in which budgets are served, the newest first: old servers have only the other.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// What would keep a node from being drained.
pub(crate) struct Drain;

impl BuiltIn for Drain {
    fn name(&self) -> &'static str {
        "drain"
    }

    fn looks_at(&self) -> &[Resource] {
        &[BUDGETS, NODES, PODS]
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster).boxed()
    }
}

async fn look(cluster: &Cluster) -> Result<Answer, CannotTell> {
    if cluster.all::<Node>().await?.len() < 2 {
        let why =
            "the cluster has only one node, so its pods cannot move to another node".to_owned();
        return Err(CannotTell::DoesNotApply(why));
    }
    let mut survey = Survey::new(budgets(cluster).await?);
    cluster.each(|pod: Pod| survey.add(&pod)).await?;
    Ok(survey.findings().into())
}

async fn budgets(cluster: &Cluster) -> Result<Vec<Budget>, Unseen> {
    for version in VERSIONS {
        let mut budgets = Vec::new();
        let take = |object| budgets.extend(Budget::read(&object, version));
        match cluster.each_of(&Resource { version, ..BUDGETS }.into(), take).await {
            Err(Unseen::NotServed(_)) => {}
            seen => return seen.map(|()| budgets),
        }
    }
    // A cluster without the kind has none.
    Ok(Vec::new())
}

/// How many pods may go at once.
#[derive(Clone, Debug)]
struct Budget {
    namespace: String,
    name: String,
    selector: Selector,
    status: PodDisruptionBudgetStatus,
    /// Pods that it selects and that have to move.
    drained: usize,
}

impl Budget {
    /// Nothing if it selects no pods.
    fn read(object: &DynamicObject, version: &str) -> Option<Self> {
        let spec: PodDisruptionBudgetSpec =
            serde_json::from_value(object.data.get("spec")?.clone()).ok()?;
        let status = object.data.get("status").cloned().unwrap_or_default();
        let selector = Selector::try_from(spec.selector?).ok()?;
        // What is empty means none in the old version, and all in the new one.
        (version == VERSIONS[0] || !selector.selects_all()).then_some(())?;
        Some(Self {
            namespace: object.namespace()?,
            name: object.name_any(),
            selector,
            status: serde_json::from_value(status).unwrap_or_default(),
            drained: 0,
        })
    }

    /// What it selects.
    fn pods(&self) -> String {
        if self.selector.selects_all() {
            return "all pods".to_owned();
        }
        format!("pods {}", self.selector)
    }

    /// Whether none of its pods may go. One without healthy pods has nothing to protect.
    fn is_used_up(&self) -> bool {
        let PodDisruptionBudgetStatus {
            disruptions_allowed, current_healthy, expected_pods, ..
        } = self.status;
        self.drained > 0 && disruptions_allowed == 0 && current_healthy > 0 && expected_pods > 0
    }

    /// Whether that stays so when all its pods are healthy.
    fn is_never_enough(&self) -> bool {
        self.status.desired_healthy >= self.status.expected_pods
    }
}

/// All budgets, and what they and nobody else have to do with the pods of the cluster.
struct Survey {
    budgets: BTreeMap<String, Vec<Budget>>,
    /// Pods with the names of their budgets.
    contested: Vec<String>,
    /// Pods that nobody brings back, by namespace and name.
    alone: Vec<(String, String)>,
}

impl Survey {
    fn new(all: Vec<Budget>) -> Self {
        let mut budgets: BTreeMap<String, Vec<Budget>> = BTreeMap::new();
        for budget in all {
            budgets.entry(budget.namespace.clone()).or_default().push(budget);
        }
        Self { budgets, contested: Vec::new(), alone: Vec::new() }
    }

    fn add(&mut self, pod: &Pod) {
        if !pods::is_drained(pod) {
            return;
        }
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        let of_namespace = self.budgets.get_mut(&namespace).into_iter().flatten();
        let mut names = Vec::new();
        for budget in of_namespace.filter(|budget| budget.selector.matches(pod.labels())) {
            budget.drained += 1;
            names.push(budget.name.clone());
        }
        if names.len() > 1 {
            self.contested.push(format!("{namespace}/{name} ({})", listed(&names)));
        }
        if pods::controller(pod).is_none() {
            self.alone.push((namespace, name));
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let used_up = self.budgets.values().flatten().filter(|budget| budget.is_used_up());
        let (never, not_now): (Vec<&Budget>, Vec<&Budget>) =
            used_up.partition(|budget| budget.is_never_enough());
        let found = [forbidding(&never), delaying(&not_now), self.contested(), self.alone()];
        found.into_iter().flatten().collect()
    }

    fn contested(&self) -> Option<Finding> {
        let first = self.contested.first()?;
        let namespace = first.split('/').next().unwrap_or_default();
        Some(Finding {
            name: "PodsWithSeveralBudgets".to_owned(),
            message: format!(
                "{} selected by more than one PodDisruptionBudget. The API server refuses to \
                 evict such pods, so draining their nodes never completes: {}.",
                are(self.contested.len(), "pod"),
                listed(&self.contested),
            ),
            severity: Severity::Critical,
            remediation: format!(
                "List the budgets with `kubectl -n {namespace} get poddisruptionbudgets`, then \
                 delete or edit them until each pod has only one."
            ),
            ..Finding::default()
        })
    }

    fn alone(&self) -> Option<Finding> {
        let (namespace, name) = self.alone.first()?;
        let names: Vec<String> =
            self.alone.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
        Some(Finding {
            name: "PodsWithoutController".to_owned(),
            message: format!(
                "{} not managed by a controller. Draining a node stops at such a pod, or deletes \
                 it permanently: {}.",
                are(names.len(), "pod"),
                listed(&names),
            ),
            severity: Severity::Warning,
            remediation: format!(
                "Run the pod by a Deployment or a StatefulSet, or delete it: `kubectl -n \
                 {namespace} delete pod {name}`."
            ),
            ..Finding::default()
        })
    }
}

fn forbidding(budgets: &[&Budget]) -> Option<Finding> {
    let Budget { namespace, name, .. } = budgets.first()?;
    let told: Vec<String> = budgets
        .iter()
        .map(|budget| {
            let Budget { namespace, name, status, .. } = budget;
            let (wanted, all) = (status.desired_healthy, status.expected_pods);
            format!("{namespace}/{name} ({}: requires {wanted} of {all} healthy)", budget.pods())
        })
        .collect();
    Some(Finding {
        name: "DisruptionBudgetsForbidDrain".to_owned(),
        message: format!(
            "{} no evictions at all, so draining a node with one of their pods never completes: \
             {}.",
            allow(budgets.len()),
            listed(&told),
        ),
        severity: Severity::Critical,
        remediation: format!(
            "Run more replicas than the budget requires, or allow one disruption: `kubectl -n \
             {namespace} edit poddisruptionbudget {name}`."
        ),
        ..Finding::default()
    })
}

fn delaying(budgets: &[&Budget]) -> Option<Finding> {
    let Budget { namespace, selector, .. } = budgets.first()?;
    let told: Vec<String> = budgets
        .iter()
        .map(|budget| {
            let Budget { namespace, name, status, .. } = budget;
            let (healthy, wanted) = (status.current_healthy, status.desired_healthy);
            let pods = budget.pods();
            format!("{namespace}/{name} ({pods}: {healthy} healthy, requires {wanted})")
        })
        .collect();
    Some(Finding {
        name: "DisruptionBudgetsDelayDrain".to_owned(),
        message: format!(
            "{} no evictions now, so draining a node with one of their pods waits until more of \
             them are healthy: {}.",
            allow(budgets.len()),
            listed(&told),
        ),
        severity: Severity::Warning,
        remediation: format!(
            "Find out why the pods are not healthy: `kubectl -n {namespace} get pods -l \
             '{selector}'`."
        ),
        ..Finding::default()
    })
}

fn allow(count: usize) -> String {
    let allow = if count == 1 { "allows" } else { "allow" };
    format!("{} {allow}", counted(count, "PodDisruptionBudget"))
}

#[cfg(test)]
mod tests;
