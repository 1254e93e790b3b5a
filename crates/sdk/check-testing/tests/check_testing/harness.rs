//! What a test of a check can rely on.

use std::time::Duration;

use anyhow::Result;
use fairway_check::{CannotTell, Check, Context, Finding, IfServed as _};
use fairway_check_testing::{Fault, Fixture};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::ApiResource;
use kube::core::GroupVersionKind;

/// Finds nodes whose kernel is old.
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
async fn it_looks_at_the_fixtures() -> Result<()> {
    let said = cluster().run(Kernel).await?;
    insta::assert_snapshot!(said, @"warning KernelTooOld: The kernel of node a is too old.");
    let said = Fixture::from("5.0.0").to("5.2.0").run(Kernel).await?;
    assert!(said.is_clean(), "{said}");
    insta::assert_snapshot!(said, @"no findings");
    Ok(())
}

#[tokio::test]
async fn versions_may_be_too_far_apart() -> Result<()> {
    let said = cluster().to("5.3.0").run(Kernel).await?;
    insta::assert_snapshot!(said, @"
    no result: 5.3.0 supports clusters that are at most 2 minor versions behind, and this cluster runs 5.0.0
    warning MachineConfigVersionSkew: Compatibility of machine-config with 5.3.0 is unknown: 5.3.0 supports clusters that are at most 2 minor versions behind, and this cluster runs 5.0.0.
      remediation: Run a preflight of an intermediate release
    ");
    Ok(())
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_again() -> Result<()> {
    for fault in [Fault::refuse(503), Fault::refuse(429), Fault::refuse(500)] {
        let said = cluster().fault(fault.resource("nodes").times(3)).run(Kernel).await?;
        assert_eq!(said.names(), ["KernelTooOld"], "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn whatever_goes_wrong_no_check_passes_by_accident() -> Result<()> {
    let mut told = String::new();
    for broken in [
        cluster().without("nodes"),
        cluster().forbidden("nodes"),
        cluster().fault(Fault::refuse(500)),
        cluster().fault(Fault::delay(Duration::from_mins(1))).within(Duration::from_millis(50)),
    ] {
        let said = broken.run(Kernel).await?;
        assert_eq!(said.names(), ["MachineConfigCompatibilityUnknown"]);
        told.push_str(said.cannot_tell().unwrap());
        told.push('\n');
    }
    insta::assert_snapshot!(told, @"
    the cluster does not serve nodes
    the check is not permitted to read nodes: forbidden by a fault injected by the sandbox
    cannot read nodes: Internal error occurred: fault injected by the sandbox
    the check timed out after 0 seconds
    ");
    Ok(())
}

/// Panics.
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
async fn a_check_that_panics_cannot_tell() -> Result<()> {
    insta::assert_snapshot!(cluster().run(Panics).await?, @"
    no result: the check failed: index out of bounds
    warning PanicsCompatibilityUnknown: Compatibility of panics with 5.2.0 is unknown: the check failed: index out of bounds.
      remediation: Resolve the cause; Fairway retries the check
    ");
    Ok(())
}

/// Counts what it finds of a kind that not every cluster has.
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
async fn a_definition_comes_with_its_objects() -> Result<()> {
    let said = cluster().run(Gadgets).await?;
    assert!(said.is_clean(), "{said}");
    let said = cluster()
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
    insta::assert_snapshot!(said, @"info Gadgets: There are 1 gadgets.");
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
async fn a_missing_object_is_an_answer_and_a_missing_kind_is_none() -> Result<()> {
    const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: here}}";
    let empty = Fixture::from("5.0.0").to("5.1.0");
    let message = |said: &fairway_check_testing::Said| said.findings()[0].message.clone();
    let said = empty.run(Maps).await?;
    assert_eq!(message(&said), "live: false, wanted: false");
    let said = empty.clone().objects(MAP).manifest("0000_50_a.yaml", MAP).run(Maps).await?;
    assert_eq!(message(&said), "live: true, wanted: true");
    let said = empty.without("configmaps").run(Maps).await?;
    assert_eq!(said.cannot_tell(), Some("the cluster does not serve configmaps/a in here"));
    Ok(())
}
