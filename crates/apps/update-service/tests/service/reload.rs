//! Data that changes under the service, for the better and for the worse.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use fairway_update_service::source::{ReleasesFile, Tarball};
use fairway_update_service::{Service, Watched};
use tokio::time::{Instant, sleep_until};

use crate::support::{GRAPH, SETTLE, World, get, until};

const CHANNEL: &str = "channels/stable-5.1.yaml";
const BLOCK: &str = "blocked-edges/5.1.2-Risk.yaml";

fn digest(service: &Service) -> String {
    service.status().graph.as_ref().unwrap().digest.clone()
}

#[tokio::test]
async fn good_data_is_taken_up() {
    let world = World::new();
    let service = world.serve().await;
    let (before, old) = (get(&service, GRAPH).await, digest(&service));
    world.write(CHANNEL, "name: stable-5.1\nversions: [5.1.0, 5.1.1]\n");
    until(&service, |status| status.graph.as_ref().unwrap().digest != old).await;
    let after = get(&service, GRAPH).await;
    assert_ne!(after.tag(), before.tag());
    assert_eq!(after.json()["nodes"].as_array().unwrap().len(), 2);
    world.releases(&[("5.1.0", &[])]);
    until(&service, |status| status.graph.as_ref().unwrap().counts.releases == 1).await;
    assert_eq!(get(&service, GRAPH).await.json()["nodes"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn data_that_cannot_be_used_changes_nothing() {
    for (path, text) in [
        ("version", "2.0.0"),
        ("version", "one"),
        ("raw/metadata.json", "{"),
        (CHANNEL, "name: stable-5.1\nversions: []\n"),
        // A block that nobody can read may have closed something.
        ("blocked-edges/New.yaml", "{{{"),
        ("blocked-edges/New.yaml", "from: .*"),
        ("blocked-edges/New.yaml", "to: five\nfrom: .*"),
    ] {
        let world = World::new();
        let service = world.serve().await;
        let before = get(&service, GRAPH).await;
        world.write(path, text);
        until(&service, |status| status.held.is_some()).await;
        let after = get(&service, GRAPH).await;
        assert_eq!((after.status, after.tag()), (200, before.tag()), "{path}: {text}");
        assert_eq!(get(&service, "/readyz").await.status, 200);
        let metrics = get(&service, "/metrics").await;
        assert!(metrics.text().contains("fairway_update_service_held 1"));
    }
}

/// What is done to a directory of blocks.
type Deed = fn(&Path);

#[tokio::test]
async fn hostile_data_changes_nothing() {
    let deeds: [(Deed, &str); 5] = [
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
    for (deed, expected) in deeds {
        let world = World::new();
        let service = world.serve().await;
        let before = get(&service, GRAPH).await;
        deed(&world.graph_data().join("blocked-edges"));
        until(&service, |status| status.sources[0].error.is_some()).await;
        let error = service.status().sources[0].error.clone().unwrap();
        assert!(error.ends_with(expected), "{error}");
        let after = get(&service, GRAPH).await;
        assert_eq!((after.status, after.tag()), (200, before.tag()), "{expected}");
        assert_eq!(get(&service, "/readyz").await.status, 200);
    }
}

#[tokio::test]
async fn the_reason_is_said() {
    let world = World::new();
    let service = world.serve().await;
    world.write("blocked-edges/New.yaml", "from: .*");
    until(&service, |status| status.held.is_some()).await;
    insta::assert_snapshot!(service.status().held.clone().unwrap(), @"new graph-data may fail to block updates: blocked-edges/New.yaml: no `to`, no update is blocked");
    world.remove("blocked-edges/New.yaml");
    until(&service, |status| status.held.is_none()).await;
}

#[tokio::test]
async fn a_file_that_breaks_is_used_as_it_was_and_the_rest_goes_on() {
    for broken in [BLOCK, CHANNEL] {
        let world = World::new();
        let service = world.serve().await;
        let before = get(&service, GRAPH).await;
        world.write(broken, "{{{");
        world.write("channels/fast-5.1.yaml", "name: fast-5.1\nversions: [5.1.2]\n");
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
async fn a_first_graph_is_served_without_what_nobody_can_read() {
    let world = World::new();
    world.write("blocked-edges/New.yaml", "{{{");
    let service = world.serve().await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
    assert_eq!(service.status().quarantined.len(), 1);
}

#[tokio::test]
async fn what_a_file_s_name_says_is_closed_whether_the_service_is_new_or_not() {
    let world = World::new();
    let old = world.serve().await;
    world.write("blocked-edges/5.1.1-New.yaml", "{{{");
    until(&old, |status| status.quarantined.len() == 1).await;
    let new = world.serve().await;
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
async fn bad_releases_cost_themselves() {
    let world = World::new();
    let service = world.serve().await;
    world.releases(&[("5.1.0", &[]), ("5.1.1", &["5.1.0"]), ("five", &[])]);
    until(&service, |status| status.quarantined.len() == 1).await;
    assert_eq!(service.status().graph.as_ref().unwrap().counts.releases, 2);
    fs::write(world.path("releases.json"), "[{").unwrap();
    until(&service, |status| status.sources[1].error.is_some()).await;
    // It stays an error for as long as the file is broken.
    sleep_until(Instant::now() + 8 * SETTLE).await;
    assert!(service.status().sources[1].error.is_some());
    assert_eq!(get(&service, GRAPH).await.json()["nodes"].as_array().unwrap().len(), 2);
    world.releases(&[("5.1.0", &[])]);
    until(&service, |status| status.graph.as_ref().unwrap().counts.releases == 1).await;
}

#[tokio::test]
async fn a_directory_that_goes_away_changes_nothing() {
    let world = World::new();
    let service = world.serve().await;
    fs::rename(world.graph_data(), world.path("elsewhere")).unwrap();
    until(&service, |status| status.sources[0].error.is_some()).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
    fs::rename(world.path("elsewhere"), world.graph_data()).unwrap();
    until(&service, |status| status.sources[0].error.is_none()).await;
}

#[tokio::test]
async fn blocks_that_vanish_are_counted() {
    let world = World::new();
    let service = world.serve().await;
    world.remove(BLOCK);
    until(&service, |status| status.graph.as_ref().unwrap().counts.conditional == 0).await;
    let metrics = get(&service, "/metrics").await;
    assert!(metrics.text().contains("fairway_update_service_vanished_block_files_total 1"));
}

#[tokio::test]
async fn a_directory_is_taken_when_nobody_writes_it_any_more() {
    let world = World::new();
    let service = world.serve().await;
    let old = digest(&service);
    // Somebody writes a file after the other, faster than the service looks twice.
    let writing = Instant::now();
    let mut versions = String::new();
    while writing.elapsed() < 8 * SETTLE {
        versions.push_str(", 5.1.1");
        world.write(CHANNEL, &format!("name: stable-5.1\nversions: [5.1.0{versions}]\n"));
        assert_eq!(digest(&service), old, "half of it is served");
        sleep_until(Instant::now() + Duration::from_millis(10)).await;
    }
    until(&service, |status| status.graph.as_ref().unwrap().digest != old).await;
}

#[tokio::test]
async fn a_tarball_does_as_well() {
    let world = World::new();
    let directory = world.serve().await;
    let archive = get(&directory, "/api/upgrades_info/graph-data").await.body;
    let path = world.path("graph-data.tar.gz");
    fs::write(&path, &archive).unwrap();
    let mut options = world.options();
    options.graph_data = Watched::new(Tarball::new(&path).settle(SETTLE), SETTLE);
    options.releases =
        Watched::new(ReleasesFile::new(world.path("releases.json")).settle(SETTLE), SETTLE);
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    assert_eq!(digest(&service), digest(&directory));
    fs::write(&path, &archive[..archive.len() / 2]).unwrap();
    until(&service, |status| status.sources[0].error.is_some()).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
}
