use std::sync::Arc;

use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::json;

use super::*;
use crate::checks::ground::{create, node};
use crate::testing::{target, told};

fn machine(node: &str, kubelet: &str) -> Machine {
    Machine {
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

fn names(answer: &Answer) -> Vec<&str> {
    answer.findings.iter().map(|finding| finding.name.as_str()).collect()
}

#[test]
fn kubelets_may_be_a_little_older_and_never_newer() {
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
        let answer = judge(&[machine("a", kubelet)], Some(&kubernetes), &Minimums::default());
        assert_eq!(names(&answer), Vec::from_iter(expected), "{kubernetes} {kubelet}");
        assert_eq!(answer.unknown, [""; 0]);
    }
}

#[test]
fn a_release_says_what_else_it_takes() {
    for (kernel, runtime, expected) in [
        ("", "", vec![]),
        ("4.18", "cri-o=1.27", vec![]),
        ("5.14", "", vec!["KernelsTooOld"]),
        ("", "containerd=1.7, cri-o=1.28", vec!["ContainerRuntimesTooOld"]),
        ("", "containerd=1.7", vec![]),
        ("rubbish", "cri-o", vec![]),
    ] {
        let answer = judge(&[machine("a", "v1.31.0")], None, &minimums(kernel, runtime));
        assert_eq!(names(&answer), expected, "{kernel} {runtime}");
    }
}

#[test]
fn nodes_are_named_with_what_to_do() {
    let machines = [machine("a", "v1.24.1"), machine("b", "v1.32.0"), machine("c", "unknown")];
    let kubernetes = Number::read("1.31.2");
    let answer = judge(&machines, kubernetes.as_ref(), &minimums("5.14", "cri-o=1.28"));
    insta::assert_snapshot!(told(&answer.findings), @"
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
fn what_cannot_be_compared_is_not_fine() {
    let silent = Machine { node: "s".to_owned(), ..Machine::default() };
    let machines = [machine("a", "v1.31.0"), silent];
    let answer = judge(&machines, None, &minimums("5.14", "cri-o=1.28"));
    assert_eq!(names(&answer), ["KernelsTooOld", "ContainerRuntimesTooOld"], "what is sure stays");
    insta::assert_snapshot!(answer.unknown.join("\n"), @r#"
    The target release does not declare its Kubernetes version.
    The check cannot parse the version of these kernels: s ("").
    The check cannot parse the version of these container runtimes: s ("").
    "#);
    let unasked = judge(&machines[1..], Number::read("1.31").as_ref(), &Minimums::default());
    insta::assert_snapshot!(unasked.unknown.join("\n"), @r#"The check cannot parse the version of these kubelets: s ("")."#);
}

#[tokio::test]
async fn the_nodes_of_a_cluster_are_compared() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let client = cluster.client();
    let mut old = node("a", "4", "8Gi");
    old["status"]["nodeInfo"] = json!({
        "kubeletVersion": "v1.20.0", "containerRuntimeVersion": "containerd://1.4.13",
        "kernelVersion": "5.10.0", "architecture": "amd64", "bootID": "", "kubeProxyVersion": "",
        "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
    });
    create(&client, &old).await?;
    let seen = Cluster::new(client);
    let unknown = Skew.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
    assert!(matches!(unknown, CannotTell::NotKnown(_)), "{unknown}");
    let mut target = target("5.0.0", &TestRelease::new("5.1.0"))?;
    let content = Arc::make_mut(&mut target.content);
    let versions = [("kubernetes".to_owned(), "1.31.2".to_owned())];
    content.image_references.default_versions = versions.into();
    let found = Skew.run(&seen, &target).await?;
    assert!(names(&found).contains(&"KubeletsTooOld"), "{found:?}");
    Ok(())
}
