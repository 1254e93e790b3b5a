//! Scans of a real registry with the releases of a year.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum::http::{Method, StatusCode};
use fairway_fixtures::environment::REGISTRY;
use fairway_registry::pull::PullOptions;
use fairway_registry::releases::{ScanCache, ScanResult, ScanSettings, Source, scan};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, push};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

use crate::releases::images::{Content, Style, image, list, metadata, release, release_layer, tar};
use crate::releases::proxy::Proxy;
use crate::releases::{problems, source, versions};

const RELEASES: usize = 200;

/// A release with the operating system in the lower layer and manifests on top.
fn whole_release(version: &str) -> Result<Image> {
    let system = LayerBuilder::new().file("usr/share/system", 0o644, vec![7; 1 << 20])?.build()?;
    let mut payload =
        LayerBuilder::new().file("release-manifests/release-metadata", 0o644, metadata(version))?;
    for number in 0..50 {
        let path = format!("release-manifests/0000_{number}_manifest.yaml");
        payload = payload.file(path, 0o644, format!("{version} {number}\n").repeat(200))?;
    }
    Ok(Image::new(vec![system, payload.build()?], &ImageConfig::default()))
}

/// A repository for one test in the shared registry.
pub(crate) struct Repository {
    pub(crate) registry: String,
    pub(crate) path: String,
    client: reqwest::Client,
}

impl Repository {
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let path = format!("{purpose}-{}", std::process::id());
        let registry = std::env::var(REGISTRY)
            .with_context(|| format!("{REGISTRY} is not set: run `cargo xtask test`"))?;
        Ok(Self { registry, path, client: reqwest::Client::new() })
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.registry, self.path)
    }

    fn url(&self, what: &str) -> String {
        format!("http://{}/v2/{}/{what}", self.registry, self.path)
    }

    pub(crate) async fn push(&self, tag: &str, image: &Image) -> Result<()> {
        push::push(image, &format!("{}:{tag}", self.name())).await?;
        Ok(())
    }

    pub(crate) async fn upload(&self, tag: &str, content: &Content) -> Result<()> {
        for blob in &content.blobs {
            let begun = self.client.post(self.url("blobs/uploads/")).send().await?;
            let location = begun.headers().get("location").context("no place to upload to")?;
            let mut place = url::Url::parse(location.to_str()?)?;
            place.query_pairs_mut().append_pair("digest", Digest::of(blob).as_str());
            let sent = self.client.put(place).body(blob.clone()).send().await?;
            ensure!(sent.status() == StatusCode::CREATED, "{}", sent.status());
        }
        let manifest = self.client.put(self.url(&format!("manifests/{tag}")));
        let manifest = manifest.header("content-type", content.media_type);
        let sent = manifest.body(content.manifest.clone()).send().await?;
        ensure!(sent.status() == StatusCode::CREATED, "{}: {}", sent.status(), sent.text().await?);
        Ok(())
    }

    async fn delete(&self, digest: &Digest) -> Result<()> {
        let url = self.url(&format!("manifests/{digest}"));
        let deleted = self.client.delete(url).send().await?;
        ensure!(deleted.status() == StatusCode::ACCEPTED, "{}", deleted.status());
        Ok(())
    }
}

