//! The operator's own manifests, which every release has: by path in the release image, as
//! templates in `manifests/` and literally in `release-manifests/`.

use std::collections::BTreeMap;

use fairway_api::crds;
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_release::inclusion::annotation::INCLUDE_PREFIX;

/// Text files by path.
pub type TextFiles = BTreeMap<String, String>;

/// The first level: nothing of a release is applied before them, because the operator of the new
/// release applies the rest.
const FIRST: &str = "manifests/0000_00_cluster-version-operator";

/// The last level: others bring the kinds that it needs.
const LAST: &str = "release-manifests/0000_90_cluster-version-operator";

/// What the operator needs to run: namespaces, the definitions of the update API, its account, those
/// of releases that it asks about the cluster, its Service, and the templated Deployment.
pub fn own_manifests() -> TextFiles {
    let files = [
        ("00_namespaces.yaml", include_str!("../../../../deploy/operator/namespaces.yaml")),
        ("02_preflight.yaml", include_str!("../../../../deploy/operator/preflight.yaml")),
        ("02_rbac.yaml", include_str!("../../../../deploy/operator/rbac.yaml")),
        ("02_service.yaml", include_str!("../../../../deploy/operator/service.yaml")),
        ("03_deployment.yaml", include_str!("../../../../deploy/operator/deployment.yaml")),
    ];
    let files = files.map(|(name, text)| (format!("{FIRST}_{name}"), text.to_owned()));
    files.into_iter().chain(definitions()).collect()
}

/// How Prometheus finds the operator, and its alerts: for clusters that know `ServiceMonitor` and
/// `PrometheusRule`.
pub fn monitoring_manifests() -> TextFiles {
    [
        ("01_monitoring.yaml", include_str!("../../../../deploy/operator/monitoring.yaml")),
        // Alerts are templates of Prometheus: here nobody renders them before it does.
        ("02_alerts.yaml", include_str!("../../../../deploy/operator/alerts.yaml")),
    ]
    .map(|(name, text)| (format!("{LAST}_{name}"), text.to_owned()))
    .into()
}

/// Whom OpenShift lets in: for clusters that know `SecurityContextConstraints`.
pub fn openshift_manifests() -> TextFiles {
    let text = include_str!("../../../../deploy/operator/openshift.yaml");
    [(format!("{LAST}_00_openshift.yaml"), text.to_owned())].into()
}

/// The CustomResourceDefinitions of the update API.
fn definitions() -> impl Iterator<Item = (String, String)> {
    crds::all().into_iter().map(|mut crd| {
        let annotations = crd.metadata.annotations.get_or_insert_default();
        annotations.insert(format!("{INCLUDE_PREFIX}{DEFAULT_PROFILE}"), "true".to_owned());
        let path = format!("{FIRST}_01_{}.json", crd.spec.names.plural);
        (path, serde_json::to_string_pretty(&crd).expect("a CRD serializes to JSON"))
    })
}
