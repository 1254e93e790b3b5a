//! Preflight checks of the example platform.

use anyhow::Result;
use fairway_check::Check;
use fairway_check_testing::{Fixture, TestResult};
use fairway_example::check::{CloudCredential, Ingress, MachineConfig, Network, Storage};
use fairway_example::{RELEASES, Release};

/// An unmodified cluster of one release, checked by another.
fn cluster(source: &str, target: &str) -> Fixture {
    let manifests = |version: &str| Release::find(version).unwrap().manifests("image");
    let mut fixture = Fixture::from(source).to(target).objects(NODE);
    for (file, text) in manifests(source) {
        // Checks examine objects of administrators, which releases only create.
        if text.contains("create-only") && !file.contains("_20-") {
            fixture = fixture.objects(&text);
        }
    }
    for (file, text) in manifests(target) {
        fixture = fixture.manifest(&file, &text);
    }
    fixture
}

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {nodeInfo: {kernelVersion: 6.12.0, machineID: '', systemUUID: '', bootID: '', osImage: '', containerRuntimeVersion: '', kubeletVersion: '', kubeProxyVersion: '', operatingSystem: linux, architecture: amd64}}}";

/// Results of all checks.
async fn all(cluster: &Fixture) -> Result<String> {
    let said = [
        cluster.run(CloudCredential).await?,
        cluster.run(Ingress).await?,
        cluster.run(MachineConfig).await?,
        cluster.run(Network).await?,
        cluster.run(Storage).await?,
    ];
    Ok(said.iter().filter(|said| !said.is_clean()).map(ToString::to_string).collect())
}

/// Result of one check for a cluster with one changed ConfigMap.
async fn changed(target: &str, map: &str, check: impl Check) -> Result<TestResult> {
    let mut fixture = Fixture::from("5.0.0").to(target).objects(map);
    for (file, text) in Release::find(target).unwrap().manifests("image") {
        fixture = fixture.manifest(&file, &text);
    }
    fixture.run(check).await
}

fn map(namespace: &str, name: &str, data: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: {namespace}, name: {name}, \
         labels: {{platform.example/machine-config: worker}}}}, data: {data}}}"
    )
}

#[tokio::test]
async fn checks_of_next_releases_find_nothing() -> Result<()> {
    for target in ["5.0.1", "5.1.0"] {
        assert_eq!(all(&cluster("5.0.0", target)).await?, "", "{target}");
    }
    Ok(())
}

