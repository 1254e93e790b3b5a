//! `skew`: whether what runs on the nodes is recent enough for the release.
//!
//! The check compares the kubelet of each node with the Kubernetes version of the release, which
//! its images name (`io.openshift.build.versions` in its `image-references`): a kubelet may be three
//! minor versions older, or two before Kubernetes 1.28 (`KubeletsTooOld`), and never newer
//! (`KubeletsTooNew`). A release can also say what else it takes, in the `metadata` of its
//! `release-metadata`: `fairway.dev/minimum-kernel`, such as `5.14`, and
//! `fairway.dev/minimum-container-runtime`, such as `cri-o=1.28,containerd=1.7`
//! (`KernelsTooOld`, `ContainerRuntimesTooOld`). Where a release does not name its Kubernetes, or a node
//! says nothing that can be compared, the check cannot tell: what it has found all the same stands.

mod minimum;
mod number;

use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, NodeSystemInfo};
use kube::ResourceExt as _;

use self::minimum::Minimums;
use self::number::Number;
use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource};
use crate::resources::NODES;
use crate::target::Target;
use crate::wording::{are, listed};

/// From this minor version of Kubernetes on, kubelets may be older by one more.
const LONGER_SINCE: u64 = 28;

/// What is missing where kubelets cannot be compared.
const UNSAID: &str = "The target release does not declare its Kubernetes version.";

/// Whether what runs on the nodes is recent enough for the release.
pub(crate) struct Skew;

impl BuiltIn for Skew {
    fn name(&self) -> &'static str {
        "skew"
    }

    fn looks_at(&self) -> &[Resource] {
        &[NODES]
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster, target).boxed()
    }
}

async fn look(cluster: &Cluster, target: &Target) -> Result<Answer, CannotTell> {
    let kubernetes = target.content.image_references.component("kubernetes").and_then(Number::read);
    let minimums = Minimums::read(&target.content.metadata.metadata);
    if kubernetes.is_none() && minimums == Minimums::default() {
        return Err(CannotTell::NotKnown(UNSAID.to_owned()));
    }
    let nodes: Vec<Node> = cluster.all().await?;
    let machines: Vec<Machine> = nodes.iter().map(Machine::of).collect();
    Ok(judge(&machines, kubernetes.as_ref(), &minimums))
}

/// What runs on a node, by what it says.
#[derive(Clone, Debug, Default)]
struct Machine {
    node: String,
    kubelet: String,
    /// Its name and its version, such as `cri-o://1.31.3`.
    runtime: String,
    kernel: String,
}

impl Machine {
    fn of(node: &Node) -> Self {
        let info = node.status.as_ref().and_then(|status| status.node_info.clone());
        let NodeSystemInfo { kubelet_version, container_runtime_version, kernel_version, .. } =
            info.unwrap_or_default();
        Self {
            node: node.name_any(),
            kubelet: kubelet_version,
            runtime: container_runtime_version,
            kernel: kernel_version,
        }
    }
}

fn judge(machines: &[Machine], kubernetes: Option<&Number>, minimums: &Minimums) -> Answer {
    let mut answer = Answer::default();
    match kubernetes {
        Some(kubernetes) => kubelets(machines, kubernetes, &mut answer),
        None => answer.unknown.push(UNSAID.to_owned()),
    }
    minimums.kernels(machines, &mut answer);
    minimums.runtimes(machines, &mut answer);
    answer
}

fn kubelets(machines: &[Machine], kubernetes: &Number, answer: &mut Answer) {
    let oldest =
        kubernetes.minor.saturating_sub(if kubernetes.minor >= LONGER_SINCE { 3 } else { 2 });
    let (mut old, mut new, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for Machine { node, kubelet, .. } in machines {
        match Number::read(kubelet) {
            None => unknown.push(format!("{node} ({kubelet:?})")),
            Some(it) if it.major_minor() > kubernetes.major_minor() => {
                new.push(format!("{node} ({kubelet})"));
            }
            Some(it) if it.major_minor() < (kubernetes.major, oldest) => {
                old.push(format!("{node} ({kubelet})"));
            }
            Some(_) => {}
        }
    }
    answer.findings.extend(too_old(&old, kubernetes, oldest));
    answer.findings.extend(too_new(&new, kubernetes));
    answer.unknown.extend(meaningless("kubelets", &unknown));
}

/// Programs whose version cannot be compared, each with its node.
fn meaningless(programs: &str, unknown: &[String]) -> Option<String> {
    let told =
        || format!("The check cannot parse the version of these {programs}: {}.", listed(unknown));
    (!unknown.is_empty()).then(told)
}

fn too_old(old: &[String], kubernetes: &Number, oldest: u64) -> Option<Finding> {
    (!old.is_empty()).then(|| Finding {
        name: "KubeletsTooOld".to_owned(),
        message: format!(
            "The target release contains Kubernetes {kubernetes}, which supports kubelets \
             {}.{oldest} and later. {} older: {}.",
            kubernetes.major,
            are(old.len(), "node"),
            listed(old),
        ),
        severity: Severity::Critical,
        remediation: "Update these nodes to the version of the cluster first. `kubectl get nodes \
                      -o wide` shows their versions, and `kubectl get machineconfigpools` shows \
                      paused pools."
            .to_owned(),
        ..Finding::default()
    })
}

fn too_new(new: &[String], kubernetes: &Number) -> Option<Finding> {
    (!new.is_empty()).then(|| Finding {
        name: "KubeletsTooNew".to_owned(),
        message: format!(
            "The target release contains Kubernetes {kubernetes}, which does not support newer \
             kubelets. {} newer: {}.",
            are(new.len(), "node"),
            listed(new),
        ),
        severity: Severity::Critical,
        remediation: "Choose a release with the same or a later Kubernetes version: `fairway \
                      upgrade` lists the available updates."
            .to_owned(),
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests;
