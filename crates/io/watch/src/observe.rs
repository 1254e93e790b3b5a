//! A client that reports starts and bookmarks of watches.

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use crate::monitor::WatchMonitor;

impl WatchMonitor {
    /// A client for this watch only. It sends its requests with the given one, and reports successful
    /// starts, bookmarks and events to the monitor.
    pub fn observe(&self, client: &Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let (client, monitor) = (client.clone(), self.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (client, monitor) = (client.clone(), monitor.clone());
            async move {
                let is_watch = is_watch(&request);
                let response = client.send(request).await?;
                let is_started = is_watch && response.status().is_success();
                if is_started {
                    monitor.started();
                }
                let (parts, body) = response.into_parts();
                let body = body.map_frame(move |frame| {
                    if is_started {
                        monitor.received();
                    }
                    frame
                });
                Ok::<_, kube::Error>(Response::from_parts(parts, body))
            }
        });
        Client::new(service, namespace)
    }
}

/// Whether it is a watch request. Values of the query are encoded, so the text is no part of one.
fn is_watch<B>(request: &Request<B>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|parameter| matches!(parameter, "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures::{StreamExt as _, TryStreamExt as _};
    use http_body_util::Full;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use kube::api::{ListParams, WatchParams};
    use serde_json::json;

    use super::*;
    use crate::monitor::WatchMonitors;

    const MINUTE: Duration = Duration::from_mins(1);

    /// A client of a server that sends a fixed response.
    fn client(status: u16, body: &str) -> Client {
        let body = Bytes::from(body.to_owned());
        let service = service_fn(move |_: Request<Body>| {
            let mut response = Response::new(Full::new(body.clone()));
            *response.status_mut() = status.try_into().expect("a status");
            async { Ok::<_, std::convert::Infallible>(response) }
        });
        Client::new(service, "default")
    }

    /// Age of the only watch.
    fn age(monitors: &WatchMonitors) -> Duration {
        let now = tokio::time::Instant::now();
        monitors.ages().values().map(|age| age.age(now)).next().expect("a watch")
    }

    #[tokio::test(start_paused = true)]
    async fn watch_start_and_bookmark_confirm_the_watch() -> anyhow::Result<()> {
        let bookmark = json!({"type": "BOOKMARK", "object": {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"resourceVersion": "7"},
        }});
        let monitors = WatchMonitors::default();
        let monitor = monitors.monitor("configmaps");
        let client = monitor.observe(&client(200, &format!("{bookmark}\n")));
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        fairway_clock::pause(MINUTE).await;
        let events = maps.watch(&WatchParams::default(), "0").await?;
        assert_eq!(age(&monitors), Duration::ZERO);
        fairway_clock::pause(MINUTE).await;
        assert_eq!(events.try_collect::<Vec<_>>().await?.len(), 1);
        assert_eq!(age(&monitors), Duration::ZERO);
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn failed_watch_and_list_do_not_confirm_the_watch() {
        let monitors = WatchMonitors::default();
        let monitor = monitors.monitor("configmaps");
        let status =
            json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden"});
        let refused = monitor.observe(&client(403, &status.to_string()));
        let maps: Api<ConfigMap> = Api::default_namespaced(refused);
        fairway_clock::pause(MINUTE).await;
        let watch = maps.watch(&WatchParams::default(), "0").await;
        assert!(watch.map(|events| drop(events.boxed())).is_err());
        // One page of a list is not the list.
        let page =
            json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": []});
        let listed = monitor.observe(&client(200, &page.to_string()));
        let maps: Api<ConfigMap> = Api::default_namespaced(listed);
        maps.list(&ListParams::default()).await.expect("a list");
        assert_eq!(age(&monitors), MINUTE);
    }
}