#[tokio::test]
async fn checks_of_later_release_find_fixable_problems() -> Result<()> {
    insta::assert_snapshot!(all(&cluster("5.0.0", "5.2.0")).await?, @r#"
    warning CloudCredentialPermissionsIncomplete: 5.2.0 uses permissions that are not granted: disks.label. The features that need them will not work.
      remediation: Grant disks.label, and add it to `granted`: `kubectl -n openshift-cloud-credential edit configmap cloud-credentials`
      url: https://platform.example/credentials/permissions
    critical StorageCSIDriverIncompatible: Current CSI driver version 2.3.1 incompatible with 5.2.0. Minimum version 2.4.0 required.
      remediation: Update the driver: `kubectl -n openshift-storage patch configmap csi-driver --type=merge -p '{"data":{"version":"2.4.0"}}'`
      url: https://platform.example/storage/csi-driver
    "#);
    let fixed = map("openshift-storage", "csi-driver", "{version: 2.4.0}");
    assert!(changed("5.2.0", &fixed, Storage).await?.is_clean());
    Ok(())
}

#[tokio::test]
async fn check_of_distant_release_is_unknown() -> Result<()> {
    let said = cluster("5.0.0", "5.3.0").run(MachineConfig).await?;
    assert!(
        said.cannot_tell().is_some_and(|why| why.contains("at most 2 minor versions")),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn checks_of_skipping_update_find_other_problems() -> Result<()> {
    let dual =
        map("openshift-network", "network-config", "{cluster-networks: '10.128.0.0/14,fd01::/48'}");
    insta::assert_snapshot!(changed("5.1.0", &dual, Network).await?, @"
    info NetworkingDualStackDeprecated: Dual-stack networking configuration will be deprecated in 5.1.0. Migration to single-stack recommended.
      remediation: Keep one network in `cluster-networks`: `kubectl -n openshift-network edit configmap network-config`
      url: https://platform.example/network/dual-stack
    ");
    insta::assert_snapshot!(changed("5.2.0", &dual, Network).await?, @"
    critical DualStackIncompatible: Cluster uses dual-stack networking configuration incompatible with 5.2.0.
      remediation: Keep one network in `cluster-networks`: `kubectl -n openshift-network edit configmap network-config`
      url: https://platform.example/network/dual-stack
    ");
    assert!(changed("5.0.1", &dual, Network).await?.is_clean());
    Ok(())
}

#[tokio::test]
async fn machine_config_with_old_ignition_is_found() -> Result<()> {
    let old =
        map("openshift-machine-config", "old", r#"{config: '{"ignition":{"version":"2.2.0"}}'}"#);
    insta::assert_snapshot!(changed("5.1.0", &old, MachineConfig).await?, @"
    critical MachineConfigIgnitionV2Unsupported: 5.1.0 does not support Ignition v2. These configurations use it: old.
      remediation: Translate them to Ignition v3: `kubectl -n openshift-machine-config get configmaps -l platform.example/machine-config`
      url: https://platform.example/machines/ignition
    ");
    assert!(changed("5.0.1", &old, MachineConfig).await?.is_clean());
    let broken = map("openshift-machine-config", "broken", "{config: nothing}");
    insta::assert_snapshot!(changed("5.1.0", &broken, MachineConfig).await?, @"
    warning MachineConfigCompatibilityUnknown: Compatibility of machine-config with 5.1.0 is unknown: not valid Ignition configurations: broken.
      remediation: Resolve the cause; Fairway retries the check
    ");
    let both = format!("{old}\n---\n{broken}");
    insta::assert_snapshot!(changed("5.1.0", &both, MachineConfig).await?, @"
    critical MachineConfigIgnitionV2Unsupported: 5.1.0 does not support Ignition v2. These configurations use it: old.
      remediation: Translate them to Ignition v3: `kubectl -n openshift-machine-config get configmaps -l platform.example/machine-config`
      url: https://platform.example/machines/ignition
    warning MachineConfigCompatibilityUnknown: Compatibility of machine-config with 5.1.0 is unknown: not valid Ignition configurations: broken.
      remediation: Resolve the cause; Fairway retries the check
    ");
    Ok(())
}

#[tokio::test]
async fn machine_config_with_old_kernel_is_found() -> Result<()> {
    let node = NODE.replace("6.12.0", "4.18.0");
    insta::assert_snapshot!(changed("5.2.0", &node, MachineConfig).await?, @"
    warning MachineConfigKernelVersionMismatch: Current kernel version 4.18.0 may have performance degradation with 5.2.0 container runtime.
      remediation: Update the operating system of the nodes: `kubectl get nodes -o wide`
      url: https://platform.example/machines/kernel
    ");
    assert!(changed("5.1.0", &node, MachineConfig).await?.is_clean());
    let silent = NODE.replace("6.12.0", "''").replace("name: a", "name: silent");
    let both = format!("{node}\n---\n{silent}");
    let names = ["MachineConfigKernelVersionMismatch", "MachineConfigCompatibilityUnknown"];
    assert_eq!(changed("5.2.0", &both, MachineConfig).await?.names(), names);
    Ok(())
}

#[tokio::test]
async fn cloud_credential_with_missing_permissions_is_found() -> Result<()> {
    let few = |mode: &str| {
        map(
            "openshift-cloud-credential",
            "cloud-credentials",
            &format!("{{mode: {mode}, granted: disks.list}}"),
        )
    };
    insta::assert_snapshot!(changed("5.1.0", &few("Manual"), CloudCredential).await?, @"
    critical CloudCredentialPermissionsMissing: 5.1.0 requires permissions that are not granted: disks.create, disks.delete. The update would fail halfway.
      remediation: Grant disks.create disks.delete, and add it to `granted`: `kubectl -n openshift-cloud-credential edit configmap cloud-credentials`
      url: https://platform.example/credentials/permissions
    ");
    assert!(changed("5.1.0", &few("Mint"), CloudCredential).await?.is_clean());
    Ok(())
}

#[tokio::test]
async fn ingress_with_weak_certificate_is_found() -> Result<()> {
    let weak = published(include_str!("../data/weak.pem"));
    insta::assert_snapshot!(changed("5.1.0", &weak, Ingress).await?, @"
    critical IngressCertificateRejected: 5.1.0 rejects the default serving certificate: it has an RSA key of 1024 bits; the minimum is 2048 bits; it is signed with SHA-1.
      remediation: Replace it: `kubectl -n openshift-ingress create secret tls default-certificate --cert=tls.crt --key=tls.key --dry-run=client -o yaml | kubectl apply -f -`
      url: https://platform.example/ingress/certificate
    ");
    assert!(changed("5.0.1", &weak, Ingress).await?.is_clean(), "5.0.1 takes it");
    let strong = published(include_str!("../data/strong.pem"));
    assert!(changed("5.1.0", &strong, Ingress).await?.is_clean());
    Ok(())
}

fn published(pem: &str) -> String {
    let published = serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "openshift-ingress", "name": "default-certificate" },
        "data": { "tls.crt": pem },
    });
    published.to_string()
}

#[tokio::test]
async fn ingress_with_unreadable_certificate_is_unknown() -> Result<()> {
    let said = cluster("5.0.0", "5.1.0").forbidden("configmaps").run(Ingress).await?;
    assert_eq!(said.names(), ["IngressCompatibilityUnknown"], "{said}");
    Ok(())
}

#[test]
fn releases_with_preflights_have_all_checks() {
    for release in &RELEASES {
        let manifests = release.manifests("image");
        let checks = manifests.keys().filter(|file| file.ends_with("_40-preflight.yaml")).count();
        assert_eq!(checks, if release.preflights { 6 } else { 0 }, "{}", release.version);
    }
}
