//! The releases are valid and differ as intended.

use std::collections::BTreeMap;

use fairway_example::{RELEASES, Release, payload};
use fairway_registry::Digest;
use fairway_release::changes::Changes;
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_release::task_graph::{RolloutMode, TaskGraph};

/// Kubernetes version of the target cluster.
const KUBERNETES: &str = "1.33.0";

fn load(release: &Release) -> fairway_release::Release {
    let operators =
        format!("registry.example/operators@{}", Digest::of(release.version.as_bytes()));
    let files = payload::files(release, &operators, &BTreeMap::new(), Some(KUBERNETES)).unwrap();
    let loaded =
        fairway_release::Release::load(&files, "registry.example/release", DEFAULT_PROFILE)
            .unwrap_or_else(|error| panic!("{}: {error}", release.version));
    assert_eq!(loaded.warnings, [], "{}", release.version);
    loaded
}

#[test]
fn releases_load_without_problems() {
    for release in &RELEASES {
        let loaded = load(release);
        assert_eq!(loaded.metadata.version.to_string(), release.version);
        assert_eq!(loaded.image_references.component("kubernetes"), Some(KUBERNETES));
        for manifest in &loaded.manifests {
            let filter = ManifestFilter {
                profile: Some(DEFAULT_PROFILE.to_owned()),
                ..ManifestFilter::default()
            };
            assert_eq!(filter.check(manifest), Ok(()), "{}: {}", release.version, manifest.id);
        }
    }
}

/// Differences between releases, without those that all releases have.
fn changes(from: &str, to: &str) -> String {
    let [from, to] = [from, to].map(|version| load(&Release::find(version).unwrap()));
    let mut changes = Changes::between(&from, &to);
    changes.images.clear();
    changes.manifests.retain(|change| {
        !["ClusterOperator", "Deployment", "Job"].contains(&change.id.kind.as_str())
    });
    changes.to_string()
}

#[test]
fn release_changes_are_as_listed() {
    let told: Vec<String> =
        RELEASES.windows(2).map(|pair| changes(pair[0].version, pair[1].version)).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    4.9.0 → 5.0.0: images: 0, manifests: 4
    + configmap "openshift-storage/snapshot-classes"
    + serviceaccount "openshift-ingress/ingress-preflight"
    + role "openshift-ingress/ingress-preflight"
    + rolebinding "openshift-ingress/ingress-preflight"

    5.0.0 → 5.0.1: images: 0, manifests: 1
    ~ configmap "openshift-network/network-defaults"
        data.mtu: "1500" → "1400"

    5.0.1 → 5.1.0: images: 0, manifests: 9
    ~ configmap "openshift-config-managed/admin-gates"
        data: nothing → {"ack-5.1-backups-v1beta1-removal-in-5.2":"Release 5.2 no longer serves backups.…
    ~ configmap "openshift-ingress/ingress-defaults"
        data.accept-plain-http: "true" → nothing
        data.minimum-rsa-bits: nothing → "2048"
        data.minimum-tls-version: "1.2" → "1.3"
        data.refuse-sha1: nothing → "true"
    + configmap "openshift-machine-config/machine-config-requirements"
    + configmap "openshift-network/encryption-off"
    + configmap "openshift-network/encryption-preview"
    + configmap "openshift-network/network-requirements"
    + configmap "openshift-network/policy-defaults"
    ~ configmap "openshift-storage/legacy-classes"
        data: {"spinning":"platform.example/disk"} → nothing
        metadata.annotations[release.openshift.io/delete]: nothing → "true"
    ~ customresourcedefinition "backups.platform.example"
        spec.versions[name=v1]: nothing → {"name":"v1","schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"k…
        spec.versions[name=v1beta1].deprecated: nothing → true
        spec.versions[name=v1beta1].schema.openAPIV3Schema.properties.spec.properties.keep: nothing → {"minimum":1,"type":"integer"}
        spec.versions[name=v1beta1].storage: true → false

    5.1.0 → 5.2.0: images: 0, manifests: 6
    ~ configmap "openshift-cloud-credential/credentials-request"
        data.optional: nothing → "disks.label"
    ~ configmap "openshift-config-managed/admin-gates"
        data: {"ack-5.1-backups-v1beta1-removal-in-5.2":"Release 5.2 no longer serves backups.… → nothing
    ~ configmap "openshift-machine-config/machine-config-requirements"
        data.minimum-kernel: nothing → "5.4.0"
    ~ configmap "openshift-network/network-requirements"
        data.dual-stack: "deprecated" → "removed"
    + configmap "openshift-storage/storage-requirements"
    ~ customresourcedefinition "backups.platform.example"
        spec.versions[name=v1beta1].deprecated: true → nothing
        spec.versions[name=v1beta1].served: true → false

    5.2.0 → 5.3.0: images: 0, manifests: 1
    + configmap "openshift-machine-config/pool-defaults"
    "#);
}

#[test]
fn rollout_order_follows_levels() {
    let release = load(&Release::find("5.1.0").unwrap());
    let mut manifests = release.manifests;
    manifests.retain(|manifest| !manifest.is_preflight_check());
    let graph = TaskGraph::new(&manifests, RolloutMode::Updating);
    insta::assert_snapshot!(graph, @"
    0: 30 platform, 1 manifest; after 1
    1: 07 network, 10 platform, 23 manifests
    2: nothing; after 0
    3: 50 cloud-credential, 11 manifests; after 2
    4: 50 ingress, 10 manifests; after 2
    5: 50 storage, 12 manifests; after 2
    6: 60 fragile, 80 machine-config, 20 manifests; after 3, 4, 5
    ");
}
