//! Shared HTTP server and client parts: connection limits, TLS with certificate reload, write
//! timeouts for slow clients, and proxies.
//!
//! [`Listener`] accepts connections and passes requests to a handler ([`Answer`]). [`Certificate`]
//! reloads its files when they change, so that new connections use the current certificate.
//! [`Proxies`] selects the proxy of a request.
//!
//! | module | content |
//! | --- | --- |
//! | `listener` | listener with connection limits, plain or TLS |
//! | `tls` | certificates of servers, and trusted CA certificates of clients |
//! | `write_timeout` | timeout of writes, against clients that do not read |
//! | `proxy` | proxy settings, with Go's rules for `NO_PROXY` |

mod listener;
mod proxy;
mod tls;
mod write_timeout;

pub use listener::{Answer, Listener, Secured};
pub use proxy::{Proxies, ProxyError};
pub use tls::{Certificate, TlsError, TlsFiles, with_host_ca_bundle};
pub use write_timeout::WriteTimeout;
