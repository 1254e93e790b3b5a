//! Proxies: which requests use which proxy.

mod no_proxy;

use std::fmt;

use url::Url;

use no_proxy::NoProxy;

/// Proxies by scheme. The default is none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    direct: NoProxy,
}

/// The URL of a proxy is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {scheme} proxy: not an http or https URL")]
pub struct ProxyError {
    /// Scheme of the proxied requests: `http` or `https`.
    pub scheme: &'static str,
}

impl Proxies {
    /// Parses the proxies for HTTP and HTTPS, and the list of hosts without a proxy. An empty text is
    /// none.
    pub fn parse(http: &str, https: &str, no_proxy: &str) -> Result<Self, ProxyError> {
        let (http, https) = (proxy("http", http)?, proxy("https", https)?);
        Ok(Self { http, https, direct: NoProxy::parse(no_proxy) })
    }

    /// The proxies of the environment: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, or lowercase.
    pub fn of_environment() -> Result<Self, ProxyError> {
        Self::of_variables(|name| std::env::var(name).ok())
    }

    fn of_variables(value: impl Fn(&str) -> Option<String>) -> Result<Self, ProxyError> {
        let value = |name: &str| {
            let mut values = [value(name), value(&name.to_lowercase())].into_iter().flatten();
            values.find(|value| !value.is_empty()).unwrap_or_default()
        };
        Self::parse(&value("HTTP_PROXY"), &value("HTTPS_PROXY"), &value("NO_PROXY"))
    }

    /// The proxy for a request.
    pub fn of(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !self.direct.matches(url))
    }
}

// Omits credentials in URLs.
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

/// Parses the URL of a proxy; the scheme is optional.
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
    fn proxy_of_each_scheme() {
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
    fn proxy_of_scheme_without_proxy_is_none() {
        let proxies = Proxies::parse("", "http://proxy.example", "").unwrap();
        assert_eq!(chosen(&proxies, "http://a.example/"), None);
        assert_eq!(chosen(&Proxies::default(), "https://a.example/"), None);
    }

    #[test]
    fn parse_of_invalid_proxy_fails() {
        for text in ["socks5://proxy.example", "://", "http://", "ftp://x", "a b"] {
            let error = Proxies::parse("", text, "").unwrap_err();
            assert_eq!(error, ProxyError { scheme: "https" }, "{text}");
        }
        insta::assert_snapshot!(ProxyError { scheme: "http" }, @"invalid http proxy: not an http or https URL");
    }

    #[test]
    fn of_variables_reads_upper_and_lower_case() {
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
