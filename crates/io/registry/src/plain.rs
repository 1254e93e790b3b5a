//! Who is spoken to without TLS.

use std::net::IpAddr;

/// Whether a registry, `host` or `host:port`, is on this machine: nobody can listen in between.
pub(crate) fn is_this_machine(registry: &str) -> bool {
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
    fn only_this_machine_is_spoken_to_without_tls() {
        for registry in
            ["localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]", "[::1]:5000"]
        {
            assert!(is_this_machine(registry), "{registry}");
        }
        for registry in
            ["registry.example", "localhost.example:5000", "10.0.0.1:5000", "127.0.0.1.example"]
        {
            assert!(!is_this_machine(registry), "{registry}");
        }
    }
}
