//! `drain`: obstacles to draining nodes.
//!
//! Nodes are drained and updated one after the other. The check reports `PodDisruptionBudgets` that
//! allow no eviction, permanently (`DisruptionBudgetsForbidDrain`) or while pods are unhealthy
//! (`DisruptionBudgetsDelayDrain`), pods with several budgets, which the API server never evicts
//! (`PodsWithSeveralBudgets`), and pods without a controller (`PodsWithoutController`). Pods of
//! DaemonSets and static pods are not drained. Pods with local volumes are evicted and are no
//! obstacle. In a cluster with one node, which is not drained, the check is skipped.

use std::collections::BTreeMap;

use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::{PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::core::{Selector, SelectorExt as _};

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::pods;
use crate::resources::{BUDGETS, NODES, PODS};
use crate::wording::{are, counted, listed};

/// Served versions of `PodDisruptionBudget`, the newest first. API servers before Kubernetes 1.21
/// have only v1beta1.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The check `drain`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "drain",
    watched: &[BUDGETS, NODES, PODS],
    run: |cluster, _| examine(cluster).boxed(),
};

async fn examine(cluster: &Cluster) -> Result<BuiltInResult, NoResult> {
    if cluster.all::<Node>().await?.len() < 2 {
        let why =
            "the cluster has only one node, so its pods cannot move to another node".to_owned();
        return Err(NoResult::DoesNotApply(why));
    }
    let mut survey = Survey::new(budgets(cluster).await?);
    cluster.each(|pod: Pod| survey.add(&pod)).await?;
    Ok(survey.findings().into())
}

async fn budgets(cluster: &Cluster) -> Result<Vec<Budget>, ClusterReadError> {
    for version in VERSIONS {
        let mut budgets = Vec::new();
        let take = |object| budgets.extend(Budget::read(&object, version));
        match cluster.each_of(&Resource { version, ..BUDGETS }.into(), take).await {
            Err(ClusterReadError::NotServed(_)) => {}
            read => return read.map(|()| budgets),
        }
    }
    Ok(Vec::new())
}

/// A `PodDisruptionBudget`.
#[derive(Clone, Debug)]
struct Budget {
    namespace: String,
    name: String,
    selector: Selector,
    status: PodDisruptionBudgetStatus,
    /// Number of selected pods that would be drained.
    drained: usize,
}

impl Budget {
    /// Reads a budget; `None` if it selects no pods.
    fn read(object: &DynamicObject, version: &str) -> Option<Self> {
        let spec: PodDisruptionBudgetSpec =
            serde_json::from_value(object.data.get("spec")?.clone()).ok()?;
        let status = object.data.get("status").cloned().unwrap_or_default();
        let selector = Selector::try_from(spec.selector?).ok()?;
        // An empty selector selects no pods in v1beta1 and all pods in v1.
        (version == VERSIONS[0] || !selector.selects_all()).then_some(())?;
        Some(Self {
            namespace: object.namespace()?,
            name: object.name_any(),
            selector,
            status: serde_json::from_value(status).unwrap_or_default(),
            drained: 0,
        })
    }

    /// Label selector.
    fn pods(&self) -> String {
        if self.selector.selects_all() {
            return "all pods".to_owned();
        }
        format!("pods {}", self.selector)
    }

    /// Whether no eviction is allowed. A budget without healthy pods protects nothing.
    fn allows_no_eviction(&self) -> bool {
        let PodDisruptionBudgetStatus {
            disruptions_allowed, current_healthy, expected_pods, ..
        } = self.status;
        self.drained > 0 && disruptions_allowed == 0 && current_healthy > 0 && expected_pods > 0
    }

    /// Whether no eviction is allowed even if all pods are healthy.
    fn never_allows_eviction(&self) -> bool {
        self.status.desired_healthy >= self.status.expected_pods
    }
}

/// Budgets of the cluster and the pods they affect.
struct Survey {
    budgets: BTreeMap<String, Vec<Budget>>,
    /// Pods with several budgets, and the names of the budgets.
    with_several_budgets: Vec<String>,
    /// Namespace and name of pods without a controller.
    without_controller: Vec<(String, String)>,
}

impl Survey {
    fn new(all: Vec<Budget>) -> Self {
        let mut budgets: BTreeMap<String, Vec<Budget>> = BTreeMap::new();
        for budget in all {
            budgets.entry(budget.namespace.clone()).or_default().push(budget);
        }
        Self { budgets, with_several_budgets: Vec::new(), without_controller: Vec::new() }
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
            self.with_several_budgets.push(format!("{namespace}/{name} ({})", listed(&names)));
        }
        if pods::controller(pod).is_none() {
            self.without_controller.push((namespace, name));
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let used_up = self.budgets.values().flatten().filter(|budget| budget.allows_no_eviction());
        let (never, not_now): (Vec<&Budget>, Vec<&Budget>) =
            used_up.partition(|budget| budget.never_allows_eviction());
        let found = [
            forbidding(&never),
            delaying(&not_now),
            self.with_several_budgets(),
            self.without_controller(),
        ];
        found.into_iter().flatten().collect()
    }

