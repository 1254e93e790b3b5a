//! HTTP endpoint of the guard: the webhook, `/metrics`, `/healthz` and `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fairway_api::ClusterVersion;
use fairway_compat::olm::{ClusterVersions, is_copied};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Incoming};
use kube::api::DynamicObject;
use kube::{Api, Client, ResourceExt as _};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Decision, Metrics};
use crate::watches::{self, Singleton, WatchReceiver};
use crate::webhook;

/// Maximum size of a review: API servers accept objects of 3 MiB.
const MAX_BODY_BYTES: usize = 4 << 20;

/// Timeout of reading a review, that of the webhook. An idle connection must not occupy a slot.
const BODY_TIMEOUT: Duration = Duration::from_secs(3);

/// Timeout of looking up an installed operator: the API server waits three seconds for the response.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// State of the endpoint.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) cluster_version: WatchReceiver<Singleton<ClusterVersion>>,
    pub(crate) metrics: Arc<Metrics>,
    /// Shutdown signal: the guard is not ready after it, but still responds.
    pub(crate) stop: CancellationToken,
}

impl Endpoint {
    /// Responds to any request.
    pub(crate) async fn answer(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, webhook::PATH) => last_on_connection(self.review(request).await),
            (&Method::GET, "/metrics") => answer(StatusCode::OK, OPEN_METRICS, self.metrics.text()),
            (&Method::GET, "/healthz") => answer(StatusCode::OK, TEXT, "ok"),
            (&Method::GET, "/readyz") => self.ready(),
            _ => {
                let known = "not found; paths: /validate, /metrics, /healthz, /readyz";
                answer(StatusCode::NOT_FOUND, TEXT, known)
            }
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        if self.stop.is_cancelled() {
            return answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, "shutting down");
        }
        if self.cluster().is_none() {
            let waiting = "waiting for the first list of ClusterVersion";
            return answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, waiting);
        }
        answer(StatusCode::OK, TEXT, "ok")
    }

    async fn review(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let body = match read(request.into_body()).await {
            Ok(body) => body,
            Err(refusal) => {
                self.metrics.reviewed(Decision::unreadable);
                return refusal;
            }
        };
        // Before the first list the version is unknown, and every installation is allowed.
        let cluster = self.cluster().unwrap_or_default();
        let is_update = match webhook::predecessor(&body, &cluster) {
            Some((namespace, name)) => self.is_installed(&namespace, &name).await,
            None => false,
        };
        let Some(reviewed) = webhook::review(&body, &cluster, is_update) else {
            self.metrics.reviewed(Decision::unreadable);
            return answer(StatusCode::BAD_REQUEST, TEXT, "not an AdmissionReview");
        };
        self.metrics.reviewed(reviewed.decision);
        answer(StatusCode::OK, "application/json", reviewed.body.to_string())
    }

    /// Whether an operator is installed. If that is unknown, updates are allowed.
    async fn is_installed(&self, namespace: &str, name: &str) -> bool {
        let resource = watches::olm_resource("ClusterServiceVersion");
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        match timeout(LOOKUP_TIMEOUT, api.get_metadata_opt(name)).await {
            // A copied CSV is not an operator of this namespace.
            Ok(Ok(found)) => found.is_some_and(|found| {
                !is_copied(namespace, found.labels(), found.annotations(), None)
            }),
            Ok(Err(_)) | Err(_) => true,
        }
    }

    fn cluster(&self) -> Option<ClusterVersions> {
        let seen = self.cluster_version.borrow();
        let seen = seen.as_deref()?;
        Some(seen.as_ref().map(ClusterVersions::from_cluster_version).unwrap_or_default())
    }
}

/// Reads a body, or returns the error response.
async fn read<B>(body: B) -> Result<Bytes, Response<Full<Bytes>>>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    match timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            Err(answer(StatusCode::PAYLOAD_TOO_LARGE, TEXT, "the AdmissionReview is too large"))
        }
        Err(_) => {
            Err(answer(StatusCode::REQUEST_TIMEOUT, TEXT, "timed out reading the AdmissionReview"))
        }
    }
}

/// Closes the connection after a review. Reviews are rare, and a kept connection could be closed at
/// the moment of the next one; the API server would then skip the webhook.
fn last_on_connection(mut answer: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{StreamExt as _, stream};
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn read_of_stalled_body_times_out() {
        let begun = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"{")))]);
        let refusal = read(StreamBody::new(begun.chain(stream::pending()))).await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn read_of_large_body_is_refused() {
        assert_eq!(read(Full::new(Bytes::from_static(b"{}"))).await.unwrap(), "{}");
        let refusal =
            read(Full::new(Bytes::from(vec![b' '; MAX_BODY_BYTES + 1]))).await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
