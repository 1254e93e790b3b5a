//! Authentication at registries: basic authentication, or a token from the token server of the
//! registry (distribution token authentication).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};

use super::secrets::Credentials;
use super::{Body, PullError, allows_plain_http, check_status};
use crate::pull::is_loopback;

/// Bytes of a token response. Real tokens have a few kilobytes; larger ones would not fit into a
/// header.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// Authentication scheme of a `WWW-Authenticate` header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

/// Credentials and authorization state for one repository.
pub(super) struct Auth {
    path: String,
    identity: Identity,
    allow_plain_http: bool,
    is_loopback: bool,
    /// The last accepted `Authorization` header. The lock is held while a token is fetched, so that
    /// concurrent requests share one token.
    authorization: Mutex<Option<String>>,
}

/// Credentials in the form in which they are sent.
enum Identity {
    Anonymous,
    /// Value of the header for basic authentication.
    Basic(String),
    /// Identity token, which is exchanged for access tokens.
    Token(String),
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Auth {
    pub(super) fn new(
        registry: &str,
        path: &str,
        credentials: Option<&Credentials>,
        allow_plain_http: bool,
    ) -> Self {
        let identity = match credentials {
            None => Identity::Anonymous,
            Some(Credentials::Password { user, password }) => {
                let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
                Identity::Basic(format!("Basic {encoded}"))
            }
            Some(Credentials::IdentityToken(token)) => Identity::Token(token.clone()),
        };
        let is_loopback = is_loopback(registry);
        let authorization = Mutex::default();
        Self { path: path.to_owned(), identity, allow_plain_http, is_loopback, authorization }
    }

    pub(super) async fn current(&self) -> Option<String> {
        self.authorization.lock().await.clone()
    }

    /// The authorization to send after `refused` was rejected; `None` if there is no other.
    pub(super) async fn authorize(
        &self,
        client: &Client,
        challenge: &Challenge,
        refused: Option<&str>,
    ) -> Result<Option<String>, PullError> {
        let mut authorization = self.authorization.lock().await;
        if authorization.as_deref() != refused {
            return Ok(authorization.clone());
        }
        let authorization_header = match challenge {
            Challenge::Basic => match &self.identity {
                Identity::Basic(header) => Some(header.clone()),
                Identity::Anonymous | Identity::Token(_) => None,
            },
            Challenge::Bearer { realm, service } => {
                Some(self.token(client, realm, service.as_deref()).await?)
            }
        };
        if authorization_header.as_deref() == refused {
            return Ok(None);
        }
        authorization.clone_from(&authorization_header);
        Ok(authorization_header)
    }

    async fn token(
        &self,
        client: &Client,
        realm: &str,
        service: Option<&str>,
    ) -> Result<String, PullError> {
        let url = self.realm(realm)?;
        let request = self.token_request(client, url.clone(), service);
        let response = request.send().await.map_err(|error| PullError::network(&url, &error))?;
        let body = Body::Response(check_status(response, &url)?).read(MAX_TOKEN_BYTES).await?;
        let malformed = |why: &str| PullError::Malformed {
            what: "the token of the registry".to_owned(),
            why: why.to_owned(),
        };
        // The error of the parser could contain a part of the token.
        let token: Token = serde_json::from_slice(&body).map_err(|_| malformed("not JSON"))?;
        let token = token.token.or(token.access_token).filter(|token| is_header(token));
        Ok(format!("Bearer {}", token.ok_or_else(|| malformed("the response has no token"))?))
    }

    /// A request for a token: GET with user and password, or POST with the identity token as
    /// `refresh_token`.
    fn token_request(
        &self,
        client: &Client,
        mut url: Url,
        service: Option<&str>,
    ) -> RequestBuilder {
        let scope = format!("repository:{}:pull", self.path);
        let wanted = service.map(|service| ("service", service));
        let wanted = wanted.into_iter().chain([("scope", scope.as_str())]);
        let basic = match &self.identity {
            Identity::Token(token) => {
                let granted = [
                    ("grant_type", "refresh_token"),
                    ("client_id", "fairway"),
                    ("refresh_token", token),
                ];
                let mut form = form_urlencoded::Serializer::new(String::new());
                let form = form.extend_pairs(granted).extend_pairs(wanted).finish();
                let request = client.post(url);
                return request
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(form);
            }
            Identity::Basic(header) => Some(header),
            Identity::Anonymous => None,
        };
        url.query_pairs_mut().extend_pairs(wanted);
        let request = client.get(url);
        match basic {
            Some(header) => request.header(AUTHORIZATION, header),
            None => request,
        }
    }

    /// The address of the token server. Credentials are sent there, so it must use TLS or be on the
    /// loopback interface.
    fn realm(&self, realm: &str) -> Result<Url, PullError> {
        let what = || "the token URL of the registry".to_owned();
        let url = Url::parse(realm)
            .map_err(|error| PullError::Malformed { what: what(), why: error.to_string() })?;
        let is_loopback = self.is_loopback || self.allow_plain_http;
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_loopback && allows_plain_http(&url, self.allow_plain_http) => Ok(url),
            _ => Err(PullError::Plain { host: url.host_str().unwrap_or_default().to_owned() }),
        }
    }
}

