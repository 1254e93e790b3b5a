//! Somebody who asks the API for something.

use std::time::Duration;

use anyhow::{Context, Result};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use super::normal::Names;
use super::{Answer, Events};

/// An answer that does not come within this time does not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody who asks the API for something, from within a namespace.
///
/// Paths are absolute, with `{ns}` for the namespace; or they begin with a resource of the
/// namespace, as in `configmaps/a`, `deployments?limit=1` or `widgets.example.com/w/status`.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

/// The languages of changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patch {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Patch {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// Resources of a namespace that are not in the core group, and where they are.
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

impl Caller {
    /// The name of the namespace.
    pub(crate) fn ns(&self) -> &str {
        &self.namespace
    }

    /// The same, saying this in every request.
    pub(crate) fn saying(&self, name: &'static str, value: &str) -> Result<Self> {
        let mut caller = self.clone();
        caller.headers.push((HeaderName::from_static(name), value.parse()?));
        Ok(caller)
    }

    /// A text without what differs from run to run.
    pub(crate) fn normal(&self, text: &str) -> String {
        Names::of(&self.namespace).forget(text)
    }

    /// Where something is.
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

    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, None, Vec::new()).await
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<Answer> {
        self.send_json(Method::POST, path, object).await
    }

    pub(crate) async fn replace(&self, path: &str, object: &Value) -> Result<Answer> {
        self.send_json(Method::PUT, path, object).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Answer> {
        self.send(Method::DELETE, path, None, Vec::new()).await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Result<Answer> {
        self.send_json(Method::DELETE, path, options).await
    }

    pub(crate) async fn patch(&self, kind: Patch, path: &str, change: &Value) -> Result<Answer> {
        self.send(Method::PATCH, path, Some(kind.media_type()), serde_json::to_vec(change)?).await
    }

    pub(crate) async fn merge(&self, path: &str, change: &Value) -> Result<Answer> {
        self.patch(Patch::Merge, path, change).await
    }

    /// Server-side apply on behalf of a manager.
    pub(crate) async fn apply(&self, path: &str, manager: &str, object: &Value) -> Result<Answer> {
        self.patch(Patch::Apply, &format!("{path}?fieldManager={manager}"), object).await
    }

    /// Server-side apply that takes from others what they own.
    pub(crate) async fn force(&self, path: &str, manager: &str, object: &Value) -> Result<Answer> {
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.patch(Patch::Apply, &path, object).await
    }

    pub(crate) async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Answer> {
        self.send(method, path, Some("application/json"), serde_json::to_vec(body)?).await
    }

    /// Sends a request as it is given.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Answer> {
        let request = self.request(method, path, content_type, body)?;
        let answer = async {
            let (head, body) = self.client.send(request).await?.into_parts();
            Ok(Answer {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.collect().await?.to_bytes().to_vec(),
                names: Names::of(&self.namespace),
            })
        };
        timeout(PATIENCE, answer).await.with_context(|| format!("{path} was not answered"))?
    }

    /// What happens to some objects from now on.
    pub(crate) async fn watch(&self, path: &str) -> Result<Events> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}watch=true");
        let request = self.request(Method::GET, &path, None, Vec::new())?;
        let response = self.client.send(request).await?;
        Events::of(response, Names::of(&self.namespace)).await
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

/// A text as it stands in a query.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
