//! Graph-data from an image.

use std::fs;
use std::path::Path;

use fairway_registry::contents::NamedImage;
use fairway_registry::pull;
use fairway_registry::signature::{Keyring, Store};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use fairway_testkit::gpg::Signer;
use fairway_update_service::source::{GraphDataImage, SignaturePolicy};
use fairway_update_service::{
    PolledSource, RemovedBlockPolicy, Service, ServiceOptions, ServiceStatus,
};

use crate::support::{GRAPH, SETTLE, TestData, get, until};

/// Writes the graph-data as an image into a layout.
fn publish(data: &TestData) -> Digest {
    let layer = LayerBuilder::new()
        .host_tree("/var/lib/cincinnati-graph-data", &data.graph_data())
        .unwrap();
    let image = Image::new(vec![layer.build().unwrap()], &ImageConfig::default());
    layout::write(&data.path("layout"), &image, "registry.example/graph-data:latest").unwrap();
    image.digest().clone()
}

const BLOCK: &str = "blocked-edges/5.1.2-Risk.yaml";

/// Options as the command sets them, with a state directory.
fn options_with_state(
    data: &TestData,
    signatures: Option<SignaturePolicy>,
    accepted: &[&str],
) -> ServiceOptions {
    let image = image(data, signatures).state_directory(&data.path("state"));
    let accepted = accepted.iter().map(|path| (*path).to_owned()).collect();
    ServiceOptions {
        graph_data: PolledSource::new(image, SETTLE),
        removed_blocks: RemovedBlockPolicy::Hold { accepted },
        state_directory: Some(data.path("state")),
        ..data.options()
    }
}

fn options(data: &TestData, signatures: Option<SignaturePolicy>) -> ServiceOptions {
    let graph_data = PolledSource::new(image(data, signatures), SETTLE);
    ServiceOptions { graph_data, ..data.options() }
}

fn image(data: &TestData, signatures: Option<SignaturePolicy>) -> GraphDataImage {
    let name = format!("oci:{}:latest", data.path("layout").display());
    let image = NamedImage::open(&name, &pull::PullOptions::default()).unwrap();
    let image = GraphDataImage::new(image);
    match signatures {
        Some(signatures) => image.signed(signatures),
        None => image,
    }
}

fn digest(service: &Service) -> String {
    service.status().graph.as_ref().unwrap().digest.clone()
}

async fn nodes(service: &Service) -> usize {
    get(service, GRAPH).await.json()["nodes"].as_array().unwrap().len()
}

#[tokio::test]
async fn image_gives_same_graph_as_directory() {
    let data = TestData::new();
    let directory = data.serve().await;
    publish(&data);
    let service = Service::start(options(&data, None)).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let (one, other) = (get(&service, GRAPH).await, get(&directory, GRAPH).await);
    assert_eq!(one.tag(), other.tag());

    data.write("channels/stable-5.1.yaml", "name: stable-5.1\nversions: [5.1.0]\n");
    let before = digest(&service);
    publish(&data);
    until(&service, |status| status.graph.as_ref().unwrap().digest != before).await;
    assert_eq!(nodes(&service).await, 1);
}

