//! What the guard answers over HTTP: the webhook, `/metrics`, `/healthz` and `/readyz`.

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
use crate::sight::{self, Only, Seen};
use crate::webhook;

/// What an API server sends at most: it takes 3 MiB of an object itself.
const BODY_BYTES: usize = 4 << 20;

/// How long a review may take to arrive. API servers wait no longer for its answer, and whoever
/// sends nothing must not keep a connection from others.
const BODY_PATIENCE: Duration = Duration::from_secs(3);

/// How long a look at what is installed may take: the API server waits three seconds for the answer.
const LOOKUP_PATIENCE: Duration = Duration::from_secs(2);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// What answers are made of.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) cluster_version: Seen<Only<ClusterVersion>>,
    pub(crate) metrics: Arc<Metrics>,
    /// When it is to end: then others should be asked, though it still answers.
    pub(crate) stop: CancellationToken,
}

impl Endpoint {
    /// Answers a request, whatever it is.
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
        // Before the first look nobody knows the version, and nobody is refused.
        let cluster = self.cluster().unwrap_or_default();
        let is_update = match webhook::predecessor(&body, &cluster) {
            Some((namespace, name)) => self.is_installed(&namespace, &name).await,
            None => false,
        };
        let Some(reviewed) = webhook::answer(&body, &cluster, is_update) else {
            self.metrics.reviewed(Decision::unreadable);
            return answer(StatusCode::BAD_REQUEST, TEXT, "not an AdmissionReview");
        };
        self.metrics.reviewed(reviewed.decision);
        answer(StatusCode::OK, "application/json", reviewed.body.to_string())
    }

    /// Whether there is such an operator. Where that cannot be told, nobody is kept from an update.
    async fn is_installed(&self, namespace: &str, name: &str) -> bool {
        let resource = sight::of_olm("ClusterServiceVersion");
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        match timeout(LOOKUP_PATIENCE, api.get_metadata_opt(name)).await {
            // A copy is no operator of this namespace, and nothing updates it.
            Ok(Ok(found)) => found.is_some_and(|found| {
                !is_copied(namespace, found.labels(), found.annotations(), None)
            }),
            Ok(Err(_)) | Err(_) => true,
        }
    }

    fn cluster(&self) -> Option<ClusterVersions> {
        let seen = self.cluster_version.borrow();
        let seen = seen.as_deref()?;
        Some(seen.as_ref().map(ClusterVersions::of).unwrap_or_default())
    }
}

/// Reads a body, or says why not.
async fn read<B>(body: B) -> Result<Bytes, Response<Full<Bytes>>>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    match timeout(BODY_PATIENCE, Limited::new(body, BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            Err(answer(StatusCode::PAYLOAD_TOO_LARGE, TEXT, "the AdmissionReview is too large"))
        }
        Err(_) => {
            Err(answer(StatusCode::REQUEST_TIMEOUT, TEXT, "timed out reading the AdmissionReview"))
        }
    }
}

/// Reviews are few. No connection waits for the next one: it could be closed in the very moment in
/// which that one comes, and whoever gets no answer goes on.
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
    async fn nobody_waits_for_a_body_that_does_not_come() {
        let begun = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"{")))]);
        let refusal = read(StreamBody::new(begun.chain(stream::pending()))).await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_a_limit() {
        assert_eq!(read(Full::new(Bytes::from_static(b"{}"))).await.unwrap(), "{}");
        let refusal = read(Full::new(Bytes::from(vec![b' '; BODY_BYTES + 1]))).await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
