//! What catalogs say by now about the operators that were installed from them.
//!
//! The server that shows the packages of catalogs cannot be watched, and while a catalog changes it
//! shows nothing, or what was before. So the packages that somebody subscribes to are read several
//! times after a subscription or a catalog has changed, and otherwise not at all. What was known of
//! a package counts until something else is known: a block must not go away by an accident.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::error_text::of_request;
use crate::request::in_time;
use crate::sight::{Revisions, Seen, Subscriptions};
use fairway_compat::olm::catalog::{Catalogs, Package, Source};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use tokio::sync::watch;

/// Catalogs change in several steps, and no hurry is needed.
const PAUSE: Duration = Duration::from_secs(2);

/// How long to wait before looking again: a catalog that has changed is shown after seconds, if it
/// is small, or after minutes.
const AGAIN: [Duration; 3] =
    [Duration::from_secs(15), Duration::from_mins(1), Duration::from_mins(5)];

/// How long to wait before asking again for what could not be had by then.
const RARELY: Duration = Duration::from_hours(1);

/// The most packages that are read: ten times what busy clusters subscribe to.
const MAX_PACKAGES: usize = 1_000;

/// What catalogs show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) catalogs: Catalogs,
    /// A package of which nothing is known, and why.
    pub(crate) unread: Option<String>,
    /// Whether more may come soon.
    pub(crate) is_partial: bool,
}

/// Packages that could not be had, and why.
type Failed = BTreeMap<Source, String>;

/// Reads catalogs for as long as somebody listens.
pub(crate) async fn follow(
    client: Client,
    mut subscriptions: Seen<Subscriptions>,
    mut catalogs: Seen<Revisions>,
    told: watch::Sender<Option<Arc<Shown>>>,
) {
    let (mut known, mut failed) = (Known::default(), Failed::new());
    let mut looks = 0;
    loop {
        let seen = subscriptions.borrow_and_update().clone();
        let present = catalogs.borrow_and_update().clone();
        let mut next = None;
        if let (Some(subscriptions), Some(present)) = (seen, present) {
            let wanted = wanted(&subscriptions);
            known.retain(&wanted, &present);
            let due = if looks <= AGAIN.len() {
                wanted.clone()
            } else {
                std::mem::take(&mut failed).into_keys().collect()
            };
            failed = read(&client, due, &mut known).await;
            if failed.is_empty() || looks > 0 {
                told.send_replace(Some(Arc::new(known.shown(&wanted, &failed, looks))));
            }
            next = pause_after(looks, failed.is_empty());
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
                looks = 0;
                fairway_clock::pause(PAUSE).await;
            }
            () = fairway_clock::pause(next.unwrap_or_default()), if next.is_some() => looks += 1,
            () = told.closed() => return,
        }
    }
}

/// How long to wait before the next look; `None` if there is no need of one.
fn pause_after(looks: usize, had_all: bool) -> Option<Duration> {
    AGAIN.get(looks).copied().or((!had_all).then_some(RARELY))
}

fn wanted(subscriptions: &Subscriptions) -> BTreeSet<Source> {
    subscriptions.values().filter_map(Source::of).take(MAX_PACKAGES).collect()
}

/// What is known of packages.
#[derive(Default)]
struct Known(BTreeMap<Source, Package>);

impl Known {
    /// Forgets what nobody subscribes to, and what was in catalogs that are gone.
    fn retain(&mut self, wanted: &BTreeSet<Source>, present: &Revisions) {
        let is_there = |source: &Source| {
            present.contains_key(&(source.namespace.clone(), source.catalog.clone()))
        };
        self.0.retain(|source, _| wanted.contains(source) && is_there(source));
    }

    /// Takes what was found. Nothing found is no news: so it is while a catalog changes.
    fn learn(&mut self, source: Source, found: impl IntoIterator<Item = Package>) {
        if let Some(package) = found.into_iter().find(|package| source.has(package)) {
            self.0.insert(source, package);
        }
    }

