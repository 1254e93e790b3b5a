//! Shared HTTP server and client parts: connection limits, TLS with certificate reload, write
//! timeouts for slow clients, and proxies.
//!
//! [`Listener`] accepts connections and passes requests to a handler ([`Answer`]). It limits the
//! connections of each peer, and closes the idlest one if a limit is reached, so that a flood of idle
//! connections does not silence the server. [`Certificate`] reloads its files when they change, so
//! that new connections use the current certificate. [`Proxies`] selects the proxy of a request.
//!
//! | module | content |
//! | --- | --- |
//! | `listener` | listener with connection limits, plain or TLS |
//! | `connections` | slots of connections, and the choice of those to close |
//! | `tls_profile` | TLS security profiles of the platform |
//! | `tls` | certificates of servers, and trusted CA certificates of clients |
//! | `write_timeout` | timeout of writes, against clients that do not read |
//! | `proxy` | proxy settings, with Go's rules for `NO_PROXY` |

mod connections;
mod listener;
mod proxy;
mod tls;
mod tls_profile;
mod write_timeout;

pub use listener::{Answer, ClientConnection, Listener, RequestBody, Secured};
pub use proxy::{Proxies, ProxyError};
pub use tls::{Certificate, ServerTls, TlsError, TlsFiles, with_host_ca_bundle};
pub use tls_profile::{TlsProfile, TlsSecurityProfile};
pub use write_timeout::WriteTimeout;
