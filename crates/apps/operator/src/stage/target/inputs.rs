//! Inputs of the stage.

use std::sync::Arc;

use fairway_api::cluster_version::{Release, UpdateHistory, UpdateState};
use fairway_api::reason::release_accepted;
use fairway_api::{ClusterVersion, Conditions as _, OperatorCondition, Version};
use fairway_cincinnati::connection::ProxySettings;
use fairway_watch::StaleWatches;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;

use crate::cluster::{Features, Objects, watch_name};
use crate::own_release::OwnRelease;
use crate::retrieval::{FetchConfig, FetchInputs};
use crate::stage::preflight::Preflight;
use crate::stage::risks::Risks;
use crate::stage::updates::same_content;
use crate::sync::any_changed;

/// Receivers of all inputs.
pub(crate) struct Inputs {
    /// The operator's own release.
    pub(crate) own: Arc<OwnRelease>,
    /// Manifests and metadata of the own release.
    pub(crate) own_content: Arc<fairway_release::Release>,
    /// ClusterVersion, with the desired update.
    pub(crate) cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// Features of the cluster.
    pub(crate) features: watch::Receiver<Option<Features>>,
    /// Proxy settings.
    pub(crate) proxy: watch::Receiver<Option<ProxySettings>>,
    /// CA bundle of the platform.
    pub(crate) trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Stale watches.
    pub(crate) stale: watch::Receiver<StaleWatches>,
    /// Risks of updates.
    pub(crate) risks: watch::Receiver<Option<Arc<Risks>>>,
    /// State of preflights.
    pub(crate) preflight: watch::Receiver<Option<Arc<Preflight>>>,
}

/// The latest values of all inputs.
pub(super) struct View {
    pub(super) generation: i64,
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) features: Features,
    pub(super) fetch_config: FetchConfig,
    /// Risks, if they are about this generation of the spec. `None` while the watch of ClusterVersion
    /// is stale: the request may have changed, so no update is accepted.
    pub(super) risks: Option<Arc<Risks>>,
    /// Whether no preflight runs, for this generation of the spec.
    pub(super) is_clear: bool,
}

impl View {
    pub(super) fn history(&self) -> &[UpdateHistory] {
        self.cluster_version.status.as_ref().map_or(&[], |status| &status.history)
    }

    /// Whether the cluster ever had a complete release.
    pub(super) fn is_installed(&self) -> bool {
        self.history().iter().any(|entry| entry.state == UpdateState::Completed)
    }

    /// Version of the newest completed release.
    pub(super) fn completed_version(&self) -> Option<Version> {
        self.cluster_version.status.as_ref()?.completed_version()
    }

    /// Risks of updates from a release. `None` until the history has its entry: older risks are
    /// about the release before, and about no update in progress.
    pub(super) fn risks_from(&self, release: &Release) -> Option<&Risks> {
        let newest = self.history().first()?;
        let risks = self.risks.as_deref()?;
        // A release that was never read has no version.
        let is_current = risks.current == release.version || release.version.is_empty();
        let is_known = same_content(&newest.image, &release.image) && is_current;
        is_known.then_some(risks)
    }

    /// The reported condition `ReleaseAccepted`, if it is about this generation of the spec.
    pub(super) fn reported(&self) -> Option<(i64, OperatorCondition)> {
        let status = self.cluster_version.status.as_ref()?;
        let reported = status.conditions.find(release_accepted::TYPE)?;
        let condition = OperatorCondition {
            reason: reported.reason.clone(),
            message: reported.message.clone(),
            ..OperatorCondition::new(release_accepted::TYPE, reported.status.clone())
        };
        (status.observed_generation == self.generation).then_some((self.generation, condition))
    }

    /// Whether `spec.channel` is set; without it, the update service is not queried.
    pub(super) fn has_channel(&self) -> bool {
        self.cluster_version.spec.channel.as_deref().is_some_and(|channel| !channel.is_empty())
    }

    /// Enabled capabilities, as an operator before this one reported them.
    pub(super) fn enabled_capabilities(&self) -> &[String] {
        let status = self.cluster_version.status.as_ref();
        let reported = status.and_then(|status| status.capabilities.as_ref());
        reported.map_or(&[], |reported| &reported.enabled_capabilities)
    }
}

impl Inputs {
    /// The latest values; `None` until all values that select manifests are known.
    pub(super) fn read(&mut self) -> Option<View> {
        let fetch =
            FetchInputs::read(&mut self.cluster_version, &mut self.proxy, &mut self.trusted_ca);
        let features = self.features.borrow_and_update().clone();
        let risks = self.risks.borrow_and_update().clone();
        let is_stale = self.stale.borrow_and_update().get(watch_name::CLUSTER_VERSION).is_some();
        let preflight = self.preflight.borrow_and_update().clone();
        let FetchInputs { generation, cluster_version, ways } = fetch?;
        Some(View {
            generation,
            fetch_config: ways,
            cluster_version,
            features: features?,
            risks: risks.filter(|risks| risks.generation == generation && !is_stale),
            is_clear: preflight
                .is_some_and(|preflight| preflight.generation == generation && preflight.is_clear),
        })
    }

    /// Waits for a change; `false` if a sender is gone.
    pub(super) async fn changed(&mut self) -> bool {
        any_changed!(
            self.cluster_version,
            self.features,
            self.proxy,
            self.trusted_ca,
            self.stale,
            self.risks,
            self.preflight
        )
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::ClusterVersionStatus;
    use fairway_testkit::objects::release;

    use super::*;

    #[test]
    fn risks_from_other_release_are_none() {
        for (newest, current, is_known) in [
            (Some("5.1.0"), "5.1.0", true),
            (Some("5.1.0"), "5.0.0", false),
            (Some("5.0.0"), "5.1.0", false),
            (Some("5.0.0"), "5.0.0", false),
            (None, "5.1.0", false),
        ] {
            let entry = |version: &str| UpdateHistory {
                version: Some(version.to_owned()),
                image: release(version).image,
                ..UpdateHistory::default()
            };
            let history = newest.map(entry).into_iter().collect();
            let status = ClusterVersionStatus { history, ..ClusterVersionStatus::default() };
            let cluster_version =
                ClusterVersion { status: Some(status), ..ClusterVersion::default() };
            let risks = Risks { current: current.to_owned(), ..Risks::default() };
            let view = View {
                generation: 1,
                cluster_version: Arc::new(cluster_version),
                features: Features::default(),
                fetch_config: FetchConfig::default(),
                risks: Some(Arc::new(risks)),
                is_clear: true,
            };
            let known = view.risks_from(&release("5.1.0")).is_some();
            assert_eq!(known, is_known, "{newest:?} {current}");
        }
    }
}
