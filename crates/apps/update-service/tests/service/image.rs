//! Graph-data from an image.

use std::fs;
use std::path::Path;

use fairway_registry::contents::NamedImage;
use fairway_registry::pull;
use fairway_registry::signature::{Keyring, Store};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use fairway_testkit::gpg::Signer;
use fairway_update_service::source::{GraphDataImage, SignaturePolicy};
use fairway_update_service::{PolledSource, Service, ServiceOptions};

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

fn options(data: &TestData, signatures: Option<SignaturePolicy>) -> ServiceOptions {
    let name = format!("oci:{}:latest", data.path("layout").display());
    let image = NamedImage::open(&name, &pull::PullOptions::default()).unwrap();
    let image = GraphDataImage::new(image);
    let image = match signatures {
        Some(signatures) => image.signed(signatures),
        None => image,
    };
    ServiceOptions { graph_data: PolledSource::new(image, SETTLE), ..data.options() }
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
    let directory = store.join(format!("sha256={}", image.hex()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("signature-1"), signer.sign(image).unwrap()).unwrap();
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
