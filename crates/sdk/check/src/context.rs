//! What a check has at hand.

use std::sync::Arc;

use fairway_findings::Finding;
use semver::Version;

use crate::answer;
use crate::{CannotTell, Cluster, Manifests, Settings, Skew};

/// What a check has at hand. Clones share it.
#[derive(Clone)]
pub struct Context {
    settings: Arc<Settings>,
    check: Arc<str>,
    cluster: Cluster,
    manifests: Manifests,
}

impl Context {
    /// For a check of that name, which is told this and looks at that cluster.
    pub fn new(check: &str, settings: Settings, cluster: Cluster) -> Self {
        let manifests = Manifests::new(settings.manifests.clone());
        Self { settings: Arc::new(settings), check: check.into(), cluster, manifests }
    }

    /// The cluster, to be read.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The manifests of the release that the check is from.
    pub fn manifests(&self) -> &Manifests {
        &self.manifests
    }

    /// The version of the cluster.
    pub fn source(&self) -> &Version {
        &self.settings.source
    }

    /// The version of the release that the check is from.
    pub fn target(&self) -> &Version {
        &self.settings.target
    }

    /// How far the two are apart.
    pub fn skew(&self) -> Skew {
        Skew::between(self.settings.source.clone(), self.settings.target.clone())
    }

    /// Everything else that the check is told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What a check that asks several questions says about one that it cannot answer.
    pub fn unknown(&self, why: &CannotTell) -> Finding {
        answer::unknown(&self.check, Some(self.target()), why)
    }
}
