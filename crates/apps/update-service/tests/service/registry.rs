//! Releases from a real registry, while they are pushed, broken and deleted.

use std::time::Duration;

use anyhow::{Result, ensure};
use fairway_registry::pull::{Options as PullOptions, Repository as Remote};
use fairway_registry::releases::Source as Images;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, push};
use fairway_testkit::environment::registry;
use fairway_update_service::source::Repository;
use fairway_update_service::{Options, Service, Watched};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::support::{GRAPH, World, get, until};

const RELEASES: usize = 200;

/// Two looks are at least so far apart.
const EVERY: Duration = Duration::from_millis(200);

/// A release that the one before it leads to.
fn release(number: usize) -> Result<Image> {
    let previous: Vec<String> =
        number.checked_sub(1).map(|before| format!("5.1.{before}")).into_iter().collect();
    let version = format!("5.1.{number}");
    let metadata =
        json!({ "kind": "cincinnati-metadata-v0", "version": version, "previous": previous });
    image(&metadata.to_string())
}

fn image(metadata: &str) -> Result<Image> {
    let layer = LayerBuilder::new().file("release-manifests/release-metadata", 0o644, metadata)?;
    Ok(Image::new(vec![layer.build()?], &ImageConfig::default()))
}

/// A repository for one test, in the registry that tests share.
struct Pushed {
    registry: String,
    path: String,
}

impl Pushed {
    fn new() -> Result<Self> {
        Ok(Self { registry: registry()?, path: format!("served-{}", std::process::id()) })
    }

    async fn push(&self, tag: &str, image: &Image) -> Result<()> {
        push::push(image, &format!("{}/{}:{tag}", self.registry, self.path)).await?;
        Ok(())
    }

    async fn delete(&self, digest: &Digest) -> Result<()> {
        let url = format!("http://{}/v2/{}/manifests/{digest}", self.registry, self.path);
        let deleted = reqwest::Client::new().delete(url).send().await?;
        ensure!(deleted.status() == 202, "{}", deleted.status());
        Ok(())
    }
}

fn options(world: &World, name: &str) -> Result<Options> {
    let remote = Remote::open(name, &PullOptions { attempts: 1, ..PullOptions::default() })?;
    let repository = Repository::new(Images::Registry(Box::new(remote)));
    Ok(Options { releases: Watched::new(repository, EVERY), ..world.options() })
}

/// A channel of all releases, and of one to come.
fn world() -> World {
    let world = World::new();
    let versions: Vec<String> = (0..=RELEASES).map(|number| format!("5.1.{number}")).collect();
    let channel = format!("name: stable-5.1\nversions: [{}]\n", versions.join(", "));
    world.write("channels/stable-5.1.yaml", &channel);
    world
}

/// Waits until the service has looked at the registry again, from the beginning to the end.
async fn looked_again(proxy: &Proxy) -> Vec<String> {
    let mut asked = proxy.asked();
    let lists = |asked: &[String]| asked.iter().filter(|one| one.contains("/tags/list")).count();
    while lists(&asked) < 3 {
        tokio::time::sleep_until(Instant::now() + EVERY).await;
        asked.extend(proxy.asked());
    }
    asked
}

fn of_digests(asked: &[String]) -> usize {
    asked.iter().filter(|asked| asked.contains("/sha256:")).count()
}

async fn metric(service: &Service, name: &str) -> Option<String> {
    let metrics = get(service, "/metrics").await;
    let line = metrics.text().lines().find(|line| line.starts_with(name))?.to_owned();
    line.rsplit_once(' ').map(|(_, value)| value.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn two_hundred_releases_of_a_real_registry_are_served() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let pushed = Pushed::new()?;
    stream::iter(0..RELEASES)
        .map(|number| {
            let pushed = &pushed;
            async move { pushed.push(&format!("5.1.{number}"), &release(number)?).await }
        })
        .buffer_unordered(4)
        .try_collect::<Vec<()>>()
        .await?;

    let proxy = Proxy::start(&pushed.registry).await?;
    let name = format!("{}/{}", proxy.address(), pushed.path);
    let begin = Instant::now();
    let world = world();
    let service = Service::start(options(&world, &name)?).await?;
    until(&service, |status| status.graph.is_some()).await;
    println!("{RELEASES} releases are served after {:?}", begin.elapsed());
    let graph = get(&service, GRAPH).await.json();
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(RELEASES));
    // Each but the first can be reached from the one before; one of these updates has a risk.
    assert_eq!(graph["edges"].as_array().map(Vec::len), Some(RELEASES - 2));
    let payload = format!("{name}@{}", release(0)?.digest());
    assert_eq!(graph["nodes"][0]["payload"], Value::from(payload));

    // A manifest, a layer and a configuration of each, and then never again.
    let mut asked = proxy.asked();
    asked.extend(looked_again(&proxy).await);
    assert_eq!(of_digests(&asked), 3 * RELEASES);
    assert_eq!(of_digests(&looked_again(&proxy).await), 0, "known digests");

    pushed.push(&format!("5.1.{RELEASES}"), &release(RELEASES)?).await?;
    pushed.push("broken", &image("{")?).await?;
    until(&service, |status| {
        let releases = status.graph.as_ref().is_some_and(|graph| graph.counts.releases > RELEASES);
        releases && !status.quarantined.is_empty()
    })
    .await;
    let why = service.status().quarantined[0].why.clone();
    assert!(why.starts_with(&format!("{name}:broken omitted: ")), "{why}");
    let quarantined = "fairway_update_service_quarantined{kind=\"release\"}";
    assert_eq!(metric(&service, quarantined).await.as_deref(), Some("1"));

    pushed.delete(release(7)?.digest()).await?;
    proxy.forbid(&format!("/v2/{}/manifests/5.1.9", pushed.path));
    until(&service, |status| status.graph.as_ref().unwrap().counts.releases == RELEASES - 1).await;
    let gone = metric(&service, "fairway_update_service_vanished_releases_total").await;
    assert_eq!(gone.as_deref(), Some("2"));
    let status = service.status();
    let told: Vec<&str> = status.quarantined.iter().map(|item| item.why.as_str()).collect();
    assert!(told.iter().any(|why| why.starts_with(&format!("{name}:5.1.9 omitted: "))), "{told:?}");
    let graph = get(&service, GRAPH).await.json();
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(RELEASES - 1));
    // A manifest, a layer and a configuration of the new one; the broken one needs none.
    let mut asked = proxy.asked();
    asked.extend(looked_again(&proxy).await);
    assert_eq!(of_digests(&asked), 5);
    Ok(())
}

#[tokio::test]
async fn a_registry_that_is_away_changes_nothing() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let world = World::new();
    // Nobody listens there.
    let service = Service::start(options(&world, "127.0.0.1:1/releases").unwrap()).await.unwrap();
    until(&service, |status| status.sources.get(1).is_some_and(|one| one.error.is_some())).await;
    let error = service.status().sources[1].error.clone().unwrap();
    insta::assert_snapshot!(error, @"cannot list the tags of 127.0.0.1:1/releases: http://127.0.0.1:1/v2/releases/tags/list: Connection refused (os error 111)");
    assert_eq!(get(&service, "/healthz").await.status, 200);
    assert_eq!(get(&service, GRAPH).await.status, 503);
}
