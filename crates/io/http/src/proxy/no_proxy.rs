//! `NO_PROXY` with the rules of Go (`golang.org/x/net/http/httpproxy`), for which platforms write their
//! lists.

use std::net::IpAddr;

use url::{Host, Url};

/// Hosts that are accessed without a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NoProxy {
    all: bool,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// A network in CIDR notation.
    Network { address: IpAddr, bits: u32 },
    /// One address.
    Address { address: IpAddr, port: Option<String> },
    /// Names with a suffix that begins with a dot.
    Domain { suffix: String, itself: bool, port: Option<String> },
}

impl NoProxy {
    /// Parses a comma-separated list. Invalid entries are ignored.
    pub(super) fn parse(list: &str) -> Self {
        let entries = list.split(',').map(|entry| entry.trim().to_lowercase());
        let entries: Vec<String> = entries.filter(|entry| !entry.is_empty()).collect();
        Self {
            all: entries.iter().any(|entry| entry == "*"),
            entries: entries.iter().filter_map(|entry| Entry::parse(entry)).collect(),
        }
    }

    /// Whether a request uses no proxy. Loopback addresses never do.
    pub(super) fn matches(&self, url: &Url) -> bool {
        let port = url.port_or_known_default().unwrap_or_default().to_string();
        match url.host() {
            None => true,
            Some(Host::Domain(name)) => {
                let name = name.to_lowercase();
                name == "localhost" || self.any(|entry| entry.matches_name(&name, &port))
            }
            Some(Host::Ipv4(address)) => self.is_direct(address.into(), &port),
            Some(Host::Ipv6(address)) => self.is_direct(address.into(), &port),
        }
    }

    fn is_direct(&self, address: IpAddr, port: &str) -> bool {
        let address = address.to_canonical();
        address.is_loopback() || self.any(|entry| entry.matches_address(address, port))
    }

    fn any(&self, matches: impl Fn(&Entry) -> bool) -> bool {
        self.all || self.entries.iter().any(matches)
    }
}

impl Entry {
    fn parse(entry: &str) -> Option<Self> {
        if let Some((address, bits)) = network(entry) {
            return Some(Self::Network { address, bits });
        }
        let (host, port) = host_and_port(entry);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address { address: address.to_canonical(), port });
        }
        let host = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        match host.strip_prefix('.') {
            _ if host.is_empty() => None,
            Some(_) => Some(Self::Domain { suffix: host.to_owned(), itself: false, port }),
            None => Some(Self::Domain { suffix: format!(".{host}"), itself: true, port }),
        }
    }

    fn matches_name(&self, name: &str, requested: &str) -> bool {
        match self {
            Self::Domain { suffix, itself, port } => {
                let matches = name.ends_with(suffix) || (*itself && name == &suffix[1..]);
                matches && is_port(port.as_deref(), requested)
            }
            Self::Network { .. } | Self::Address { .. } => false,
        }
    }

    fn matches_address(&self, requested: IpAddr, request_port: &str) -> bool {
        match self {
            Self::Network { address, bits } => contains(*address, *bits, requested),
            Self::Address { address, port } => {
                *address == requested && is_port(port.as_deref(), request_port)
            }
            Self::Domain { .. } => false,
        }
    }
}

fn is_port(port: Option<&str>, requested: &str) -> bool {
    port.is_none_or(|port| port == requested)
}

/// `address/bits`.
fn network(entry: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = entry.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let bits = bits.bytes().all(|byte| byte.is_ascii_digit()).then(|| bits.parse().ok())??;
    let most = if address.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some((address, bits))
}

/// Cuts off a port. An address with colons has one only behind brackets.
fn host_and_port(entry: &str) -> (&str, Option<String>) {
    let (host, port) = match entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => return (host, None),
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None if entry.matches(':').count() == 1 => {
            entry.split_once(':').map_or((entry, None), |(host, port)| (host, Some(port)))
        }
        None => return (entry, None),
    };
    (host, port.filter(|port| !port.is_empty()).map(str::to_owned))
}

