//! Which APIs the installed operators use.
//!
//! That is in their specifications, which are large and seldom change. So each is read once in every
//! state that it has, one at a time, and only what it comes to is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_compat::olm::apis::Needs;
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;

use crate::clock;
use crate::sight::{Installed, Place, Revision, Seen, of_olm};

/// How long to wait after an operator could not be read.
const BREATHER: Duration = Duration::from_mins(1);

/// What operators use, and in which state of theirs.
pub(crate) type Known = BTreeMap<Place, (Revision, Needs)>;

/// Reads operators for as long as somebody listens.
pub(crate) async fn follow(
    client: Client,
    mut installed: Seen<Installed>,
    told: watch::Sender<Option<Arc<Known>>>,
) {
    let mut known = Known::new();
    loop {
        let seen = installed.borrow_and_update().clone();
        let mut complete = true;
        if let Some(installed) = seen {
            complete = update(&client, &installed, &mut known).await;
            told.send_replace(Some(Arc::new(known.clone())));
        }
        tokio::select! {
            changed = installed.changed() => if changed.is_err() { return },
            () = clock::pause(BREATHER), if !complete => {}
            () = told.closed() => return,
        }
    }
}

/// Reads what has changed; whether all of it could be.
async fn update(client: &Client, installed: &Installed, known: &mut Known) -> bool {
    known.retain(|place, _| installed.contains_key(place));
    let mut complete = true;
    for (place, (revision, _)) in installed {
        if known.get(place).is_some_and(|(before, _)| before == revision) {
            continue;
        }
        let (namespace, name) = place;
        let kind = of_olm("ClusterServiceVersion");
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
        match api.get_opt(name).await {
            Ok(Some(object)) => {
                known.insert(place.clone(), (revision.clone(), Needs::read(&json!(object))));
            }
            // That it is gone will be seen.
            Ok(None) => {}
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(namespace, name, error, "an operator cannot be read; trying again");
                complete = false;
            }
        }
    }
    complete
}
