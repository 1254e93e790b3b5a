//! Node filters of the scheduler: taints, node selectors and node affinity.

use k8s_openapi::api::core::v1::{
    Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};

/// Why a node is not feasible for a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FilterFailure {
    /// The node is cordoned.
    Unschedulable,
    /// The pod does not tolerate this taint.
    Taint(String),
    /// Node selector or node affinity does not match.
    Affinity,
}

impl FilterFailure {
    /// The message of kube-scheduler.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Unschedulable => "node(s) were unschedulable".to_owned(),
            Self::Taint(taint) => format!("node(s) had untolerated taint {{{taint}}}"),
            Self::Affinity => "node(s) didn't match Pod's node affinity/selector".to_owned(),
        }
    }
}

const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The first filter that rejects a node for a pod, in the order of kube-scheduler.
pub(super) fn filter_node(pod: &PodSpec, node: &Node) -> Option<FilterFailure> {
    let spec = node.spec.as_ref();
    let tolerations = pod.tolerations.as_deref().unwrap_or_default();
    let cordoned = Taint {
        key: UNSCHEDULABLE.to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    if spec.and_then(|spec| spec.unschedulable) == Some(true) && !tolerates(tolerations, &cordoned)
    {
        return Some(FilterFailure::Unschedulable);
    }
    let taints = spec.and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    let effects = ["NoSchedule", "NoExecute"];
    if let Some(taint) = untolerated(taints, tolerations, &effects) {
        let value = taint.value.as_deref().unwrap_or_default();
        return Some(FilterFailure::Taint(format!("{}: {value}", taint.key)));
    }
    (!matches_node(pod, node)).then_some(FilterFailure::Affinity)
}

/// Whether a pod on a node is evicted by a `NoExecute` taint.
pub(super) fn is_evicted(pod: &PodSpec, node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    let tolerations = pod.tolerations.as_deref().unwrap_or_default();
    untolerated(taints, tolerations, &["NoExecute"]).is_some()
}

fn untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    effects: &[&str],
) -> Option<&'a Taint> {
    let mut taints = taints.iter().filter(|taint| effects.contains(&taint.effect.as_str()));
    taints.find(|taint| !tolerates(tolerations, taint))
}

fn tolerates(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| {
        let word = |word: &'_ Option<String>| word.clone().unwrap_or_default();
        let (effect, key) = (word(&toleration.effect), word(&toleration.key));
        let same_value = word(&toleration.value) == word(&taint.value);
        let operator = word(&toleration.operator);
        (effect.is_empty() || effect == taint.effect)
            && (key.is_empty() || key == taint.key)
            && match operator.as_str() {
                "" | "Equal" => same_value && !key.is_empty(),
                "Exists" => true,
                _ => false,
            }
    })
}

/// Whether a node matches node selector and node affinity of a pod.
pub(super) fn matches_node(pod: &PodSpec, node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
    let mut selector = pod.node_selector.iter().flatten();
    let affinity = pod.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    selector.all(|(key, value)| label(key) == Some(value))
        && required.is_none_or(|required| {
            required.node_selector_terms.iter().any(|term| matches_term(term, node, &label))
        })
}

/// An empty term matches no node.
fn matches_term<'a>(
    term: &NodeSelectorTerm,
    node: &'a Node,
    label: &impl Fn(&str) -> Option<&'a str>,
) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let field =
        |key: &str| (key == "metadata.name").then_some(node.metadata.name.as_deref()).flatten();
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|required| holds(required, label(&required.key)))
        && fields.iter().all(|required| holds(required, field(&required.key)))
}

