//! The operator's own manifests, which every release has: by path in the release image, as templates
//! in `manifests/` and literally in `release-manifests/`.

use std::collections::BTreeMap;

use fairway_api::crds;
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_release::inclusion::annotation::INCLUDE_PREFIX;

/// Text files by path.
pub type TextFiles = BTreeMap<String, String>;

/// The first level. The operator of the new release applies all later levels.
const FIRST: &str = "manifests/0000_00_cluster-version-operator";

/// The last level, for kinds that other components add.
const LAST: &str = "release-manifests/0000_90_cluster-version-operator";

/// Manifests that the operator needs to run: namespaces, CRDs of the update API, RBAC of the operator
/// and of preflights, Service, and the templated Deployment.
pub fn own_manifests() -> TextFiles {
    let files = [
        ("00_namespaces.yaml", include_str!("../../../../deploy/operator/namespaces.yaml")),
        ("02_preflight.yaml", include_str!("../../../../deploy/operator/preflight.yaml")),
        ("02_rbac.yaml", include_str!("../../../../deploy/operator/rbac.yaml")),
        ("02_service.yaml", include_str!("../../../../deploy/operator/service.yaml")),
        ("03_deployment.yaml", include_str!("../../../../deploy/operator/deployment.yaml")),
    ];
    let files = files.map(|(name, text)| (format!("{FIRST}_{name}"), text.to_owned()));
    files.into_iter().chain(crd_files()).collect()
}

/// Monitoring of the operator: for clusters with the kinds `ServiceMonitor` and `PrometheusRule`.
pub fn monitoring_manifests() -> TextFiles {
    [
        ("01_monitoring.yaml", include_str!("../../../../deploy/operator/monitoring.yaml")),
        // Alerts contain templates of Prometheus, which the operator must not render.
        ("02_alerts.yaml", include_str!("../../../../deploy/operator/alerts.yaml")),
    ]
    .map(|(name, text)| (format!("{LAST}_{name}"), text.to_owned()))
    .into()
}

/// `SecurityContextConstraints` for OpenShift.
pub fn openshift_manifests() -> TextFiles {
    let text = include_str!("../../../../deploy/operator/openshift.yaml");
    [(format!("{LAST}_00_openshift.yaml"), text.to_owned())].into()
}

/// The CRDs of the update API.
fn crd_files() -> impl Iterator<Item = (String, String)> {
    crds::all().into_iter().map(|mut crd| {
        let annotations = crd.metadata.annotations.get_or_insert_default();
        annotations.insert(format!("{INCLUDE_PREFIX}{DEFAULT_PROFILE}"), "true".to_owned());
        let path = format!("{FIRST}_01_{}.json", crd.spec.names.plural);
        (path, serde_json::to_string_pretty(&crd).expect("a CRD serializes to JSON"))
    })
}
