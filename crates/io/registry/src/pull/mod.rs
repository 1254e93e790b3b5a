//! Reads from registries that may be slow, broken or hostile.
//!
//! [`Repository`] reads tags, manifests and blobs with [`PullOptions`]. It compares every blob with
//! its digest, and resumes a broken download.
//!
//! `oci-client` only pushes images here. For pulling, it reads tags, manifests and tokens of any
//! length into memory, hides `Retry-After`, and follows every redirect.
//!
//! | module | content |
//! | --- | --- |
//! | `client` | HTTP clients: TLS, proxies, redirects |
//! | `auth`, `secrets` | authentication at registries, and pull secrets |
//! | `tags` | tags of a repository, page by page |
//! | `body` | streams of content, verified against their digest |
//! | `download` | downloads of blobs, with range requests |
//! | `head` | checks of content without a download |
//! | `retry` | retries with exponential backoff |
//! | `error` | errors |

mod auth;
mod body;
mod client;
mod download;
mod error;
mod head;
mod retry;
mod secrets;
mod tags;

use std::time::Duration;

use fairway_http::Proxies;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, RANGE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Response, StatusCode};
use url::Url;

pub(crate) use body::{Body, LayerBody, stream_verified};
pub(crate) use client::{allows_plain_http, client, is_loopback};
pub use error::PullError;
pub(crate) use error::without_password;
pub(crate) use head::check_size;
pub(crate) use retry::Backoff;
pub(crate) use secrets::Credentials;
pub use secrets::{PullSecrets, SecretsError};
pub(crate) use tags::is_tag;

use crate::Digest;
use crate::manifest::MAX_DOCUMENT_BYTES;
use auth::{Auth, Challenge};
use client::token_client;

/// Accepted media types of manifests and indexes.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json";

/// Settings for requests to registries.
#[derive(Clone, Debug)]
pub struct PullOptions {
    /// Registry credentials.
    pub secrets: PullSecrets,
    /// Allow HTTP without TLS for other hosts.
    pub allow_plain_http: bool,
    /// CA certificates (PEM) to trust in addition to those of the host.
    pub ca_bundle: Vec<u8>,
    /// Proxy settings; `None` uses those of the environment.
    pub proxies: Option<Proxies>,
    /// Maximum number of attempts of a request.
    pub attempts: u32,
    /// Timeout for connecting, and between two chunks of a response.
    pub silence: Duration,
}

impl Default for PullOptions {
    /// Four attempts cover the restart of a registry behind a load balancer. Load balancers close
    /// connections after half a minute without data.
    fn default() -> Self {
        Self {
            secrets: PullSecrets::default(),
            allow_plain_http: false,
            ca_bundle: Vec::new(),
            proxies: None,
            attempts: 4,
            silence: Duration::from_secs(30),
        }
    }
}

/// Client for one repository of a registry.
#[derive(Debug)]
pub struct Repository {
    /// `registry/path`, the prefix of image references.
    name: String,
    /// Base URL of the repository, `…/v2/PATH`.
    base: Url,
    client: Client,
    /// Client for token requests. It follows no redirects, because the requests contain
    /// credentials.
    tokens: Client,
    auth: Auth,
    attempts: u32,
}

impl Repository {
    /// Creates a client for a repository such as `registry.example/team/releases`. The prefix
    /// `https://` selects TLS for a registry on the loopback interface.
    ///
    /// The process needs a TLS provider, which `main` installs.
    pub fn open(name: &str, options: &PullOptions) -> Result<Self, PullError> {
        let (name, base) = address(name, options.allow_plain_http)?;
        let (registry, path) = name.split_once('/').unwrap_or((&name, ""));
        let credentials = options.secrets.find(&name);
        let auth = Auth::new(registry, path, credentials, options.allow_plain_http);
        let (client, tokens) = (client(options)?, token_client(options)?);
        Ok(Self { base, client, tokens, auth, attempts: options.attempts, name })
    }

    /// `registry/path`, the prefix of image references.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Resolves a tag to a digest.
    pub async fn resolve(&self, tag: &str) -> Result<Digest, PullError> {
        let url = self.url("manifests", tag);
        self.backoff().run(|| self.resolve_once(&url)).await
    }

    /// Tries HEAD first. Some registries do not support it or omit the digest; then the manifest is
    /// fetched and hashed.
    async fn resolve_once(&self, url: &Url) -> Result<Digest, PullError> {
        match self.send(Method::HEAD, url, MANIFESTS).await {
            Ok(head) => {
                if let Some(digest) = stated_digest(head.headers()) {
                    return Ok(digest);
                }
            }
            Err(PullError::Status { status: 405 | 501, .. }) => {}
            Err(error) => return Err(error),
        }
        let body = Body::Response(self.send(Method::GET, url, MANIFESTS).await?);
        Ok(Digest::of(&body.read(MAX_DOCUMENT_BYTES).await?))
    }

    /// Requests a manifest or index once. The caller verifies the digest.
    pub(crate) async fn manifest(&self, digest: &Digest) -> Result<Body, PullError> {
        let url = self.url("manifests", digest.as_str());
        Ok(Body::Response(self.send(Method::GET, &url, MANIFESTS).await?))
    }

