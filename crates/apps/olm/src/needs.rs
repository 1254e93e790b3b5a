//! APIs that the installed operators use.
//!
//! The specs of ClusterServiceVersions are large and rarely change. Each is read once for each
//! generation, one at a time, and only the used APIs are kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::request::in_time;
use crate::request::request_error;
use crate::watches::{Installed, ObjectKey, Revision, WatchReceiver, olm_resource};
use fairway_compat::olm::apis::{ApiUsage, LostApi};
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;

/// Delay after an operator could not be read.
const RETRY_DELAY: Duration = Duration::from_mins(1);

/// APIs that operators use, with the revision that they were read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperatorNeeds {
    pub(crate) needs: BTreeMap<ObjectKey, (Revision, ApiUsage)>,
    /// An operator that was never read, and why.
    pub(crate) unread: Option<String>,
}

/// Operators that could not be read, and why.
type Failed = BTreeMap<ObjectKey, String>;

/// Reads operators until the last receiver is dropped.
pub(crate) async fn follow(
    client: Client,
    mut installed: WatchReceiver<Installed>,
    out: watch::Sender<Option<Arc<OperatorNeeds>>>,
) {
    let mut known = OperatorNeeds::default();
    loop {
        let seen = installed.borrow_and_update().clone();
        let mut complete = true;
        if let Some(installed) = seen {
            let failed = update(&client, &installed, &mut known).await;
            complete = failed.is_empty();
            known.unread = known.unread(&failed);
            out.send_replace(Some(Arc::new(known.clone())));
        }
        tokio::select! {
            changed = installed.changed() => if changed.is_err() { return },
                        () = fairway_clock::pause(RETRY_DELAY), if !complete => {}
            () = out.closed() => return,
        }
    }
}

impl OperatorNeeds {
    /// An operator that was never read. The last known APIs are used until a read succeeds.
    fn unread(&self, failed: &Failed) -> Option<String> {
        let unread = failed.iter().find(|(place, _)| !self.needs.contains_key(place));
        unread.map(|((namespace, name), why)| format!("{namespace}/{name}: {why}"))
    }
}

/// Reads changed operators; returns those that failed.
async fn update(client: &Client, installed: &Installed, known: &mut OperatorNeeds) -> Failed {
    let known = &mut known.needs;
    known.retain(|place, _| installed.contains_key(place));
    let (mut failed, ever) = (Failed::new(), LostApi::ever());
    for (place, (revision, _)) in installed {
        if known.get(place).is_some_and(|(before, _)| before == revision) {
            continue;
        }
        let (namespace, name) = place;
        let kind = olm_resource("ClusterServiceVersion");
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
        match in_time(api.get_opt(name)).await {
            Ok(Some(object)) => {
                let spec = object.data.get("spec").unwrap_or(&Value::Null);
                let needs = ApiUsage::from_spec(namespace, spec).about(&ever);
                known.insert(place.clone(), (revision.clone(), needs));
            }
            // The watch reports the deletion.
            Ok(None) => {}
            Err(error) => {
                failed.insert(place.clone(), request_error(&error));
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    namespace,
                    name,
                    error,
                    "cannot read ClusterServiceVersion; retrying"
                );
            }
        }
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_names_operator_never_read() {
        let place = ("team".to_owned(), "etcd.v1".to_owned());
        let failed = Failed::from([(place.clone(), "forbidden".to_owned())]);
        let mut known = OperatorNeeds::default();
        assert_eq!(known.unread(&failed).as_deref(), Some("team/etcd.v1: forbidden"));
        known.needs.insert(place, (("uid".to_owned(), 1), ApiUsage::default()));
        assert_eq!(known.unread(&failed), None, "the last known APIs are used");
    }
}
