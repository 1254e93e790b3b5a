//! Releases from a real registry that are pushed, broken and deleted.

use std::time::Duration;

use anyhow::{Result, ensure};
use fairway_registry::pull::{PullOptions, Repository as Remote};
use fairway_registry::releases::Source as ImageSource;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, push};
use fairway_testkit::environment::registry;
use fairway_update_service::source::Repository;
use fairway_update_service::{PolledSource, Service, ServiceOptions};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::support::{GRAPH, TestData, get, until};

const RELEASES: usize = 200;

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A release with an update from the previous one.
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

/// A repository for one test in the shared registry.
struct TestRepository {
    registry: String,
    path: String,
}

impl TestRepository {
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

fn options(data: &TestData, name: &str) -> Result<ServiceOptions> {
    let remote = Remote::open(name, &PullOptions { attempts: 1, ..PullOptions::default() })?;
    let repository = Repository::new(ImageSource::Registry(Box::new(remote)));
    Ok(ServiceOptions { releases: PolledSource::new(repository, POLL_INTERVAL), ..data.options() })
}

/// Test data with a channel of all releases and of a future one.
fn data() -> TestData {
    let data = TestData::new();
    let versions: Vec<String> = (0..=RELEASES).map(|number| format!("5.1.{number}")).collect();
    let channel = format!("name: stable-5.1\nversions: [{}]\n", versions.join(", "));
    data.write("channels/stable-5.1.yaml", &channel);
    data
}

/// Waits for a complete poll of the registry.
async fn poll_requests(proxy: &Proxy) -> Vec<String> {
    let mut requests = proxy.requests();
    let lists =
        |requests: &[String]| requests.iter().filter(|one| one.contains("/tags/list")).count();
    while lists(&requests) < 3 {
        tokio::time::sleep_until(Instant::now() + POLL_INTERVAL).await;
        requests.extend(proxy.requests());
    }
    requests
}

fn count_digests(requests: &[String]) -> usize {
    requests.iter().filter(|requests| requests.contains("/sha256:")).count()
}

async fn metric(service: &Service, name: &str) -> Option<String> {
    let metrics = get(service, "/metrics").await;
    let line = metrics.text().lines().find(|line| line.starts_with(name))?.to_owned();
    line.rsplit_once(' ').map(|(_, value)| value.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn registry_with_200_releases_is_served() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let pushed = TestRepository::new()?;
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
    let data = data();
    let service = Service::start(options(&data, &name)?).await?;
    until(&service, |status| status.graph.is_some()).await;
    println!("{RELEASES} releases are served after {:?}", begin.elapsed());
    let graph = get(&service, GRAPH).await.json();
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(RELEASES));
    // Each release but the first has an update from the previous one; one of these has a risk.
    assert_eq!(graph["edges"].as_array().map(Vec::len), Some(RELEASES - 2));
    let payload = format!("{name}@{}", release(0)?.digest());
    assert_eq!(graph["nodes"][0]["payload"], Value::from(payload));

    // A manifest, a layer and a configuration of each, and no more requests afterwards.
    let mut requests = proxy.requests();
    requests.extend(poll_requests(&proxy).await);
    assert_eq!(count_digests(&requests), 3 * RELEASES);
    assert_eq!(count_digests(&poll_requests(&proxy).await), 0, "known digests");

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
    let reasons: Vec<&str> = status.quarantined.iter().map(|item| item.why.as_str()).collect();
    assert!(
        reasons.iter().any(|why| why.starts_with(&format!("{name}:5.1.9 omitted: "))),
        "{reasons:?}"
    );
    let graph = get(&service, GRAPH).await.json();
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(RELEASES - 1));
    // A manifest, a layer and a configuration of the new release; two requests for the broken one.
    let mut requests = proxy.requests();
    requests.extend(poll_requests(&proxy).await);
    assert_eq!(count_digests(&requests), 5);
    Ok(())
}

#[tokio::test]
async fn unreachable_registry_reports_error() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let data = TestData::new();
    // A closed port.
    let service = Service::start(options(&data, "127.0.0.1:1/releases").unwrap()).await.unwrap();
    until(&service, |status| status.sources.get(1).is_some_and(|one| one.error.is_some())).await;
    let error = service.status().sources[1].error.clone().unwrap();
    insta::assert_snapshot!(error, @"cannot list the tags of 127.0.0.1:1/releases: http://127.0.0.1:1/v2/releases/tags/list: Connection refused (os error 111)");
    assert_eq!(get(&service, "/healthz").await.status, 200);
    assert_eq!(get(&service, GRAPH).await.status, 503);
}
