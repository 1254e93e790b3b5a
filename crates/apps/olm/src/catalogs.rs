//! Packages of the catalogs that operators were installed from.
//!
//! PackageManifests cannot be watched, and while a catalog changes, the package server returns nothing
//! or the old content. The guard therefore reads the packages with a Subscription several times after
//! a Subscription or `CatalogSource` has changed, and otherwise not at all. The last known package stays
//! valid until there is another: a transient error must not remove a block.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::request::in_time;
use crate::request::request_error;
use crate::watches::{Revisions, Subscriptions, WatchReceiver};
use fairway_compat::olm::catalog::{Catalogs, Package, PackageSource};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use tokio::sync::watch;

/// Delay after a change: catalogs change in several steps.
const SETTLE_DELAY: Duration = Duration::from_secs(2);

/// Delays between reads after a change: small catalogs are served within seconds, large ones within
/// minutes.
const READ_DELAYS: [Duration; 3] =
    [Duration::from_secs(15), Duration::from_mins(1), Duration::from_mins(5)];

/// Interval of reads of packages that could not be read by then.
const FAILED_READ_INTERVAL: Duration = Duration::from_hours(1);

/// Maximum number of packages: ten times the subscriptions of a busy cluster.
const MAX_PACKAGES: usize = 1_000;

/// Content of the catalogs.
#[derive(Clone, Debug, Default)]
pub(crate) struct CatalogContents {
    pub(crate) catalogs: Catalogs,
    /// A package that was never read, and why.
    pub(crate) unread: Option<String>,
    /// Whether more packages may follow soon.
    pub(crate) is_partial: bool,
}

/// Packages that could not be read, and why.
type Failed = BTreeMap<PackageSource, String>;

/// Reads packages until the last receiver is dropped.
pub(crate) async fn follow(
    client: Client,
    mut subscriptions: WatchReceiver<Subscriptions>,
    mut catalogs: WatchReceiver<Revisions>,
    out: watch::Sender<Option<Arc<CatalogContents>>>,
) {
    let (mut known, mut failed) = (PackageCache::default(), Failed::new());
    let mut reads = 0;
    loop {
        let seen = subscriptions.borrow_and_update().clone();
        let present = catalogs.borrow_and_update().clone();
        let mut next = None;
        if let (Some(subscriptions), Some(present)) = (seen, present) {
            let wanted = wanted(&subscriptions);
            known.retain(&wanted, &present);
            let due = if reads <= READ_DELAYS.len() {
                wanted.clone()
            } else {
                std::mem::take(&mut failed).into_keys().collect()
            };
            failed = read(&client, due, &mut known).await;
            if failed.is_empty() || reads > 0 {
                out.send_replace(Some(Arc::new(known.contents(&wanted, &failed, reads))));
            }
            next = delay_after(reads, failed.is_empty());
        }
        let changed = async {
            tokio::select! {
                changed = subscriptions.changed() => changed.is_ok(),
                changed = catalogs.changed() => changed.is_ok(),
            }
        };
        tokio::select! {
            changed = changed => {
                if !changed {
                    return;
                }
                reads = 0;
                                fairway_clock::pause(SETTLE_DELAY).await;
            }
            () = fairway_clock::pause(next.unwrap_or_default()), if next.is_some() => reads += 1,
            () = out.closed() => return,
        }
    }
}

/// Delay before the next read; `None` if none is needed.
fn delay_after(reads: usize, succeeded: bool) -> Option<Duration> {
    READ_DELAYS.get(reads).copied().or((!succeeded).then_some(FAILED_READ_INTERVAL))
}

fn wanted(subscriptions: &Subscriptions) -> BTreeSet<PackageSource> {
    subscriptions.values().filter_map(PackageSource::from_subscription).take(MAX_PACKAGES).collect()
}

/// The last known packages.
#[derive(Default)]
struct PackageCache(BTreeMap<PackageSource, Package>);

impl PackageCache {
    /// Drops packages without a Subscription or catalog.
    fn retain(&mut self, wanted: &BTreeSet<PackageSource>, present: &Revisions) {
        let is_there = |source: &PackageSource| {
            present.contains_key(&(source.namespace.clone(), source.catalog.clone()))
        };
        self.0.retain(|source, _| wanted.contains(source) && is_there(source));
    }

    /// Stores a package. An empty result is ignored: catalogs are empty while they change.
    fn store(&mut self, source: PackageSource, found: impl IntoIterator<Item = Package>) {
        if let Some(package) = found.into_iter().find(|package| source.has(package)) {
            self.0.insert(source, package);
        }
    }

