//! Inputs of a check.

use std::sync::Arc;

use fairway_findings::Finding;
use semver::Version;

use crate::result;
use crate::{CannotTell, Cluster, Manifests, Settings, Skew};

/// Inputs of a check. Clones share them.
#[derive(Clone)]
pub struct Context {
    settings: Arc<Settings>,
    check: Arc<str>,
    cluster: Cluster,
    manifests: Manifests,
}

impl Context {
    /// Creates the inputs of a check.
    pub fn new(check: &str, settings: Settings, cluster: Cluster) -> Self {
        let manifests = Manifests::new(settings.manifests.clone());
        Self { settings: Arc::new(settings), check: check.into(), cluster, manifests }
    }

    /// Read-only access to the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Manifests of the target release.
    pub fn manifests(&self) -> &Manifests {
        &self.manifests
    }

    /// Version of the cluster.
    pub fn source(&self) -> &Version {
        &self.settings.source
    }

    /// Version of the target release.
    pub fn target(&self) -> &Version {
        &self.settings.target
    }

    /// Distance between the two versions.
    pub fn skew(&self) -> Skew {
        Skew::between(self.settings.source.clone(), self.settings.target.clone())
    }

    /// All other settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Finding for one of several questions without a result.
    pub fn unknown(&self, why: &CannotTell) -> Finding {
        result::unknown(&self.check, Some(self.target()), why)
    }
}