    fn with_several_budgets(&self) -> Option<Finding> {
        let first = self.with_several_budgets.first()?;
        let namespace = first.split('/').next().unwrap_or_default();
        Some(Finding {
            name: "PodsWithSeveralBudgets".to_owned(),
            message: format!(
                "{} selected by more than one PodDisruptionBudget. The API server refuses to \
                 evict such pods, so draining their nodes never completes: {}.",
                are(self.with_several_budgets.len(), "pod"),
                listed(&self.with_several_budgets),
            ),
            severity: Severity::Critical,
            remediation: format!(
                "List the budgets with `kubectl -n {namespace} get poddisruptionbudgets`, then \
                 delete or edit them until each pod has only one."
            ),
            ..Finding::default()
        })
    }

    fn without_controller(&self) -> Option<Finding> {
        let (namespace, name) = self.without_controller.first()?;
        let names: Vec<String> = self
            .without_controller
            .iter()
            .map(|(namespace, name)| format!("{namespace}/{name}"))
            .collect();
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
                "Manage the pod with a Deployment or a StatefulSet, or delete it: `kubectl -n \
                 {namespace} delete pod {name}`."
            ),
            ..Finding::default()
        })
    }
}

fn forbidding(budgets: &[&Budget]) -> Option<Finding> {
    let Budget { namespace, name, .. } = budgets.first()?;
    let render: Vec<String> = budgets
        .iter()
        .map(|budget| {
            let Budget { namespace, name, status, .. } = budget;
            let (required, all) = (status.desired_healthy, status.expected_pods);
            format!("{namespace}/{name} ({}: requires {required} of {all} healthy)", budget.pods())
        })
        .collect();
    Some(Finding {
        name: "DisruptionBudgetsForbidDrain".to_owned(),
        message: format!(
            "{} no evictions at all, so draining a node with one of their pods never completes: \
             {}.",
            allow(budgets.len()),
            listed(&render),
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
    let render: Vec<String> = budgets
        .iter()
        .map(|budget| {
            let Budget { namespace, name, status, .. } = budget;
            let (healthy, required) = (status.current_healthy, status.desired_healthy);
            let pods = budget.pods();
            format!("{namespace}/{name} ({pods}: {healthy} healthy, requires {required})")
        })
        .collect();
    Some(Finding {
        name: "DisruptionBudgetsDelayDrain".to_owned(),
        message: format!(
            "{} no evictions now, so draining a node with one of their pods waits until more of \
             them are healthy: {}.",
            allow(budgets.len()),
            listed(&render),
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
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{create_with_status, node};
    use crate::testing::{render, target};

    fn pod(namespace: &str, name: &str, app: &str, owner: Option<&str>) -> Value {
        let owners = owner.map(|kind| {
            json!([{
                "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "1", "controller": true,
            }])
        });
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": namespace, "name": name, "labels": {"app": app}, "ownerReferences": owners,
            },
            "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
        })
    }

    /// A budget with the status fields `disruptionsAllowed`, `currentHealthy`, `desiredHealthy` and
    /// `expectedPods`.
    fn budget(namespace: &str, name: &str, selector: &Value, status: [i32; 4]) -> Value {
        let [allowed, healthy, desired, expected] = status;
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"minAvailable": desired, "selector": selector},
            "status": {
                "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired,
                "expectedPods": expected,
            },
        })
    }

    fn app(name: &str) -> Value {
        json!({"matchLabels": {"app": name}})
    }

    fn evaluate(budgets: &[Value], pods: &[Value]) -> Vec<Finding> {
        let read = |object: &Value| {
            Budget::read(&serde_json::from_value(object.clone()).unwrap(), "v1").unwrap()
        };
        let mut survey = Survey::new(budgets.iter().map(read).collect());
        for pod in pods {
            survey.add(&serde_json::from_value(pod.clone()).unwrap());
        }
        survey.findings()
    }

    #[test]
    fn findings_of_budgets_and_pods() {
        let of_set = |app| pod("shop", app, app, Some("ReplicaSet"));
        let daemon = pod("shop", "daemon", "web", Some("DaemonSet"));
        let mut ended = pod("shop", "ended", "web", None);
        ended["status"]["phase"] = json!("Succeeded");
        let mut mirror = pod("shop", "mirror", "web", None);
        mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        let mut waiting = pod("shop", "waiting", "web", None);
        waiting["spec"].as_object_mut().unwrap().remove("nodeName");
        let strict = budget("shop", "web", &app("web"), [0, 1, 1, 1]);
        let used_up = budget("shop", "web", &app("web"), [0, 2, 2, 3]);
        for (budgets, pods, expected) in [
            (vec![strict.clone()], vec![of_set("web")], vec!["DisruptionBudgetsForbidDrain"]),
            (vec![used_up], vec![of_set("web")], vec!["DisruptionBudgetsDelayDrain"]),
            (vec![budget("shop", "web", &app("web"), [1, 3, 2, 3])], vec![of_set("web")], vec![]),
            (vec![budget("shop", "web", &app("web"), [0, 0, 1, 1])], vec![of_set("web")], vec![]),
            (vec![budget("shop", "web", &app("web"), [0, 0, 0, 0])], vec![of_set("web")], vec![]),
            (vec![budget("other", "web", &app("web"), [0, 1, 1, 1])], vec![of_set("web")], vec![]),
            (vec![strict.clone()], vec![of_set("db"), daemon, ended, mirror, waiting], vec![]),
            (
                vec![budget("shop", "all", &json!({}), [0, 1, 1, 1])],
                vec![of_set("web")],
                vec!["DisruptionBudgetsForbidDrain"],
            ),
            (
                vec![
                    budget("shop", "web", &app("web"), [1, 3, 2, 3]),
                    budget("shop", "b", &json!({}), [1, 3, 2, 3]),
                ],
                vec![of_set("web")],
                vec!["PodsWithSeveralBudgets"],
            ),
            (vec![], vec![pod("shop", "alone", "web", None)], vec!["PodsWithoutController"]),
        ] {
            let found = evaluate(&budgets, &pods);
            let names: Vec<&str> = found.iter().map(|finding| finding.name.as_str()).collect();
            assert_eq!(names, expected, "{budgets:?} {pods:?}");
        }
    }

    #[test]
    fn read_budget_with_empty_selector_depends_on_version() {
        let object = budget("shop", "all", &json!({}), [0, 1, 1, 1]);
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        assert!(
            Budget::read(&object, "v1").is_some() && Budget::read(&object, "v1beta1").is_none()
        );
    }

    #[test]
    fn findings_name_budgets_and_remediation() {
        let expression =
            json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]});
        let budgets = [
            budget("shop", "web", &app("web"), [0, 1, 1, 1]),
            budget("shop", "rest", &expression, [0, 2, 2, 3]),
            budget("zoo", "x", &json!({}), [1, 2, 1, 2]),
            budget("zoo", "y", &json!({}), [1, 2, 1, 2]),
        ];
        let pods = [
            pod("shop", "w", "web", Some("ReplicaSet")),
            pod("shop", "a", "a", Some("StatefulSet")),
            pod("zoo", "lion", "lion", None),
        ];
        insta::assert_snapshot!(render(&evaluate(&budgets, &pods)), @"
        DisruptionBudgetsForbidDrain (critical): 1 PodDisruptionBudget allows no evictions at all, so draining a node with one of their pods never completes: shop/web (pods app=web: requires 1 of 1 healthy).
          Run more replicas than the budget requires, or allow one disruption: `kubectl -n shop edit poddisruptionbudget web`.
        DisruptionBudgetsDelayDrain (warning): 1 PodDisruptionBudget allows no evictions now, so draining a node with one of their pods waits until more of them are healthy: shop/rest (pods app in (a,b): 2 healthy, requires 2).
          Find out why the pods are not healthy: `kubectl -n shop get pods -l 'app in (a,b)'`.
        PodsWithSeveralBudgets (critical): 1 pod is selected by more than one PodDisruptionBudget. The API server refuses to evict such pods, so draining their nodes never completes: zoo/lion (x, y).
          List the budgets with `kubectl -n zoo get poddisruptionbudgets`, then delete or edit them until each pod has only one.
        PodsWithoutController (warning): 1 pod is not managed by a controller. Draining a node stops at such a pod, or deletes it permanently: zoo/lion.
          Manage the pod with a Deployment or a StatefulSet, or delete it: `kubectl -n zoo delete pod lion`.
        ");
    }

    #[tokio::test]
    async fn run_reads_budgets_of_cluster() -> Result<()> {
        let cluster = TestCluster::shared().await?;
        let client = cluster.client();
        let reader = Cluster::new(client.clone());
        create_with_status(&client, &node("a", "4", "8Gi")).await?;
        create_with_status(&client, &node("b", "4", "8Gi")).await?;
        let namespace = cluster.namespace("drain").await?;
        let name = namespace.name();
        create_with_status(&client, &budget(name, "web", &app("web"), [0, 1, 1, 1])).await?;
        create_with_status(&client, &pod(name, "web", "web", None)).await?;
        let answer = (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
        let names: Vec<&str> = answer.findings.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["DisruptionBudgetsForbidDrain", "PodsWithoutController"]);
        Ok(())
    }
}
