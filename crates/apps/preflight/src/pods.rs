//! Properties of pods that matter for draining nodes.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

/// Annotation of static pods, which the API server cannot evict.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Kind and name of a pod's controller.
pub(crate) fn controller(pod: &Pod) -> Option<(&str, &str)> {
    let owners = pod.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.next().map(|owner| (owner.kind.as_str(), owner.name.as_str()))
}

/// Whether draining its node evicts the pod: it runs there, and is neither a static pod nor of a
/// DaemonSet.
pub(crate) fn is_drained(pod: &Pod) -> bool {
    let is_bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let is_of_node = pod.annotations().contains_key(MIRROR)
        || controller(pod).is_some_and(|(kind, _)| matches!(kind, "DaemonSet" | "Node"));
    is_bound && !has_ended(pod) && !is_of_node
}

/// Whether the pod uses no resources any more.
pub(crate) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether the pod is ready.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True")
}

/// Suffixes and their factors. Only sums are compared, so rounding does not matter.
const UNITS: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// Value of a quantity such as `500m` or `8Gi`; `None` if invalid.
pub(crate) fn amount(text: &str) -> Option<f64> {
    let scaled = UNITS.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * scale)
    });
    scaled.or_else(|| text.parse().ok()).filter(|amount| amount.is_finite() && *amount >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_parses_quantities_and_rejects_invalid_ones() {
        for (text, expected) in [
            ("2", Some(2.0)),
            ("500m", Some(0.5)),
            ("1.5", Some(1.5)),
            ("128Mi", Some(134_217_728.0)),
            ("1e3", Some(1000.0)),
            ("2E", Some(2e18)),
            ("12k", Some(12_000.0)),
            ("", None),
            ("Gi", None),
            ("-1", None),
            ("inf", None),
            ("NaN", None),
            ("many", None),
        ] {
            assert_eq!(amount(text), expected, "{text}");
        }
    }
}
