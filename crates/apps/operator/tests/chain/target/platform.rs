//! A platform with signed releases, and a cluster with one of them.

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_api::{ConditionStatus, Conditions as _};
use fairway_operator::settings::MetricsSource;
use fairway_registry::Digest;
use fairway_testkit::gpg::Signer;
use fairway_testkit::objects;
use fairway_testkit::releases::TestRelease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Graph, OperatedCluster};

/// Label of signatures.
const SIGNATURES: &str = "release.openshift.io/verification-signatures";

/// A platform with signed releases. Clusters have the first one.
pub(super) struct Platform {
    signer: Signer,
    layout: TempDir,
    releases: Vec<Released>,
}

struct Released {
    version: String,
    image: String,
    digest: Digest,
}

impl Platform {
    /// A platform with releases of these versions; `None` without `gpg`.
    pub(super) fn new(versions: &[&str]) -> Result<Option<Self>> {
        let releases = versions.iter().map(|version| (*version, release(version)));
        Self::with_releases(releases.collect())
    }

    /// Like [`Self::new`], with other releases.
    pub(super) fn with_releases(releases: Vec<(&str, TestRelease)>) -> Result<Option<Self>> {
        let Some(signer) = Signer::new()? else { return Ok(None) };
        let layout = tempfile::tempdir()?;
        let make = |(version, release): (&str, TestRelease)| {
            let (image, digest) = release.store(layout.path())?;
            Ok(Released { version: version.to_owned(), image, digest })
        };
        let releases = releases.into_iter().map(make).collect::<Result<_>>()?;
        Ok(Some(Self { signer, layout, releases }))
    }

    /// Deletes a release from the layout.
    pub(super) fn delete(&self, version: &str) -> Result<()> {
        let manifest = format!("blobs/sha256/{}", self.release(version).digest.hex());
        Ok(std::fs::remove_file(self.layout.path().join(manifest))?)
    }

    /// An update service with graph-data.
    pub(super) async fn graph(&self, files: &[(&str, &str)]) -> Result<Graph> {
        let images = self.releases.iter().enumerate().map(|(place, release)| {
            let Released { version, image, .. } = release;
            // The operator reads its own release from the disk, so its image is never pulled.
            let image = if place == 0 { objects::release(version).image } else { image.clone() };
            (version.as_str(), image)
        });
        Graph::of_images(files, &images.collect::<Vec<_>>()).await
    }

    /// A cluster whose operator has rolled out the first release.
    pub(super) async fn cluster(
        &self,
        channel: &str,
        upstream: &str,
        metrics: MetricsSource,
        change: impl FnOnce(&mut fairway_operator::Settings),
    ) -> Result<OperatedCluster> {
        let operated = self.installation(channel, upstream, metrics, change).await?;
        reaches(&operated, &self.releases.first().context("a release")?.version).await?;
        Ok(operated)
    }

    /// A cluster whose operator rolls out the first release.
    pub(super) async fn installation(
        &self,
        channel: &str,
        upstream: &str,
        metrics: MetricsSource,
        change: impl FnOnce(&mut fairway_operator::Settings),
    ) -> Result<OperatedCluster> {
        let version = &self.releases.first().context("a release")?.version;
        let mut operated = OperatedCluster::new(version, channel, upstream, metrics).await?;
        delete_signatures(&operated).await?;
        let own = release(version).trusting(&self.signer.keyring()?);
        own.write(&operated.settings.release.payload)?;
        operated.settings.target.images = vec![self.layout.path().to_owned()];
        change(&mut operated.settings);
        operated.start();
        Ok(operated)
    }

    pub(super) fn image(&self, version: &str) -> &str {
        self.release(version).image.as_str()
    }

    /// Publishes the signature of a release in the cluster.
    pub(super) async fn sign(&self, operated: &OperatedCluster, version: &str) -> Result<()> {
        let digest = &self.release(version).digest;
        publish(operated, digest, self.signer.sign(digest)?).await
    }

    /// Publishes the signature of the first release for another one.
    pub(super) async fn sign_with_that_of_another(
        &self,
        operated: &OperatedCluster,
        version: &str,
    ) -> Result<()> {
        let other = &self.releases.first().context("a release")?.digest;
        publish(operated, &self.release(version).digest, self.signer.sign(other)?).await
    }

    /// Publishes a signature by an untrusted key.
    pub(super) async fn forge(&self, operated: &OperatedCluster, version: &str) -> Result<()> {
        let digest = &self.release(version).digest;
        let stranger = Signer::new()?.context("there was a gpg")?;
        publish(operated, digest, stranger.sign(digest)?).await
    }

    fn release(&self, version: &str) -> &Released {
        let mut releases = self.releases.iter();
        releases.find(|release| release.version == version).expect("a release of this platform")
    }
}

/// A release with one object.
pub(super) fn release(version: &str) -> TestRelease {
    let marker = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "marker", "namespace": "openshift-config-managed"},
        "data": {"version": version},
    });
    TestRelease::new(version).object("0000_50_marker_01", marker)
}

async fn publish(operated: &OperatedCluster, digest: &Digest, signature: Vec<u8>) -> Result<()> {
    let key = format!("sha256-{}-1", digest.hex());
    let map: ConfigMap = serde_json::from_value(json!({
        "metadata": {
            "generateName": "signature-",
            "labels": {SIGNATURES: ""},
        },
        "binaryData": {key: k8s_openapi::ByteString(signature)},
    }))?;
    signatures(operated).create(&PostParams::default(), &map).await?;
    Ok(())
}

/// Deletes all signatures in the cluster.
pub(super) async fn delete_signatures(operated: &OperatedCluster) -> Result<()> {
    let labelled = ListParams::default().labels(SIGNATURES);
    signatures(operated).delete_collection(&DeleteParams::default(), &labelled).await?;
    Ok(())
}

/// Signatures in the cluster; a shared cluster has those of earlier tests, too.
fn signatures(operated: &OperatedCluster) -> Api<ConfigMap> {
    Api::namespaced(operated.cluster.client(), "openshift-config-managed")
}

/// Waits until a release is rolled out.
pub(super) async fn reaches(
    operated: &OperatedCluster,
    version: &str,
) -> Result<ClusterVersionStatus> {
    operated
        .status(&format!("{version} to be reached"), |status| {
            let newest = status.history.first();
            newest.is_some_and(|newest| {
                newest.version.as_deref() == Some(version) && newest.state == UpdateState::Completed
            }) && status.conditions.is_false("Progressing")
        })
        .await
}

/// Waits until a release is refused for a reason; returns the message.
pub(super) async fn refused(operated: &OperatedCluster, reason: &str) -> Result<String> {
    let status = operated
        .status(&format!("ReleaseAccepted=False/{reason}"), |status| {
            let accepted = status.conditions.find("ReleaseAccepted");
            accepted.is_some_and(|accepted| {
                accepted.status == ConditionStatus::False
                    && accepted.reason.as_deref() == Some(reason)
            })
        })
        .await?;
    let accepted = status.conditions.find("ReleaseAccepted").context("it was there")?;
    Ok(accepted.message.clone().unwrap_or_default())
}

/// Requests an update like `fairway upgrade`.
pub(super) async fn ask(operated: &OperatedCluster, update: Value) -> Result<()> {
    operated.patch_spec(json!({ "desiredUpdate": update })).await
}

/// The versions in the history.
pub(super) fn history(status: &ClusterVersionStatus) -> Vec<&str> {
    status.history.iter().filter_map(|entry| entry.version.as_deref()).collect()
}
