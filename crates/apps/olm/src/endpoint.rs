//! HTTP endpoints of the guard: the webhook and `/metrics` on a public listener, and `/healthz` and
//! `/readyz` on a listener of their own, which only its pod reaches.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fairway_api::ClusterVersion;
use fairway_compat::olm::{ClusterVersions, is_copied};
use fairway_http::RequestBody;
use fairway_metrics::{MetricsHandler, ScrapeRequest};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Body;
use kube::api::DynamicObject;
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::certificate::Current;
use crate::metrics::{Decision, Metrics};
use crate::watches::{self, Singleton, WatchReceiver};
use crate::webhook;

/// Maximum size of a review: API servers accept objects of 3 MiB.
const MAX_BODY_BYTES: usize = 4 << 20;

/// Timeout of reading a review, that of the webhook. An idle connection must not occupy a slot.
const BODY_TIMEOUT: Duration = Duration::from_secs(3);

/// Timeout of looking up an installed operator: the API server waits three seconds for the response.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

const TEXT: &str = "text/plain; charset=utf-8";

/// Body size up to which a review needs no permit.
const SMALL_BODY_BYTES: u64 = 512 << 10;

/// Maximum number of larger bodies in memory. Operators with icons are below half a MiB mostly.
const MAX_LARGE_BODIES: usize = 4;

/// Maximum concurrent lookups of installed operators: a client must not make the guard flood the API
/// server.
const MAX_LOOKUPS: usize = 8;

/// State of the endpoint.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) cluster_version: WatchReceiver<Singleton<ClusterVersion>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) scrapes: Arc<MetricsHandler>,
    pub(crate) limits: Arc<ReviewLimits>,
}

/// Limits of concurrent reviews.
pub(crate) struct ReviewLimits {
    large_bodies: Semaphore,
    lookups: Semaphore,
}

impl Default for ReviewLimits {
    fn default() -> Self {
        Self {
            large_bodies: Semaphore::new(MAX_LARGE_BODIES),
            lookups: Semaphore::new(MAX_LOOKUPS),
        }
    }
}

impl Endpoint {
    /// Responds to any request.
    pub(crate) async fn answer(self, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, webhook::PATH) => last_on_connection(self.review(request).await),
            (&Method::GET, "/metrics") => {
                let scrape = ScrapeRequest::from(&request);
                self.scrapes.respond(scrape).await
            }
            _ => answer(StatusCode::NOT_FOUND, TEXT, "not found; paths: /validate, /metrics"),
        }
    }

    async fn review(&self, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        let body = match read(request.into_body(), &self.limits.large_bodies).await {
            Ok(body) => body,
            Err(refusal) => {
                self.metrics.reviewed(Decision::unreadable);
                return refusal;
            }
        };
        let Some(review) = webhook::Review::parse(&body) else {
            self.metrics.reviewed(Decision::unreadable);
            return answer(StatusCode::BAD_REQUEST, TEXT, "not an AdmissionReview");
        };
        drop(body);
        // Before the first list the version is unknown, and every installation is allowed.
        let cluster = installed_versions(&self.cluster_version).unwrap_or_default();
        let is_update = match review.predecessor(&cluster) {
            Some((namespace, name)) => self.is_installed(namespace, name).await,
            None => false,
        };
        let reviewed = review.respond(&cluster, is_update);
        self.metrics.reviewed(reviewed.decision);
        answer(StatusCode::OK, "application/json", reviewed.body.to_string())
    }

    /// Whether an operator is installed. If that is unknown, updates are allowed.
    async fn is_installed(&self, namespace: &str, name: &str) -> bool {
        let resource = watches::olm_resource("ClusterServiceVersion");
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        let lookup = async {
            let _permit = self.limits.lookups.acquire().await;
            api.get_metadata_opt(name).await
        };
        match timeout(LOOKUP_TIMEOUT, lookup).await {
            // A copied CSV is not an operator of this namespace.
            Ok(Ok(found)) => found.is_some_and(|found| {
                !is_copied(namespace, found.labels(), found.annotations(), None)
            }),
            Ok(Err(_)) | Err(_) => true,
        }
    }
}

/// Versions of the cluster; `None` before the first list.
fn installed_versions(
    cluster_version: &WatchReceiver<Singleton<ClusterVersion>>,
) -> Option<ClusterVersions> {
    let seen = cluster_version.borrow();
    let seen = seen.as_deref()?;
    Some(seen.as_ref().map(ClusterVersions::from_cluster_version).unwrap_or_default())
}

