//! Kinds that a cluster may not have.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use tokio::sync::watch;

use super::follow::{Following, Objects, publish};

/// Follows the objects of a kind while the cluster has it. Its definition is watched too: asking
/// again and again for a kind that is not there would cost requests for nothing.
pub(super) fn follow(
    client: &Client,
    following: &Following,
    resource: ApiResource,
    config: watcher::Config,
) -> watch::Receiver<Option<Objects<DynamicObject>>> {
    let definition = format!("metadata.name={}.{}", resource.plural, resource.group);
    let definitions = following.objects(
        Api::<CustomResourceDefinition>::all(client.clone()),
        watcher::Config::default().fields(&definition),
    );
    let (sender, receiver) = watch::channel(None);
    let client = client.clone();
    following.tasks().spawn(async move {
        run(&client, definitions, &resource, &config, &sender).await;
    });
    receiver
}

/// Follows what the objects of a kind say; where the cluster does not have it, that is what no
/// object says.
pub(super) fn follow_as<T: PartialEq + Send + Sync + 'static>(
    client: &Client,
    following: &Following,
    resource: ApiResource,
    config: watcher::Config,
    read: fn(&Objects<DynamicObject>) -> T,
) -> watch::Receiver<Option<T>> {
    let mut objects = follow(client, following, resource, config);
    let (sender, receiver) = watch::channel(None);
    following.tasks().spawn(async move {
        loop {
            let seen = objects.borrow_and_update().as_ref().map(read);
            sender.send_if_modified(|known| {
                let changed = *known != seen;
                *known = seen;
                changed
            });
            tokio::select! {
                changed = objects.changed() => if changed.is_err() { return },
                () = sender.closed() => return,
            }
        }
    });
    receiver
}

async fn run(
    client: &Client,
    mut definitions: watch::Receiver<Option<Objects<CustomResourceDefinition>>>,
    resource: &ApiResource,
    config: &watcher::Config,
    sender: &watch::Sender<Option<Objects<DynamicObject>>>,
) {
    loop {
        let Ok(established) =
            definitions.wait_for(Option::is_some).await.map(|seen| is_established(seen.as_ref()))
        else {
            return;
        };
        if established {
            let api = Api::<DynamicObject>::all_with(client.clone(), resource);
            let events = watcher(api, config.clone()).default_backoff();
            tokio::select! {
                () = publish(&resource.plural, events, sender) => return,
                changed = definitions.wait_for(|seen| !is_established(seen.as_ref())) => {
                    if changed.is_err() { return; }
                }
            }
        } else {
            sender.send_replace(Some(Arc::default()));
            tokio::select! {
                () = sender.closed() => return,
                changed = definitions.changed() => if changed.is_err() { return; },
            }
        }
    }
}

/// Whether the API server answers for the kind that the definition is of.
fn is_established(seen: Option<&Objects<CustomResourceDefinition>>) -> bool {
    let definitions = seen.into_iter().flat_map(|seen| seen.values());
    let mut conditions = definitions
        .filter_map(|definition| definition.status.as_ref()?.conditions.as_ref())
        .flatten();
    conditions.any(|condition| condition.type_ == "Established" && condition.status == "True")
}
