//! What the stage looks at.

use std::sync::Arc;

use fairway_api::cluster_version::{Release, UpdateHistory, UpdateState};
use fairway_api::reason::release_accepted;
use fairway_api::{ClusterVersion, Conditions as _, OperatorCondition};
use fairway_cincinnati::route::ProxySettings;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;

use crate::cluster::{Features, Objects};
use crate::own_release::OwnRelease;
use crate::retrieval::{Asked, Ways};
use crate::stage::preflight::Preflight;
use crate::stage::risks::Risks;
use crate::stage::updates::same_content;

/// What is looked at, each as its latest.
pub(crate) struct Inputs {
    /// The release of the operator.
    pub(crate) own: Arc<OwnRelease>,
    /// All that it brings.
    pub(crate) own_content: Arc<fairway_release::Release>,
    /// What the administrator asks for.
    pub(crate) cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// Which features the cluster has.
    pub(crate) features: watch::Receiver<Option<Features>>,
    /// The way to the outside.
    pub(crate) proxy: watch::Receiver<Option<ProxySettings>>,
    /// The authorities to trust.
    pub(crate) trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// What speaks against which update.
    pub(crate) risks: watch::Receiver<Option<Arc<Risks>>>,
    /// What is left of preflights in the cluster.
    pub(crate) preflight: watch::Receiver<Option<Arc<Preflight>>>,
}

/// One look at everything.
pub(super) struct View {
    pub(super) generation: i64,
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) features: Features,
    pub(super) ways: Ways,
    /// What is known about updates, if it is about this very spec.
    pub(super) risks: Option<Arc<Risks>>,
    /// Whether nothing is left of preflights, and none was asked for meanwhile.
    pub(super) is_clear: bool,
}

impl View {
    pub(super) fn history(&self) -> &[UpdateHistory] {
        self.cluster_version.status.as_ref().map_or(&[], |status| &status.history)
    }

    /// Whether the cluster has ever had a whole release.
    pub(super) fn is_installed(&self) -> bool {
        self.history().iter().any(|entry| entry.state == UpdateState::Completed)
    }

    /// What is known about updates from that release. Nothing before the history tells that it was
    /// begun: what is known is about the release before, and about no update that is under way.
    pub(super) fn risks_from(&self, release: &Release) -> Option<&Risks> {
        let newest = self.history().first()?;
        let risks = self.risks.as_deref()?;
        let is_known =
            same_content(&newest.image, &release.image) && risks.current == release.version;
        is_known.then_some(risks)
    }

    /// What the status says about the release that this very spec asks for.
    pub(super) fn said(&self) -> Option<(i64, OperatorCondition)> {
        let status = self.cluster_version.status.as_ref()?;
        let said = status.conditions.find(release_accepted::TYPE)?;
        let condition = OperatorCondition {
            reason: said.reason.clone(),
            message: said.message.clone(),
            ..OperatorCondition::new(release_accepted::TYPE, said.status.clone())
        };
        (status.observed_generation == self.generation).then_some((self.generation, condition))
    }

    /// Whether the update service is asked at all.
    pub(super) fn has_channel(&self) -> bool {
        self.cluster_version.spec.channel.as_deref().is_some_and(|channel| !channel.is_empty())
    }

    /// The capabilities that the cluster has, as an operator before this one has noted it.
    pub(super) fn enabled_capabilities(&self) -> &[String] {
        let status = self.cluster_version.status.as_ref();
        let noted = status.and_then(|status| status.capabilities.as_ref());
        noted.map_or(&[], |noted| &noted.enabled_capabilities)
    }
}

impl Inputs {
    /// Everything that there is to see; nothing before all that decides about manifests was seen.
    pub(super) fn look(&mut self) -> Option<View> {
        let asked = Asked::look(&mut self.cluster_version, &mut self.proxy, &mut self.trusted_ca);
        let features = self.features.borrow_and_update().clone();
        let risks = self.risks.borrow_and_update().clone();
        let preflight = self.preflight.borrow_and_update().clone();
        let Asked { generation, cluster_version, ways } = asked?;
        Some(View {
            generation,
            ways,
            cluster_version,
            features: features?,
            risks: risks.filter(|risks| risks.generation == generation),
            is_clear: preflight
                .is_some_and(|preflight| preflight.generation == generation && preflight.is_clear),
        })
    }

    /// Waits for something new; `false` when there is nobody left to say something.
    pub(super) async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.features.changed() => changed.is_ok(),
            changed = self.proxy.changed() => changed.is_ok(),
            changed = self.trusted_ca.changed() => changed.is_ok(),
            changed = self.risks.changed() => changed.is_ok(),
            changed = self.preflight.changed() => changed.is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::ClusterVersionStatus;
    use fairway_testkit::objects::release;

    use super::*;

    #[test]
    fn what_is_known_about_another_release_does_not_count() {
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
                ways: Ways::default(),
                risks: Some(Arc::new(risks)),
                is_clear: true,
            };
            let known = view.risks_from(&release("5.1.0")).is_some();
            assert_eq!(known, is_known, "{newest:?} {current}");
        }
    }
}
