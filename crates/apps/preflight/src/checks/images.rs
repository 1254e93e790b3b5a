//! `images`: availability of the images of the target release.
//!
//! For each image of the release, the check fetches and verifies its manifest by digest, from the
//! mirrors of `ImageDigestMirrorSets` and `ImageContentSourcePolicies` or from its own registry,
//! with the pull secret. It sends a HEAD request for every layer and compares the size. With
//! `--preflight-images=pull` it downloads and verifies layers, and discards them. Images that no
//! source has, or that the credentials do not allow, are reported by `ImagesNotAvailable`, with the
//! error of the registry. If a registry does not respond, the check has no result. In a run of the
//! operator, the operator probes the images itself: the target release has no credentials.

use std::collections::BTreeMap;

use fairway_findings::images::{self, ImageAvailability, UnavailableImage};
use fairway_registry::mirrors::Mirrors;
use fairway_registry::payload::ImageSources;
use fairway_registry::probe::{ProbeDepth, ProbeError, Prober};
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream;
use serde_json::Value;

use crate::check::{BuiltInCheck, BuiltInResult, NoResult};
use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::settings::{ImageDepth, ImageSettings};
use crate::target::Target;

/// Kinds that define mirrors.
const MIRRORS: [Resource; 2] = [
    Resource::new("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets"),
    Resource::new(
        "operator.openshift.io",
        "v1alpha1",
        "ImageContentSourcePolicy",
        "imagecontentsourcepolicies",
    ),
];

/// Number of parallel requests. Registries limit request rates.
const MAX_PARALLEL: usize = 8;

/// The check `images`.
pub(crate) struct Images {
    settings: ImageSettings,
}

impl Images {
    pub(crate) fn new(settings: &ImageSettings) -> Self {
        Self { settings: settings.clone() }
    }

    async fn examine(&self, cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
        let mirrors = mirrors(cluster).await?;
        let by_reference = by_reference(&target.content.image_references.images);
        let ImageSettings { depth, layouts, options } = self.settings.clone();
        let sources = ImageSources { layouts, mirrors, options, ..ImageSources::default() };
        let depth = match depth {
            ImageDepth::Head => ProbeDepth::Head,
            ImageDepth::Pull => ProbeDepth::Pull,
        };
        let (total, prober) = (by_reference.len(), &Prober::new(sources, depth));
        let questions = by_reference.into_iter().map(|(image, name)| probe(prober, image, name));
        let answers: Vec<_> = stream::iter(questions).buffered(MAX_PARALLEL).collect().await;
        let failures: Vec<UnavailableImage> = answers.into_iter().flatten().collect();
        Ok(evaluate(total, &failures, &target.image))
    }
}

impl BuiltInCheck for Images {
    fn name(&self) -> &'static str {
        images::NAME
    }

    fn watched(&self) -> &[Resource] {
        &MIRRORS
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
        self.examine(cluster, target).boxed()
    }
}

/// Mirrors of the cluster.
async fn mirrors(cluster: &Cluster) -> Result<Mirrors, ClusterReadError> {
    let mut objects: Vec<Value> = Vec::new();
    for kind in MIRRORS {
        let take = |object| objects.extend(serde_json::to_value(&object));
        match cluster.each_of(&kind.into(), take).await {
            // Many platforms do not have these kinds.
            Ok(()) | Err(ClusterReadError::NotServed(_)) => {}
            Err(why) => return Err(why),
        }
    }
    let (mirrors, problems) = Mirrors::read(&objects);
    for problem in problems {
        tracing::warn!(%problem, "ignoring invalid mirror entry");
    }
    Ok(mirrors)
}

/// Images by reference, each with one of its names.
fn by_reference(images: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    images.iter().rev().map(|(name, image)| (image.clone(), name.clone())).collect()
}

/// Error of an image, if it is not available.
async fn probe(prober: &Prober, image: String, name: String) -> Option<UnavailableImage> {
    let error = prober.probe(&image).await.err()?;
    Some(unavailable(name, &error))
}

fn unavailable(name: String, error: &ProbeError) -> UnavailableImage {
    let may_exist = matches!(error, ProbeError::NoAnswer(_));
    UnavailableImage { name, error: error.to_string(), may_exist }
}

