//! API client of a user.

use std::time::Duration;

use anyhow::{Context, Result};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use super::response::Normalizer;
use super::{ApiResponse, WatchEvents};

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// API client of a user in a namespace.
///
/// Paths are absolute, with `{ns}` for the namespace, or start with a namespaced resource, as in
/// `configmaps/a`, `deployments?limit=1` or `widgets.example.com/w/status`.
#[derive(Clone)]
pub(crate) struct ApiClient {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Patch types.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// Namespaced resources outside the core group, and their API paths.
const GROUPS: &[(&str, &str)] = &[
    ("controllerrevisions", "apps/v1"),
    ("daemonsets", "apps/v1"),
    ("deployments", "apps/v1"),
    ("replicasets", "apps/v1"),
    ("statefulsets", "apps/v1"),
    ("jobs", "batch/v1"),
    ("leases", "coordination.k8s.io/v1"),
    ("ingresses", "networking.k8s.io/v1"),
    ("networkpolicies", "networking.k8s.io/v1"),
    ("rolebindings", "rbac.authorization.k8s.io/v1"),
    ("roles", "rbac.authorization.k8s.io/v1"),
];

impl ApiClient {
    /// The name of the namespace.
    pub(crate) fn ns(&self) -> &str {
        &self.namespace
    }

    /// The same client with a header in every request.
    pub(crate) fn with_header(&self, name: &'static str, value: &str) -> Result<Self> {
        let mut caller = self.clone();
        caller.headers.push((HeaderName::from_static(name), value.parse()?));
        Ok(caller)
    }

    /// Replaces values that differ between runs.
    pub(crate) fn normal(&self, text: &str) -> String {
        Normalizer::new(&self.namespace).normalize(text)
    }

    /// The absolute path for a path.
    pub(crate) fn path(&self, path: &str) -> String {
        let namespace = &self.namespace;
        if path.starts_with('/') {
            return path.replace("{ns}", namespace);
        }
        let end = path.find(['/', '?']).unwrap_or(path.len());
        let (resource, rest) = path.split_at(end);
        if let Some((plural, group)) = resource.split_once('.') {
            return format!("/apis/{group}/v1/namespaces/{namespace}/{plural}{rest}");
        }
        match GROUPS.iter().find(|(plural, _)| *plural == resource) {
            Some((_, group)) => format!("/apis/{group}/namespaces/{namespace}/{path}"),
            None => format!("/api/v1/namespaces/{namespace}/{path}"),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<ApiResponse> {
        self.send(Method::GET, path, None, Vec::new()).await
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<ApiResponse> {
        self.send_json(Method::POST, path, object).await
    }

    pub(crate) async fn replace(&self, path: &str, object: &Value) -> Result<ApiResponse> {
        self.send_json(Method::PUT, path, object).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<ApiResponse> {
        self.send(Method::DELETE, path, None, Vec::new()).await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Result<ApiResponse> {
        self.send_json(Method::DELETE, path, options).await
    }

    pub(crate) async fn patch(
        &self,
        kind: PatchType,
        path: &str,
        change: &Value,
    ) -> Result<ApiResponse> {
        self.send(Method::PATCH, path, Some(kind.media_type()), serde_json::to_vec(change)?).await
    }

    pub(crate) async fn merge(&self, path: &str, change: &Value) -> Result<ApiResponse> {
        self.patch(PatchType::Merge, path, change).await
    }

    /// Server-side apply by a field manager.
    pub(crate) async fn apply(
        &self,
        path: &str,
        manager: &str,
        object: &Value,
    ) -> Result<ApiResponse> {
        self.patch(PatchType::Apply, &format!("{path}?fieldManager={manager}"), object).await
    }

    /// Server-side apply with `force`.
    pub(crate) async fn force(
        &self,
        path: &str,
        manager: &str,
        object: &Value,
    ) -> Result<ApiResponse> {
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.patch(PatchType::Apply, &path, object).await
    }

    pub(crate) async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<ApiResponse> {
        self.send(method, path, Some("application/json"), serde_json::to_vec(body)?).await
    }

    /// Sends a request.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<ApiResponse> {
        let request = self.request(method, path, content_type, body)?;
        let answer = async {
            let (head, body) = self.client.send(request).await?.into_parts();
            Ok(ApiResponse {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.collect().await?.to_bytes().to_vec(),
                names: Normalizer::new(&self.namespace),
            })
        };
        timeout(TIMEOUT, answer).await.with_context(|| format!("{path} was not answered"))?
    }

    /// Watches objects from now on.
    pub(crate) async fn watch(&self, path: &str) -> Result<WatchEvents> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}watch=true");
        let request = self.request(Method::GET, &path, None, Vec::new())?;
        let response = self.client.send(request).await?;
        WatchEvents::of(response, Normalizer::new(&self.namespace)).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Request<Body>> {
        let mut request = Request::builder().method(method).uri(self.path(path));
        if let Some(content_type) = content_type {
            request = request.header(http::header::CONTENT_TYPE, content_type);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Body::from(body)).with_context(|| format!("no request for {path}"))
    }
}

/// Percent-encodes a query value.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
