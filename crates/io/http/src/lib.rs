//! Shared HTTP server and client parts: connection limits, TLS with certificate reload, write
//! timeouts for slow clients, and proxies.

mod listener;
mod proxy;
mod tls;
mod write_timeout;

pub use listener::{Answer, Listener, Secured};
pub use proxy::{Proxies, ProxyError};
pub use tls::{Certificate, TlsError, TlsFiles, trusting_this_machine};
pub use write_timeout::WriteTimeout;

#[doc(hidden)]
pub use self::WriteTimeout as Patience;