async fn timed(source: &Source, cache: &mut ScanCache) -> Result<(ScanResult, Duration)> {
    let begin = Instant::now();
    let scan = scan(source, cache, &ScanSettings::default()).await?;
    Ok((scan, begin.elapsed()))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn scan_of_200_releases_reads_each_once() -> Result<()> {
    let repository = Repository::new("releases")?;
    stream::iter(0..RELEASES)
        .map(|number| {
            let version = format!("4.7.{number}");
            let repository = &repository;
            async move { repository.push(&version, &whole_release(&version)?).await }
        })
        .buffer_unordered(4)
        .try_collect::<Vec<()>>()
        .await?;

    let proxy = Proxy::start(&repository.registry).await?;
    let name = format!("{}/{}", proxy.address(), repository.path);
    let source = source(&name, &PullOptions::default());
    let mut cache = ScanCache::default();
    let (first, first_took) = timed(&source, &mut cache).await?;
    assert_eq!(problems(&first), "");
    assert_eq!(first.releases.len(), RELEASES);
    let requests = proxy.requests();
    let of = |kind: &str| requests.iter().filter(|requests| requests.starts_with(kind)).count();
    assert_eq!(of("HEAD /v2/"), RELEASES, "one for each tag");
    // A manifest, the upper layer and a configuration, which differs between releases.
    assert_eq!(
        requests.iter().filter(|requests| requests.contains("/manifests/sha256:")).count(),
        RELEASES
    );
    assert_eq!(
        requests.iter().filter(|requests| requests.contains("/blobs/sha256:")).count(),
        2 * RELEASES
    );

    let (second, second_took) = timed(&source, &mut cache).await?;
    assert_eq!(second.releases, first.releases);
    assert!(proxy.requests().iter().all(|requests| !requests.contains("sha256:")), "known digests");

    repository.push("4.8.0", &whole_release("4.8.0")?).await?;
    let (third, third_took) = timed(&source, &mut cache).await?;
    assert_eq!(third.releases.len(), RELEASES + 1);
    assert_eq!(proxy.requests().iter().filter(|requests| requests.contains("sha256:")).count(), 3);

    let direct = crate::releases::source(&repository.name(), &PullOptions::default());
    let mut cache = ScanCache::default();
    let (_, direct_first) = timed(&direct, &mut cache).await?;
    let (_, direct_second) = timed(&direct, &mut cache).await?;
    println!(
        "{RELEASES} releases: first scan {direct_first:?}, nothing new {direct_second:?}; counted \
         by a proxy: {first_took:?}, {second_took:?}, one new {third_took:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn scan_of_real_registry_omits_only_bad_releases() -> Result<()> {
    let repository = Repository::new("bad-releases")?;
    let amd64 = release(Style::Docker, "amd64", "4.1.0");
    let s390x = release(Style::Docker, "s390x", "4.1.0");
    repository.upload("4.1.0-amd64", &amd64).await?;
    repository.upload("4.1.0-s390x", &s390x).await?;
    let multi = list(Style::Docker, &[("amd64", &amd64), ("s390x", &s390x)]);
    repository.upload("4.1.0-multi", &multi).await?;
    let gone = release(Style::Oci, "amd64", "4.2.0");
    repository.upload("4.2.0", &gone).await?;
    let forbidden = release(Style::Oci, "amd64", "4.3.0");
    repository.upload("4.3.0", &forbidden).await?;
    repository.upload("broken", &image(Style::Oci, "amd64", vec![release_layer("{")])).await?;
    let layers = vec![(tar(&[("a", "1")]), false)];
    repository.upload("no-release", &image(Style::Oci, "amd64", layers)).await?;

    let proxy = Proxy::start(&repository.registry).await?;
    let name = format!("{}/{}", proxy.address(), repository.path);
    let source = source(&name, &PullOptions::default());
    let mut cache = ScanCache::default();
    let (first, _) = timed(&source, &mut cache).await?;
    let all = ["4.1.0 amd64", "4.1.0 multi", "4.1.0 s390x", "4.2.0 amd64", "4.3.0 amd64"];
    assert_eq!(versions(&first), all);
    assert_eq!(first.report.problems.len(), 2, "{}", first.report);

    repository.delete(&gone.digest()).await?;
    proxy.forbid(&format!("/v2/{}/manifests/4.3.0", repository.path));
    let (second, _) = timed(&source, &mut cache).await?;
    assert_eq!(versions(&second), all[..3]);
    let errors = problems(&second);
    assert!(errors.contains("4.3.0: access denied"), "{errors}");
    let is_method = |requests: &&String| requests.starts_with(Method::GET.as_str());
    assert_eq!(
        proxy
            .requests()
            .iter()
            .filter(is_method)
            .filter(|requests| requests.contains("4.2.0"))
            .count(),
        0
    );
    Ok(())
}
