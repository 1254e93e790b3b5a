//! `skew`: versions of kubelet, kernel and container runtime.
//!
//! The check compares the kubelet of each node with the Kubernetes version of the release, which
//! its `image-references` declare (`io.openshift.build.versions`). A kubelet may be three minor
//! versions older, or two before Kubernetes 1.28 (`KubeletsTooOld`), and never newer
//! (`KubeletsTooNew`). A release can declare further minimum versions in the `metadata` of its
//! `release-metadata`: `fairway.dev/minimum-kernel`, such as `5.14`, and
//! `fairway.dev/minimum-container-runtime`, such as `cri-o=1.28,containerd=1.7` (`KernelsTooOld`,
//! `ContainerRuntimesTooOld`). If the release does not declare its Kubernetes version, or the
//! version of a node is invalid, the check has no result; its findings remain.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{Node, NodeSystemInfo};
use kube::ResourceExt as _;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::Cluster;
use crate::resources::NODES;
use crate::target::Target;
use crate::wording::{are, listed};

/// Kubernetes minor version since which kubelets may be three minor versions older (KEP-3935).
const THREE_MINORS_SINCE: u64 = 28;

/// Message for a release without a Kubernetes version.
const NO_KUBERNETES_VERSION: &str = "The target release does not declare its Kubernetes version.";

/// The check `skew`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "skew",
    watched: &[NODES],
    run: |cluster, target| examine(cluster, target).boxed(),
};

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let kubernetes = target.content.image_references.component("kubernetes").and_then(Number::read);
    let minimums = Minimums::read(&target.content.metadata.metadata);
    if kubernetes.is_none() && minimums == Minimums::default() {
        return Err(NoResult::NotKnown(NO_KUBERNETES_VERSION.to_owned()));
    }
    let nodes: Vec<Node> = cluster.all().await?;
    let machines: Vec<NodeVersions> = nodes.iter().map(NodeVersions::of).collect();
    Ok(evaluate(&machines, kubernetes.as_ref(), &minimums))
}

/// Versions on a node.
#[derive(Clone, Debug, Default)]
struct NodeVersions {
    node: String,
    kubelet: String,
    /// Name and version, such as `cri-o://1.31.3`.
    runtime: String,
    kernel: String,
}

