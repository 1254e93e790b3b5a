//! Guarantees of the test kit.

use std::time::Duration;

use anyhow::Result;
use fairway_check::{CannotTell, Check, Context, Finding, IfServed as _};
use fairway_check_testing::{Fault, Fixture};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::ApiResource;
use kube::core::GroupVersionKind;

/// Finds nodes with an old kernel.
struct Kernel;

impl Check for Kernel {
    fn name(&self) -> &'static str {
        "machine-config"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        context.skew().at_most(2)?;
        let mut old = Vec::new();
        context
            .cluster()
            .read::<Node>()
            .each(|node| {
                let info = node.status.and_then(|status| status.node_info);
                if info.is_none_or(|info| info.kernel_version.starts_with("4.")) {
                    old.push(node.metadata.name.unwrap_or_default());
                }
            })
            .await?;
        let message = |name| format!("The kernel of node {name} is too old.");
        Ok(old.into_iter().map(|name| Finding::warning("KernelTooOld", message(name))).collect())
    }
}

const NODES: &str = "
apiVersion: v1
kind: Node
metadata: {name: a}
status: {nodeInfo: &info {kernelVersion: 4.18.0, machineID: '', systemUUID: '', bootID: '', osImage: '', containerRuntimeVersion: '', kubeletVersion: '', kubeProxyVersion: '', operatingSystem: linux, architecture: amd64}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
status: {nodeInfo: {kernelVersion: 6.1.0, machineID: '', systemUUID: '', bootID: '', osImage: '', containerRuntimeVersion: '', kubeletVersion: '', kubeProxyVersion: '', operatingSystem: linux, architecture: amd64}}
";

fn cluster() -> Fixture {
    Fixture::from("5.0.0").to("5.2.0").objects(NODES)
}

#[tokio::test]
async fn run_reads_fixtures() -> Result<()> {
    let result = cluster().run(Kernel).await?;
    insta::assert_snapshot!(result, @"warning KernelTooOld: The kernel of node a is too old.");
    let result = Fixture::from("5.0.0").to("5.2.0").run(Kernel).await?;
    assert!(result.is_clean(), "{result}");
    insta::assert_snapshot!(result, @"no findings");
    Ok(())
}

#[tokio::test]
async fn run_across_many_versions_reports_skew() -> Result<()> {
    let result = cluster().to("5.3.0").run(Kernel).await?;
    insta::assert_snapshot!(result, @"
    no result: 5.3.0 supports clusters that are at most 2 minor versions behind, but this cluster runs 5.0.0
    warning MachineConfigVersionSkew: Compatibility of machine-config with 5.3.0 is unknown: 5.3.0 supports clusters that are at most 2 minor versions behind, but this cluster runs 5.0.0.
      remediation: Run a preflight of an intermediate release
    ");
    Ok(())
}

#[tokio::test]
async fn run_after_transient_errors_retries() -> Result<()> {
    for fault in [Fault::refuse(503), Fault::refuse(429), Fault::refuse(500)] {
        let result = cluster().fault(fault.resource("nodes").times(3)).run(Kernel).await?;
        assert_eq!(result.names(), ["KernelTooOld"], "{result}");
    }
    Ok(())
}

#[tokio::test]
async fn run_with_faults_never_passes() -> Result<()> {
    let mut rendered = String::new();
    for broken in [
        cluster().without("nodes"),
        cluster().forbidden("nodes"),
        cluster().fault(Fault::refuse(500)),
        cluster().fault(Fault::delay(Duration::from_mins(1))).within(Duration::from_millis(50)),
    ] {
        let result = broken.run(Kernel).await?;
        assert_eq!(result.names(), ["MachineConfigCompatibilityUnknown"]);
        rendered.push_str(result.cannot_tell().unwrap());
        rendered.push('\n');
    }
    insta::assert_snapshot!(rendered, @"
    the cluster does not serve nodes
    the check is not permitted to read nodes: forbidden by a fault injected by the sandbox
    cannot read nodes: Internal error occurred: fault injected by the sandbox
    the check timed out after 0 seconds
    ");
    Ok(())
}

/// A check that panics.
struct Panics;

impl Check for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    async fn run(&self, _: &Context) -> Result<Vec<Finding>, CannotTell> {
        panic!("index out of bounds")
    }
}

#[tokio::test]
async fn run_of_panicking_check_has_no_result() -> Result<()> {
    insta::assert_snapshot!(cluster().run(Panics).await?, @"
    no result: the check failed: index out of bounds
    warning PanicsCompatibilityUnknown: Compatibility of panics with 5.2.0 is unknown: the check failed: index out of bounds.
      remediation: Resolve the cause; Fairway retries the check
    ");
    Ok(())
}

/// Counts objects of a kind that not every cluster has.
struct Gadgets;

impl Check for Gadgets {
    fn name(&self) -> &'static str {
        "gadgets"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let kind = GroupVersionKind::gvk("platform.example", "v1", "Gadget");
        let gadgets = context.cluster().read_kind(&ApiResource::from_gvk(&kind));
        let Some(found) = gadgets.all().await.if_served()? else { return Ok(Vec::new()) };
        let message = format!("There are {} gadgets.", found.len());
        Ok(vec![Finding::info("Gadgets", message)])
    }
}

#[tokio::test]
async fn objects_may_include_crd_with_its_objects() -> Result<()> {
    let result = cluster().run(Gadgets).await?;
    assert!(result.is_clean(), "{result}");
    let result = cluster()
        .objects(
            "
apiVersion: platform.example/v1
kind: Gadget
metadata: {name: a, namespace: gadgets}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.platform.example}
spec:
  group: platform.example
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
",
        )
        .run(Gadgets)
        .await?;
    insta::assert_snapshot!(result, @"info Gadgets: There are 1 gadgets.");
    Ok(())
}

/// Reads one object and one manifest.
struct Maps;

impl Check for Maps {
    fn name(&self) -> &'static str {
        "maps"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let maps = context.cluster().read::<ConfigMap>().in_namespace("here");
        let live = maps.get("a").await?.is_some();
        let wanted = context.manifests().find("ConfigMap", "here", "a")?.is_some();
        let message = format!("live: {live}, wanted: {wanted}");
        Ok(vec![Finding::info("Maps", message)])
    }
}

#[tokio::test]
async fn get_distinguishes_missing_object_from_missing_kind() -> Result<()> {
    const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: here}}";
    let empty = Fixture::from("5.0.0").to("5.1.0");
    let message = |result: &fairway_check_testing::TestResult| result.findings()[0].message.clone();
    let result = empty.run(Maps).await?;
    assert_eq!(message(&result), "live: false, wanted: false");
    let result = empty.clone().objects(MAP).manifest("0000_50_a.yaml", MAP).run(Maps).await?;
    assert_eq!(message(&result), "live: true, wanted: true");
    let result = empty.without("configmaps").run(Maps).await?;
    assert_eq!(result.cannot_tell(), Some("the cluster does not serve configmaps/a in here"));
    Ok(())
}