fn holds(required: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = required.values.as_deref().unwrap_or_default();
    let listed = || value.is_some_and(|value| values.iter().any(|known| known == value));
    let numbers = || -> Option<(i64, i64)> {
        let [bound] = values else { return None };
        Some((value?.parse().ok()?, bound.parse().ok()?))
    };
    match required.operator.as_str() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(spec: &Value) -> Node {
        let labels = json!({ "zone": "a", "cores": "8" });
        serde_json::from_value(
            json!({ "metadata": { "name": "one", "labels": labels }, "spec": spec }),
        )
        .unwrap()
    }

    fn pod(spec: &Value) -> PodSpec {
        let mut full = json!({ "containers": [] });
        json_patch::merge(&mut full, spec);
        serde_json::from_value(full).unwrap()
    }

    fn required(terms: &Value) -> Value {
        json!({ "affinity": { "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms },
        } } })
    }

    #[test]
    fn matches_node_evaluates_selector_and_affinity() {
        let expression = |key, operator, values| {
            required(
                &json!([{ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }]),
            )
        };
        let name = |operator, name| {
            required(
                &json!([{ "matchFields": [{ "key": "metadata.name", "operator": operator, "values": [name] }] }]),
            )
        };
        for (spec, expected) in [
            (json!({}), true),
            (json!({ "nodeSelector": { "zone": "a" } }), true),
            (json!({ "nodeSelector": { "zone": "a", "disk": "ssd" } }), false),
            (expression("zone", "In", json!(["b", "a"])), true),
            (expression("zone", "In", json!(["b"])), false),
            (expression("zone", "NotIn", json!(["b"])), true),
            (expression("none", "NotIn", json!(["b"])), true),
            (expression("zone", "NotIn", json!(["a"])), false),
            (expression("zone", "Exists", json!([])), true),
            (expression("none", "Exists", json!([])), false),
            (expression("none", "DoesNotExist", json!([])), true),
            (expression("zone", "DoesNotExist", json!([])), false),
            (expression("cores", "Gt", json!(["4"])), true),
            (expression("cores", "Gt", json!(["8"])), false),
            (expression("cores", "Lt", json!(["9"])), true),
            (expression("zone", "Lt", json!(["9"])), false),
            (expression("none", "Gt", json!(["9"])), false),
            (expression("zone", "Like", json!(["a"])), false),
            (name("In", "one"), true),
            (name("In", "two"), false),
            (name("NotIn", "two"), true),
            (required(&json!([])), false),
            (required(&json!([{}])), false),
            (
                required(
                    &json!([{}, { "matchExpressions": [{ "key": "zone", "operator": "Exists" }] }]),
                ),
                true,
            ),
        ] {
            assert_eq!(matches_node(&pod(&spec), &node(&json!({}))), expected, "{spec}");
        }
    }

    #[test]
    fn filter_node_rejects_untolerated_taints() {
        let taint =
            |effect| node(&json!({ "taints": [{ "key": "k", "value": "v", "effect": effect }] }));
        let with = |toleration: Value| pod(&json!({ "tolerations": [toleration] }));
        for (pod, effect, expected) in [
            (pod(&json!({})), "NoSchedule", false),
            (pod(&json!({})), "NoExecute", false),
            (pod(&json!({})), "PreferNoSchedule", true),
            (with(json!({ "operator": "Exists" })), "NoExecute", true),
            (with(json!({ "key": "k", "operator": "Exists" })), "NoSchedule", true),
            (with(json!({ "key": "x", "operator": "Exists" })), "NoSchedule", false),
            (with(json!({ "key": "k", "value": "v" })), "NoSchedule", true),
            (with(json!({ "key": "k", "value": "w" })), "NoSchedule", false),
            (
                with(
                    json!({ "key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute" }),
                ),
                "NoSchedule",
                false,
            ),
            (with(json!({ "value": "v" })), "NoSchedule", false),
        ] {
            let found = filter_node(&pod, &taint(effect));
            let expected = (!expected).then(|| FilterFailure::Taint("k: v".to_owned()));
            assert_eq!(found, expected, "{pod:?} {effect}");
        }
    }

    #[test]
    fn filter_node_returns_first_failure() {
        let cordoned = node(
            &json!({ "unschedulable": true, "taints": [{ "key": "k", "effect": "NoSchedule" }] }),
        );
        let far = pod(&json!({ "nodeSelector": { "zone": "b" } }));
        assert_eq!(filter_node(&far, &cordoned), Some(FilterFailure::Unschedulable));
        let tolerant = pod(&json!({
            "nodeSelector": { "zone": "b" },
            "tolerations": [{ "key": "node.kubernetes.io/unschedulable", "operator": "Exists" }],
        }));
        assert_eq!(filter_node(&tolerant, &cordoned), Some(FilterFailure::Taint("k: ".to_owned())));
        assert_eq!(filter_node(&far, &node(&json!({}))), Some(FilterFailure::Affinity));
        assert_eq!(filter_node(&pod(&json!({})), &node(&json!({}))), None);
    }
}