#[tokio::test]
async fn image_without_graph_data_keeps_graph() {
    let data = TestData::new();
    publish(&data);
    let service = Service::start(options(&data, None)).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let layer = LayerBuilder::new().file("etc/hosts", 0o644, "").unwrap().build().unwrap();
    let empty = Image::new(vec![layer], &ImageConfig::default());
    layout::write(&data.path("layout"), &empty, "registry.example/graph-data:latest").unwrap();
    until(&service, |status| status.sources[0].error.is_some()).await;
    let error = service.status().sources[0].error.clone().unwrap();
    let error = error.replace(empty.digest().as_str(), "DIGEST");
    insta::assert_snapshot!(error, @"DIGEST contains no graph-data, neither in /var/lib/cincinnati-graph-data nor in its root directory");
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

fn sign(signer: &Signer, store: &Path, image: &Digest) {
    add_signature(store, image, &signer.sign(image).unwrap());
}

fn add_signature(store: &Path, image: &Digest, signature: &[u8]) {
    let directory = store.join(format!("sha256={}", image.hex()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("signature-1"), signature).unwrap();
}

fn policy(data: &TestData, signer: &Signer) -> SignaturePolicy {
    let keyring = Keyring::parse(&signer.keyring().unwrap()).unwrap();
    let store = data.path("signatures");
    let store = Store::open(store.to_str().unwrap(), &pull::PullOptions::default()).unwrap();
    SignaturePolicy { keyring, store }
}

#[tokio::test]
async fn image_with_keyring_requires_signature() {
    let Some(signer) = Signer::new().unwrap() else { return };
    let stranger = Signer::new().unwrap().unwrap();
    let data = TestData::new();
    let store = data.path("signatures");
    let first = publish(&data);
    let keyring = Keyring::parse(&signer.keyring().unwrap()).unwrap();
    let place = Store::open(store.to_str().unwrap(), &pull::PullOptions::default()).unwrap();
    let signatures = SignaturePolicy { keyring, store: place };
    let service = Service::start(options(&data, Some(signatures))).await.unwrap();
    until(&service, |status| status.sources.first().is_some_and(|one| one.error.is_some())).await;
    assert_eq!(get(&service, GRAPH).await.status, 503);
    let unsigned = service.status().sources[0].error.clone().unwrap();
    sign(&signer, &store, &first);
    until(&service, |status| status.graph.is_some()).await;

    data.write("channels/stable-5.1.yaml", "name: stable-5.1\nversions: [5.1.0]\n");
    let second = publish(&data);
    sign(&stranger, &store, &second);
    until(&service, |status| status.sources[0].error.is_some()).await;
    assert_eq!(nodes(&service).await, 3);
    let foreign = service.status().sources[0].error.clone().unwrap();
    assert_eq!(unsigned, format!("{first} is not signed"));
    assert!(
        foreign.starts_with(&format!("no signature of {second} is valid: signed by ")),
        "{foreign}"
    );
    let before = digest(&service);
    sign(&signer, &store, &second);
    until(&service, |status| status.graph.as_ref().unwrap().digest != before).await;
    assert_eq!(nodes(&service).await, 1);
}

#[tokio::test]
async fn older_signed_image_is_refused_after_restart_too() {
    let Some(signer) = Signer::new().unwrap() else { return };
    let data = TestData::new();
    let store = data.path("signatures");
    // The old image has no block, as before the risk was known.
    let block = fs::read_to_string(data.graph_data().join(BLOCK)).unwrap();
    data.remove(BLOCK);
    let old = publish(&data);
    data.write(BLOCK, &block);
    let new = publish(&data);
    // Keyrings accept clocks that are some minutes ahead.
    let start = fairway_clock::now().as_second();
    sign(&signer, &store, &old);
    add_signature(&store, &new, &signer.sign_at(&new, start + 120).unwrap());

    let options = || options_with_state(&data, Some(policy(&data, &signer)), &["*"]);
    let mut service = Service::start(options()).await.unwrap();
    for restart in [false, true] {
        if restart {
            service.stop().await;
            service = Service::start(options()).await.unwrap();
        }
        until(&service, |status| status.graph.is_some()).await;
        // A registry moves the tag to the old image.
        data.remove(BLOCK);
        assert_eq!(publish(&data), old);
        until(&service, |status| status.sources[0].error.is_some()).await;
        let error = service.status().sources[0].error.clone().unwrap();
        assert!(error.starts_with(&format!("signature of {old} is of ")), "{error}");
        let graph = service.status().graph.clone().unwrap();
        assert_eq!(graph.counts.conditional, 1, "the block is still served");
        data.write(BLOCK, &block);
        if !restart {
            publish(&data);
        }
    }
    // Signed again, it is accepted.
    add_signature(&store, &old, &signer.sign_at(&old, start + 240).unwrap());
    until(&service, |status| status.graph.as_ref().unwrap().counts.conditional == 0).await;
}

#[tokio::test]
async fn removed_block_of_image_is_held_until_accepted() {
    let data = TestData::new();
    publish(&data);
    let service = Service::start(options_with_state(&data, None, &[])).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let before = digest(&service);
    // A file that moves is no removal.
    let block = fs::read_to_string(data.graph_data().join(BLOCK)).unwrap();
    data.remove(BLOCK);
    data.write("blocked-edges/5.1.2-Moved.yaml", &block);
    data.write("channels/fast-5.1.yaml", "name: fast-5.1\nversions: [5.1.2]\n");
    publish(&data);
    until(&service, |status| status.graph.as_ref().unwrap().digest != before).await;

    data.remove("blocked-edges/5.1.2-Moved.yaml");
    publish(&data);
    until(&service, |status| status.held.is_some()).await;
    let status = service.status();
    insta::assert_snapshot!(status.held.as_ref().unwrap(), @"new graph-data has no blocked-edges/5.1.2-Moved.yaml any more; restore the files, or accept the removal with --accept-removed-blocks");
    assert_eq!(status.removed_blocks, ["blocked-edges/5.1.2-Moved.yaml"]);
    assert_eq!(status.graph.as_ref().unwrap().counts.conditional, 1);
    let metrics = get(&service, "/metrics").await;
    assert!(
        metrics.text().contains("fairway_update_service_unaccepted_removed_block_files 1"),
        "{}",
        metrics.text()
    );
    service.stop().await;

    // A restart alone accepts nothing.
    let service = Service::start(options_with_state(&data, None, &[])).await.unwrap();
    until(&service, |status| status.held.is_some()).await;
    assert_eq!(service.status().graph.as_ref().unwrap().counts.conditional, 1);
    service.stop().await;

    let accepted = ["blocked-edges/5.1.2-*"];
    let service = Service::start(options_with_state(&data, None, &accepted)).await.unwrap();
    let is_open = |status: &ServiceStatus| {
        status.graph.as_ref().is_some_and(|graph| graph.counts.conditional == 0)
    };
    until(&service, is_open).await;
    assert_eq!((&service.status().held, service.status().removed_blocks.len()), (&None, 0));
}
