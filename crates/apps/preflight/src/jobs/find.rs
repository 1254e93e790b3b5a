//! Checks of the components of a release.

use std::collections::{BTreeMap, BTreeSet};

use fairway_findings::{CheckStatus, vet};
use fairway_release::Manifest;

use crate::cluster::{Part, Resource, keep};
use crate::engine::CheckOutcome;
use crate::resources::CLUSTER_OPERATORS;

/// Check of a component, or its outcome if it does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentCheck {
    /// The check runs.
    Check(Box<JobCheck>),
    /// The check does not run.
    Settled(CheckOutcome),
}

impl ComponentCheck {
    /// Resources that the check depends on: the ClusterOperators of its component. Other inputs are
    /// unknown.
    pub(crate) fn watched(&self) -> impl Iterator<Item = Resource> {
        let says: &[Resource] = match self {
            Self::Check(check) => &check.says,
            Self::Settled(_) => &[],
        };
        says.iter().copied()
    }
}

/// Check of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCheck {
    /// Job of the check.
    pub job: Manifest,
    /// RBAC manifests of the check.
    pub access: Vec<Manifest>,
    /// ClusterOperators of the component.
    pub says: Vec<Resource>,
}

impl JobCheck {
    /// Requested permissions beyond those of all checks, as messages.
    pub(crate) fn granted(&self, check: &str) -> Vec<String> {
        let access: Vec<_> = self.access.iter().map(Manifest::object).collect();
        vet::granted(check, &self.job.object(), &access, None)
    }
}

/// Components of a release, by name.
///
/// `checks` are the preflight manifests of the release, `included` all other manifests, and
/// `present` the ClusterOperators of the cluster. A component that is not installed yet has nothing
/// to check.
pub fn operators(
    checks: &[&Manifest],
    included: &[&Manifest],
    present: &BTreeSet<String>,
) -> BTreeMap<String, ComponentCheck> {
    let cluster_operators = cluster_operators(included);
    let mut found = BTreeMap::new();
    for component in cluster_operators.keys() {
        let why = "the release contains no check for this component".to_owned();
        found.insert((*component).to_owned(), ComponentCheck::Settled(CheckOutcome::Skipped(why)));
    }
    let mut taken: BTreeMap<&str, &Manifest> = BTreeMap::new();
    for job in checks.iter().filter(|manifest| is_job(manifest)) {
        let name = job.operator();
        if let Some(first) = taken.get(name) {
            found.insert(format!("{name}/{}", job.id.name), second(first));
            continue;
        }
        taken.insert(name, job);
        let names = cluster_operators.get(name);
        let is_new = names.is_some_and(|names| names.is_disjoint(present));
        let operator = if is_new {
            let why = "its ClusterOperator is new in the target release and does not exist in the \
                       cluster yet"
                .to_owned();
            ComponentCheck::Settled(CheckOutcome::Skipped(why))
        } else {
            let of_same = |manifest: &&&Manifest| !is_job(manifest) && manifest.operator() == name;
            let access = checks.iter().filter(of_same).map(|&manifest| manifest.clone());
            let says = names.into_iter().flatten().map(|name| cluster_operator(name));
            ComponentCheck::Check(Box::new(JobCheck {
                job: (*job).clone(),
                access: access.collect(),
                says: says.collect(),
            }))
        };
        found.insert(name.to_owned(), operator);
    }
    found
}

fn second(first: &Manifest) -> ComponentCheck {
    let why = format!(
        "a component can have only one check; {} in {} is already its check",
        first.id, first.file
    );
    ComponentCheck::Settled(CheckOutcome::no_result(CheckStatus::Refused, why))
}

/// ClusterOperators of a release, by component.
fn cluster_operators<'a>(included: &[&'a Manifest]) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for manifest in included.iter().filter(|manifest| manifest.id.kind == "ClusterOperator") {
        found.entry(manifest.operator()).or_default().insert(manifest.id.name.clone());
    }
    found
}

fn cluster_operator(name: &str) -> Resource {
    CLUSTER_OPERATORS.only(Part::One(None, keep(name)))
}

fn is_job(manifest: &Manifest) -> bool {
    manifest.id.group == "batch" && manifest.id.kind == "Job"
}

#[cfg(test)]
mod tests {
    use fairway_release::Release;
    use fairway_release::inclusion::ManifestFilter;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;

    fn object(kind: &str, name: &str) -> Value {
        let version = match kind {
            "Job" => "batch/v1",
            "ClusterOperator" => "config.openshift.io/v1",
            "Role" => "rbac.authorization.k8s.io/v1",
            _ => "v1",
        };
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}})
    }

    fn check(kind: &str, name: &str) -> Value {
        let mut object = object(kind, name);
        object["metadata"]["annotations"][Manifest::PREFLIGHT_CHECK] = json!("true");
        object
    }

    fn rendered(objects: &[(&str, Value)], present: &[&str]) -> String {
        let release = objects.iter().fold(TestRelease::new("5.1.0"), |release, (file, object)| {
            release.object(file, object.clone())
        });
        let directory = tempfile::tempdir().unwrap();
        release.write(directory.path()).unwrap();
        let files = fairway_registry::payload::read_unpacked(directory.path()).unwrap();
        let release = Release::load(&files, "image", "default").unwrap();
        let selection = ManifestFilter::default().select(&release.manifests);
        let present = present.iter().map(|&name| name.to_owned()).collect();
        let found = operators(&selection.preflight_checks, &selection.included, &present);
        let lines = found.into_iter().map(|(name, operator)| match operator {
            ComponentCheck::Check(check) => {
                let access: Vec<&str> =
                    check.access.iter().map(|manifest| manifest.id.kind.as_str()).collect();
                let says: Vec<Part> = check.says.iter().map(|says| says.part).collect();
                format!("{name}: {} {access:?} {says:?}", check.job.id.name)
            }
            ComponentCheck::Settled(CheckOutcome::Skipped(why)) => {
                format!("{name}: skipped, {why}")
            }
            ComponentCheck::Settled(outcome) => format!("{name}: {outcome:?}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn components_have_at_most_one_check_and_new_ones_none() {
        let objects = [
            ("0000_50_network_10-access", check("ServiceAccount", "network-preflight")),
            ("0000_50_network_20-access", check("Role", "network-preflight")),
            ("0000_50_network_30-job", check("Job", "network-preflight")),
            ("0000_50_network_40-job", check("Job", "another")),
            ("0000_50_network_90-clusteroperator", object("ClusterOperator", "network")),
            ("0000_50_storage_90-clusteroperator", object("ClusterOperator", "storage")),
            ("0000_50_shiny_30-job", check("Job", "shiny-preflight")),
            ("0000_50_shiny_90-clusteroperator", object("ClusterOperator", "shiny")),
            ("0000_50_extras_30-job", check("Job", "extras-preflight")),
            ("stray", check("Job", "stray-preflight")),
        ];
        insta::assert_snapshot!(rendered(&objects, &["network", "storage"]), @r#"
        extras: extras-preflight [] []
        network: network-preflight ["ServiceAccount", "Role"] [One(None, "network")]
        network/another: NoResult { status: Refused, why: "a component can have only one check; job \"network-preflight\" in 0000_50_network_30-job.json is already its check", findings: [] }
        shiny: skipped, its ClusterOperator is new in the target release and does not exist in the cluster yet
        storage: skipped, the release contains no check for this component
        stray-preflight: stray-preflight [] []
        "#);
    }
}
