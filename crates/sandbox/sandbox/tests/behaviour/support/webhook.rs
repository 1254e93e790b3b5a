//! An admission webhook for one case.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fairway_testkit::wait;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{ApiResponse, Case};

/// API path of webhook configurations.
pub(crate) const CONFIGURATIONS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// Label by which namespaces and objects select webhooks.
pub(crate) const LABEL: &str = "webhook";

/// Reaction of a webhook to a request.
pub(crate) enum WebhookReaction {
    /// Responds with this `AdmissionResponse` and the UID of the request.
    Respond(Value),
    /// Responds with this status and body.
    Raw(u16, String),
    /// Does not respond.
    Wait,
}

/// A webhook server that runs until it is dropped.
pub(crate) struct Webhook {
    pub(crate) address: SocketAddr,
    authority: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    _stop: DropGuard,
}

impl Webhook {
    /// Starts a webhook whose reaction depends on the path.
    pub(crate) async fn start(react: fn(&str) -> WebhookReaction) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (asked, stop) = (Arc::default(), CancellationToken::new());
        let (asking, stopped) = (Arc::clone(&asked), stop.clone());
        tokio::spawn(stopped.run_until_cancelled_owned(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, Arc::clone(&asking), react));
            }
        }));
        Ok(Self { address, authority: made.cert.pem(), asked, _stop: stop.drop_guard() })
    }

    /// A webhook of a configuration with this path, for `ConfigMaps` in namespaces with the label.
    pub(crate) fn at(&self, path: &str, namespace: &str) -> Value {
        json!({
            "name": format!("{path}.example.com"),
            "clientConfig": {
                "url": format!("https://{}/{path}", self.address),
                "caBundle": STANDARD.encode(&self.authority),
            },
            "rules": [{
                "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }],
            "namespaceSelector": { "matchLabels": { LABEL: namespace } },
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        })
    }

    /// Requests since the last call, with their paths.
    pub(crate) fn take_requests(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A response of the API server without the address of the webhook.
    pub(crate) fn shown(&self, answer: &ApiResponse) -> String {
        answer.shown().replace(&self.address.to_string(), "ADDRESS")
    }
}

async fn serve(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    react: fn(&str) -> WebhookReaction,
) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request| answer(request, Arc::clone(&asked), react));
    let builder = Builder::new(TokioExecutor::new());
    // The client may close the connection.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    react: fn(&str) -> WebhookReaction,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let uid = review["request"]["uid"].clone();
    let reaction = react(&path);
    asked.lock().unwrap_or_else(PoisonError::into_inner).push((path, review));
    let (status, text) = match reaction {
        WebhookReaction::Respond(mut response) => {
            if response.get("uid").is_none() {
                response["uid"] = uid;
            }
            let review = json!({
                "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response,
            });
            (200, review.to_string())
        }
        WebhookReaction::Raw(status, text) => (status, text),
        WebhookReaction::Wait => std::future::pending().await,
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    response
        .headers_mut()
        .insert("content-type", http::HeaderValue::from_static("application/json"));
    Ok(response)
}

impl Case {
    /// Creates webhook configurations for the namespace, and waits until the server calls the first
    /// webhook for a ConfigMap.
    pub(crate) async fn configure(&self, webhook: &Webhook, webhooks: &[Value]) -> Result<()> {
        let label = json!({ "metadata": { "labels": { LABEL: self.ns() } } });
        self.merge("/api/v1/namespaces/{ns}", &label).await?.object()?;
        let probe = webhook.at("probe", self.ns());
        let webhooks: Vec<&Value> = webhooks.iter().chain([&probe]).collect();
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": self.ns() },
            "webhooks": webhooks,
        });
        self.create_outside(CONFIGURATIONS, &configuration).await?.object()?;
        let probe = super::config_map("probe", json!({}));
        wait::until("the webhook to be asked", || async {
            self.create("configmaps?dryRun=All", &probe).await?;
            Ok(webhook.take_requests().iter().any(|(path, _)| path == "probe").then_some(()))
        })
        .await
        .context("the configuration has no effect")
    }
}
