//! Pod affinity and anti-affinity.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, PodAffinityTerm};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::selector::LabelSelector;

/// Why a node is not feasible because of other pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AffinityFailure {
    /// Affinity: no matching pod in the domain of the node.
    Affinity,
    /// Anti-affinity: a matching pod in the domain of the node.
    AntiAffinity,
    /// Anti-affinity of a pod in the domain matches the new pod.
    ExistingAntiAffinity,
}

impl AffinityFailure {
    /// The message of kube-scheduler.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Affinity => "node(s) didn't match pod affinity rules",
            Self::AntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingAntiAffinity => {
                "node(s) didn't satisfy existing pods anti-affinity rules"
            }
        }
    }
}

/// Whether the pod has pod affinity or anti-affinity.
pub(super) fn has_pod_affinity(pod: &Pod) -> bool {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    affinity.is_some_and(|it| it.pod_affinity.is_some() || it.pod_anti_affinity.is_some())
}

/// A pod on a node.
#[derive(Clone, Debug)]
pub(super) struct ScheduledPod {
    object: Arc<Value>,
    pub(super) node: String,
    anti_affinity: Vec<PodAffinityTerm>,
}

impl ScheduledPod {
    /// Reads a stored pod; `None` if it has no node or is finished.
    pub(super) fn new(object: &Arc<Value>) -> Option<Self> {
        let node = text(object, "/spec/nodeName");
        if node.is_empty() || matches!(text(object, "/status/phase"), "Succeeded" | "Failed") {
            return None;
        }
        let required =
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        let terms = object.pointer(required).map(Vec::<PodAffinityTerm>::deserialize);
        let anti_affinity = terms.and_then(Result::ok).unwrap_or_default();
        Some(Self { object: Arc::clone(object), node: node.to_owned(), anti_affinity })
    }
}

/// State of the cluster for one scheduling decision.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) pods: Vec<ScheduledPod>,
    /// Nodes by name.
    pub(super) nodes: BTreeMap<String, Node>,
    /// Namespaces by name, as stored.
    pub(super) namespaces: BTreeMap<String, Arc<Value>>,
}

impl Snapshot {
    /// The first affinity rule that rejects a node for a pod.
    pub(super) fn affinity_failure(&self, pod: &Pod, node: &Node) -> Option<AffinityFailure> {
        let object = json!({ "metadata": { "namespace": pod.metadata.namespace, "labels": pod.metadata.labels } });
        let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.clone()).unwrap_or_default();
        let near = affinity.pod_affinity.unwrap_or_default();
        let near = near.required_during_scheduling_ignored_during_execution.unwrap_or_default();
        let away = affinity.pod_anti_affinity.unwrap_or_default();
        let away = away.required_during_scheduling_ignored_during_execution.unwrap_or_default();
        if !self.satisfies_affinity(&object, &near, node) {
            return Some(AffinityFailure::Affinity);
        }
        if away.iter().any(|term| self.matches_in_domain(&object, term, node)) {
            return Some(AffinityFailure::AntiAffinity);
        }
        let is_unwanted = |neighbour: &ScheduledPod| {
            let unwanted = |term: &PodAffinityTerm| {
                self.same_domain(&neighbour.node, node, &term.topology_key)
                    && self.term_matches(term, &neighbour.object, &object)
            };
            neighbour.anti_affinity.iter().any(unwanted)
        };
        self.pods.iter().any(is_unwanted).then_some(AffinityFailure::ExistingAntiAffinity)
    }

    /// Whether all affinity terms are satisfied. A pod that matches its own term is allowed
    /// anywhere if it is the first one.
    fn satisfies_affinity(&self, pod: &Value, terms: &[PodAffinityTerm], node: &Node) -> bool {
        let is_first = || {
            terms.iter().all(|term| {
                let found = self.pods.iter().any(|it| self.term_matches(term, pod, &it.object));
                !found && self.term_matches(term, pod, pod)
            })
        };
        let has_domains = terms.iter().all(|term| domain(node, &term.topology_key).is_some());
        let near = || terms.iter().all(|term| self.matches_in_domain(pod, term, node));
        has_domains && (near() || is_first())
    }

    /// Whether a pod that matches the term is in the domain of the node.
    fn matches_in_domain(&self, pod: &Value, term: &PodAffinityTerm, node: &Node) -> bool {
        self.pods.iter().any(|neighbour| {
            self.same_domain(&neighbour.node, node, &term.topology_key)
                && self.term_matches(term, pod, &neighbour.object)
        })
    }

    fn same_domain(&self, name: &str, node: &Node, key: &str) -> bool {
        let other = self.nodes.get(name).and_then(|other| domain(other, key));
        other.is_some() && other == domain(node, key)
    }

    /// Whether an affinity term of one pod matches another pod.
    fn term_matches(&self, term: &PodAffinityTerm, of: &Value, other: &Value) -> bool {
        let Some(Ok(selector)) = term.label_selector.as_ref().map(LabelSelector::from_structured)
        else {
            return false;
        };
        selector.matches(other)
            && self.matches_namespace(term, of, text(other, "/metadata/namespace"))
    }

    fn matches_namespace(&self, term: &PodAffinityTerm, of: &Value, namespace: &str) -> bool {
        let named = term.namespaces.as_deref().unwrap_or_default();
        let selector = term.namespace_selector.as_ref().map(LabelSelector::from_structured);
        if named.is_empty() && selector.is_none() {
            return text(of, "/metadata/namespace") == namespace;
        }
        let selected = |selector: &LabelSelector| {
            self.namespaces.get(namespace).is_some_and(|object| selector.matches(object))
        };
        named.iter().any(|name| name == namespace)
            || selector.and_then(Result::ok).as_ref().is_some_and(selected)
    }
}

