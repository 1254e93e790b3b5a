//! Reading from a registry that may be slow, broken or hostile.
//!
//! `oci-client` pushes images here, and does not pull them: it reads tags, manifests and tokens of
//! any length into memory, hides how long a registry asks to wait, and follows every redirect.

mod auth;
mod body;
mod download;
mod error;
mod head;
mod pass;
mod retry;
mod secrets;
mod tags;

use std::time::Duration;

use fairway_http::{Proxies, trusting_this_machine};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, RANGE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Method, Proxy, Response, StatusCode};
use url::Url;

pub(crate) use body::Body;
use body::Check;
pub use error::PullError;
pub(crate) use error::without_password;
pub(crate) use head::sized;
pub(crate) use pass::{Arriving, pass};
pub(crate) use retry::Backoff;
pub(crate) use secrets::Credentials;
pub use secrets::{PullSecrets, SecretsError};
pub(crate) use tags::is_tag;

use crate::Digest;
use crate::manifest::LARGEST_DOCUMENT;
use crate::plain::is_this_machine;
use auth::{Auth, Challenge};

/// The formats of manifests and of lists of them.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json";

/// From a registry to a mirror to a store of blobs; nobody needs more.
const MOST_REDIRECTS: usize = 5;

/// How to speak to a registry.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who we are, for registries that ask.
    pub secrets: PullSecrets,
    /// Whether registries on other machines may be spoken to without TLS.
    pub allow_plain_http: bool,
    /// Certificates of authorities to trust besides the machine's, as PEM.
    pub authorities: Vec<u8>,
    /// The ways to the outside; those of the environment if none are given.
    pub proxies: Option<Proxies>,
    /// How often something is tried before it counts as failed.
    pub attempts: u32,
    /// How long a registry may say nothing.
    pub silence: Duration,
}

impl Default for Options {
    /// Four attempts outlast a registry's restart behind a balancer; half a minute of silence is
    /// what balancers allow.
    fn default() -> Self {
        Self {
            secrets: PullSecrets::default(),
            allow_plain_http: false,
            authorities: Vec::new(),
            proxies: None,
            attempts: 4,
            silence: Duration::from_secs(30),
        }
    }
}

/// A repository in a registry.
#[derive(Debug)]
pub struct Repository {
    /// `registry/path`, as it stands in the names of images.
    name: String,
    /// Where everything of it lies.
    base: Url,
    client: Client,
    /// For tokens. It follows nobody: what it sends is secret.
    tokens: Client,
    auth: Auth,
    attempts: u32,
}

impl Repository {
    /// Prepares to speak to the registry of a repository such as `registry.example/team/releases`.
    /// With `https://` before it, a registry on this machine is spoken to with TLS, too.
    ///
    /// The process needs a TLS provider: `main` installs it.
    pub fn open(name: &str, options: &Options) -> Result<Self, PullError> {
        let (name, base) = address(name, options.allow_plain_http)?;
        let (registry, path) = name.split_once('/').unwrap_or((&name, ""));
        let credentials = options.secrets.find(&name);
        let auth = Auth::new(registry, path, credentials, options.allow_plain_http);
        let (client, tokens) = (client(options)?, token_client(options)?);
        Ok(Self { base, client, tokens, auth, attempts: options.attempts, name })
    }

    /// `registry/path`, as it stands in the names of images.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which content a tag stands for.
    pub async fn resolve(&self, tag: &str) -> Result<Digest, PullError> {
        let url = self.url("manifests", tag);
        let mut backoff = self.backoff();
        loop {
            match self.resolve_once(&url).await {
                Err(error) if backoff.retry(&error).await => {}
                done => return done,
            }
        }
    }

