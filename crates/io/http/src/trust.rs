//! Whom clients trust.

use reqwest::ClientBuilder;

/// A client that trusts the authorities of this machine, and nobody where it has none: who speaks
/// plain HTTP on loopback needs no authority, and a server with TLS is refused when it is asked.
pub fn trusting_this_machine(client: ClientBuilder) -> ClientBuilder {
    if rustls_native_certs::load_native_certs().certs.is_empty() {
        client.tls_certs_only([])
    } else {
        client
    }
}