/// State that probes report.
#[derive(Clone)]
pub(crate) struct Probes {
    pub(crate) cluster_version: WatchReceiver<Singleton<ClusterVersion>>,
    /// Served certificate.
    pub(crate) certificate: watch::Receiver<Current>,
    /// Address of the webhook; `None` until it is bound.
    pub(crate) webhook: watch::Receiver<Option<SocketAddr>>,
    /// Shutdown signal: the guard is not ready after it, but still responds.
    pub(crate) stop: CancellationToken,
}

impl Probes {
    /// Responds to a probe.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        match request.uri().path() {
            "/healthz" => answer(StatusCode::OK, TEXT, "ok"),
            "/readyz" => match self.unready() {
                Some(reason) => answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, reason),
                None => answer(StatusCode::OK, TEXT, "ok"),
            },
            _ => answer(StatusCode::NOT_FOUND, TEXT, "not found; paths: /healthz, /readyz"),
        }
    }

    fn unready(&self) -> Option<&'static str> {
        if self.stop.is_cancelled() {
            Some("shutting down")
        } else if self.certificate.borrow().is_none() {
            Some("waiting for the first certificate")
        } else if self.webhook.borrow().is_none() {
            Some("waiting for the port of the webhook")
        } else if installed_versions(&self.cluster_version).is_none() {
            Some("waiting for the first list of ClusterVersion")
        } else {
            None
        }
    }
}

/// Reads a body, or returns the error response. A large body waits for a permit.
async fn read<B>(body: B, large_bodies: &Semaphore) -> Result<Bytes, Response<Full<Bytes>>>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let size = body.size_hint();
    let too_large =
        || answer(StatusCode::PAYLOAD_TOO_LARGE, TEXT, "the AdmissionReview is too large");
    if size.lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    let is_small = size.upper().is_some_and(|upper| upper <= SMALL_BODY_BYTES);
    let reading = async {
        let _permit = if is_small { None } else { Some(large_bodies.acquire().await) };
        Limited::new(body, MAX_BODY_BYTES).collect().await
    };
    match timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(too_large()),
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

    fn permits() -> Semaphore {
        Semaphore::new(MAX_LARGE_BODIES)
    }

    /// A body that has begun and never ends.
    fn stalled() -> impl Body<Data = Bytes, Error = Infallible> {
        let begun = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"{")))]);
        StreamBody::new(begun.chain(stream::pending()))
    }

    #[tokio::test(start_paused = true)]
    async fn read_of_stalled_body_times_out() {
        let refusal = read(stalled(), &permits()).await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn read_of_large_body_is_refused() {
        assert_eq!(read(Full::new(Bytes::from_static(b"{}")), &permits()).await.unwrap(), "{}");
        let large = Full::new(Bytes::from(vec![b' '; MAX_BODY_BYTES + 1]));
        // Refused by its announced size, before a byte is read.
        let refusal = read(large, &Semaphore::new(0)).await.unwrap_err();
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn read_of_many_large_bodies_is_limited() {
        let permits = permits();
        let stalled = futures::future::join_all((0..100).map(|_| read(stalled(), &permits)));
        let small = async {
            tokio::task::yield_now().await;
            assert_eq!(permits.available_permits(), 0, "the others wait");
            read(Full::new(Bytes::from_static(b"{}")), &permits).await.unwrap()
        };
        let (refused, small) = futures::future::join(stalled, small).await;
        assert!(refused.iter().all(Result::is_err));
        assert_eq!(small, "{}", "small reviews do not wait");
    }

    #[tokio::test]
    async fn probes_name_the_missing_part() {
        let (versions, certificate) = (watch::channel(None), watch::channel(None));
        let webhook = watch::channel(None);
        let probes = Probes {
            cluster_version: versions.1,
            certificate: certificate.1,
            webhook: webhook.1,
            stop: CancellationToken::new(),
        };
        let request = |path: &str| Request::builder().uri(path).body(()).unwrap();
        let status = |path: &str| probes.answer(&request(path)).status().as_u16();
        assert_eq!([status("/healthz"), status("/readyz"), status("/metrics")], [200, 503, 404]);
        assert_eq!(probes.unready(), Some("waiting for the first certificate"));
        let tls = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(rustls::server::ResolvesServerCertUsingSni::new()));
        certificate.0.send_replace(Some(Arc::new(tls)));
        assert_eq!(probes.unready(), Some("waiting for the port of the webhook"));
        webhook.0.send_replace(Some(([127, 0, 0, 1], 9443).into()));
        assert_eq!(probes.unready(), Some("waiting for the first list of ClusterVersion"));
        versions.0.send_replace(Some(Arc::new(None)));
        assert_eq!(status("/readyz"), 200);
        probes.stop.cancel();
        assert_eq!(probes.unready(), Some("shutting down"));
    }
}