fn is_header(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

// Omits passwords and tokens, which must not appear in logs.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Challenge {
    /// Parses `WWW-Authenticate`; `None` for unsupported schemes.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, parameters) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        let mut rest = parameters;
        while let Some((name, value, after)) = parameter(rest) {
            match name {
                "realm" => realm = Some(value.to_owned()),
                "service" => service = Some(value.to_owned()),
                _ => {}
            }
            rest = after;
        }
        realm.map(|realm| Self::Bearer { realm, service })
    }
}

/// Splits off the first parameter, `name="value"` or `name=value`.
fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.trim_start_matches([' ', ',']).split_once('=')?;
    let (value, rest) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
    };
    Some((name.trim(), value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_challenge_returns_scheme_and_parameters() {
        let bearer = |realm: &str, service: Option<&str>| {
            let service = service.map(str::to_owned);
            Some(Challenge::Bearer { realm: realm.to_owned(), service })
        };
        let cases = [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a.example/token\",service=\"a, b\",scope=\"repository:x:pull,push\"",
                bearer("https://a.example/token", Some("a, b")),
            ),
            ("bearer service=s, realm=https://a.example", bearer("https://a.example", Some("s"))),
            ("Bearer realm=\"unfinished", None),
            ("Bearer service=\"s\"", None),
            ("Negotiate", None),
            ("", None),
        ];
        for (header, expected) in cases {
            assert_eq!(Challenge::parse(header), expected, "{header}");
        }
    }

    #[test]
    fn token_request_uses_available_credentials() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (user, password) = ("user".to_owned(), "pass".to_owned());
        let requests = [
            None,
            Some(Credentials::Password { user, password }),
            Some(Credentials::IdentityToken("t0ken/+".to_owned())),
        ]
        .map(|credentials| {
            let auth = Auth::new("registry.example", "a/b", credentials.as_ref(), false);
            let url = Url::parse("https://registry.example/token").unwrap();
            let request = auth.token_request(&Client::new(), url, Some("s")).build().unwrap();
            let sent = request.headers().get(AUTHORIZATION).map(|sent| sent.to_str().unwrap());
            let body = request.body().map(|body| str::from_utf8(body.as_bytes().unwrap()).unwrap());
            format!("{} {} {sent:?} {body:?}", request.method(), request.url())
        });
        insta::assert_snapshot!(requests.join("\n"), @r#"
        GET https://registry.example/token?service=s&scope=repository%3Aa%2Fb%3Apull None None
        GET https://registry.example/token?service=s&scope=repository%3Aa%2Fb%3Apull Some("Basic dXNlcjpwYXNz") None
        POST https://registry.example/token None Some("grant_type=refresh_token&client_id=fairway&refresh_token=t0ken%2F%2B&service=s&scope=repository%3Aa%2Fb%3Apull")
        "#);
    }

    #[test]
    fn realm_without_tls_is_accepted_only_on_loopback() {
        let cases = [
            ("registry.example", false, "https://elsewhere.example/token", true),
            ("registry.example", false, "http://elsewhere.example/token", false),
            ("registry.example", false, "http://127.0.0.1/token", false),
            ("127.0.0.1:5000", false, "http://127.0.0.1:6000/token", true),
            ("127.0.0.1:5000", false, "http://registry.example/token", false),
            ("registry.example", true, "http://registry.example/token", true),
            ("registry.example", true, "file:///etc/passwd", false),
        ];
        for (registry, allow, realm, expected) in cases {
            let auth = Auth::new(registry, "a", None, allow);
            assert_eq!(auth.realm(realm).is_ok(), expected, "{registry} {realm}");
        }
    }
}
