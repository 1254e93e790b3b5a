//! Which pods want to be near each other, and which do not.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, PodAffinityTerm};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::selector::LabelSelector;

/// Why a node is not for a pod, because of other pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disagreement {
    /// Those that it wants to be near are elsewhere.
    Far,
    /// Those that it does not want to be near are there.
    Near,
    /// Those that are there do not want it.
    Unwanted,
}

impl Disagreement {
    /// What is said about nodes with it.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Far => "node(s) didn't match pod affinity rules",
            Self::Near => "node(s) didn't match pod anti-affinity rules",
            Self::Unwanted => "node(s) didn't satisfy existing pods anti-affinity rules",
        }
    }
}

/// Whether it matters to a pod which others are where.
pub(super) fn cares_about_others(pod: &Pod) -> bool {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    affinity.is_some_and(|it| it.pod_affinity.is_some() || it.pod_anti_affinity.is_some())
}

/// A pod that has a node.
#[derive(Clone, Debug)]
pub(super) struct Neighbour {
    object: Arc<Value>,
    pub(super) node: String,
    keeps_away: Vec<PodAffinityTerm>,
}

impl Neighbour {
    /// A pod as it is stored, if it is on a node and has not ended.
    pub(super) fn of(object: &Arc<Value>) -> Option<Self> {
        let node = text(object, "/spec/nodeName");
        if node.is_empty() || matches!(text(object, "/status/phase"), "Succeeded" | "Failed") {
            return None;
        }
        let required =
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        let terms = object.pointer(required).map(Vec::<PodAffinityTerm>::deserialize);
        let keeps_away = terms.and_then(Result::ok).unwrap_or_default();
        Some(Self { object: Arc::clone(object), node: node.to_owned(), keeps_away })
    }
}

/// The pods that have nodes, and the labels of what they are in.
#[derive(Debug, Default)]
pub(super) struct Neighbourhood {
    pub(super) neighbours: Vec<Neighbour>,
    /// The nodes by their names.
    pub(super) nodes: BTreeMap<String, Node>,
    /// The namespaces by their names, as they are stored.
    pub(super) namespaces: BTreeMap<String, Arc<Value>>,
}

impl Neighbourhood {
    /// Whether a pod and those around it agree that it is on a node.
    pub(super) fn disagreement(&self, pod: &Pod, node: &Node) -> Option<Disagreement> {
        let object = json!({ "metadata": { "namespace": pod.metadata.namespace, "labels": pod.metadata.labels } });
        let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.clone()).unwrap_or_default();
        let near = affinity.pod_affinity.unwrap_or_default();
        let near = near.required_during_scheduling_ignored_during_execution.unwrap_or_default();
        let away = affinity.pod_anti_affinity.unwrap_or_default();
        let away = away.required_during_scheduling_ignored_during_execution.unwrap_or_default();
        if !self.is_near(&object, &near, node) {
            return Some(Disagreement::Far);
        }
        if away.iter().any(|term| self.has_in_domain(&object, term, node)) {
            return Some(Disagreement::Near);
        }
        let is_unwanted = |neighbour: &Neighbour| {
            let unwanted = |term: &PodAffinityTerm| {
                self.same_domain(&neighbour.node, node, &term.topology_key)
                    && self.means(term, &neighbour.object, &object)
            };
            neighbour.keeps_away.iter().any(unwanted)
        };
        self.neighbours.iter().any(is_unwanted).then_some(Disagreement::Unwanted)
    }

    /// Whether all that a pod wants to be near are there. The first of those that want to be near
    /// their own kind may be anywhere.
    fn is_near(&self, pod: &Value, terms: &[PodAffinityTerm], node: &Node) -> bool {
        let is_first = || {
            terms.iter().all(|term| {
                let found = self.neighbours.iter().any(|it| self.means(term, pod, &it.object));
                !found && self.means(term, pod, pod)
            })
        };
        let has_domains = terms.iter().all(|term| domain(node, &term.topology_key).is_some());
        let near = || terms.iter().all(|term| self.has_in_domain(pod, term, node));
        has_domains && (near() || is_first())
    }

    /// Whether one that a pod's term means is in the same domain as a node.
    fn has_in_domain(&self, pod: &Value, term: &PodAffinityTerm, node: &Node) -> bool {
        self.neighbours.iter().any(|neighbour| {
            self.same_domain(&neighbour.node, node, &term.topology_key)
                && self.means(term, pod, &neighbour.object)
        })
    }

    fn same_domain(&self, name: &str, node: &Node, key: &str) -> bool {
        let other = self.nodes.get(name).and_then(|other| domain(other, key));
        other.is_some() && other == domain(node, key)
    }

    /// Whether the term of one pod means another.
    fn means(&self, term: &PodAffinityTerm, of: &Value, other: &Value) -> bool {
        let Some(Ok(selector)) = term.label_selector.as_ref().map(LabelSelector::from_structured)
        else {
            return false;
        };
        selector.matches(other)
            && self.means_namespace(term, of, text(other, "/metadata/namespace"))
    }

    fn means_namespace(&self, term: &PodAffinityTerm, of: &Value, namespace: &str) -> bool {
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

/// The part of the cluster that a node is in, by a label.
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

    /// Two nodes in a zone, one in another; `web` is on `a`, and `hermit`, who wants no `db` in its
    /// zone, is on `c`.
    fn neighbourhood() -> Neighbourhood {
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
        Neighbourhood {
            neighbours: pods.into_iter().filter_map(|pod| Neighbour::of(&Arc::new(pod))).collect(),
            nodes: nodes.into_iter().map(|it| (it.metadata.name.clone().unwrap(), it)).collect(),
            namespaces: [namespace("n"), namespace("m")].into(),
        }
    }

    fn possible(pod: Value) -> Vec<String> {
        let around = neighbourhood();
        let pod = serde_json::from_value(pod).unwrap();
        let fits = around.nodes.values().filter(|node| around.disagreement(&pod, node).is_none());
        fits.map(|node| node.metadata.name.clone().unwrap()).collect()
    }

    #[test]
    fn pods_are_placed_near_those_they_want_and_far_from_others() {
        let none = json!([]);
        let nothing = || json!({});
        for (app, namespace, near, away, expected) in [
            ("api", "n", none.clone(), none.clone(), &["a", "b", "c"][..]),
            ("api", "n", term("web", "name", &nothing()), none.clone(), &["a"]),
            ("api", "n", term("web", "zone", &nothing()), none.clone(), &["a", "b"]),
            ("api", "n", term("web", "rack", &nothing()), none.clone(), &[]),
            ("api", "n", term("nobody", "zone", &nothing()), none.clone(), &[]),
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
            let told = format!("{app} {namespace} {near} {away}");
            assert_eq!(possible(pod(app, namespace, "", &near, &away)), expected, "{told}");
        }
    }

    #[test]
    fn pods_that_have_ended_or_have_no_node_are_no_neighbours() {
        let none = json!([]);
        let mut ended = pod("web", "n", "a", &none, &none);
        ended["status"] = json!({ "phase": "Failed" });
        assert!(Neighbour::of(&Arc::new(ended)).is_none());
        assert!(Neighbour::of(&Arc::new(pod("web", "n", "", &none, &none))).is_none());
    }
}
