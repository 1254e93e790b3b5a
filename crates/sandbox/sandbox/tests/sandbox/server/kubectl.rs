//! An unmodified `kubectl`, here and on an API server: its output is the same.

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

/// Arguments and standard input, in this order. `NS` is the namespace. An old `kubectl` validates
/// with a document that the sandbox does not serve, hence `--validate=false`.
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
    ("get configmaps -n NS --as stranger", ""),
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
async fn output_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("kubectl").await?;
    let test = start().await?;
    let here = test.sandbox.kubeconfig();
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
async fn commands_that_old_api_servers_lack() -> Result<()> {
    let test = start().await?;
    let kubeconfig = test.sandbox.kubeconfig();
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

/// Whether `kubectl` reads `OpenAPI` v3 schemas, which it does since 1.27.
async fn has_its_schemas_from_open_api_v3(kubeconfig: &Path) -> Result<bool> {
    let version = run(kubeconfig, "version --client -o json", "", "").await?;
    let version: serde_json::Value = serde_json::from_str(&version)?;
    let minor = version.pointer("/clientVersion/minor").and_then(serde_json::Value::as_str);
    let minor = minor.context("kubectl does not say its version")?.trim_end_matches('+');
    Ok(minor.parse::<u32>()? >= 27)
}

/// Output of `kubectl` on both streams, without ages.
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

/// A home directory for this process, so that discovery caches of different servers do not mix.
fn home() -> Result<PathBuf> {
    let home = std::env::temp_dir().join(format!("fairway-kubectl-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    Ok(home)
}

/// Removes the last column of a table if it is an age.
fn without_age(line: &str) -> String {
    match line.rsplit_once("  ") {
        Some((rest, age)) if age.trim().ends_with('s') && age.trim().len() < 8 => rest.to_owned(),
        _ => line.to_owned(),
    }
}