/// Result for all images of a release.
fn evaluate(total: usize, failures: &[UnavailableImage], release: &str) -> BuiltInResult {
    let ImageAvailability { findings, unknown } = images::evaluate(total, failures, release);
    BuiltInResult { findings, unknown: unknown.into_iter().collect(), ..BuiltInResult::default() }
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_registry::payload::FailedSource;
    use fairway_registry::pull::PullOptions;
    use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::json;

    use super::*;
    use crate::testing::{create, define, reader, render, target};

    fn failure(name: &str, error: fn(Vec<FailedSource>) -> ProbeError) -> UnavailableImage {
        let tried = FailedSource { place: "mirror.example/a".to_owned(), why: "why".to_owned() };
        unavailable(name.to_owned(), &error(vec![tried]))
    }

    #[test]
    fn result_distinguishes_missing_images_from_unknown_ones() {
        let missing = |name| failure(name, ProbeError::Missing);
        let unknown = |name| failure(name, ProbeError::NoAnswer);
        assert_eq!(evaluate(3, &[], "r"), BuiltInResult::default());
        let answer = evaluate(1, &[missing("etcd")], "r");
        assert_eq!((answer.findings.len(), answer.unknown.len()), (1, 0));
        let both = [missing("etcd"), unknown("network"), missing("storage")];
        let answer = evaluate(3, &both, "registry.example/release@sha256:1");
        insta::assert_snapshot!(answer.unknown.join(" "), @"1 of 3 images could not be checked because registries did not respond: network (mirror.example/a: why).");
        insta::assert_snapshot!(render(&answer.findings), @"
        ImagesNotAvailable (critical): 2 of 3 images of the target release cannot be pulled, and the update would stop where they are needed: etcd (mirror.example/a: why), storage (mirror.example/a: why).
          Check the mirrors (kubectl get imagedigestmirrorsets,imagecontentsourcepolicies -o yaml) and the pull secret (kubectl -n openshift-config get secret pull-secret), then copy the missing images to a mirror: oc adm release mirror --from=registry.example/release@sha256:1 --to=REGISTRY/REPOSITORY
        ");
    }

    #[test]
    fn images_with_two_names_are_probed_once() {
        let images = [("a", "x@1"), ("b", "y@2"), ("c", "x@1")]
            .map(|(name, image)| (name.to_owned(), image.to_owned()));
        let expected = [("x@1", "a"), ("y@2", "b")];
        let found = by_reference(&images.into());
        assert!(found.iter().map(|(image, name)| (image.as_str(), name.as_str())).eq(expected));
    }

    /// A release with these images.
    fn release(images: &[(&str, &str)]) -> TestRelease {
        let tags = images.iter().map(
            |(name, image)| json!({"name": name, "from": {"kind": "DockerImage", "name": image}}),
        );
        let references = json!({
            "apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
            "metadata": {"name": "5.1.0"}, "spec": {"tags": tags.collect::<Vec<_>>()},
        });
        TestRelease::new("5.1.0").file("release-manifests/image-references", &references)
    }

    #[tokio::test]
    async fn run_uses_mirrors_of_cluster() -> Result<()> {
        let cluster = TestCluster::start().await?.over_tls().await?;
        let directory = tempfile::tempdir()?;
        let layer = LayerBuilder::new().file("a", 0o644, "1")?.build()?;
        let image = Image::new(vec![layer], &ImageConfig::default());
        layout::write(directory.path(), &image, "1")?;
        let check = Images::new(&ImageSettings {
            depth: ImageDepth::Head,
            layouts: vec![directory.path().to_owned()],
            options: PullOptions { attempts: 1, ..PullOptions::default() },
        });
        let there = format!("127.0.0.1:1/team/there@{}", image.digest());
        let missing = format!("127.0.0.1:1/team/missing@{}", Digest::of(b"missing"));
        let run = async |images: &[(&str, &str)]| {
            let target = target("5.0.0", &release(images))?;
            anyhow::Ok(check.run(&reader(&cluster), &target).await)
        };
        assert_eq!(run(&[("there", &there)]).await?.unwrap(), BuiltInResult::default());
        // No server listens there, and there is no mirror.
        let unknown = run(&[("missing", &missing)]).await?.unwrap().unknown.join(" ");
        assert!(unknown.starts_with("1 of 1 image could not be checked"), "{unknown}");

        define(&cluster, MIRRORS[0], "Cluster").await?;
        let registry = cluster.registry()?;
        let entry = json!({
            "source": "127.0.0.1:1/team", "mirrors": [format!("{registry}/mirror")],
            "mirrorSourcePolicy": "NeverContactSource",
        });
        let set = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
            "metadata": {"name": "mirrors"}, "spec": {"imageDigestMirrors": [entry]},
        });
        create(&cluster, MIRRORS[0], set).await?;
        let found = run(&[("missing", &missing), ("there", &there)]).await?.unwrap().findings;
        let message = render(&found)
            .replace(&registry, "MIRROR")
            .replace(&directory.path().display().to_string(), "LAYOUT")
            .replace(Digest::of(b"missing").hex(), "…");
        insta::assert_snapshot!(message, @"
        ImagesNotAvailable (critical): 1 of 2 images of the target release cannot be pulled, and the update would stop where they are needed: missing (oci:LAYOUT: LAYOUT/blobs/sha256/… does not exist; MIRROR/mirror/missing: http://MIRROR/v2/mirror/missing/manifests/sha256:… does not exist; 127.0.0.1:1/team/missing: not contacted, because its mirrors have the policy NeverContactSource).
          Check the mirrors (kubectl get imagedigestmirrorsets,imagecontentsourcepolicies -o yaml) and the pull secret (kubectl -n openshift-config get secret pull-secret), then copy the missing images to a mirror: oc adm release mirror --from=registry.example/release@sha256:0 --to=REGISTRY/REPOSITORY
        ");
        Ok(())
    }
}
