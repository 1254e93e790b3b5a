//! What catalogs say by now about the operators that were installed from them.
//!
//! The server that shows the packages of catalogs cannot be watched. So the packages that somebody
//! subscribes to are read whenever a subscription or a catalog changes, and otherwise not at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fairway_compat::olm::catalog::{Catalogs, Package};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;

use crate::clock;
use crate::sight::{Revisions, Seen, Subscriptions};

/// Catalogs change in several steps, and no hurry is needed.
const PAUSE: Duration = Duration::from_secs(2);

/// How long to wait after a package could not be read.
const BREATHER: Duration = Duration::from_mins(1);

/// The most packages that are read: ten times what busy clusters subscribe to.
const MAX_PACKAGES: usize = 1_000;

/// Reads catalogs for as long as somebody listens.
pub(crate) async fn follow(
    client: Client,
    mut subscriptions: Seen<Subscriptions>,
    mut catalogs: Seen<Revisions>,
    told: watch::Sender<Option<Arc<Catalogs>>>,
) {
    loop {
        let seen = subscriptions.borrow_and_update().clone();
        let is_ready = catalogs.borrow_and_update().is_some();
        let mut complete = true;
        if let Some(subscriptions) = seen.filter(|_| is_ready) {
            let (read, all) = read(&client, &subscriptions).await;
            told.send_replace(Some(Arc::new(read)));
            complete = all;
        }
        let changed = async {
            tokio::select! {
                changed = subscriptions.changed() => changed.is_ok(),
                changed = catalogs.changed() => changed.is_ok(),
            }
        };
        tokio::select! {
            changed = changed => if !changed { return },
            () = clock::pause(BREATHER), if !complete => {}
            () = told.closed() => return,
        }
        clock::pause(PAUSE).await;
    }
}

/// The packages that are subscribed to, and whether all of them could be read.
async fn read(client: &Client, subscriptions: &Subscriptions) -> (Catalogs, bool) {
    let kind = GroupVersionKind::gvk("packages.operators.coreos.com", "v1", "PackageManifest");
    let resource = ApiResource::from_gvk_with_plural(&kind, "packagemanifests");
    let wanted: BTreeSet<(&str, &str)> =
        subscriptions.values().map(|it| (it.catalog_namespace(), it.package.as_str())).collect();
    let (mut catalogs, mut complete) = (Catalogs::default(), true);
    for (namespace, package) in wanted.into_iter().take(MAX_PACKAGES) {
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &resource);
        match api.get_opt(package).await {
            Ok(Some(manifest)) => match Package::read(&json!(manifest)) {
                Ok(read) => complete &= catalogs.add(read).is_ok(),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(package, error, "a package cannot be read");
                }
            },
            // It is in no catalog any more, or the cluster shows none.
            Ok(None) => {}
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(package, error, "a package cannot be had; trying again");
                complete = false;
            }
        }
    }
    (catalogs, complete)
}