impl NodeVersions {
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

fn evaluate(
    machines: &[NodeVersions],
    kubernetes: Option<&Number>,
    minimums: &Minimums,
) -> BuiltInResult {
    let mut answer = BuiltInResult::default();
    match kubernetes {
        Some(kubernetes) => kubelets(machines, kubernetes, &mut answer),
        None => answer.unknown.push(NO_KUBERNETES_VERSION.to_owned()),
    }
    minimums.kernels(machines, &mut answer);
    minimums.runtimes(machines, &mut answer);
    answer
}

fn kubelets(machines: &[NodeVersions], kubernetes: &Number, answer: &mut BuiltInResult) {
    let oldest =
        kubernetes.minor.saturating_sub(if kubernetes.minor >= THREE_MINORS_SINCE { 3 } else { 2 });
    let (mut old, mut new, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for NodeVersions { node, kubelet, .. } in machines {
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
    answer.unknown.extend(invalid_versions("kubelets", &unknown));
}

/// Message about versions that cannot be compared.
fn invalid_versions(programs: &str, unknown: &[String]) -> Option<String> {
    let render =
        || format!("The check cannot parse the version of these {programs}: {}.", listed(unknown));
    (!unknown.is_empty()).then(render)
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

/// Metadata key of the oldest supported kernel, such as `5.14`.
const KERNEL: &str = "fairway.dev/minimum-kernel";

/// Metadata key of the oldest supported container runtimes, such as `cri-o=1.28,containerd=1.7`.
/// Others are not compared.
const RUNTIME: &str = "fairway.dev/minimum-container-runtime";

/// Minimum versions in the metadata of a release.
#[derive(Clone, Debug, Default, PartialEq)]
struct Minimums {
    kernel: Option<Number>,
    runtimes: BTreeMap<String, Number>,
}

impl Minimums {
    /// Reads the minimum versions. Ignores invalid ones.
    fn read(metadata: &BTreeMap<String, String>) -> Self {
        let runtimes = metadata.get(RUNTIME).into_iter().flat_map(|list| list.split(','));
        let runtime = |pair: &str| {
            let (name, version) = pair.split_once('=')?;
            Some((name.trim().to_owned(), Number::read(version)?))
        };
        Self {
            kernel: metadata.get(KERNEL).and_then(|text| Number::read(text)),
            runtimes: runtimes.filter_map(runtime).collect(),
        }
    }

    fn kernels(&self, machines: &[NodeVersions], answer: &mut BuiltInResult) {
        let Some(minimum) = &self.kernel else { return };
        let (mut old, mut unknown) = (Vec::new(), Vec::new());
        for NodeVersions { node, kernel, .. } in machines {
            match Number::read(kernel) {
                None => unknown.push(format!("{node} ({kernel:?})")),
                Some(runs) if runs < *minimum => old.push(format!("{node} ({kernel})")),
                Some(_) => {}
            }
        }
        answer.unknown.extend(invalid_versions("kernels", &unknown));
        answer.findings.extend((!old.is_empty()).then(|| Finding {
            name: "KernelsTooOld".to_owned(),
            message: format!(
                "The target release requires kernel {minimum} or later. {} older: {}.",
                are(old.len(), "node"),
                listed(&old),
            ),
            severity: Severity::Critical,
            remediation: REMEDIATION.to_owned(),
            ..Finding::default()
        }));
    }

    fn runtimes(&self, machines: &[NodeVersions], answer: &mut BuiltInResult) {
        if self.runtimes.is_empty() {
            return;
        }
        let (mut old, mut unknown) = (Vec::new(), Vec::new());
        for NodeVersions { node, runtime, .. } in machines {
            let read = runtime.split_once("://");
            match read.and_then(|(name, version)| Some((name, Number::read(version)?))) {
                None => unknown.push(format!("{node} ({runtime:?})")),
                Some((name, runs)) if self.runtimes.get(name).is_some_and(|it| runs < *it) => {
                    old.push(format!("{node} ({runtime})"));
                }
                Some(_) => {}
            }
        }
        answer.unknown.extend(invalid_versions("container runtimes", &unknown));
        let required: Vec<String> =
            self.runtimes.iter().map(|(name, version)| format!("{name} {version}")).collect();
        answer.findings.extend((!old.is_empty()).then(|| Finding {
            name: "ContainerRuntimesTooOld".to_owned(),
            message: format!(
                "The target release requires container runtime {} or later. {} older: {}.",
                required.join(" or "),
                are(old.len(), "node"),
                listed(&old),
            ),
            severity: Severity::Critical,
            remediation: REMEDIATION.to_owned(),
            ..Finding::default()
        }));
    }
}

/// Remediation for old kernels and container runtimes, which are part of the operating system.
const REMEDIATION: &str = "Update the operating system of these nodes first. `kubectl get nodes -o \
                      wide` shows the versions of each node.";

/// Numbers at the start of a version, such as `v1.31.2+k3s1` or `5.14.0-427.el9`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number {
    major: u64,
    minor: u64,
    patch: Option<u64>,
}

impl Number {
    /// Parses a version; `None` with fewer than two numbers.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let end = text.find(|it: char| it != '.' && !it.is_ascii_digit()).unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map_while(|number| number.parse().ok());
        Some(Self { major: numbers.next()?, minor: numbers.next()?, patch: numbers.next() })
    }

    fn major_minor(&self) -> (u64, u64) {
        (self.major, self.minor)
    }
}

/// A missing patch version counts as 0.
impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let parts = |it: &Self| (it.major, it.minor, it.patch.unwrap_or_default());
        parts(self).partial_cmp(&parts(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::json;

    use super::*;
    use crate::testing::{create_with_status, node};
    use crate::testing::{render, target};

    fn machine(node: &str, kubelet: &str) -> NodeVersions {
        NodeVersions {
            node: node.to_owned(),
            kubelet: kubelet.to_owned(),
            runtime: "cri-o://1.27.1-3.el9".to_owned(),
            kernel: "4.18.0-553.el8.x86_64".to_owned(),
        }
    }

    fn minimums(kernel: &str, runtime: &str) -> Minimums {
        Minimums::read(
            &[
                ("fairway.dev/minimum-kernel", kernel),
                ("fairway.dev/minimum-container-runtime", runtime),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        )
    }

    fn names(answer: &BuiltInResult) -> Vec<&str> {
        answer.findings.iter().map(|finding| finding.name.as_str()).collect()
    }

    #[test]
    fn findings_of_kubelet_versions() {
        for (kubernetes, kubelet, expected) in [
            ("1.31.2", "v1.31.9", None),
            ("1.31.2", "v1.28.0", None),
            ("1.31.2", "v1.27.16", Some("KubeletsTooOld")),
            ("1.28.0", "v1.25.0", None),
            ("1.28.0", "v1.24.0", Some("KubeletsTooOld")),
            ("1.27.0", "v1.25.0", None),
            ("1.27.0", "v1.24.0", Some("KubeletsTooOld")),
            ("1.27.0", "v1.28.0", Some("KubeletsTooNew")),
            ("1.27.0", "v1.27.5+abc", None),
        ] {
            let kubernetes = Number::read(kubernetes).unwrap();
            let answer =
                evaluate(&[machine("a", kubelet)], Some(&kubernetes), &Minimums::default());
            assert_eq!(names(&answer), Vec::from_iter(expected), "{kubernetes} {kubelet}");
            assert_eq!(answer.unknown, [""; 0]);
        }
    }

    #[test]
    fn findings_of_declared_minimum_versions() {
        for (kernel, runtime, expected) in [
            ("", "", vec![]),
            ("4.18", "cri-o=1.27", vec![]),
            ("5.14", "", vec!["KernelsTooOld"]),
            ("", "containerd=1.7, cri-o=1.28", vec!["ContainerRuntimesTooOld"]),
            ("", "containerd=1.7", vec![]),
            ("rubbish", "cri-o", vec![]),
        ] {
            let answer = evaluate(&[machine("a", "v1.31.0")], None, &minimums(kernel, runtime));
            assert_eq!(names(&answer), expected, "{kernel} {runtime}");
        }
    }

    #[test]
    fn findings_name_nodes_and_remediation() {
        let machines = [machine("a", "v1.24.1"), machine("b", "v1.32.0"), machine("c", "unknown")];
        let kubernetes = Number::read("1.31.2");
        let answer = evaluate(&machines, kubernetes.as_ref(), &minimums("5.14", "cri-o=1.28"));
        insta::assert_snapshot!(render(&answer.findings), @"
        KubeletsTooOld (critical): The target release contains Kubernetes 1.31.2, which supports kubelets 1.28 and later. 1 node is older: a (v1.24.1).
          Update these nodes to the version of the cluster first. `kubectl get nodes -o wide` shows their versions, and `kubectl get machineconfigpools` shows paused pools.
        KubeletsTooNew (critical): The target release contains Kubernetes 1.31.2, which does not support newer kubelets. 1 node is newer: b (v1.32.0).
          Choose a release with the same or a later Kubernetes version: `fairway upgrade` lists the available updates.
        KernelsTooOld (critical): The target release requires kernel 5.14 or later. 3 nodes are older: a (4.18.0-553.el8.x86_64), b (4.18.0-553.el8.x86_64), c (4.18.0-553.el8.x86_64).
          Update the operating system of these nodes first. `kubectl get nodes -o wide` shows the versions of each node.
        ContainerRuntimesTooOld (critical): The target release requires container runtime cri-o 1.28 or later. 3 nodes are older: a (cri-o://1.27.1-3.el9), b (cri-o://1.27.1-3.el9), c (cri-o://1.27.1-3.el9).
          Update the operating system of these nodes first. `kubectl get nodes -o wide` shows the versions of each node.
        ");
        insta::assert_snapshot!(answer.unknown.join(" "), @r#"The check cannot parse the version of these kubelets: c ("unknown")."#);
    }

    #[test]
    fn result_with_invalid_version_is_unknown() {
        let silent = NodeVersions { node: "s".to_owned(), ..NodeVersions::default() };
        let machines = [machine("a", "v1.31.0"), silent];
        let answer = evaluate(&machines, None, &minimums("5.14", "cri-o=1.28"));
        assert_eq!(
            names(&answer),
            ["KernelsTooOld", "ContainerRuntimesTooOld"],
            "what is sure stays"
        );
        insta::assert_snapshot!(answer.unknown.join("\n"), @r#"
        The target release does not declare its Kubernetes version.
        The check cannot parse the version of these kernels: s ("").
        The check cannot parse the version of these container runtimes: s ("").
        "#);
        let unasked = evaluate(&machines[1..], Number::read("1.31").as_ref(), &Minimums::default());
        insta::assert_snapshot!(unasked.unknown.join("\n"), @r#"The check cannot parse the version of these kubelets: s ("")."#);
    }

    #[tokio::test]
    async fn run_compares_nodes_of_cluster() -> Result<()> {
        let cluster = TestCluster::shared().await?;
        let client = cluster.client();
        let mut old = node("a", "4", "8Gi");
        old["status"]["nodeInfo"] = json!({
            "kubeletVersion": "v1.20.0", "containerRuntimeVersion": "containerd://1.4.13",
            "kernelVersion": "5.10.0", "architecture": "amd64", "bootID": "", "kubeProxyVersion": "",
            "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
        });
        create_with_status(&client, &old).await?;
        let reader = Cluster::new(client);
        let unknown =
            (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
        assert!(matches!(unknown, NoResult::NotKnown(_)), "{unknown}");
        let mut target = target("5.0.0", &TestRelease::new("5.1.0"))?;
        let content = Arc::make_mut(&mut target.content);
        let versions = [("kubernetes".to_owned(), "1.31.2".to_owned())];
        content.image_references.default_versions = versions.into();
        let found = (CHECK.run)(&reader, &target).await?;
        assert!(names(&found).contains(&"KubeletsTooOld"), "{found:?}");
        Ok(())
    }

    #[test]
    fn parse_reads_leading_numbers() {
        for (text, expected) in [
            ("v1.31.2", Some("1.31.2")),
            ("1.28", Some("1.28")),
            ("v1.20.5+k3s1", Some("1.20.5")),
            ("5.14.0-427.13.1.el9_4.x86_64", Some("5.14.0")),
            ("6.1-custom", Some("6.1")),
            ("5", None),
            ("", None),
            ("latest", None),
            ("99999999999999999999.1", None),
        ] {
            assert_eq!(Number::read(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
        assert!(Number::read("5.4").unwrap() < Number::read("5.14.0").unwrap());
    }
}
