//! Changes of the data, valid and invalid.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use fairway_update_service::source::{ReleasesFile, Tarball};
use fairway_update_service::{PolledSource, Service};
use tokio::time::{Instant, sleep_until};

use crate::support::{GRAPH, SETTLE, TestData, get, until};

const CHANNEL: &str = "channels/stable-5.1.yaml";
const BLOCK: &str = "blocked-edges/5.1.2-Risk.yaml";

fn digest(service: &Service) -> String {
    service.status().graph.as_ref().unwrap().digest.clone()
}

#[tokio::test]
async fn valid_data_is_published() {
    let data = TestData::new();
    let service = data.serve().await;
    let (before, old) = (get(&service, GRAPH).await, digest(&service));
    data.write(CHANNEL, "name: stable-5.1\nversions: [5.1.0, 5.1.1]\n");
    until(&service, |status| status.graph.as_ref().unwrap().digest != old).await;
    let after = get(&service, GRAPH).await;
    assert_ne!(after.tag(), before.tag());
    assert_eq!(after.json()["nodes"].as_array().unwrap().len(), 2);
    data.releases(&[("5.1.0", &[])]);
    until(&service, |status| status.graph.as_ref().unwrap().counts.releases == 1).await;
    assert_eq!(get(&service, GRAPH).await.json()["nodes"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn invalid_data_keeps_graph() {
    for (path, text) in [
        ("version", "2.0.0"),
        ("version", "one"),
        ("raw/metadata.json", "{"),
        (CHANNEL, "name: stable-5.1\nversions: []\n"),
        // An unreadable file may have blocked updates.
        ("blocked-edges/New.yaml", "{{{"),
        ("blocked-edges/New.yaml", "from: .*"),
        ("blocked-edges/New.yaml", "to: five\nfrom: .*"),
    ] {
        let data = TestData::new();
        let service = data.serve().await;
        let before = get(&service, GRAPH).await;
        data.write(path, text);
        until(&service, |status| status.held.is_some()).await;
        let after = get(&service, GRAPH).await;
        assert_eq!((after.status, after.tag()), (200, before.tag()), "{path}: {text}");
        assert_eq!(get(&service, "/readyz").await.status, 200);
        let metrics = get(&service, "/metrics").await;
        assert!(metrics.text().contains("fairway_update_service_held 1"));
    }
}

/// Changes the directory of blocked edges.
type Change = fn(&Path);

#[tokio::test]
async fn hostile_data_keeps_graph() {
    let changes: [(Change, &str); 5] = [
        (
            |blocks| symlink("/etc/hostname", blocks.join("out.yaml")).unwrap(),
            "blocked-edges/out.yaml: symbolic link to a target outside of the directory",
        ),
        (
            |blocks| drop(UnixListener::bind(blocks.join("socket.yaml")).unwrap()),
            "blocked-edges/socket.yaml: not a regular file",
        ),
        (
            |blocks| fs::File::create(blocks.join("long.yaml")).unwrap().set_len(1 << 40).unwrap(),
            "blocked-edges/long.yaml has 1099511627776 bytes; the limit is 1048576 bytes",
        ),
        (
            |blocks| fs::write(blocks.join("a\nb.yaml"), "").unwrap(),
            r#"path "blocked-edges/a\nb.yaml" is outside of the directory"#,
        ),
        (
            |blocks| {
                (0..8_193).for_each(|name| fs::write(blocks.join(format!("{name}")), "").unwrap());
            },
            "more than 8192 files",
        ),
    ];
    for (change, expected) in changes {
        let data = TestData::new();
        let service = data.serve().await;
        let before = get(&service, GRAPH).await;
        change(&data.graph_data().join("blocked-edges"));
        until(&service, |status| status.sources[0].error.is_some()).await;
        let error = service.status().sources[0].error.clone().unwrap();
        assert!(error.ends_with(expected), "{error}");
        let after = get(&service, GRAPH).await;
        assert_eq!((after.status, after.tag()), (200, before.tag()), "{expected}");
        assert_eq!(get(&service, "/readyz").await.status, 200);
    }
}

#[tokio::test]
async fn rejected_data_reports_reason() {
    let data = TestData::new();
    let service = data.serve().await;
    data.write("blocked-edges/New.yaml", "from: .*");
    until(&service, |status| status.held.is_some()).await;
    insta::assert_snapshot!(service.status().held.clone().unwrap(), @"new graph-data may fail to block updates: blocked-edges/New.yaml: no `to`; no update is blocked");
    data.remove("blocked-edges/New.yaml");
    until(&service, |status| status.held.is_none()).await;
}

#[tokio::test]
async fn broken_file_keeps_previous_content() {
    for broken in [BLOCK, CHANNEL] {
        let data = TestData::new();
        let service = data.serve().await;
        let before = get(&service, GRAPH).await;
        data.write(broken, "{{{");
        data.write("channels/fast-5.1.yaml", "name: fast-5.1\nversions: [5.1.2]\n");
        until(&service, |status| status.graph.as_ref().unwrap().counts.channels.len() == 2).await;
        let status = service.status();
        assert_eq!(status.quarantined.len(), 1, "{broken}");
        assert!(status.quarantined[0].why.starts_with(broken), "{:?}", status.quarantined);
        let after = get(&service, GRAPH).await.json();
        for part in ["edges", "conditionalEdges"] {
            assert_eq!(after[part], before.json()[part], "{broken}");
        }
    }
}

#[tokio::test]
async fn first_graph_omits_unreadable_files() {
    let data = TestData::new();
    data.write("blocked-edges/New.yaml", "{{{");
    let service = data.serve().await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
    assert_eq!(service.status().quarantined.len(), 1);
}

#[tokio::test]
async fn unreadable_block_with_version_in_name_blocks_updates() {
    let data = TestData::new();
    let old = data.serve().await;
    data.write("blocked-edges/5.1.1-New.yaml", "{{{");
    until(&old, |status| status.quarantined.len() == 1).await;
    let new = data.serve().await;
    for service in [old, new] {
        let status = service.status();
        let why = &status.quarantined[0].why;
        assert!(why.contains("updates to 5.1.1 are blocked for all clusters"), "{why}");
        let graph = get(&service, GRAPH).await.json();
        assert_eq!(graph["edges"], serde_json::json!([[0, 2]]));
        let risks = graph["conditionalEdges"].as_array().unwrap().iter();
        let closed = risks.flat_map(|group| group["edges"].as_array().unwrap());
        assert_eq!(closed.count(), 2);
    }
}

#[tokio::test]
async fn invalid_releases_are_quarantined() {
    let data = TestData::new();
    let service = data.serve().await;
    data.releases(&[("5.1.0", &[]), ("5.1.1", &["5.1.0"]), ("five", &[])]);
    until(&service, |status| status.quarantined.len() == 1).await;
    assert_eq!(service.status().graph.as_ref().unwrap().counts.releases, 2);
    fs::write(data.path("releases.json"), "[{").unwrap();
    until(&service, |status| status.sources[1].error.is_some()).await;
    // The error stays as long as the file is broken.
    sleep_until(Instant::now() + 8 * SETTLE).await;
    assert!(service.status().sources[1].error.is_some());
    assert_eq!(get(&service, GRAPH).await.json()["nodes"].as_array().unwrap().len(), 2);
    data.releases(&[("5.1.0", &[])]);
    until(&service, |status| status.graph.as_ref().unwrap().counts.releases == 1).await;
}

#[tokio::test]
async fn missing_directory_keeps_graph() {
    let data = TestData::new();
    let service = data.serve().await;
    fs::rename(data.graph_data(), data.path("elsewhere")).unwrap();
    until(&service, |status| status.sources[0].error.is_some()).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
    fs::rename(data.path("elsewhere"), data.graph_data()).unwrap();
    until(&service, |status| status.sources[0].error.is_none()).await;
}

#[tokio::test]
async fn removed_block_files_are_counted() {
    let data = TestData::new();
    let service = data.serve().await;
    data.remove(BLOCK);
    until(&service, |status| status.graph.as_ref().unwrap().counts.conditional == 0).await;
    let metrics = get(&service, "/metrics").await;
    assert!(metrics.text().contains("fairway_update_service_vanished_block_files_total 1"));
}

#[tokio::test]
async fn changing_directory_is_published_when_stable() {
    let data = TestData::new();
    let service = data.serve().await;
    let old = digest(&service);
    // Files are written faster than the service reads them twice.
    let writing = Instant::now();
    let mut versions = String::new();
    while writing.elapsed() < 8 * SETTLE {
        versions.push_str(", 5.1.1");
        data.write(CHANNEL, &format!("name: stable-5.1\nversions: [5.1.0{versions}]\n"));
        assert_eq!(digest(&service), old, "half of it is served");
        sleep_until(Instant::now() + Duration::from_millis(10)).await;
    }
    until(&service, |status| status.graph.as_ref().unwrap().digest != old).await;
}

#[tokio::test]
async fn tarball_gives_same_graph_as_directory() {
    let data = TestData::new();
    let directory = data.serve().await;
    let archive = get(&directory, "/api/upgrades_info/graph-data").await.body;
    let path = data.path("graph-data.tar.gz");
    fs::write(&path, &archive).unwrap();
    let mut options = data.options();
    options.graph_data = PolledSource::new(Tarball::new(&path).settle(SETTLE), SETTLE);
    options.releases =
        PolledSource::new(ReleasesFile::new(data.path("releases.json")).settle(SETTLE), SETTLE);
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    assert_eq!(digest(&service), digest(&directory));
    fs::write(&path, &archive[..archive.len() / 2]).unwrap();
    until(&service, |status| status.sources[0].error.is_some()).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
}
