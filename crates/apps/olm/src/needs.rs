//! Which APIs the installed operators use.
//!
//! That is in their specifications, which are large and seldom change. So each is read once in every
//! state that it has, one at a time, and only what it comes to is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::error_text::of_request;
use crate::request::in_time;
use crate::sight::{Installed, Place, Revision, Seen, of_olm};
use fairway_compat::olm::apis::{Lost, Needs};
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;

/// How long to wait after an operator could not be read.
const BREATHER: Duration = Duration::from_mins(1);

/// What operators use, and in which state of theirs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) needs: BTreeMap<Place, (Revision, Needs)>,
    /// An operator of which nothing is known, and why.
    pub(crate) unread: Option<String>,
}

/// Operators that could not be read, and why.
type Failed = BTreeMap<Place, String>;

/// Reads operators for as long as somebody listens.
pub(crate) async fn follow(
    client: Client,
    mut installed: Seen<Installed>,
    told: watch::Sender<Option<Arc<Known>>>,
) {
    let mut known = Known::default();
    loop {
        let seen = installed.borrow_and_update().clone();
        let mut complete = true;
        if let Some(installed) = seen {
            let failed = update(&client, &installed, &mut known).await;
            complete = failed.is_empty();
            known.unread = known.unread(&failed);
            told.send_replace(Some(Arc::new(known.clone())));
        }
        tokio::select! {
            changed = installed.changed() => if changed.is_err() { return },
            () = fairway_clock::pause(BREATHER), if !complete => {}
            () = told.closed() => return,
        }
    }
}

impl Known {
    /// What was known of an operator counts until its new state is.
    fn unread(&self, failed: &Failed) -> Option<String> {
        let unread = failed.iter().find(|(place, _)| !self.needs.contains_key(place));
        unread.map(|((namespace, name), why)| format!("{namespace}/{name}: {why}"))
    }
}

/// Reads what has changed; what of it could not be.
async fn update(client: &Client, installed: &Installed, known: &mut Known) -> Failed {
    let known = &mut known.needs;
    known.retain(|place, _| installed.contains_key(place));
    let (mut failed, ever) = (Failed::new(), Lost::ever());
    for (place, (revision, _)) in installed {
        if known.get(place).is_some_and(|(before, _)| before == revision) {
            continue;
        }
        let (namespace, name) = place;
        let kind = of_olm("ClusterServiceVersion");
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
        match in_time(api.get_opt(name)).await {
            Ok(Some(object)) => {
                let spec = object.data.get("spec").unwrap_or(&Value::Null);
                let needs = Needs::of(namespace, spec).about(&ever);
                known.insert(place.clone(), (revision.clone(), needs));
            }
            // That it is gone will be seen.
            Ok(None) => {}
            Err(error) => {
                failed.insert(place.clone(), of_request(&error));
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
    fn what_was_never_read_is_named() {
        let place = ("team".to_owned(), "etcd.v1".to_owned());
        let failed = Failed::from([(place.clone(), "forbidden".to_owned())]);
        let mut known = Known::default();
        assert_eq!(known.unread(&failed).as_deref(), Some("team/etcd.v1: forbidden"));
        known.needs.insert(place, (("uid".to_owned(), 1), Needs::default()));
        assert_eq!(known.unread(&failed), None, "what was known counts");
    }
}
