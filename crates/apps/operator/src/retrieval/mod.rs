//! Retrieval of releases: signature verification, then download and parsing. The stages `target`
//! and `preflight` share it.
//!
//! | module | content |
//! | --- | --- |
//! | `job` | retrieval of one release, requeued after failure |
//! | `retrieve` | verification of the signature, then the content |
//! | `pull_context` | pull secret, mirrors, signatures and signature stores of the cluster |

mod job;
mod pull_context;
mod retrieve;

pub(crate) use job::{RetrievalFailure, RetrievalJob, RetrievalProgress};
pub(crate) use retrieve::{FetchConfig, FetchRequest, Retrieved, Retriever, SignatureRequirement};

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_cincinnati::connection::ProxySettings;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch::Receiver;

use crate::cluster::{Objects, only};
use crate::stage::updates::bundle;

/// ClusterVersion and the configuration to fetch the release that it requests.
pub(crate) struct FetchInputs {
    /// `metadata.generation` of ClusterVersion.
    pub(crate) generation: i64,
    /// The latest ClusterVersion.
    pub(crate) cluster_version: Arc<ClusterVersion>,
    /// Configuration of fetches.
    pub(crate) ways: FetchConfig,
}

impl FetchInputs {
    /// Reads the latest values; `None` until all of them are known.
    pub(crate) fn read(
        cluster_version: &mut Receiver<Option<Objects<ClusterVersion>>>,
        proxy: &mut Receiver<Option<ProxySettings>>,
        trusted_ca: &mut Receiver<Option<Objects<ConfigMap>>>,
    ) -> Option<Self> {
        // Every receiver is read, even if another has no value yet: an unread one stays "changed",
        // and the caller's `select!` would busy-loop.
        let seen = cluster_version.borrow_and_update().clone();
        let proxy = proxy.borrow_and_update().clone();
        let trusted = trusted_ca.borrow_and_update().clone();
        let cluster_version = Arc::clone(only(seen.as_ref())?);
        let stores = cluster_version.spec.signature_stores.clone();
        Some(Self {
            generation: cluster_version.metadata.generation.unwrap_or_default(),
            cluster_version,
            ways: FetchConfig { proxy: proxy?, ca_bundle: bundle(&trusted?), stores },
        })
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::objects;
    use tokio::sync::watch;

    use super::*;

    #[test]
    fn read_requires_all_inputs_and_marks_them_unchanged() {
        let one = [("version".to_owned(), Arc::new(objects::cluster_version()))];
        let spec: Objects<ClusterVersion> = Arc::new(one.into());
        for (has_spec, has_proxy, has_ca) in
            [(true, true, true), (false, true, true), (true, false, true), (true, true, false)]
        {
            let (specs, mut cluster_version) = watch::channel(None);
            let (proxies, mut proxy) = watch::channel(None);
            let (bundles, mut trusted_ca) = watch::channel(None);
            specs.send_replace(has_spec.then(|| Arc::clone(&spec)));
            proxies.send_replace(has_proxy.then(ProxySettings::default));
            bundles.send_replace(has_ca.then(Objects::default));
            let inputs = FetchInputs::read(&mut cluster_version, &mut proxy, &mut trusted_ca);
            assert_eq!(inputs.is_some(), has_spec && has_proxy && has_ca);
            let is_new =
                [cluster_version.has_changed(), proxy.has_changed(), trusted_ca.has_changed()];
            assert_eq!(is_new.map(Result::unwrap), [false; 3]);
        }
    }
}