    /// What there is to tell after so many looks. Whoever has just begun to show packages shows
    /// none for a while: what is not there counts as missing from the second look on.
    fn shown(&self, wanted: &BTreeSet<Source>, failed: &Failed, looks: usize) -> Shown {
        let unread = failed.iter().find(|(source, _)| !self.0.contains_key(source));
        let unread = unread.map(|(Source { namespace, catalog, package }, why)| {
            format!("cannot read package {package} of {namespace}/{catalog}: {why}")
        });
        let is_known = |source| self.0.contains_key(source);
        let is_partial = unread.is_some() || looks == 0 && !wanted.iter().all(is_known);
        Shown { catalogs: self.catalogs(), unread, is_partial }
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

/// Reads packages; which of them could not be had.
async fn read(client: &Client, due: BTreeSet<Source>, known: &mut Known) -> Failed {
    let kind = GroupVersionKind::gvk("packages.operators.coreos.com", "v1", "PackageManifest");
    let resource = ApiResource::from_gvk_with_plural(&kind, "packagemanifests");
    let mut failed = Failed::new();
    for source in due {
        let api =
            Api::<DynamicObject>::namespaced_with(client.clone(), &source.namespace, &resource);
        let selection = ListParams::default().labels(&source.labels()).fields(&source.fields());
        match in_time(api.list(&selection)).await {
            Ok(found) => {
                let read = found.items.iter().filter_map(|it| legible(&source, it));
                known.learn(source.clone(), read.collect::<Vec<_>>());
            }
            // The cluster shows no packages.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                let why = of_request(&error);
                let error = &error as &dyn std::error::Error;
                tracing::warn!(?source, error, "cannot read package; retrying");
                failed.insert(source, why);
            }
        }
    }
    failed
}

fn legible(source: &Source, manifest: &DynamicObject) -> Option<Package> {
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

    fn source() -> Source {
        let [namespace, catalog, package] = ["market", "main", "etcd"].map(str::to_owned);
        Source { namespace, catalog, package }
    }

    fn package(catalog: &str, channel: &str) -> Package {
        let status = json!({
            "catalogSource": catalog, "catalogSourceNamespace": "market",
            "packageName": "etcd", "defaultChannel": channel,
        });
        Package::read(&json!({ "status": status })).unwrap()
    }

    fn channels(known: &Known) -> Vec<String> {
        known.0.values().filter_map(|package| package.default_channel.clone()).collect()
    }

    #[test]
    fn what_was_known_counts_until_something_else_is() {
        let (wanted, mut known) = (BTreeSet::from([source()]), Known::default());
        let place = ("market".to_owned(), "main".to_owned());
        let present = Revisions::from([(place, "1".to_owned())]);
        known.learn(source(), [package("other", "wrong"), package("main", "old")]);
        known.learn(source(), []);
        known.learn(source(), [package("other", "wrong")]);
        known.retain(&wanted, &present);
        assert_eq!(channels(&known), ["old"], "while the catalog is there");
        known.learn(source(), [package("main", "new")]);
        assert_eq!(channels(&known), ["new"]);
        known.retain(&wanted, &Revisions::new());
        assert!(known.catalogs().packages().is_empty(), "the catalog is gone");
    }

    #[test]
    fn what_was_never_read_is_named() {
        let (wanted, mut known) = (BTreeSet::from([source()]), Known::default());
        let failed = Failed::from([(source(), "unavailable".to_owned())]);
        let told = |known: &Known, failed: &Failed, looks| {
            let Shown { unread, is_partial, .. } = known.shown(&wanted, failed, looks);
            (unread.unwrap_or_default(), is_partial)
        };
        let named = "cannot read package etcd of market/main: unavailable".to_owned();
        assert_eq!(told(&known, &failed, 0), (named.clone(), true));
        assert_eq!(told(&known, &failed, 7), (named, true));
        assert_eq!(told(&known, &Failed::new(), 0), (String::new(), true), "it may come");
        assert_eq!(told(&known, &Failed::new(), 1), (String::new(), false), "it is not there");
        known.learn(source(), [package("main", "old")]);
        assert_eq!(told(&known, &failed, 0), (String::new(), false), "what was known counts");
    }

    #[test]
    fn looking_again_ends_when_everything_was_had() {
        let pauses = |had_all| (0..6).map(move |looks| pause_after(looks, had_all));
        let seconds = |pause: Option<Duration>| pause.map_or(0, |pause| pause.as_secs());
        assert_eq!(pauses(true).map(seconds).collect::<Vec<_>>(), [15, 60, 300, 0, 0, 0]);
        assert_eq!(pauses(false).map(seconds).collect::<Vec<_>>(), [15, 60, 300, 3600, 3600, 3600]);
    }
}
