//! An unmodified `kubectl`, here and on a real cluster: it prints the same.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use fairway_testkit::{TestCluster, skip};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::start;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n";
const OTHER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l}\ndata: {a: b}\n";
const MISSPELT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l}\ndate: {a: b}\n";

/// What is typed, in this order, and on standard input. `NS` is the namespace. An old `kubectl`
/// checks what it applies by a document that is not served here, so it is told not to.
const SESSION: &[(&str, &str)] = &[
    ("create configmap c --from-literal=a=b -n NS", ""),
    ("create configmap c --from-literal=a=b -n NS", ""),
    ("get configmap c -n NS", ""),
    ("get configmap c -n NS -o jsonpath={.data}", ""),
    ("get configmap none -n NS", ""),
    ("apply --validate=false --server-side -f - -n NS", MAP),
    ("apply --validate=false --server-side -f - -n NS", MAP),
    ("apply --validate=false -f - -n NS", OTHER),
    ("patch configmap m -n NS -p {\"data\":{\"c\":\"d\"}}", ""),
    ("patch configmap m -n NS --type=json -p [{\"op\":\"remove\",\"path\":\"/data/c\"}]", ""),
    ("label configmap m x=y -n NS", ""),
    ("annotate configmap m x=y -n NS", ""),
    ("get configmap -l x=y -n NS --no-headers -o custom-columns=N:.metadata.name", ""),
    ("get configmap m -n NS -o jsonpath={.data}", ""),
    ("create secret generic s --from-literal=a=b -n NS", ""),
    ("create serviceaccount robot -n NS", ""),
    ("create role reader --verb=get --resource=pods -n NS", ""),
    ("create rolebinding reader --role=reader --user=bob -n NS", ""),
    ("auth can-i get pods -n NS", ""),
    ("auth can-i get pods -n NS --as bob", ""),
    ("auth can-i delete pods -n NS --as bob", ""),
    ("get pods -n NS --as bob", ""),
    ("get configmaps -n NS --as nobody", ""),
    ("describe role reader -n NS", ""),
    ("describe configmap m -n NS", ""),
    ("wait --for=jsonpath={.data.a}=b configmap/m -n NS --timeout=5s", ""),
    ("wait --for=delete configmap/none -n NS --timeout=5s", ""),
    ("create deployment web --image=example.com/web --replicas=0 -n NS", ""),
    ("get deployment web -n NS -o jsonpath={.spec.replicas}", ""),
    ("delete configmap c m -n NS", ""),
    ("get nothing -n NS", ""),
];

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn prints_the_same_here_and_there() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("kubectl").await?;
    let started = start().await?;
    let here = started.sandbox.kubeconfig();
    run(&here, "create namespace NS", "", namespace.name()).await?;
    for (words, input) in SESSION {
        let there = run(cluster.kubeconfig(), words, input, namespace.name()).await?;
        let here = run(&here, words, input, namespace.name()).await?;
        assert_eq!(here, there, "kubectl {words}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn works_where_the_real_server_is_too_old() -> Result<()> {
    let started = start().await?;
    let kubeconfig = started.sandbox.kubeconfig();
    if !has_its_schemas_from_open_api_v3(&kubeconfig).await? {
        skip::test("kubectl is older than 1.27 and does not read OpenAPI v3");
        return Ok(());
    }
    for (words, input, expected) in [
        ("auth whoami -o jsonpath={.status.userInfo.username}", "", "fairway-admin"),
        ("explain configmap.data", "", "FIELD: data <map[string]string>"),
        ("explain deployment.spec.replicas", "", "FIELD: replicas <integer>"),
        ("api-resources --api-group=apps --no-headers", "", "deployments"),
        ("create token none -n default", "", "serviceaccounts \"none\" not found"),
        ("auth can-i --list", "", "*.*"),
        ("apply -f - -n default", OTHER, "configmap/l created"),
        ("apply -f - -n default", MISSPELT, "unknown field \"date\""),
    ] {
        let printed = run(&kubeconfig, words, input, "").await?;
        assert!(printed.contains(expected), "kubectl {words}: {printed}");
    }
    Ok(())
}

/// Since 1.27 it has.
async fn has_its_schemas_from_open_api_v3(kubeconfig: &Path) -> Result<bool> {
    let version = run(kubeconfig, "version --client -o json", "", "").await?;
    let version: serde_json::Value = serde_json::from_str(&version)?;
    let minor = version.pointer("/clientVersion/minor").and_then(serde_json::Value::as_str);
    let minor = minor.context("kubectl does not say its version")?.trim_end_matches('+');
    Ok(minor.parse::<u32>()? >= 27)
}

/// What `kubectl` prints on both streams, without what is different every time.
async fn run(kubeconfig: &Path, words: &str, input: &str, namespace: &str) -> Result<String> {
    let words = words.split(' ').map(|word| if word == "NS" { namespace } else { word });
    let mut child = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(words)
        .env("HOME", home()?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("kubectl is missing")?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    stdin.write_all(input.as_bytes()).await?;
    drop(stdin);
    let output = child.wait_with_output().await?;
    let text = [output.stdout, output.stderr].concat();
    ensure!(!text.is_empty() || output.status.success(), "kubectl says nothing");
    let text = String::from_utf8(text)?;
    Ok(text.lines().map(without_age).collect::<Vec<_>>().join("\n"))
}

/// What it remembers of one server must not be taken for another's.
fn home() -> Result<PathBuf> {
    let home = std::env::temp_dir().join(format!("fairway-kubectl-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    Ok(home)
}

/// The last column of a table is the age.
fn without_age(line: &str) -> String {
    match line.rsplit_once("  ") {
        Some((rest, age)) if age.trim().ends_with('s') && age.trim().len() < 8 => rest.to_owned(),
        _ => line.to_owned(),
    }
}
