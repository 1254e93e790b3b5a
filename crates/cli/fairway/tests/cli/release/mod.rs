//! `fairway release`, for a platform with two operators.

mod inspection;
mod new;
mod operators;
mod push;
mod task_graph;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::{document, fairway, transcript};

/// A small binary, so that images are built quickly.
const PROGRAM: &str = "--program=/bin/true";

/// The images of the operators.
const NETWORK: &str = "--image=network=registry.example/network@sha256:1111111111111111111111111111111111111111111111111111111111111111";
const STORAGE: &str = "--image=storage=registry.example/storage@sha256:2222222222222222222222222222222222222222222222222222222222222222";

const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability: \"true\"";

/// A directory with the manifests of operators, in which commands run.
struct ReleaseFiles(TempDir);

impl ReleaseFiles {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        for operator in ["network", "storage"] {
            let file = format!("{operator}/0000_50_{operator}_01_deployment.yaml");
            files.write(&file, &deployment(operator));
            files.write(&format!("{operator}/image-references"), &references(operator));
        }
        files
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn fairway(&self, arguments: &[&str]) -> Command {
        let mut command = fairway();
        command.current_dir(self.path()).arg("release").args(arguments);
        command.env_remove("SOURCE_DATE_EPOCH");
        command
    }

    /// The transcript of a command.
    fn run(&self, arguments: &[&str]) -> String {
        without_digests(&transcript(&mut self.fairway(arguments)))
    }

    /// The standard output of a command as JSON.
    fn json(&self, arguments: &[&str]) -> Value {
        document(&mut self.fairway(&[arguments, &["-o", "json"]].concat()))
    }

    /// Builds a release of both operators. Returns its pull spec by digest.
    fn release(&self, version: &str, more: &[&str]) -> String {
        let version = format!("--version={version}");
        let usual = ["new", &version, PROGRAM, NETWORK, STORAGE, "--to=releases"];
        let operators = ["--manifests=network", "--manifests=storage"];
        let made = self.json(&[&usual, &operators[..], more].concat());
        made["image"].as_str().unwrap().to_owned()
    }
}

fn deployment(operator: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {operator}
  namespace: {operator}
  annotations:
    {INCLUDED}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {operator}}}}}
  template:
    metadata: {{labels: {{app: {operator}}}}}
    spec:
      containers:
      - name: {operator}
        image: quay.io/example/{operator}:dev
        env: [{{name: RELEASE, value: 0.0.1-snapshot}}]
"
    )
}

fn references(operator: &str) -> String {
    format!(
        "\
apiVersion: image.openshift.io/v1
kind: ImageStream
spec:
  tags:
  - {{name: {operator}, from: {{kind: DockerImage, name: quay.io/example/{operator}:dev}}}}
"
    )
}

/// Replaces digests that depend on this host. Those of the operators repeat one digit.
fn without_digests(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let mut printed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_hexdigit).count();
        let (digest, rest) = part.split_at(digits);
        let repeats = digest.chars().all(|digit| digest.starts_with(digit));
        printed.push_str(if repeats { "sha256:" } else { "DIGEST" });
        printed.push_str(if repeats { part } else { rest });
    }
    printed
}