    /// The content after a number of reads. A package server that has just started returns nothing, so
    /// a missing package counts from the second read.
    fn contents(
        &self,
        wanted: &BTreeSet<PackageSource>,
        failed: &Failed,
        reads: usize,
    ) -> CatalogContents {
        let unread = failed.iter().find(|(source, _)| !self.0.contains_key(source));
        let unread = unread.map(|(PackageSource { namespace, catalog, package }, why)| {
            format!("cannot read package {package} of {namespace}/{catalog}: {why}")
        });
        let is_known = |source| self.0.contains_key(source);
        let is_partial = unread.is_some() || reads == 0 && !wanted.iter().all(is_known);
        CatalogContents { catalogs: self.catalogs(), unread, is_partial }
    }

    fn catalogs(&self) -> Catalogs {
        let mut catalogs = Catalogs::default();
        for package in self.0.values() {
            if let Err(error) = catalogs.add(package.clone()) {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "ignoring package");
            }
        }
        catalogs
    }
}

/// Reads packages; returns those that failed.
async fn read(client: &Client, due: BTreeSet<PackageSource>, known: &mut PackageCache) -> Failed {
    let kind = GroupVersionKind::gvk("packages.operators.coreos.com", "v1", "PackageManifest");
    let resource = ApiResource::from_gvk_with_plural(&kind, "packagemanifests");
    let mut failed = Failed::new();
    for source in due {
        let api =
            Api::<DynamicObject>::namespaced_with(client.clone(), &source.namespace, &resource);
        let selection = ListParams::default().labels(&source.labels()).fields(&source.fields());
        match in_time(api.list(&selection)).await {
            Ok(found) => {
                let read = found.items.iter().filter_map(|it| parse_package(&source, it));
                known.store(source.clone(), read.collect::<Vec<_>>());
            }
            // The cluster has no package server.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                let why = request_error(&error);
                let error = &error as &dyn std::error::Error;
                tracing::warn!(?source, error, "cannot read package; retrying");
                failed.insert(source, why);
            }
        }
    }
    failed
}

fn parse_package(source: &PackageSource, manifest: &DynamicObject) -> Option<Package> {
    let read = Package::read(&manifest.data);
    if let Err(error) = &read {
        let error = error as &dyn std::error::Error;
        tracing::warn!(?source, error, "ignoring invalid package");
    }
    read.ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source() -> PackageSource {
        let [namespace, catalog, package] = ["market", "main", "etcd"].map(str::to_owned);
        PackageSource { namespace, catalog, package }
    }

    fn package(catalog: &str, channel: &str) -> Package {
        let status = json!({
            "catalogSource": catalog, "catalogSourceNamespace": "market",
            "packageName": "etcd", "defaultChannel": channel,
        });
        Package::read(&json!({ "status": status })).unwrap()
    }

    fn channels(known: &PackageCache) -> Vec<String> {
        known.0.values().filter_map(|package| package.default_channel.clone()).collect()
    }

    #[test]
    fn learn_keeps_last_known_package() {
        let (wanted, mut known) = (BTreeSet::from([source()]), PackageCache::default());
        let place = ("market".to_owned(), "main".to_owned());
        let present = Revisions::from([(place, "1".to_owned())]);
        known.store(source(), [package("other", "wrong"), package("main", "old")]);
        known.store(source(), []);
        known.store(source(), [package("other", "wrong")]);
        known.retain(&wanted, &present);
        assert_eq!(channels(&known), ["old"], "while the catalog exists");
        known.store(source(), [package("main", "new")]);
        assert_eq!(channels(&known), ["new"]);
        known.retain(&wanted, &Revisions::new());
        assert!(known.catalogs().packages().is_empty(), "the catalog is deleted");
    }

    #[test]
    fn contents_names_package_never_read() {
        let (wanted, mut known) = (BTreeSet::from([source()]), PackageCache::default());
        let failed = Failed::from([(source(), "unavailable".to_owned())]);
        let contents = |known: &PackageCache, failed: &Failed, reads| {
            let CatalogContents { unread, is_partial, .. } = known.contents(&wanted, failed, reads);
            (unread.unwrap_or_default(), is_partial)
        };
        let named = "cannot read package etcd of market/main: unavailable".to_owned();
        assert_eq!(contents(&known, &failed, 0), (named.clone(), true));
        assert_eq!(contents(&known, &failed, 7), (named, true));
        assert_eq!(contents(&known, &Failed::new(), 0), (String::new(), true), "it may follow");
        assert_eq!(contents(&known, &Failed::new(), 1), (String::new(), false), "it is missing");
        known.store(source(), [package("main", "old")]);
        assert_eq!(contents(&known, &failed, 0), (String::new(), false), "the last known one");
    }

    #[test]
    fn delay_after_last_read_is_none() {
        let pauses = |succeeded| (0..6).map(move |reads| delay_after(reads, succeeded));
        let seconds = |pause: Option<Duration>| pause.map_or(0, |pause| pause.as_secs());
        assert_eq!(pauses(true).map(seconds).collect::<Vec<_>>(), [15, 60, 300, 0, 0, 0]);
        assert_eq!(pauses(false).map(seconds).collect::<Vec<_>>(), [15, 60, 300, 3600, 3600, 3600]);
    }
}
