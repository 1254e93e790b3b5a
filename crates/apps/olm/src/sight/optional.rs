//! Kinds that a cluster may not have.

use std::sync::Arc;

use futures::Stream;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::blind::Lookout;
use super::follow::{self, publish};
use super::{Seen, named};

/// Follows the objects of a kind while the cluster has it. Its definition is watched too: asking
/// again and again for a kind that is not there would cost requests for nothing. `definition` is
/// its name.
pub(super) fn follow<K, T, S>(
    client: &Client,
    definition: &'static str,
    lookout: &Lookout,
    tasks: &TaskTracker,
    watch: impl Fn() -> S + Send + Sync + 'static,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) -> Seen<T>
where
    K: Send + 'static,
    T: Clone + Default + PartialEq + Send + Sync + 'static,
    S: Stream<Item = watcher::Result<Event<K>>> + Send,
{
    let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone());
    let mut defined: Seen<bool> = follow::follow(
        lookout.on_definition(definition),
        move || watcher(api.clone(), named(definition)).default_backoff(),
        tasks,
        |defined, _| *defined = true,
        |defined, _| *defined = false,
    );
    let (sender, receiver) = watch::channel(None);
    let lookout = lookout.clone();
    tasks.spawn(async move {
        let is = |seen: &Option<Arc<bool>>, there: bool| seen.as_deref() == Some(&there);
        loop {
            let there = match defined.wait_for(Option::is_some).await {
                Ok(seen) => is(&seen, true),
                Err(_) => return,
            };
            if there {
                let eye = lookout.on_objects(definition);
                tokio::select! {
                    () = publish(eye, &watch, &sender, add, remove) => return,
                    gone = defined.wait_for(|seen| is(seen, false)) => if gone.is_err() { return },
                }
            } else {
                sender.send_replace(Some(Arc::default()));
                tokio::select! {
                    () = sender.closed() => return,
                    changed = defined.changed() => if changed.is_err() { return },
                }
            }
        }
    });
    receiver
}