    /// Asks for the digest alone; some registries do not state it, or refuse the question.
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
        Ok(Digest::of(&body.read(LARGEST_DOCUMENT).await?))
    }

    /// The manifest or the list of that digest, once; it is for the reader to check it.
    pub(crate) async fn manifest(&self, digest: &Digest) -> Result<Body, PullError> {
        let url = self.url("manifests", digest.as_str());
        Ok(Body::Response(self.send(Method::GET, &url, MANIFESTS).await?))
    }

    /// The small blob of that digest, once; it is for the reader to check it.
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

    /// Sends a request for what begins at that byte, and again with what the registry asks for if
    /// it refuses the first.
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
        // Only the registry itself is told who we are: not those to whom it sends us for blobs.
        let asked_by_registry = first.url().origin() == url.origin();
        if first.status() != StatusCode::UNAUTHORIZED || !asked_by_registry {
            return checked(first, url);
        }
        let mut headers = first.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenge = headers.find_map(|header| Challenge::parse(header.to_str().ok()?));
        let Some(challenge) = challenge else { return checked(first, url) };
        let answer = self.auth.answer(&self.tokens, &challenge, authorization.as_deref()).await?;
        match answer {
            Some(answer) => checked(request(Some(&answer)).send().await.map_err(failed)?, url),
            None => checked(first, url),
        }
    }
}

/// The name without its scheme, and where the repository is.
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
    let near = is_this_machine(registry);
    let scheme = scheme.unwrap_or(if near { "http" } else { "https" });
    if scheme == "http" && !near && !allow_plain_http {
        return Err(PullError::Plain { host: registry.to_owned() });
    }
    let url = Url::parse(&format!("{scheme}://{registry}/v2/{path}")).map_err(|_| refused())?;
    if url.path() != format!("/v2/{path}") {
        return Err(refused());
    }
    Ok((name.to_owned(), url))
}

pub(crate) fn client(options: &Options) -> Result<Client, PullError> {
    let allow_plain_http = options.allow_plain_http;
    let follow = Policy::custom(move |attempt| redirected(attempt, allow_plain_http));
    client_that(follow, options)
}

fn token_client(options: &Options) -> Result<Client, PullError> {
    client_that(Policy::none(), options)
}

fn client_that(redirects: Policy, options: &Options) -> Result<Client, PullError> {
    let failed =
        |error: reqwest::Error| PullError::Client { why: fairway_text::root_cause(&error) };
    let authorities =
        reqwest::Certificate::from_pem_bundle(&options.authorities).map_err(failed)?;
    let proxies = options.proxies.clone().map_or_else(Proxies::of_environment, Ok);
    let proxies = proxies.map_err(|error| PullError::Client { why: error.to_string() })?;
    trusting_this_machine(Client::builder())
        .user_agent(concat!("fairway/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        .connect_timeout(options.silence)
        .read_timeout(options.silence)
        .tls_certs_merge(authorities)
        .no_proxy()
        .proxy(Proxy::custom(move |url| proxies.of(url).cloned()))
        .build()
        .map_err(failed)
}

/// Registries may keep blobs elsewhere. Nobody is led from TLS to plain HTTP, or by plain HTTP to
/// another machine.
fn redirected(attempt: Attempt<'_>, allow_plain_http: bool) -> reqwest::redirect::Action {
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error("too many redirects");
    }
    let came_by_tls = attempt.previous().iter().any(|url| url.scheme() == "https");
    let leads_to = attempt.url();
    let plain = leads_to.scheme() != "https";
    if plain && (came_by_tls || !may_be_plain(leads_to, allow_plain_http)) {
        let to = error::place(leads_to);
        return attempt.error(format!("redirected to {to}, which does not use TLS"));
    }
    attempt.follow()
}

pub(crate) fn may_be_plain(url: &Url, allow_plain_http: bool) -> bool {
    allow_plain_http || url.host_str().is_some_and(is_this_machine)
}

/// The answer, if it is a good one.
pub(crate) fn checked(response: Response, url: &Url) -> Result<Response, PullError> {
    let status = response.status();
    let url = error::place(url);
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
    fn a_name_says_where_a_repository_is_and_how_to_speak_to_it() {
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
    fn other_names_are_refused() {
        let told = [
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
        assert!(!told.concat().contains("word"), "{told:?}");
        insta::assert_snapshot!(told.join("\n"), @r#"
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
        registry.example is on another host, and the connection would not use TLS
        "#);
    }
}
