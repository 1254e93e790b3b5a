//! `fairway graph`, on a small platform.

mod build;
mod diff;
mod errors;
mod hostile_input;
mod images;
mod lint;
mod platform;
mod queries;
mod show;

use std::fs;
use std::path::Path;
use std::process::Command;

use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{document, fairway, transcript};

/// Options for the graph of [`GraphFiles`].
pub(crate) const GRAPH: [&str; 2] = ["--releases=releases.json", "--graph-data=graph-data"];

/// Options for the graph of the images of [`GraphFiles`].
pub(crate) const IMAGES: [&str; 3] = [
    "--oci-layout=release-images",
    "--pull-from=registry.example/releases",
    "--graph-data-image=oci:graph-data-image:latest",
];

const FILES: [(&str, &str); 5] = [
    ("version", "1.1.0\n"),
    ("channels/stable-5.1.yaml", "name: stable-5.1\nversions: [5.0.1, 5.0.2, 5.1.0, 5.1.1]\n"),
    ("channels/fast-5.1.yaml", "name: fast-5.1\nversions: [5.0.1, 5.0.2, 5.1.0, 5.1.1, 5.1.2]\n"),
    (
        "blocked-edges/5.1.0-LeakyProxy.yaml",
        "\
to: 5.1.0
from: 5[.]0[.].*
url: https://bugs.example.com/1
name: LeakyProxy
message: On clusters with a proxy, the gateway loses connections.
fixedIn: 5.1.1
matchingRules:
- type: PromQL
  promql:
    promql: |
      max(gateway_uses_proxy)
      or
      0 * group(gateway_info)
",
    ),
    ("blocked-edges/5.1.1.yaml", "to: 5.1.1\nfrom: 5[.]0[.]1[+].*\n"),
];

/// A directory with releases and graph-data, where commands are run.
pub(crate) struct GraphFiles(TempDir);

impl GraphFiles {
    pub(crate) fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let releases = json!([
            release("5.0.1", "amd64", &[]),
            release("5.0.2", "amd64", &["5.0.1"]),
            release("5.1.0", "amd64", &["5.0.1", "5.0.2"]),
            release("5.1.1", "amd64", &["5.0.1", "5.1.0"]),
            release("5.1.2", "amd64", &["5.1.1", "5.0.9"]),
            release("5.1.1", "arm64", &[]),
        ]);
        files.write("releases.json", &releases.to_string());
        files.graph_data("graph-data", &[]);
        files
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes graph-data with additional or changed files.
    fn graph_data(&self, directory: &str, others: &[(&str, &str)]) {
        for (path, text) in FILES.iter().chain(others) {
            self.write(&format!("{directory}/{path}"), text);
        }
    }

    /// Writes a release as an image, and graph-data as another.
    pub(crate) fn images(&self) {
        let metadata = release("5.1.1", "amd64", &["5.0.1"])["release-metadata"].to_string();
        let release = LayerBuilder::new();
        let release = release.file("release-manifests/release-metadata", 0o644, metadata).unwrap();
        let inside = "/var/lib/cincinnati-graph-data";
        let data = LayerBuilder::new().host_tree(inside, &self.path().join("graph-data")).unwrap();
        for (directory, name, layer) in
            [("release-images", "5.1.1", release), ("graph-data-image", "latest", data)]
        {
            let image = Image::new(vec![layer.build().unwrap()], &ImageConfig::default());
            layout::write(&self.path().join(directory), &image, name).unwrap();
        }
    }

    fn fairway(&self, arguments: &[&str]) -> Command {
        let mut command = fairway();
        command.current_dir(self.path()).arg("graph").args(arguments);
        command
    }

    /// The transcript of a command.
    fn run(&self, arguments: &[&str]) -> String {
        transcript(&mut self.fairway(arguments))
    }

    /// The transcript of a command about the graph of the files.
    fn query(&self, arguments: &[&str]) -> String {
        self.run(&[arguments, &GRAPH].concat())
    }

    /// The standard output of a command as JSON.
    fn json(&self, arguments: &[&str]) -> Value {
        document(&mut self.fairway(arguments))
    }
}

fn release(version: &str, architecture: &str, previous: &[&str]) -> Value {
    json!({
        "image": format!("registry.example.com/release@sha256:{version}-{architecture}"),
        "arch": architecture,
        "release-metadata": {
            "kind": "cincinnati-metadata-v0", "version": version, "previous": previous,
        },
    })
}
