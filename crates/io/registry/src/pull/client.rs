//! HTTP clients for registries: TLS, proxies, redirects.

use std::net::IpAddr;

use fairway_http::{Proxies, with_host_ca_bundle};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Proxy};
use url::Url;

use super::{PullError, PullOptions, error};

/// Redirects of a request: registry, mirror, blob store, and some in reserve.
const MAX_REDIRECTS: usize = 5;

pub(crate) fn client(options: &PullOptions) -> Result<Client, PullError> {
    let allow_plain_http = options.allow_plain_http;
    let follow = Policy::custom(move |attempt| redirect_policy(attempt, allow_plain_http));
    build_client(follow, options)
}

pub(super) fn token_client(options: &PullOptions) -> Result<Client, PullError> {
    build_client(Policy::none(), options)
}

fn build_client(redirects: Policy, options: &PullOptions) -> Result<Client, PullError> {
    let failed =
        |error: reqwest::Error| PullError::Client { why: fairway_text::root_cause(&error) };
    let ca_bundle = reqwest::Certificate::from_pem_bundle(&options.ca_bundle).map_err(failed)?;
    let proxies = options.proxies.clone().map_or_else(Proxies::of_environment, Ok);
    let proxies = proxies.map_err(|error| PullError::Client { why: error.to_string() })?;
    with_host_ca_bundle(Client::builder())
        .user_agent(concat!("fairway/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        .connect_timeout(options.silence)
        .read_timeout(options.silence)
        .tls_certs_merge(ca_bundle)
        .no_proxy()
        .proxy(Proxy::custom(move |url| proxies.of(url).cloned()))
        .build()
        .map_err(failed)
}

/// Redirect policy: registries may store blobs elsewhere. Redirects from TLS to plain HTTP, and
/// plain HTTP to other hosts, are refused.
fn redirect_policy(attempt: Attempt<'_>, allow_plain_http: bool) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("too many redirects");
    }
    let came_by_tls = attempt.previous().iter().any(|url| url.scheme() == "https");
    let leads_to = attempt.url();
    let plain = leads_to.scheme() != "https";
    if plain && (came_by_tls || !allows_plain_http(leads_to, allow_plain_http)) {
        let to = error::display_url(leads_to);
        return attempt.error(format!("redirected to {to}, which does not use TLS"));
    }
    attempt.follow()
}

pub(crate) fn allows_plain_http(url: &Url, allow_plain_http: bool) -> bool {
    allow_plain_http || url.host_str().is_some_and(is_loopback)
}

/// Whether a registry, `host` or `host:port`, is on the loopback interface, where traffic cannot be
/// intercepted.
pub(crate) fn is_loopback(registry: &str) -> bool {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let host = match registry.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => registry,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_loopback_with_other_hosts_returns_false() {
        for registry in
            ["localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]", "[::1]:5000"]
        {
            assert!(is_loopback(registry), "{registry}");
        }
        for registry in
            ["registry.example", "localhost.example:5000", "10.0.0.1:5000", "127.0.0.1.example"]
        {
            assert!(!is_loopback(registry), "{registry}");
        }
    }
}
