//! What whoever retrieves releases looks at first: the spec, and the ways that lead to releases.

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_cincinnati::route::ProxySettings;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch::Receiver;

use super::Ways;
use crate::cluster::{Objects, only};
use crate::stage::updates::bundle;

/// What is asked for, and the ways to it.
pub(crate) struct Asked {
    /// The generation of the spec.
    pub(crate) generation: i64,
    /// The spec, and what is said about it.
    pub(crate) cluster_version: Arc<ClusterVersion>,
    /// How releases are reached.
    pub(crate) ways: Ways,
}

impl Asked {
    /// The latest of all that; nothing before all of it was seen.
    pub(crate) fn look(
        cluster_version: &mut Receiver<Option<Objects<ClusterVersion>>>,
        proxy: &mut Receiver<Option<ProxySettings>>,
        trusted_ca: &mut Receiver<Option<Objects<ConfigMap>>>,
    ) -> Option<Self> {
        // Each is looked at, whatever is missing: what is not, counts as new for ever.
        let seen = cluster_version.borrow_and_update().clone();
        let proxy = proxy.borrow_and_update().clone();
        let trusted = trusted_ca.borrow_and_update().clone();
        let cluster_version = Arc::clone(only(seen.as_ref())?);
        let stores = cluster_version.spec.signature_stores.clone();
        Some(Self {
            generation: cluster_version.metadata.generation.unwrap_or_default(),
            cluster_version,
            ways: Ways { proxy: proxy?, authorities: bundle(&trusted?), stores },
        })
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::objects;
    use tokio::sync::watch;

    use super::*;

    #[test]
    fn everything_has_to_be_seen_and_is_looked_at_once() {
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
            let asked = Asked::look(&mut cluster_version, &mut proxy, &mut trusted_ca);
            assert_eq!(asked.is_some(), has_spec && has_proxy && has_ca);
            let is_new =
                [cluster_version.has_changed(), proxy.has_changed(), trusted_ca.has_changed()];
            assert_eq!(is_new.map(Result::unwrap), [false; 3]);
        }
    }
}