/// The topology domain of a node.
fn domain<'a>(node: &'a Node, key: &str) -> Option<&'a String> {
    node.metadata.labels.as_ref()?.get(key)
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, zone: &str) -> Node {
        let labels = json!({ "name": name, "zone": zone });
        serde_json::from_value(json!({ "metadata": { "name": name, "labels": labels } })).unwrap()
    }

    fn term(app: &str, key: &str, extra: &Value) -> Value {
        let mut term =
            json!({ "labelSelector": { "matchLabels": { "app": app } }, "topologyKey": key });
        json_patch::merge(&mut term, extra);
        json!([term])
    }

    fn pod(app: &str, namespace: &str, node: &str, near: &Value, away: &Value) -> Value {
        let required =
            |terms: &Value| json!({ "requiredDuringSchedulingIgnoredDuringExecution": terms });
        json!({
            "metadata": { "name": app, "namespace": namespace, "labels": { "app": app } },
            "spec": { "containers": [], "nodeName": node, "affinity": {
                "podAffinity": required(near), "podAntiAffinity": required(away),
            } },
        })
    }

    /// Nodes `a` and `b` in one zone, `c` in another; `web` is on `a`, and `hermit`, with
    /// anti-affinity to `db` in its zone, on `c`.
    fn snapshot() -> Snapshot {
        let nodes = [node("a", "x"), node("b", "x"), node("c", "y")];
        let none = json!([]);
        let pods = [
            pod("web", "n", "a", &none, &none),
            pod("hermit", "n", "c", &none, &term("db", "zone", &json!({}))),
        ];
        let namespace = |name: &str| {
            let labels = json!({ "team": name });
            (name.to_owned(), Arc::new(json!({ "metadata": { "name": name, "labels": labels } })))
        };
        Snapshot {
            pods: pods.into_iter().filter_map(|pod| ScheduledPod::new(&Arc::new(pod))).collect(),
            nodes: nodes.into_iter().map(|it| (it.metadata.name.clone().unwrap(), it)).collect(),
            namespaces: [namespace("n"), namespace("m")].into(),
        }
    }

    fn feasible(pod: Value) -> Vec<String> {
        let snapshot = snapshot();
        let pod = serde_json::from_value(pod).unwrap();
        let fits =
            snapshot.nodes.values().filter(|node| snapshot.affinity_failure(&pod, node).is_none());
        fits.map(|node| node.metadata.name.clone().unwrap()).collect()
    }

    #[test]
    fn affinity_failure_evaluates_terms_and_domains() {
        let none = json!([]);
        let nothing = || json!({});
        for (app, namespace, near, away, expected) in [
            ("api", "n", none.clone(), none.clone(), &["a", "b", "c"][..]),
            ("api", "n", term("web", "name", &nothing()), none.clone(), &["a"]),
            ("api", "n", term("web", "zone", &nothing()), none.clone(), &["a", "b"]),
            ("api", "n", term("web", "rack", &nothing()), none.clone(), &[]),
            ("api", "n", term("missing", "zone", &nothing()), none.clone(), &[]),
            ("api", "n", term("api", "zone", &nothing()), none.clone(), &["a", "b", "c"]),
            ("web", "n", term("web", "name", &nothing()), none.clone(), &["a"]),
            ("api", "m", term("web", "zone", &nothing()), none.clone(), &[]),
            (
                "api",
                "m",
                term("web", "zone", &json!({ "namespaces": ["n"] })),
                none.clone(),
                &["a", "b"],
            ),
            (
                "api",
                "m",
                term("web", "zone", &json!({ "namespaceSelector": {} })),
                none.clone(),
                &["a", "b"],
            ),
            (
                "api",
                "m",
                term(
                    "web",
                    "zone",
                    &json!({ "namespaceSelector": { "matchLabels": { "team": "n" } } }),
                ),
                none.clone(),
                &["a", "b"],
            ),
            (
                "api",
                "m",
                term(
                    "web",
                    "zone",
                    &json!({ "namespaceSelector": { "matchLabels": { "team": "m" } } }),
                ),
                none.clone(),
                &[],
            ),
            ("web", "n", none.clone(), term("web", "name", &nothing()), &["b", "c"]),
            ("web", "n", none.clone(), term("web", "zone", &nothing()), &["c"]),
            ("web", "n", none.clone(), term("web", "rack", &nothing()), &["a", "b", "c"]),
            ("web", "m", none.clone(), term("web", "zone", &nothing()), &["a", "b", "c"]),
            ("db", "n", none.clone(), none.clone(), &["a", "b"]),
            ("db", "m", none.clone(), none.clone(), &["a", "b", "c"]),
        ] {
            let case = format!("{app} {namespace} {near} {away}");
            assert_eq!(feasible(pod(app, namespace, "", &near, &away)), expected, "{case}");
        }
    }

    #[test]
    fn scheduled_pod_without_node_or_finished_is_none() {
        let none = json!([]);
        let mut ended = pod("web", "n", "a", &none, &none);
        ended["status"] = json!({ "phase": "Failed" });
        assert!(ScheduledPod::new(&Arc::new(ended)).is_none());
        assert!(ScheduledPod::new(&Arc::new(pod("web", "n", "", &none, &none))).is_none());
    }
}