    /// Requests a small blob once. The caller verifies the digest.
    pub(crate) async fn blob(&self, digest: &Digest) -> Result<Body, PullError> {
        let url = self.url("blobs", digest.as_str());
        Ok(Body::Response(self.send(Method::GET, &url, "*/*").await?))
    }

    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(self.attempts)
    }

    fn url(&self, kind: &str, what: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([kind, what]);
        }
        url
    }

    async fn send(&self, method: Method, url: &Url, accept: &str) -> Result<Response, PullError> {
        self.send_from(method, url, accept, 0).await
    }

    /// Sends a request for the content from byte `begin` on. After 401, it authenticates and sends
    /// the request again.
    async fn send_from(
        &self,
        method: Method,
        url: &Url,
        accept: &str,
        begin: u64,
    ) -> Result<Response, PullError> {
        let authorization = self.auth.current().await;
        let request = |authorization: Option<&str>| {
            let request = self.client.request(method.clone(), url.clone()).header(ACCEPT, accept);
            let request = match begin {
                0 => request,
                _ => request.header(RANGE, format!("bytes={begin}-")),
            };
            match authorization {
                Some(value) => request.header(AUTHORIZATION, value),
                None => request,
            }
        };
        let failed = |error| PullError::network(url, &error);
        let first = request(authorization.as_deref()).send().await.map_err(failed)?;
        // Credentials go only to the registry itself, never to a blob store to which it redirects.
        let is_registry = first.url().origin() == url.origin();
        if first.status() != StatusCode::UNAUTHORIZED || !is_registry {
            return check_status(first, url);
        }
        let mut headers = first.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenge = headers.find_map(|header| Challenge::parse(header.to_str().ok()?));
        let Some(challenge) = challenge else { return check_status(first, url) };
        let authorization_header =
            self.auth.authorize(&self.tokens, &challenge, authorization.as_deref()).await?;
        match authorization_header {
            Some(authorization_header) => check_status(
                request(Some(&authorization_header)).send().await.map_err(failed)?,
                url,
            ),
            None => check_status(first, url),
        }
    }
}

/// The name without its scheme, and the URL of the repository.
fn address(given: &str, allow_plain_http: bool) -> Result<(String, Url), PullError> {
    let refused = || PullError::Name { name: without_password(given) };
    let (scheme, name) = match given.split_once("://") {
        Some((scheme @ ("http" | "https"), name)) => (Some(scheme), name),
        Some(_) => return Err(refused()),
        None => (None, given),
    };
    let (registry, path) = name.split_once('/').ok_or_else(refused)?;
    let legal =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-/".contains(&byte);
    let is_step = |part: &str| matches!(part, "" | "." | "..");
    if registry.contains('@') || !path.bytes().all(legal) || path.split('/').any(is_step) {
        return Err(refused());
    }
    let is_loopback = is_loopback(registry);
    let scheme = scheme.unwrap_or(if is_loopback { "http" } else { "https" });
    if scheme == "http" && !is_loopback && !allow_plain_http {
        return Err(PullError::Plain { host: registry.to_owned() });
    }
    let url = Url::parse(&format!("{scheme}://{registry}/v2/{path}")).map_err(|_| refused())?;
    if url.path() != format!("/v2/{path}") {
        return Err(refused());
    }
    Ok((name.to_owned(), url))
}

/// Maps an unsuccessful status to an error.
pub(crate) fn check_status(response: Response, url: &Url) -> Result<Response, PullError> {
    let status = response.status();
    let url = error::display_url(url);
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(response),
        StatusCode::NOT_FOUND => Err(PullError::NotFound { url }),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(PullError::Unauthorised { url }),
        _ => {
            let seconds = response.headers().get(RETRY_AFTER);
            let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
            let retry_after = seconds.map(Duration::from_secs);
            Err(PullError::Status { url, status: status.as_u16(), retry_after })
        }
    }
}

fn stated_digest(headers: &HeaderMap) -> Option<Digest> {
    Digest::parse(headers.get("docker-content-digest")?.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_selects_scheme_and_url() {
        let cases = [
            ("registry.example/a/b", false, "https://registry.example/v2/a/b"),
            ("127.0.0.1:5000/a", false, "http://127.0.0.1:5000/v2/a"),
            ("https://127.0.0.1:5000/a", false, "https://127.0.0.1:5000/v2/a"),
            ("http://registry.example:5000/a", true, "http://registry.example:5000/v2/a"),
        ];
        for (name, allow, expected) in cases {
            assert_eq!(address(name, allow).unwrap().1.as_str(), expected, "{name}");
        }
    }

    #[test]
    fn parse_with_invalid_names_fails() {
        let errors = [
            "releases",
            "ftp://registry.example/a",
            "registry.example/",
            "registry.example/a/../b",
            "registry.example/a:tag",
            "registry.example/a?b",
            "registry.example/a@sha256:12",
            "user:password@registry.example/a",
            "http://user:password@registry.example/a",
            "https://user:pass/word@registry.example/a",
            "ftp://user:password@registry.example/a@sha256:12",
            "registry.example:port/a",
            "http://registry.example/a",
        ]
        .map(|name| address(name, false).unwrap_err().to_string());
        assert!(!errors.concat().contains("word"), "{errors:?}");
        insta::assert_snapshot!(errors.join("\n"), @r#"
        "releases" is not a repository such as registry.example/team/releases
        "ftp://registry.example/a" is not a repository such as registry.example/team/releases
        "registry.example/" is not a repository such as registry.example/team/releases
        "registry.example/a/../b" is not a repository such as registry.example/team/releases
        "registry.example/a:tag" is not a repository such as registry.example/team/releases
        "registry.example/a?b" is not a repository such as registry.example/team/releases
        "registry.example/a@sha256:12" is not a repository such as registry.example/team/releases
        "…@registry.example/a" is not a repository such as registry.example/team/releases
        "…@registry.example/a" is not a repository such as registry.example/team/releases
        "…@registry.example/a" is not a repository such as registry.example/team/releases
        "…@registry.example/a@sha256:12" is not a repository such as registry.example/team/releases
        "registry.example:port/a" is not a repository such as registry.example/team/releases
        refusing to connect to registry.example without TLS: it is not a loopback address
        "#);
    }
}
