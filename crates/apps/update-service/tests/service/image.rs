//! Graph-data from an image.

use std::fs;
use std::path::Path;

use fairway_registry::contents::NamedImage;
use fairway_registry::pull;
use fairway_registry::signature::{Keyring, Store};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use fairway_testkit::gpg::Signer;
use fairway_update_service::source::{GraphDataImage, Signatures};
use fairway_update_service::{Options, Service, Watched};

use crate::support::{GRAPH, SETTLE, World, get, until};

/// Writes the world's graph-data as an image into a layout.
fn publish(world: &World) -> Digest {
    let layer = LayerBuilder::new()
        .host_tree("/var/lib/cincinnati-graph-data", &world.graph_data())
        .unwrap();
    let image = Image::new(vec![layer.build().unwrap()], &ImageConfig::default());
    layout::write(&world.path("layout"), &image, "registry.example/graph-data:latest").unwrap();
    image.digest().clone()
}

fn options(world: &World, signatures: Option<Signatures>) -> Options {
    let name = format!("oci:{}:latest", world.path("layout").display());
    let image = NamedImage::open(&name, &pull::Options::default()).unwrap();
    let image = GraphDataImage::new(image);
    let image = match signatures {
        Some(signatures) => image.signed(signatures),
        None => image,
    };
    Options { graph_data: Watched::new(image, SETTLE), ..world.options() }
}

fn digest(service: &Service) -> String {
    service.status().graph.as_ref().unwrap().digest.clone()
}

async fn nodes(service: &Service) -> usize {
    get(service, GRAPH).await.json()["nodes"].as_array().unwrap().len()
}

#[tokio::test]
async fn an_image_does_as_well_as_a_directory() {
    let world = World::new();
    let directory = world.serve().await;
    publish(&world);
    let service = Service::start(options(&world, None)).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let (one, other) = (get(&service, GRAPH).await, get(&directory, GRAPH).await);
    assert_eq!(one.tag(), other.tag());

    world.write("channels/stable-5.1.yaml", "name: stable-5.1\nversions: [5.1.0]\n");
    let before = digest(&service);
    publish(&world);
    until(&service, |status| status.graph.as_ref().unwrap().digest != before).await;
    assert_eq!(nodes(&service).await, 1);
}

#[tokio::test]
async fn an_image_without_graph_data_changes_nothing() {
    let world = World::new();
    publish(&world);
    let service = Service::start(options(&world, None)).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let layer = LayerBuilder::new().file("etc/hosts", 0o644, "").unwrap().build().unwrap();
    let empty = Image::new(vec![layer], &ImageConfig::default());
    layout::write(&world.path("layout"), &empty, "registry.example/graph-data:latest").unwrap();
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
async fn with_a_keyring_only_what_is_signed_counts() {
    let Some(signer) = Signer::new().unwrap() else { return };
    let stranger = Signer::new().unwrap().unwrap();
    let world = World::new();
    let store = world.path("signatures");
    let first = publish(&world);
    let keyring = Keyring::parse(&signer.keyring().unwrap()).unwrap();
    let place = Store::open(store.to_str().unwrap(), &pull::Options::default()).unwrap();
    let signatures = Signatures { keyring, store: place };
    let service = Service::start(options(&world, Some(signatures))).await.unwrap();
    until(&service, |status| status.sources.first().is_some_and(|one| one.error.is_some())).await;
    assert_eq!(get(&service, GRAPH).await.status, 503);
    let unsigned = service.status().sources[0].error.clone().unwrap();
    sign(&signer, &store, &first);
    until(&service, |status| status.graph.is_some()).await;

    world.write("channels/stable-5.1.yaml", "name: stable-5.1\nversions: [5.1.0]\n");
    let second = publish(&world);
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
