//! The update service of Fairway.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use fairway_graph::cincinnati::GraphSerializer;
use fairway_graph::{Graph, GraphData, build, releases};
use fairway_testkit::wait;
use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{PolledSource, Service, ServiceOptions, TlsFiles};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::service::{self, document};
use super::stage::{Stage, is_retrieved, short_intervals, single_request};

/// Short enough for a test, and long enough to write a file.
const SETTLE: Duration = Duration::from_millis(40);

/// Files of a service: three releases, one channel and one risk.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.write("data/version", "1.1.0\n");
        files.write(
            "data/channels/stable-5.1.yaml",
            "name: stable-5.1\nversions: [5.1.0, 5.1.1, 5.1.2]\n",
        );
        files.write("data/channels/fast-5.1.yaml", "name: fast-5.1\nversions: [5.1.1]\n");
        files.write("data/blocked-edges/5.1.2-Breaks.yaml", RISK);
        let release = |version: &str, previous: Value| {
            json!({
                "image": format!("registry.example/release@sha256:{version}"),
                "arch": "amd64",
                "release-metadata": {
                    "kind": "cincinnati-metadata-v0", "version": version, "previous": previous,
                    "metadata": {"url": format!("https://example.com/{version}")},
                },
            })
        };
        let releases = json!([
            release("5.1.0", json!([])),
            release("5.1.1", json!(["5.1.0"])),
            release("5.1.2", json!(["5.1.0", "5.1.1"])),
        ]);
        files.write("releases.json", &releases.to_string());
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Starts a service, with TLS if there is a certificate.
    pub(crate) async fn serve(&self) -> Service {
        let directory = Directory::new(self.path("data")).settle(SETTLE);
        let file = ReleasesFile::new(self.path("releases.json")).settle(SETTLE);
        let mut options = ServiceOptions::new(
            SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            PolledSource::new(directory, SETTLE / 2),
            PolledSource::new(file, SETTLE / 2),
        );
        let (certificate, key) = (self.path("tls.crt"), self.path("tls.key"));
        if certificate.exists() {
            options.tls = Some(TlsFiles { certificate, key, every: SETTLE });
        }
        let service = Service::start(options).await.unwrap();
        wait::until("a graph", async || Ok(service.status().graph.is_some().then_some(())))
            .await
            .unwrap();
        service
    }
}

const RISK: &str = "\
to: 5.1.2
from: 5[.]1[.]0.*
url: https://example.com/breaks
name: Breaks
message: It breaks.
matchingRules: [{type: PromQL, promql: {promql: vector(1)}}]
";

#[tokio::test]
async fn updates_of_fairway_service() {
    let files = Files::new();
    let service = files.serve().await;
    let upstream = format!("http://{}/api/upgrades_info/v1/graph", service.address());
    let stage = Stage::start(&upstream, short_intervals());
    let updates = stage.until_offered(&["5.1.2", "5.1.1"]).await;
    let candidates: Vec<String> = updates
        .candidates
        .iter()
        .map(|candidate| {
            let risks = candidate.risks.iter().map(|risk| format!("{risk:?}"));
            let release = serde_json::to_string(&candidate.release).unwrap();
            format!("{release}\n  {}", risks.collect::<Vec<_>>().join("\n  ")).trim_end().to_owned()
        })
        .collect();
    insta::assert_snapshot!(candidates.join("\n"), @r#"
    {"version":"5.1.2","image":"registry.example/release@sha256:5.1.2","url":"https://example.com/5.1.2","channels":["stable-5.1"]}
      Risk { name: "Breaks", message: "It breaks.", url: "https://example.com/breaks", matching_rules: [MatchingRule { type_: PromQl, promql: Some(PromQl { promql: "vector(1)", unknown: {} }), unknown: {} }], claim: None }
    {"version":"5.1.1","image":"registry.example/release@sha256:5.1.1","url":"https://example.com/5.1.1","channels":["fast-5.1","stable-5.1"]}
    "#);
    // The service sends an entity tag with each response.
    stage.until_counted("Unchanged", 3).await;

    files.write("data/blocked-edges/5.1.1-Blocked.yaml", "to: 5.1.1\nfrom: .*\n");
    stage.until_offered(&["5.1.2"]).await;

    stage.edit(|spec| spec.channel = Some("fast-5.1".to_owned()));
    let absent = stage.until_failed("VersionNotFound").await;
    stage.edit(|spec| spec.channel = Some("fats-5.1".to_owned()));
    let unknown = stage.until(|updates| updates.generation == 3).await;
    let messages =
        [absent, unknown].map(|updates| super::stage::message(&updates, service.address()));
    insta::assert_snapshot!(messages.join("\n"), @r#"
    Unable to retrieve available updates: the running version 5.1.0 is not in channel "fast-5.1" of http://SERVICE/api/upgrades_info/v1/graph. Set a channel that contains it with `fairway upgrade channel CHANNEL`.
    Unable to retrieve available updates: channel "fats-5.1" of http://SERVICE/api/upgrades_info/v1/graph has no releases for amd64. Check its name, or set another channel with `fairway upgrade channel CHANNEL`.
    "#);
}

/// The platform of `FAIRWAY_DATA`, if it is set.
fn platform() -> Option<Graph> {
    let directory = fairway_testkit::environment::data()?;
    let data = fairway_graph_files::read(&directory.join("graph-data-2026-08")).unwrap();
    let list = fs::read(directory.join("releases-2026-08.json")).unwrap();
    let (releases, _) = releases::read("releases", &list).unwrap();
    let (declared, _) = releases::declare(releases);
    Some(build::build(declared, &GraphData::read(&data).unwrap()).0)
}

/// Expected updates of a version with the names of their risks, from the JSON graph.
fn expected(answer: &Value, current: &str) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let nodes = answer["nodes"].as_array().unwrap();
    let place = |index: &Value| usize::try_from(index.as_u64().unwrap()).unwrap();
    let version = |index: &Value| text(&nodes[place(index)]["version"]);
    let mut targets = BTreeMap::new();
    for edge in answer["edges"].as_array().unwrap() {
        if version(&edge[0]) == current {
            targets.insert(version(&edge[1]), Vec::new());
        }
    }
    for group in answer["conditionalEdges"].as_array().unwrap() {
        for edge in group["edges"].as_array().unwrap() {
            if edge["from"] == current {
                let risks = group["risks"].as_array().unwrap().iter();
                targets.insert(text(&edge["to"]), risks.map(|risk| text(&risk["name"])).collect());
            }
        }
    }
    targets
}

#[tokio::test]
async fn updates_of_platform_match_graph() {
    let Some(graph) = platform() else { return };
    let view = GraphSerializer::architecture(&graph, "amd64");
    for (version, channel) in
        [("4.16.20", "stable-4.17"), ("4.18.9", "stable-4.19"), ("4.21.3", "candidate-4.22")]
    {
        let answer = String::from_utf8(view.channel_json(channel)).unwrap();
        let plain: Value = serde_json::from_str(&answer).unwrap();
        let service = service::Service::start(move |_| document(answer.clone())).await;
        let stage = Stage::of(version, channel, &service.url(), single_request());
        let updates = stage.until(is_retrieved).await;
        let offered: BTreeMap<String, Vec<String>> = updates
            .candidates
            .iter()
            .map(|candidate| {
                let risks = candidate.risks.iter().map(|risk| risk.name.clone()).collect();
                (candidate.release.version.clone(), risks)
            })
            .collect();
        let expected = expected(&plain, version);
        assert!(expected.len() > 10, "{version}: {expected:?}");
        assert_eq!(offered, expected, "{version}");
    }
}