fn contains(network: IpAddr, bits: u32, requested: IpAddr) -> bool {
    match (network, requested) {
        (IpAddr::V4(network), IpAddr::V4(requested)) => {
            let differing = u32::from(network) ^ u32::from(requested);
            differing.leading_zeros() >= bits
        }
        (IpAddr::V6(network), IpAddr::V6(requested)) => {
            let differing = u128::from(network) ^ u128::from(requested);
            differing.leading_zeros() >= bits
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_direct(list: &str, url: &str) -> bool {
        NoProxy::parse(list).matches(&Url::parse(url).unwrap())
    }

    #[test]
    fn matches_of_listed_hosts_is_true() {
        for (list, url) in [
            // Loopback.
            ("", "http://localhost/"),
            ("", "http://LOCALHOST:8080/"),
            ("", "http://127.0.0.1/"),
            ("", "http://127.9.9.9:81/"),
            ("", "http://[::1]/"),
            ("", "http://[::ffff:127.0.0.1]/"),
            // A domain with its subdomains.
            ("example.com", "https://example.com/"),
            ("example.com", "https://a.b.example.com/"),
            ("EXAMPLE.com", "https://Example.COM/"),
            (" one.test ,, example.com ", "https://example.com/"),
            // Subdomains only.
            (".example.com", "https://a.example.com/"),
            ("*.example.com", "https://a.example.com/"),
            // Ports, including default ports.
            ("example.com:443", "https://example.com/"),
            ("example.com:80", "http://a.example.com/"),
            ("example.com:8443", "https://example.com:8443/"),
            ("example.com:", "https://example.com:8443/"),
            // Addresses.
            ("10.0.0.1", "http://10.0.0.1:9/"),
            ("10.0.0.1:9", "http://10.0.0.1:9/"),
            ("10.0.0.0/8", "http://10.200.3.4/"),
            ("10.1.2.3/8", "http://10.200.3.4/"),
            ("0.0.0.0/0", "http://192.0.2.1/"),
            ("192.0.2.1/32", "http://192.0.2.1/"),
            ("::ffff:10.0.0.1", "http://10.0.0.1/"),
            ("10.0.0.1", "http://[::ffff:10.0.0.1]/"),
            ("fd00::1", "http://[fd00::1]/"),
            ("[fd00::1]", "http://[fd00::1]/"),
            ("[fd00::1]:80", "http://[fd00::1]/"),
            ("fd00::/8", "http://[fd12::1]/"),
            // All hosts.
            ("*", "https://example.com/"),
            ("one.test,*", "https://192.0.2.1/"),
        ] {
            assert!(is_direct(list, url), "{list:?} {url}");
        }
    }

    #[test]
    fn matches_of_other_hosts_is_false() {
        for (list, url) in [
            ("", "https://example.com/"),
            ("", "http://10.0.0.1/"),
            ("example.com", "https://notexample.com/"),
            ("example.com", "https://example.com.test/"),
            (".example.com", "https://example.com/"),
            ("*.example.com", "https://example.com/"),
            ("*example.com", "https://example.com/"),
            ("example.com:80", "https://example.com/"),
            ("10.0.0.1:9", "http://10.0.0.1/"),
            ("10.0.0.0/8", "http://11.0.0.1/"),
            ("10.0.0.0/33", "http://10.0.0.0/"),
            ("10.0.0.0/+8", "http://10.0.0.1/"),
            ("10.0.0.0/", "http://10.0.0.0/"),
            ("10.0.0", "http://10.0.0.0/"),
            ("fd00::/8", "http://10.0.0.1/"),
            ("0.0.0.0/0", "http://[fd00::1]/"),
            ("0.0.0.0/0", "https://example.com/"),
            (":80", "http://example.com/"),
            (",.,", "http://example.com/"),
            ("[", "http://example.com/"),
        ] {
            assert!(!is_direct(list, url), "{list:?} {url}");
        }
    }

    proptest::proptest! {
        #[test]
        fn parse_of_any_list_does_not_panic(list in "[a-z0-9.:/*,\\[\\] é]{0,30}") {
            is_direct(&list, "https://a.example.com/");
            is_direct(&list, "http://192.0.2.1/");
        }
    }
}
