//! The way to the outside, where there is no other: which requests go through which proxy.

mod no_proxy;

use std::fmt;

use url::Url;

use no_proxy::NoProxy;

/// Proxies, by what is asked for. The default is none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    direct: NoProxy,
}

/// Why there is no way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {scheme} proxy: not an http or https URL")]
pub struct ProxyError {
    /// What it was to be for: `http` or `https`.
    pub scheme: &'static str,
}

impl Proxies {
    /// The proxy for plain HTTP, that for HTTPS, and a list of those who are asked without one. An
    /// empty text is none.
    pub fn parse(http: &str, https: &str, no_proxy: &str) -> Result<Self, ProxyError> {
        let (http, https) = (proxy("http", http)?, proxy("https", https)?);
        Ok(Self { http, https, direct: NoProxy::parse(no_proxy) })
    }

    /// Those of the environment: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, or the same in
    /// lower-case letters.
    pub fn of_environment() -> Result<Self, ProxyError> {
        Self::of_variables(|name| std::env::var(name).ok())
    }

    fn of_variables(value: impl Fn(&str) -> Option<String>) -> Result<Self, ProxyError> {
        let value = |name: &str| {
            let mut said = [value(name), value(&name.to_lowercase())].into_iter().flatten();
            said.find(|value| !value.is_empty()).unwrap_or_default()
        };
        Self::parse(&value("HTTP_PROXY"), &value("HTTPS_PROXY"), &value("NO_PROXY"))
    }

    /// The proxy for a request.
    pub fn of(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !self.direct.matches(url))
    }
}

// There may be a password in an address.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host =
            |proxy: &Option<Url>| proxy.as_ref().and_then(|url| url.host_str().map(str::to_owned));
        let (http, https) = (host(&self.http), host(&self.https));
        f.debug_struct("Proxies")
            .field("http", &http)
            .field("https", &https)
            .finish_non_exhaustive()
    }
}

/// Reads the address of a proxy, which may go without a scheme.
fn proxy(scheme: &'static str, text: &str) -> Result<Option<Url>, ProxyError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let usable = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    let read = |text: &str| Url::parse(text).ok().filter(usable);
    let url = if text.contains("://") { read(text) } else { read(&format!("http://{text}")) };
    url.map(Some).ok_or(ProxyError { scheme })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<'a>(proxies: &'a Proxies, url: &str) -> Option<&'a str> {
        proxies.of(&Url::parse(url).unwrap()).map(Url::as_str)
    }

    #[test]
    fn every_scheme_has_its_proxy() {
        let secure = " https://user:pass@secure.example ";
        let proxies = Proxies::parse("proxy.example:3128", secure, ".internal").unwrap();
        for (url, expected) in [
            ("http://a.example/", Some("http://proxy.example:3128/")),
            ("https://a.example/", Some("https://user:pass@secure.example/")),
            ("https://a.internal/", None),
            ("http://localhost/", None),
        ] {
            assert_eq!(chosen(&proxies, url), expected, "{url}");
        }
        assert!(!format!("{proxies:?}").contains("pass"), "{proxies:?}");
    }

    #[test]
    fn a_scheme_without_a_proxy_is_asked_directly() {
        let proxies = Proxies::parse("", "http://proxy.example", "").unwrap();
        assert_eq!(chosen(&proxies, "http://a.example/"), None);
        assert_eq!(chosen(&Proxies::default(), "https://a.example/"), None);
    }

    #[test]
    fn a_proxy_that_is_none_is_no_reason_to_go_without() {
        for text in ["socks5://proxy.example", "://", "http://", "ftp://x", "a b"] {
            let error = Proxies::parse("", text, "").unwrap_err();
            assert_eq!(error, ProxyError { scheme: "https" }, "{text}");
        }
        insta::assert_snapshot!(ProxyError { scheme: "http" }, @"invalid http proxy: not an http or https URL");
    }

    #[test]
    fn the_environment_says_it_in_large_or_small_letters() {
        for (variables, expected) in [
            ("", None),
            ("HTTPS_PROXY=a.example", Some("http://a.example/")),
            ("https_proxy=b.example", Some("http://b.example/")),
            ("https_proxy=b.example HTTPS_PROXY=a.example", Some("http://a.example/")),
            ("HTTPS_PROXY= https_proxy=b.example", Some("http://b.example/")),
            ("HTTPS_PROXY=a.example no_proxy=registry.example", None),
        ] {
            let value = |name: &str| {
                let mut all = variables.split(' ').filter_map(|variable| variable.split_once('='));
                all.find(|(variable, _)| *variable == name).map(|(_, value)| value.to_owned())
            };
            let proxies = Proxies::of_variables(value).unwrap();
            assert_eq!(chosen(&proxies, "https://registry.example/"), expected, "{variables}");
        }
    }
}
